// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The errno of each verb for requests that it cannot fulfil: the values of the manual pages and,
// where these name none, of hardware drivers (EINVAL: a value that no device supports; EOPNOTSUPP:
// one that this device does not support; EBUSY: in use; ENOMEM: no room). A refused call leaves no
// object: at the end all objects can be destroyed.
#include <gtest/gtest.h>

#include <functional>

#include "cm/kwarp_only.h"
#include "rdma/window.h"

using namespace rdma;

namespace {

// The errno of a verb that returns an errno, -1 with errno, or a negative errno; 0 for success.
int result(int ret)
{
	return ret == -1 && errno ? errno : ret < 0 ? -ret : ret;
}

// The errno of a verb that returns an object, which must be null then; 0 for success.
template <class T>
int result(T *object)
{
	return object ? 0 : errno;
}

struct errnos : KwarpOnly {
	Context context;
	Pd pd, other_pd;
	Cq cq;
	ibv_device_attr device{};
	std::unique_ptr<Region> region;

	void SetUp() override
	{
		KwarpOnly::SetUp();
		if (IsSkipped())
			return;
		context = open_device(lab::a().device);
		device = query_device(context.get());
		pd = alloc_pd(context.get());
		other_pd = alloc_pd(context.get());
		cq = create_cq(context.get(), 16);
		region = std::make_unique<Region>(pd.get(), 8192, all_access | IBV_ACCESS_MW_BIND);
	}
	void TearDown() override
	{
		region.reset();
		cq.reset();
		if (pd) {
			EXPECT_EQ(ibv_dealloc_pd(pd.release()), 0) << "an object is left over";
			EXPECT_EQ(ibv_dealloc_pd(other_pd.release()), 0)
				<< "an object is left over";
		}
	}

	// A QP with one or more capabilities changed.
	int qp_with(const std::function<void(ibv_qp_init_attr &)> &change) const
	{
		ibv_qp_init_attr attr = qp_attr(cq.get());
		change(attr);
		errno = 0;
		return result(ibv_create_qp(pd.get(), &attr));
	}
	int qp_ex_with(const std::function<void(ibv_qp_init_attr_ex &)> &change) const
	{
		ibv_qp_init_attr_ex attr{};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = attr.recv_cq = cq.get();
		attr.cap = {4, 4, 1, 1, 0};
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr.pd = pd.get();
		change(attr);
		errno = 0;
		return result(ibv_create_qp_ex(context.get(), &attr));
	}
	int srq_with(uint32_t max_wr, uint32_t max_sge, uint32_t limit = 0) const
	{
		ibv_srq_init_attr attr{};
		attr.attr = {max_wr, max_sge, limit};
		errno = 0;
		return result(ibv_create_srq(pd.get(), &attr));
	}
	int reg(void *address, size_t length, int access) const
	{
		errno = 0;
		return result(ibv_reg_mr(pd.get(), address, length, access));
	}
	int cq_with(int entries, int vector = 0) const
	{
		errno = 0;
		return result(ibv_create_cq(context.get(), entries, nullptr, nullptr, vector));
	}
	int cq_ex_with(const std::function<void(ibv_cq_init_attr_ex &)> &change) const
	{
		ibv_cq_init_attr_ex attr{};
		attr.cqe = 16;
		change(attr);
		errno = 0;
		return result(ibv_create_cq_ex(context.get(), &attr));
	}
	static int modify(ibv_qp *qp, int mask,
			  const std::function<void(ibv_qp_attr &)> &change = {})
	{
		ibv_qp_attr attr{};
		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		if (change)
			change(attr);
		return result(ibv_modify_qp(qp, &attr, mask));
	}
};

} // namespace

TEST_F(errnos, create_cq)
{
	EXPECT_EQ(cq_with(0), EINVAL);
	EXPECT_EQ(cq_with(-1), EINVAL);
	EXPECT_EQ(cq_with(device.max_cqe + 1), EINVAL);
	EXPECT_EQ(cq_with(16, context->num_comp_vectors), EINVAL);
	EXPECT_EQ(cq_with(16, -1), EINVAL);
	EXPECT_EQ(cq_ex_with([](auto &a) { a.cqe = 0; }), EINVAL);
	EXPECT_EQ(cq_ex_with([&](auto &a) { a.cqe = device.max_cqe + 1; }), EINVAL);
	EXPECT_EQ(cq_ex_with([](auto &a) { a.wc_flags = 1ull << 40; }), EOPNOTSUPP);
	EXPECT_EQ(cq_ex_with([](auto &a) { a.wc_flags = IBV_WC_EX_WITH_CVLAN; }), EOPNOTSUPP);
	EXPECT_EQ(cq_ex_with([](auto &a) { a.comp_mask = 1u << 20; }), EOPNOTSUPP);
	EXPECT_EQ(cq_ex_with([](auto &a) {
			  a.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
			  a.flags = 1u << 20;
		  }),
		  EOPNOTSUPP);
}

