// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All verbs on a removed device. The suite sets RDMAV_ALLOW_DISASSOC_DESTROY, so that objects can
// be destroyed without an error, which a test below checks.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "device.h"
#include "rdma/endpoint.h"
#include "rdma/window.h"

using namespace rdma;
using removal::error_of;

namespace {

// One object of each kind, none of them connected.
struct Objects {
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	CompChannel channel = create_channel(context.get());
	Cq cq = create_cq(context.get(), 64, channel.get());
	Cq cq_ex = create_cq_ex(context.get(), 64, channel.get());
	Region region{pd.get(), 8192};
	Mw window = alloc_mw(pd.get(), IBV_MW_TYPE_1);
	Srq srq = create_srq(pd.get(), 16);
	ibv_qp_init_attr attr = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), attr);
	Qp qp_ex = make_qp_ex();

	Qp make_qp_ex()
	{
		ibv_qp_init_attr_ex ex{};
		ex.send_cq = ex.recv_cq = cq_ex.get();
		ex.srq = srq.get();
		ex.cap = attr.cap;
		ex.qp_type = IBV_QPT_RC;
		ex.pd = pd.get();
		ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		ex.send_ops_flags = all_send_ops;
		return Qp(check(ibv_create_qp_ex(context.get(), &ex), "ibv_create_qp_ex"));
	}
};

struct removed : removal::Devices {
	std::optional<Objects> objects;
	ibv_context *context;
	ibv_pd *pd;

	void SetUp() override
	{
		removal::Devices::SetUp();
		objects.emplace();
		context = objects->context.get();
		pd = objects->pd.get();
		ASSERT_EQ(modify_state(objects->qp.get(), IBV_QPS_INIT), 0);
		post_recv(objects->qp.get(), 1, {objects->region.sge(0, 64)});
		removal::remove(lab::a());
	}

	void TearDown() override
	{
		objects.reset();
		removal::Devices::TearDown();
	}
};

void request_in_a_batch(ibv_qp *qp)
{
	ibv_qp_ex *qpx = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 0, 0, 0);
}

} // namespace

TEST_F(removed, event__fatal)
{
	ibv_async_event event{};
	ASSERT_EQ(ibv_get_async_event(context, &event), 0);
	EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
}

TEST_F(removed, create__EIO)
{
	EXPECT_EQ(error_of(ibv_alloc_pd(context)), EIO);
	EXPECT_EQ(error_of(ibv_create_cq(context, 16, nullptr, nullptr, 0)), EIO);
	EXPECT_EQ(error_of(ibv_create_comp_channel(context)), EIO);
	ibv_cq_init_attr_ex cq{};
	cq.cqe = 16;
	cq.wc_flags = all_wc_flags;
	EXPECT_EQ(error_of(ibv_create_cq_ex(context, &cq)), EIO);
	ibv_srq_init_attr srq{};
	srq.attr = {16, 1, 0};
	EXPECT_EQ(error_of(ibv_create_srq(pd, &srq)), EIO);
	EXPECT_EQ(error_of(ibv_create_qp(pd, &objects->attr)), EIO);
	ibv_qp_init_attr_ex qp{};
	qp.send_cq = qp.recv_cq = objects->cq.get();
	qp.cap = {4, 4, 1, 1, 0};
	qp.qp_type = IBV_QPT_RC;
	qp.pd = pd;
	qp.comp_mask = IBV_QP_INIT_ATTR_PD;
	EXPECT_EQ(error_of(ibv_create_qp_ex(context, &qp)), EIO);
}

TEST_F(removed, memory__EIO)
{
	Region &region = objects->region;
	EXPECT_EQ(error_of(ibv_reg_mr(pd, region.data(), 4096, all_access)), EIO);
	EXPECT_EQ(error_of(ibv_reg_mr_iova(pd, region.data(), 4096, 0, all_access)), EIO);
	EXPECT_EQ(error_of(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, all_access)), EIO);
	EXPECT_EQ(error_of(ibv_alloc_mw(pd, IBV_MW_TYPE_2)), EIO);
	EXPECT_EQ(ibv_rereg_mr(region.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			       IBV_ACCESS_LOCAL_WRITE),
		  IBV_REREG_MR_ERR_CMD);
	EXPECT_EQ(errno, EIO);
	EXPECT_EQ(error_of(ibv_import_mr(pd, region.mr()->handle)), EIO);
}

