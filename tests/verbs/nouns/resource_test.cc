// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The details of objects that "rdma resource show -dd" shows (Documentation/admin.rst).
#include <gtest/gtest.h>

#include <format>
#include <optional>
#include <regex>
#include <unistd.h>

#include "lab/host.h"
#include "rdma/endpoint.h"
#include "rdma/eventually.h"
#include "rdma/window.h"

using namespace rdma;

namespace {

struct resource : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

// The values of the detail that this process's objects of that kind have, separated by spaces.
std::string values(const lab::Host &host, const std::string &kind, const std::string &detail)
{
	const std::string all =
		lab::output(host, std::format("rdma -jdd resource show {} dev {} pid {}", kind,
					      host.device, getpid()));
	const std::regex field("\"(?:drv_)?" + detail + "\":\"?([^\",}]*)");
	std::string found;
	for (std::sregex_iterator i(all.begin(), all.end(), field), end; i != end; i++)
		found += (found.empty() ? "" : " ") + (*i)[1].str();
	return found;
}

std::string of_client(const Pair &pair, const std::string &detail)
{
	return lab::a().qp_detail(pair.client.qp()->qp_num, detail);
}

std::string of_server(const Pair &pair, const std::string &detail)
{
	return lab::b().qp_detail(pair.server.qp()->qp_num, detail);
}

// Receives of a queue pair that enters the error state: completions without a connection.
struct Flushed {
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	CompChannel channel = create_channel(context.get());
	Cq cq;
	Qp qp;
	Region region{pd.get(), 4096};

	explicit Flushed(int entries) : cq(create_cq(context.get(), entries, channel.get()))
	{
		ibv_qp_init_attr attr = qp_attr(cq.get());
		qp = create_qp(pd.get(), attr);
	}
	void receive(int count)
	{
		for (int i = 0; i < count; i++)
			post_recv(qp.get(), i, {region.sge(0, 64)});
	}
	std::string detail(const std::string &name) { return values(lab::a(), "cq", name); }
	// completions so far, and those not polled
	std::string count() { return detail("completions") + " " + detail("waiting"); }
};

} // namespace

TEST_F(resource, qp__queues)
{
	PairConfig config;
	config.client.send_wr = config.client.recv_wr = 10;
	config.server.send_wr = config.server.recv_wr = 5;
	Pair pair(config);
	for (int i = 0; i < 4; i++)
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(0, 64)});
	for (int i = 0; i < 3; i++)
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 64)}));
	wait_ok(pair.client.scq(), 3);
	wait_ok(pair.server.rcq(), 3);

	EXPECT_EQ(of_client(pair, "sq_size"), "16");
	EXPECT_EQ(of_client(pair, "rq_size"), "16");
	EXPECT_EQ(of_client(pair, "sq_fetched"), "3");
	EXPECT_EQ(of_client(pair, "sq_done"), "3");
	EXPECT_EQ(of_client(pair, "rq_fetched"), "0");
	EXPECT_EQ(of_server(pair, "sq_size"), "8");
	EXPECT_EQ(of_server(pair, "rq_size"), "8");
	EXPECT_EQ(of_server(pair, "sq_fetched"), "0");
	EXPECT_EQ(of_server(pair, "sq_done"), "0");
	EXPECT_EQ(of_server(pair, "rq_fetched"), "3");
}

TEST_F(resource, qp__read_without_an_answer)
{
	constexpr size_t size = 8 << 20; // more than the server's send buffer holds
	Config config;
	config.memory = size;
	Pair pair(both(config));
	auto counts = [&] {
		return of_client(pair, "reads_out") + of_client(pair, "reads_in") +
		       of_server(pair, "reads_out") + of_server(pair, "reads_in");
	};
	EXPECT_EQ(counts(), "0000");
	std::optional<lab::Netem> requests, responses;
	requests.emplace(lab::a(), "loss 100%");
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, size)}, pair.server.remote()));
	EXPECT_TRUE(eventually([&] { return counts() == "1000"; })) << counts();
	EXPECT_EQ(of_client(pair, "sq_fetched"), "1");
	EXPECT_EQ(of_client(pair, "sq_done"), "0");
	responses.emplace(lab::b(), "loss 100%");
	requests.reset();
	EXPECT_TRUE(eventually([&] { return counts() == "1001"; })) << counts();
	responses.reset();
	wait_ok(pair.client.scq());
	EXPECT_EQ(counts(), "0000");
	EXPECT_EQ(of_client(pair, "sq_done"), "1");
}

TEST_F(resource, qp__terminate)
{
	Pair pair;
	Remote nowhere = pair.server.remote();
	nowhere.rkey ^= 0x40000000;
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 8)}, nowhere));
	EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_EQ(of_server(pair, "terminate"), "sent 1/1/0");
	EXPECT_EQ(of_client(pair, "terminate"), "received 1/1/0");
}

