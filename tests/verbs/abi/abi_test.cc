// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Providers that are older or newer than the module, with shorter or longer structures.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>

#include "kwarpdv.h"
#include "lab/host.h"
#include "raw.h"
#include "rdma/objects.h"

using namespace rdma;
using raw::Bytes;

namespace {

struct abi : testing::Test {
	void SetUp() override
	{
		if (!lab::a().is_kwarp())
			GTEST_SKIP() << "kwarp only";
	}

	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());

	// The driver's part of the reply, or an errno.
	raw::Reply<ib_uverbs_create_cq_resp> create_cq(const Bytes &driver, size_t room)
	{
		ib_uverbs_create_cq request{};
		request.cqe = 16;
		request.comp_channel = -1;
		auto reply = raw::command<ib_uverbs_create_cq_resp>(context->cmd_fd,
								    IB_USER_VERBS_CMD_CREATE_CQ,
								    request, driver, room);
		if (!reply.error) {
			ib_uverbs_destroy_cq destroy{};
			destroy.cq_handle = reply.core.cq_handle;
			EXPECT_EQ(raw::command<ib_uverbs_destroy_cq_resp>(
					  context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_CQ, destroy,
					  {}, 0)
					  .error,
				  0);
		}
		return reply;
	}
	// In a context of its own.
	raw::Reply<ib_uverbs_get_context_resp> get_context(const Bytes &driver, size_t room)
	{
		std::string path = std::string("/dev/infiniband/") + context->device->dev_name;
		int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
		if (fd < 0)
			throw Failure(path, errno);
		auto reply = raw::command<ib_uverbs_get_context_resp>(fd,
								      IB_USER_VERBS_CMD_GET_CONTEXT,
								      ib_uverbs_get_context{},
								      driver, room);
		if (!reply.error)
			close(reply.core.async_fd);
		close(fd);
		return reply;
	}
	int resize_srq(ibv_srq *srq, uint32_t size, const Bytes &driver)
	{
		ib_uverbs_modify_srq request{};
		request.srq_handle = srq->handle;
		request.attr_mask = IBV_SRQ_MAX_WR;
		request.max_wr = size;
		return raw::command(context->cmd_fd, IB_USER_VERBS_CMD_MODIFY_SRQ, request, driver);
	}
};

template <class T>
T as(const Bytes &from)
{
	T value{};
	memcpy(&value, from.data(), std::min(from.size(), sizeof(value)));
	return value;
}

constexpr size_t alloc_ctx_v1 = 16, modify_srq_v1 = 8;

} // namespace

TEST_F(abi, reply__as_much_as_there_is_room_for)
{
	const size_t size = sizeof(kwarp_uresp_create_cq);
	for (size_t room : {size, size - 4, size - 8, size_t{8}, size_t{0}, size + 4, size + 64}) {
		auto reply = create_cq({}, room);
		ASSERT_EQ(reply.error, 0) << room;
		auto known = as<kwarp_uresp_create_cq>(reply.driver);
		EXPECT_EQ(known.mmap_size != 0, room >= 12) << room;
		EXPECT_EQ(known.num_cqe, room >= 20 ? 16u : 0u) << room;
		for (size_t i = size; i < room; i++)
			ASSERT_EQ(reply.driver[i], 0) << room;
	}
}

TEST_F(abi, request__zeros_at_the_end_say_nothing)
{
	const size_t room = sizeof(kwarp_uresp_create_cq);
	EXPECT_EQ(create_cq(Bytes(64), room).error, 0);
	for (size_t at : {0, 4, 63}) {
		Bytes more(64);
		more[at] = 1;
		EXPECT_EQ(create_cq(more, room).error, EOPNOTSUPP) << at;
	}
}

// The first version of the provider asks for nothing and knows 16 bytes.
TEST_F(abi, context__of_the_first_version)
{
	auto reply = get_context({}, alloc_ctx_v1);
	ASSERT_EQ(reply.error, 0);
	auto known = as<kwarp_uresp_alloc_ctx>(reply.driver);
	EXPECT_EQ(known.abi_version, unsigned{KWARP_ABI_VERSION});
	EXPECT_EQ(known.max_inline, unsigned{KWARP_MAX_INLINE});
	EXPECT_EQ(known.cqe_size, sizeof(kwarp_cqe));
	EXPECT_EQ(known.features, 0u);
}

