// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Kernel memory that a program causes is charged to its control group, and is limited by the group.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <vector>

#include "group.h"
#include "rdma/endpoint.h"
#include "rdma/window.h"
#include "user.h"

using namespace rdma;

namespace {

constexpr uint64_t mib = 1 << 20;
// The statistics lack charges that the CPUs have not reported yet.
constexpr uint64_t noise = mib;

struct memory : testing::Test {
	limits::Group group;

	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
	void inside(const std::function<void()> &what)
	{
		limits::as_nobody(what, [&] { group.enter(); });
	}
	// Expects that making an object charges this much kernel memory, and that freeing it
	// returns all.
	template <class Make>
	void costs(const char *what, uint64_t bytes, Make make)
	{
		uint64_t before = group.kernel_memory();
		{
			auto made = make();
			EXPECT_GE(group.kernel_memory() + noise, before + bytes) << what;
		}
		EXPECT_TRUE(comes_back(before + noise))
			<< what << ": " << before << " before, " << group.kernel_memory();
	}
	// Waits, because some memory is freed after a grace period.
	bool comes_back(uint64_t bytes)
	{
		auto end = std::chrono::steady_clock::now() + patience;
		while (group.kernel_memory() > bytes) {
			if (std::chrono::steady_clock::now() > end)
				return false;
			usleep(10000);
		}
		return true;
	}
};

} // namespace

TEST_F(memory, queues__are_charged)
{
	inside([&] {
		Context context = open_device(lab::a().device);
		Pd pd = alloc_pd(context.get());
		Cq cq = create_cq(context.get(), 16);
		costs("a CQ", 8 * mib, [&] { return create_cq(context.get(), 8 * mib / 64); });
		costs("a CQ that grows", 8 * mib, [&] {
			Cq other = create_cq(context.get(), 16);
			EXPECT_EQ(ibv_resize_cq(other.get(), 8 * mib / 64), 0);
			return other;
		});
		costs("an SRQ", 4 * mib, [&] { return create_srq(pd.get(), 32768, 8); });
		costs("a QP", 6 * mib, [&] {
			ibv_qp_init_attr attr = qp_attr(cq.get(), 32768, 4);
			return create_qp(pd.get(), attr);
		});
	});
}

// The user gets an error and is not killed.
TEST_F(memory, queues__limit)
{
	group.limit_memory(48 * mib);
	inside([&] {
		Context context = open_device(lab::a().device);
		std::vector<Cq> many;
		errno = 0;
		while (many.size() < 32) {
			Cq cq(ibv_create_cq(context.get(), 4 * mib / 64, nullptr, nullptr, 0));
			if (!cq)
				break;
			many.push_back(std::move(cq));
		}
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_GE(many.size(), 4u);
		EXPECT_LE(many.size(), 12u);
		ASSERT_FALSE(many.empty());
		EXPECT_NE(ibv_resize_cq(many.back().get(), 32 * mib / 64), 0);
		many.pop_back();
		EXPECT_NO_THROW(create_cq(context.get(), 2 * mib / 64));
	});
	EXPECT_EQ(group.killed(), 0u);
}

// Windows pin no memory.
TEST_F(memory, windows__are_charged)
{
	inside([&] {
		Context context = open_device(lab::a().device);
		Pd pd = alloc_pd(context.get());
		costs("windows", 3 * mib, [&] {
			std::vector<Mw> many;
			for (int i = 0; i < 4500; i++)
				many.push_back(alloc_mw(pd.get(), IBV_MW_TYPE_2));
			return many;
		});
	});
}

// A worker allocates the memory of a connection, which is charged to the owner of the queue pair.
TEST_F(memory, connections__are_charged)
{
	lab::Policy ird_a(lab::a(), "ird", 128), ord_a(lab::a(), "ord", 128);
	lab::Policy ird_b(lab::b(), "ird", 128), ord_b(lab::b(), "ord", 128);
	constexpr int count = 32;

	limits::in_child([&] {
		group.enter();
		Listener listener(lab::b());
		Param deep;
		deep.responder_resources = deep.initiator_depth = 128;
		Config config;
		config.sge = 16;
		config.send_wr = config.recv_wr = 8;
		std::vector<std::unique_ptr<Endpoint>> clients, servers;
		for (int i = 0; i < count; i++) {
			clients.push_back(std::make_unique<Endpoint>(lab::a(), config));
			clients.back()->resolve(listener);
		}
		uint64_t before = group.kernel_memory();
		for (auto &client : clients) {
			client->connect(deep);
			servers.push_back(std::make_unique<Endpoint>(listener.request(), config));
			servers.back()->accept(deep);
			client->established();
			servers.back()->established();
		}
		// Includes queue pairs and sockets of the servers, which are less than a third.
		EXPECT_GE(group.kernel_memory(), before + count * 150 * 1024);
	});
}