TEST_F(resource, cq__completions)
{
	Flushed f(50);
	EXPECT_EQ(f.detail("size"), "64");
	EXPECT_EQ(f.count(), "0 0");
	f.receive(3);
	ASSERT_EQ(modify_state(f.qp.get(), IBV_QPS_ERR), 0);
	EXPECT_TRUE(eventually([&] { return f.count() == "3 3"; })) << f.count();
	wait(f.cq.get());
	EXPECT_EQ(f.count(), "3 2");
	EXPECT_EQ(f.detail("overflow"), "0");
	EXPECT_EQ(f.detail("event_due"), "0");
}

TEST_F(resource, cq__armed)
{
	Flushed f(50);
	ASSERT_EQ(modify_state(f.qp.get(), IBV_QPS_ERR), 0);
	EXPECT_EQ(f.detail("armed"), "none");
	ASSERT_EQ(ibv_req_notify_cq(f.cq.get(), 1), 0);
	EXPECT_EQ(f.detail("armed"), "solicited");
	ASSERT_EQ(ibv_req_notify_cq(f.cq.get(), 0), 0);
	EXPECT_EQ(f.detail("armed"), "any");
	f.receive(1);
	EXPECT_TRUE(eventually([&] { return f.detail("armed") == "none"; }));
}

TEST_F(resource, cq__moderation)
{
	Flushed f(50);
	ibv_modify_cq_attr attr{};
	attr.attr_mask = IBV_CQ_ATTR_MODERATE;
	attr.moderate = {7, UINT16_MAX};
	ASSERT_EQ(ibv_modify_cq(f.cq.get(), &attr), 0);
	EXPECT_EQ(f.detail("mod_count") + " " + f.detail("mod_period"), "7 65535");
}

TEST_F(resource, cq__overflow)
{
	Flushed f(2);
	AsyncEvents events(f.context.get());
	f.receive(f.cq->cqe + 1);
	ASSERT_EQ(modify_state(f.qp.get(), IBV_QPS_ERR), 0);
	EXPECT_EQ(events.of(f.cq.get()).event_type, IBV_EVENT_CQ_ERR);
	EXPECT_EQ(f.detail("overflow"), "1");
	EXPECT_EQ(f.count(), "2 2");
}

TEST_F(resource, cq__id)
{
	// as in events of the trace; unique in the device
	Flushed f(2);
	const std::string one = f.detail("id");
	EXPECT_FALSE(one.empty());
	Cq other = create_cq(f.context.get(), 2);
	const std::string all = f.detail("id");
	EXPECT_TRUE(all.starts_with(one + " ") && all != one + " " + one) << all;
}

TEST_F(resource, srq__receives)
{
	Pair first;
	Srq srq = create_srq(first.server.pd(), 10);
	Region memory(first.server.pd(), 4096);
	PairConfig config;
	config.server.pd = first.server.pd();
	config.server.srq = srq.get();
	Pair pair(config);
	auto counts = [&] {
		return values(lab::b(), "srq", "rq_fetched") + " " +
		       values(lab::b(), "srq", "rq_posted") + " " +
		       values(lab::b(), "srq", "limit");
	};
	EXPECT_EQ(values(lab::b(), "srq", "rq_size"), "16");
	for (int i = 0; i < 5; i++)
		post_srq_recv(srq.get(), i, {memory.sge(0, 64)});
	ASSERT_EQ(modify_srq(srq.get(), IBV_SRQ_LIMIT, 0, 2), 0);
	EXPECT_EQ(counts(), "0 5 2");
	for (int i = 0; i < 2; i++)
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 64)}));
	wait_ok(pair.server.rcq(), 2);
	EXPECT_EQ(counts(), "2 3 2");
}

TEST_F(resource, mr__layout_and_windows)
{
	constexpr size_t size = 10 * 4096;
	constexpr int access = all_access | IBV_ACCESS_MW_BIND;
	Config config;
	config.memory = size;
	config.access = access;
	Pair pair(both(config));
	post(pair.client.qp(), write(1, {}, pair.server.remote())); // the server may send then
	wait_ok(pair.client.scq());
	auto detail = [](const std::string &name) { return values(lab::b(), "mr", name); };
	EXPECT_EQ(detail("kind"), "user");
	EXPECT_EQ(detail("valid"), "1");
	EXPECT_EQ(std::stoul(detail("access"), nullptr, 0), static_cast<unsigned long>(access));
	EXPECT_GE(std::stoul(detail("blocks")) << std::stoul(detail("block_shift")), size);
	EXPECT_EQ(detail("windows"), "0");
	Mw mw = alloc_mw(pair.server.pd(), IBV_MW_TYPE_2);
	bind_type2(pair.server.qp(), mw.get(), 1,
		   {pair.server.memory().mr(), pair.server.memory().address(0), 100,
		    IBV_ACCESS_REMOTE_READ});
	wait_ok(pair.server.scq());
	EXPECT_EQ(detail("windows"), "1");
	post(pair.server.qp(), local_inv(2, mw->rkey));
	wait_ok(pair.server.scq());
	EXPECT_EQ(detail("windows"), "0");
}