TEST_F(abi, context__features)
{
	kwarp_ureq_alloc_ctx request{};
	auto features = [&](size_t length) {
		auto reply = get_context(raw::cut(raw::bytes(request), length),
					 sizeof(kwarp_uresp_alloc_ctx));
		EXPECT_EQ(reply.error, 0) << length;
		auto known = as<kwarp_uresp_alloc_ctx>(reply.driver);
		EXPECT_TRUE(known.comp_mask & KWARP_ALLOC_CTX_FEATURES);
		EXPECT_EQ(known.max_sge, unsigned{KWARP_MAX_SGE});
		EXPECT_EQ(known.max_attach_message, unsigned{KWARP_ATTACH_MESSAGE_MAX});
		return known.features;
	};
	EXPECT_EQ(features(sizeof(request)), 0u);
	request.features = ~0ull;
	EXPECT_EQ(features(sizeof(request)), uint64_t{KWARP_FEATURE_ATTACH})
		<< "unknown features are ignored";
	EXPECT_EQ(features(8), 0u) << "a part of the field";
	EXPECT_EQ(features(sizeof(request) + 32), uint64_t{KWARP_FEATURE_ATTACH});
}

TEST_F(abi, context__of_a_newer_version)
{
	const size_t room = sizeof(kwarp_uresp_alloc_ctx) + 32;
	auto reply = get_context({}, room);
	ASSERT_EQ(reply.error, 0);
	for (size_t i = sizeof(kwarp_uresp_alloc_ctx); i < room; i++)
		ASSERT_EQ(reply.driver[i], 0) << i;
	kwarp_ureq_alloc_ctx request{};
	EXPECT_EQ(get_context(raw::cut(raw::bytes(request), sizeof(request) + 8, 1), room).error,
		  EOPNOTSUPP);
	request.comp_mask = 1;
	EXPECT_EQ(get_context(raw::bytes(request), room).error, EOPNOTSUPP)
		<< "comp_mask must not be ignored";
}

TEST_F(abi, modify_srq__reply)
{
	Srq srq = create_srq(pd.get(), 16);
	const size_t size = sizeof(kwarp_uresp_create_srq);
	uint32_t elements = 32;
	struct Case {
		size_t request; // bytes
		uint32_t length;
		size_t written;
	};
	// The request of the first version, which has no length; several lengths; a longer request.
	for (const Case &c :
	     {Case{modify_srq_v1, 0, size}, Case{16, 0, size}, Case{16, 8, 8},
	      Case{16, uint32_t(size), size}, Case{16, 64, 64}, Case{48, uint32_t(size), size}}) {
		Bytes reply(128, raw::untouched);
		kwarp_ureq_modify_srq request{};
		request.resp_addr = reinterpret_cast<uintptr_t>(reply.data());
		request.resp_len = c.length;
		ASSERT_EQ(resize_srq(srq.get(), elements, raw::cut(raw::bytes(request), c.request)),
			  0)
			<< c.request << " " << c.length;
		EXPECT_EQ(as<kwarp_uresp_create_srq>(reply).num_rqe == elements, c.written >= size);
		for (size_t i = size; i < c.written; i++)
			ASSERT_EQ(reply[i], 0) << i;
		for (size_t i = c.written; i < reply.size(); i++)
			ASSERT_EQ(reply[i], raw::untouched)
				<< "wrong data: behind the reply, " << i;
		elements *= 2;
	}
}

TEST_F(abi, modify_srq__refused)
{
	Srq srq = create_srq(pd.get(), 16);
	const uint32_t before = query_srq(srq.get()).max_wr;
	Bytes reply(128);
	kwarp_ureq_modify_srq request{};
	request.resp_addr = reinterpret_cast<uintptr_t>(reply.data());
	EXPECT_EQ(resize_srq(srq.get(), 64, {}), EINVAL) << "nowhere";
	EXPECT_EQ(resize_srq(srq.get(), 64, raw::cut(raw::bytes(request), 4)), EINVAL);
	EXPECT_EQ(resize_srq(srq.get(), 64, raw::cut(raw::bytes(request), 24, 1)), EOPNOTSUPP);
	request.resp_len = 1 << 20;
	EXPECT_EQ(resize_srq(srq.get(), 64, raw::bytes(request)), EINVAL) << "longer than a reply";
	request.resp_len = 0;
	for (uint64_t nowhere : {uint64_t{0}, uint64_t{8}, ~uint64_t{7}, uint64_t{1} << 63}) {
		request.resp_addr = nowhere;
		EXPECT_EQ(resize_srq(srq.get(), 64, raw::bytes(request)), EFAULT) << nowhere;
	}
	EXPECT_EQ(query_srq(srq.get()).max_wr, before);
}