TEST_F(errnos, resize_modify_destroy_cq)
{
	EXPECT_EQ(result(ibv_resize_cq(cq.get(), 0)), EINVAL);
	EXPECT_EQ(result(ibv_resize_cq(cq.get(), -1)), EINVAL);
	EXPECT_EQ(result(ibv_resize_cq(cq.get(), device.max_cqe + 1)), EINVAL);
	ibv_modify_cq_attr attr{};
	EXPECT_EQ(result(ibv_modify_cq(cq.get(), &attr)), EINVAL) << "nothing to be done";
	attr.attr_mask = 1u << 20;
	EXPECT_EQ(result(ibv_modify_cq(cq.get(), &attr)), EINVAL);
	for (bool receives : {false, true}) {
		Cq other = create_cq(context.get(), 16);
		ibv_qp_init_attr init = qp_attr(cq.get());
		(receives ? init.recv_cq : init.send_cq) = other.get();
		Qp qp = create_qp(pd.get(), init);
		EXPECT_EQ(result(ibv_destroy_cq(other.get())), EBUSY);
		qp.reset();
	}
}

TEST_F(errnos, dealloc_pd)
{
	EXPECT_EQ(result(ibv_dealloc_pd(pd.get())), EBUSY) << "a region";
	{
		ibv_qp_init_attr init = qp_attr(cq.get());
		Qp qp = create_qp(other_pd.get(), init);
		EXPECT_EQ(result(ibv_dealloc_pd(other_pd.get())), EBUSY) << "a QP";
	}
	{
		Srq srq = create_srq(other_pd.get(), 4);
		EXPECT_EQ(result(ibv_dealloc_pd(other_pd.get())), EBUSY) << "an SRQ";
	}
	{
		Mw mw = alloc_mw(other_pd.get(), IBV_MW_TYPE_2);
		EXPECT_EQ(result(ibv_dealloc_pd(other_pd.get())), EBUSY) << "a window";
	}
}

TEST_F(errnos, domains)
{
	ibv_td_init_attr td_attr{};
	td_attr.comp_mask = 1;
	EXPECT_EQ(result(ibv_alloc_td(context.get(), &td_attr)), EOPNOTSUPP);
	td_attr.comp_mask = 0;
	ibv_td *td = check(ibv_alloc_td(context.get(), &td_attr), "ibv_alloc_td");
	ibv_parent_domain_init_attr attr{};
	EXPECT_EQ(result(ibv_alloc_parent_domain(context.get(), &attr)), EINVAL);
	attr.pd = pd.get();
	attr.td = td;
	attr.comp_mask = 1u << 20;
	EXPECT_EQ(result(ibv_alloc_parent_domain(context.get(), &attr)), EOPNOTSUPP);
	attr.comp_mask = 0;
	ibv_pd *parent =
		check(ibv_alloc_parent_domain(context.get(), &attr), "ibv_alloc_parent_domain");
	EXPECT_EQ(result(ibv_dealloc_td(td)), EBUSY);
	EXPECT_EQ(result(ibv_dealloc_pd(pd.get())), EBUSY);
	EXPECT_EQ(result(ibv_dealloc_pd(parent)), 0);
	EXPECT_EQ(result(ibv_dealloc_td(td)), 0);
}