TEST_F(removed, modify_and_query__EIO)
{
	ibv_device_attr device{};
	EXPECT_EQ(error_of(ibv_query_device(context, &device)), EIO);
	ibv_port_attr port{};
	EXPECT_EQ(error_of(ibv_query_port(context, 1, &port)), EIO);
	ibv_gid_entry gid{};
	EXPECT_EQ(error_of(ibv_query_gid_ex(context, 1, 0, &gid, 0)), EIO);
	EXPECT_EQ(error_of(ibv_resize_cq(objects->cq.get(), 128)), EIO);
	EXPECT_EQ(modify_state(objects->qp.get(), IBV_QPS_ERR), EIO);
	ibv_srq_attr srq{};
	EXPECT_EQ(error_of(ibv_query_srq(objects->srq.get(), &srq)), EIO);
	EXPECT_EQ(modify_srq(objects->srq.get(), IBV_SRQ_LIMIT, 0, 4), EIO);
	EXPECT_EQ(modify_srq(objects->srq.get(), IBV_SRQ_MAX_WR, 64, 0), EIO);
	ibv_qp_attr qp{};
	ibv_qp_init_attr init{};
	EXPECT_EQ(error_of(ibv_query_qp(objects->qp.get(), &qp, IBV_QP_STATE, &init)), EIO);
}

TEST_F(removed, import__fails)
{
	int fd = fcntl(context->cmd_fd, F_DUPFD_CLOEXEC, 0);
	EXPECT_EQ(ibv_import_device(fd), nullptr);
	close(fd);
}

// Post more requests than the rings have room for.
TEST_F(removed, post__EIO_however_often)
{
	ibv_qp *qp = objects->qp.get();
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(try_post(qp, send(2, {objects->region.sge(0, 8)})), EIO) << i;
		ASSERT_EQ(try_post_recv(qp, 3, {objects->region.sge(0, 8)}), EIO) << i;
		ASSERT_EQ(try_post_srq_recv(objects->srq.get(), 4, {objects->region.sge(0, 8)}),
			  EIO)
			<< i;
	}
}

TEST_F(removed, post__batch_EIO_however_often)
{
	ibv_qp *qp = objects->qp_ex.get();
	for (int i = 0; i < 100; i++) {
		request_in_a_batch(qp);
		ASSERT_EQ(ibv_wr_complete(ibv_qp_to_qp_ex(qp)), EIO) << i;
	}
	request_in_a_batch(qp);
	ibv_wr_abort(ibv_qp_to_qp_ex(qp));
}

TEST_F(removed, bind_mw__EIO)
{
	ibv_mw_bind bind{};
	bind.bind_info = {objects->region.mr(), objects->region.address(), 4096,
			  IBV_ACCESS_REMOTE_READ};
	EXPECT_EQ(error_of(ibv_bind_mw(objects->qp.get(), objects->window.get(), &bind)), EIO);
}

// Polling returns the requests that the removal flushed, and then an error.
TEST_F(removed, poll__flushed_then_EIO)
{
	ibv_wc wc{};
	ASSERT_EQ(ibv_poll_cq(objects->cq.get(), 1, &wc), 1);
	EXPECT_EQ(wc.wr_id, 1u);
	EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	for (int i = 0; i < 100; i++)
		ASSERT_LT(ibv_poll_cq(objects->cq.get(), 1, &wc), 0);
}

TEST_F(removed, poll__extended_EIO)
{
	ibv_poll_cq_attr attr{};
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(ibv_start_poll(reinterpret_cast<ibv_cq_ex *>(objects->cq_ex.get()),
					 &attr),
			  EIO);
}

TEST_F(removed, notify__EIO)
{
	for (int solicited : {0, 1}) {
		EXPECT_EQ(ibv_req_notify_cq(objects->cq.get(), solicited), EIO);
		EXPECT_EQ(ibv_req_notify_cq(objects->cq_ex.get(), solicited), EIO);
	}
	ibv_cq *cq = nullptr;
	void *cookie = nullptr;
	EXPECT_EQ(error_of(ibv_get_cq_event(objects->channel.get(), &cq, &cookie)), EIO);
}

// All objects of the library are destroyed, too: each reports its destruction (report_destroy()).
TEST_F(removed, destroy__everything)
{
	ASSERT_NE(getenv("RDMAV_ALLOW_DISASSOC_DESTROY"), nullptr);
	objects.reset();
}

// The module may be unloaded while the program still has the rings mapped.
TEST_F(removed, module__unloaded_while_rings_are_mapped)
{
	removal::remove(lab::b());
	lab::shell(lab::a(), "rmmod kwarp");
	ibv_wc wc{};
	EXPECT_EQ(ibv_poll_cq(objects->cq.get(), 1, &wc), 1);
	EXPECT_LT(ibv_poll_cq(objects->cq.get(), 1, &wc), 0);
	EXPECT_EQ(try_post(objects->qp.get(), send(2, {objects->region.sge(0, 8)})), EIO);
	objects.reset();
	lab::shell(lab::a(), "modprobe kwarp");
}