// The values of the parameters are tested in attach/*. There is no socket here; the kernel checks
// the parameters before the socket.
TEST_F(abi, attach__parameters)
{
	Cq cq = rdma::create_cq(context.get(), 16);
	ibv_qp_init_attr init = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), init);
	auto attach = [&](const Bytes &params) {
		kwarpdv_cmd cmd;
		kwarpdv_cmd_init(&cmd, KWARP_METHOD_QP_ATTACH, KWARP_ATTR_ATTACH_QP, qp.get());
		kwarpdv_cmd_attr(&cmd, KWARP_ATTR_ATTACH_FD, 0)->data_s64 = 1 << 20;
		kwarpdv_cmd_in(&cmd, KWARP_ATTR_ATTACH_PARAMS, params.data(), params.size());
		return kwarpdv_cmd_run(&cmd, qp.get());
	};
	Bytes params = raw::bytes(kwarp_attach_params{});
	EXPECT_EQ(attach(params), EBADF);
	EXPECT_EQ(attach(raw::cut(params, params.size() + 32)), EBADF);
	EXPECT_EQ(attach(raw::cut(params, params.size() + 32, 1)), EOPNOTSUPP);
	EXPECT_EQ(attach(raw::cut(params, params.size() - 4)), EINVAL);
}

TEST_F(abi, attach__result)
{
	Cq cq = rdma::create_cq(context.get(), 16);
	ibv_qp_init_attr init = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), init);
	auto wait = [&](size_t room) {
		Bytes result(room);
		uint32_t ms = 0;
		kwarpdv_cmd cmd;
		kwarpdv_cmd_init(&cmd, KWARP_METHOD_QP_ATTACH_WAIT, KWARP_ATTR_ATTACH_WAIT_QP,
				 qp.get());
		kwarpdv_cmd_in(&cmd, KWARP_ATTR_ATTACH_WAIT_MS, &ms, sizeof(ms));
		kwarpdv_cmd_out(&cmd, KWARP_ATTR_ATTACH_WAIT_RESULT, result.data(), result.size());
		return kwarpdv_cmd_run(&cmd, qp.get());
	};
	EXPECT_EQ(wait(sizeof(kwarp_attach_result)), ENOENT) << "nothing was attached";
	EXPECT_EQ(wait(sizeof(kwarp_attach_result) + 32), ENOENT);
	EXPECT_EQ(wait(sizeof(kwarp_attach_result) - 4), EINVAL);
}

// The index in the ring must not claim that more elements wait to be polled than were pushed.
TEST_F(abi, resize_cq__elements_that_were_never_pushed)
{
	constexpr uint32_t entries = 4096;
	ib_uverbs_create_cq create{};
	create.cqe = entries;
	create.comp_channel = -1;
	kwarp_uresp_create_cq made;
	const auto reply = raw::command<ib_uverbs_create_cq_resp>(context->cmd_fd,
								  IB_USER_VERBS_CMD_CREATE_CQ,
								  create, {}, sizeof(made));
	ASSERT_EQ(reply.error, 0);
	memcpy(&made, reply.driver.data(), sizeof(made));
	void *map = mmap(nullptr, made.mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 context->cmd_fd, static_cast<off_t>(made.mmap_key));
	ASSERT_NE(map, MAP_FAILED);
	auto *ctl = static_cast<volatile kwarp_ring_ctl *>(map);

	const auto resize = [&] {
		ib_uverbs_resize_cq request{};
		request.cq_handle = reply.core.cq_handle;
		request.cqe = entries;
		return raw::command<ib_uverbs_resize_cq_resp>(context->cmd_fd,
							      IB_USER_VERBS_CMD_RESIZE_CQ, request,
							      {}, sizeof(made))
			.error;
	};
	for (uint32_t never : {1u, entries, entries + 1, 1u << 31}) {
		ctl->user_idx = -never;
		EXPECT_EQ(resize(), EINVAL) << never;
	}
	ctl->user_idx = 0;
	EXPECT_EQ(resize(), 0);
	munmap(map, made.mmap_size);
	ib_uverbs_destroy_cq destroy{};
	destroy.cq_handle = reply.core.cq_handle;
	EXPECT_EQ(raw::command<ib_uverbs_destroy_cq_resp>(context->cmd_fd,
							  IB_USER_VERBS_CMD_DESTROY_CQ, destroy, {},
							  0)
			  .error,
		  0);
}