TEST_F(errnos, reg_mr)
{
	Memory memory(8192), guarded(4096, 0 /* PROT_NONE */), constant(4096, 1 /* PROT_READ */);
	const int local = IBV_ACCESS_LOCAL_WRITE;
	EXPECT_EQ(reg(memory.data(), 0, local), EINVAL);
	EXPECT_EQ(reg(nullptr, 4096, local), EFAULT);
	EXPECT_EQ(reg(guarded.data(), 4096, 0), EFAULT);
	EXPECT_EQ(reg(constant.data(), 4096, local), EFAULT);
	EXPECT_EQ(reg(memory.data(), SIZE_MAX, local), EINVAL) << "wraps";
	EXPECT_EQ(reg(memory.data(), (1ull << 40) + 1, local), EINVAL) << "max_mr_size + 1";
	EXPECT_EQ(reg(memory.data(), 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	EXPECT_EQ(reg(memory.data(), 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	EXPECT_EQ(reg(memory.data(), 4096, local | 1 << 19), EINVAL) << "no such right";
	errno = 0;
	EXPECT_EQ(result(ibv_reg_mr_iova(pd.get(), memory.data(), 4096, 1, local)), EINVAL)
		<< "another offset in the page";
	errno = 0;
	EXPECT_EQ(result(ibv_reg_dmabuf_mr(pd.get(), 0, 4096, 0, -1, local)), EBADF);
	errno = 0;
	EXPECT_EQ(result(ibv_reg_dmabuf_mr(pd.get(), 0, 4096, 0, context->async_fd, local)), EINVAL)
		<< "not a dmabuf";
}

TEST_F(errnos, windows)
{
	errno = 0;
	EXPECT_EQ(result(ibv_alloc_mw(pd.get(), static_cast<ibv_mw_type>(0))), EINVAL);
	EXPECT_EQ(result(ibv_alloc_mw(pd.get(), static_cast<ibv_mw_type>(3))), EINVAL);
	Pair pair;
	Region open(pair.client.pd(), 4096, all_access | IBV_ACCESS_MW_BIND),
		closed(pair.client.pd(), 4096);
	Region foreign(other_pd.get(), 4096, all_access | IBV_ACCESS_MW_BIND);
	Mw one = alloc_mw(pair.client.pd(), IBV_MW_TYPE_1),
	   two = alloc_mw(pair.client.pd(), IBV_MW_TYPE_2);
	auto bind = [&](ibv_mw *mw, ibv_mr *mr, int access) {
		ibv_mw_bind b{};
		b.bind_info = {mr, reinterpret_cast<uintptr_t>(mr->addr), 64,
			       static_cast<unsigned int>(access)};
		return result(ibv_bind_mw(pair.client.qp(), mw, &b));
	};
	EXPECT_EQ(bind(two.get(), open.mr(), IBV_ACCESS_REMOTE_READ), EINVAL);
	EXPECT_EQ(bind(one.get(), foreign.mr(), IBV_ACCESS_REMOTE_READ), EPERM);
	EXPECT_EQ(bind(one.get(), open.mr(), IBV_ACCESS_REMOTE_READ), 0);
	post(pair.client.qp(), write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	wait_ok(pair.client.scq());
	EXPECT_EQ(result(ibv_dereg_mr(open.mr())), EBUSY);
	EXPECT_EQ(ibv_rereg_mr(open.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
		  IBV_REREG_MR_ERR_CMD);
	EXPECT_EQ(errno, EBUSY);
	one.reset();
	EXPECT_EQ(bind(two.get(), closed.mr(), IBV_ACCESS_REMOTE_READ), EINVAL);
}

TEST_F(errnos, create_qp__each_capability_by_one)
{
	const uint32_t wr = device.max_qp_wr, sge = device.max_sge;
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_RAW_PACKET}) {
		auto with = [&](auto change) {
			return qp_with([&](ibv_qp_init_attr &a) {
				a.qp_type = type;
				change(a.cap);
			});
		};
		EXPECT_EQ(with([&](auto &c) { c.max_send_wr = wr + 1; }), EINVAL) << type;
		EXPECT_EQ(with([&](auto &c) { c.max_recv_wr = wr + 1; }), EINVAL) << type;
		EXPECT_EQ(with([&](auto &c) { c.max_send_sge = sge + 1; }), EINVAL) << type;
		EXPECT_EQ(with([&](auto &c) { c.max_recv_sge = sge + 1; }), EINVAL) << type;
		EXPECT_EQ(with([&](auto &c) { c.max_inline_data = 513; }), EINVAL) << type;
		EXPECT_EQ(with([&](auto &c) { c.max_send_wr = UINT32_MAX; }), EINVAL) << type;
	}
}

TEST_F(errnos, create_qp__unsupported)
{
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER})
		EXPECT_EQ(qp_with([&](ibv_qp_init_attr &a) { a.qp_type = type; }), EOPNOTSUPP)
			<< type;
	EXPECT_EQ(qp_ex_with([](auto &a) { a.comp_mask = 0; }), EINVAL) << "no domain";
	EXPECT_EQ(qp_ex_with([](auto &a) { a.comp_mask |= 1u << 20; }), EOPNOTSUPP);
	EXPECT_EQ(qp_ex_with([](auto &a) {
			  a.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
			  a.create_flags = IBV_QP_CREATE_SCATTER_FCS;
		  }),
		  EOPNOTSUPP);
	EXPECT_EQ(qp_ex_with([](auto &a) {
			  a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
			  a.send_ops_flags = IBV_QP_EX_WITH_TSO;
		  }),
		  EOPNOTSUPP);
	EXPECT_EQ(qp_ex_with([&](auto &a) { a.cap.max_send_wr = device.max_qp_wr + 1; }), EINVAL);
}

TEST_F(errnos, modify_qp)
{
	ibv_qp_init_attr init = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), init);
	const int to = IBV_QP_STATE;
	for (ibv_qp_state state :
	     {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, static_cast<ibv_qp_state>(99)})
		EXPECT_EQ(modify(qp.get(), to, [&](auto &a) { a.qp_state = state; }), EINVAL)
			<< state;
	EXPECT_EQ(modify(qp.get(), to | IBV_QP_PORT, [](auto &a) { a.port_num = 0; }), EINVAL);
	EXPECT_EQ(modify(qp.get(), to | IBV_QP_PORT, [](auto &a) { a.port_num = 2; }), EINVAL);
	EXPECT_EQ(modify(qp.get(), to | IBV_QP_PKEY_INDEX, [](auto &a) { a.pkey_index = 1; }),
		  EINVAL);
	EXPECT_EQ(modify(qp.get(), to | IBV_QP_CUR_STATE,
			 [](auto &a) { a.cur_qp_state = IBV_QPS_RTS; }),
		  EINVAL);
	EXPECT_EQ(modify(qp.get(), IBV_QP_MAX_QP_RD_ATOMIC,
			 [&](auto &a) { a.max_rd_atomic = device.max_qp_init_rd_atom + 1; }),
		  EINVAL);
	EXPECT_EQ(modify(qp.get(), IBV_QP_MAX_DEST_RD_ATOMIC,
			 [&](auto &a) { a.max_dest_rd_atomic = device.max_qp_rd_atom + 1; }),
		  EINVAL);
	for (int mask : {int{IBV_QP_QKEY}, int{IBV_QP_PATH_MIG_STATE}, int{IBV_QP_CAP},
			 int{IBV_QP_RATE_LIMIT}})
		EXPECT_EQ(modify(qp.get(), mask), EOPNOTSUPP) << mask;
	EXPECT_EQ(query_qp(qp.get()).qp_state, IBV_QPS_INIT) << "refusals change nothing";
	EXPECT_EQ(modify(qp.get(), to), 0);
}

TEST_F(errnos, srq)
{
	const uint32_t wr = device.max_srq_wr, sge = device.max_srq_sge;
	EXPECT_EQ(srq_with(0, 1), EINVAL);
	EXPECT_EQ(srq_with(wr + 1, 1), EINVAL);
	EXPECT_EQ(srq_with(4, sge + 1), EINVAL);
	Srq srq = create_srq(pd.get(), 4);
	EXPECT_EQ(modify_srq(srq.get(), 1 << 10, 0, 0), EINVAL);
	EXPECT_EQ(modify_srq(srq.get(), IBV_SRQ_MAX_WR, 0, 0), EINVAL);
	EXPECT_EQ(modify_srq(srq.get(), IBV_SRQ_MAX_WR, wr + 1, 0), EINVAL);
	EXPECT_EQ(modify_srq(srq.get(), IBV_SRQ_LIMIT, 0, query_srq(srq.get()).max_wr + 1), EINVAL);
	EXPECT_EQ(try_post_srq_recv(srq.get(), 1,
				    std::vector<ibv_sge>(query_srq(srq.get()).max_sge + 1)),
		  EINVAL);
	ibv_qp_init_attr init = qp_attr(cq.get());
	init.srq = srq.get();
	Qp qp = create_qp(pd.get(), init);
	EXPECT_EQ(result(ibv_destroy_srq(srq.get())), EBUSY);
	EXPECT_EQ(try_post_recv(qp.get(), 1, {region->sge(0, 8)}), EINVAL)
		<< "the QP has no receive queue of its own";
	qp.reset();
	for (ibv_srq_type type : {IBV_SRQT_XRC, IBV_SRQT_TM}) {
		ibv_srq_init_attr_ex attr{};
		attr.attr = {4, 1, 0};
		attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
		attr.srq_type = type;
		attr.pd = pd.get();
		errno = 0;
		EXPECT_EQ(result(ibv_create_srq_ex(context.get(), &attr)), EOPNOTSUPP) << type;
	}
}

TEST_F(errnos, post)
{
	ibv_qp_init_attr init = qp_attr(cq.get(), 4, 2);
	Qp qp = create_qp(pd.get(), init);
	EXPECT_EQ(try_post_recv(qp.get(), 1, std::vector<ibv_sge>(init.cap.max_recv_sge + 1)),
		  EINVAL);
	for (uint32_t i = 0; i < init.cap.max_recv_wr; i++)
		ASSERT_EQ(try_post_recv(qp.get(), i, {region->sge(0, 8)}), 0);
	EXPECT_EQ(try_post_recv(qp.get(), 99, {region->sge(0, 8)}), ENOMEM);

	Config config;
	config.inline_data = 64;
	Pair pair(both(config));
	ibv_qp *rts = pair.client.qp();
	ibv_sge some = pair.client.memory().sge(0, 8);
	Remote there = pair.server.remote();
	const ibv_qp_cap &cap = pair.client.cap();
	EXPECT_EQ(try_post(rts, send(1, std::vector<ibv_sge>(cap.max_send_sge + 1, some))), EINVAL);
	EXPECT_EQ(try_post(rts, send(1, {pair.client.memory().sge(0, cap.max_inline_data + 1)})
					.flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED)),
		  EINVAL);
	EXPECT_EQ(try_post(rts, read(1, {some}, there).flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED)),
		  EINVAL);
	for (ibv_wr_opcode opcode : {IBV_WR_TSO, IBV_WR_DRIVER1, static_cast<ibv_wr_opcode>(99)})
		EXPECT_EQ(try_post(rts, Send(opcode, 1, {some}, there)), EINVAL) << opcode;
	// none of these has reached the queue
	post(rts, write(7, {some}, there));
	EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 7u);
}

TEST_F(errnos, queries)
{
	ibv_port_attr port;
	EXPECT_EQ(result(ibv_query_port(context.get(), 0, &port)), EINVAL);
	EXPECT_EQ(result(ibv_query_port(context.get(), 2, &port)), EINVAL);
	ibv_values_ex values{};
	values.comp_mask = 1u << 20;
	EXPECT_EQ(result(ibv_query_rt_values_ex(context.get(), &values)), EINVAL);
}

TEST_F(errnos, imports)
{
	ibv_pd *imported = check(ibv_import_pd(context.get(), pd->handle), "ibv_import_pd");
	errno = 0;
	EXPECT_EQ(result(ibv_import_mr(imported, 0x7fffffff)), ENOENT);
	ibv_unimport_pd(imported);
}

// Verbs that RNICs, or this one, do not support.
TEST_F(errnos, unsupported_verbs)
{
	ibv_qp_init_attr init = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), init);
	union ibv_gid gid{};
	errno = 0;
	EXPECT_EQ(result(ibv_attach_mcast(qp.get(), &gid, 1)), EOPNOTSUPP);
	EXPECT_EQ(result(ibv_detach_mcast(qp.get(), &gid, 1)), EOPNOTSUPP);
	ibv_ah_attr ah{};
	ah.port_num = 1;
	EXPECT_EQ(result(ibv_create_ah(pd.get(), &ah)), EOPNOTSUPP);
	ibv_xrcd_init_attr xrcd{};
	xrcd.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	xrcd.fd = -1;
	EXPECT_EQ(result(ibv_open_xrcd(context.get(), &xrcd)), EOPNOTSUPP);
	ibv_wq_init_attr wq{};
	wq.wq_type = IBV_WQT_RQ;
	wq.max_wr = wq.max_sge = 1;
	wq.pd = pd.get();
	wq.cq = cq.get();
	EXPECT_EQ(result(ibv_create_wq(context.get(), &wq)), EOPNOTSUPP);
	ibv_rwq_ind_table_init_attr table{};
	EXPECT_EQ(result(ibv_create_rwq_ind_table(context.get(), &table)), EOPNOTSUPP);
	ibv_flow_attr flow{};
	flow.port = 1;
	EXPECT_EQ(result(ibv_create_flow(qp.get(), &flow)), EOPNOTSUPP);
	ibv_alloc_dm_attr dm{};
	dm.length = 64;
	EXPECT_EQ(result(ibv_alloc_dm(context.get(), &dm)), EOPNOTSUPP);
	EXPECT_EQ(result(ibv_alloc_null_mr(pd.get())), EOPNOTSUPP);
	ibv_counters_init_attr counters{};
	EXPECT_EQ(result(ibv_create_counters(context.get(), &counters)), EOPNOTSUPP);
}
