// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// In each call, each allocation and each access to user memory fails once. The call may fail or
// succeed, but must leave no object, and the next request must work. The checks of the debug kernel
// find further errors.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <list>

#include "fault.h"
#include "ib_style/player.h"
#include "lab/host.h"
#include "link.h"
#include "loss/traffic.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

class fault : public testing::Test {
	void SetUp() override
	{
		if (!faults::supported())
			FAIL() << "a kernel without fault injection: use the debug kernel";
	}
};

// A connection with an exchange in both directions.
void talk(bool with_faults = false)
{
	Pair pair;
	for (Endpoint *end : {&pair.client, &pair.server})
		post_recv(end->qp(), 1, {end->memory().sge(0, 5000)});
	post(pair.client.qp(), send(1, {pair.client.memory().sge(0, 5000)}));
	post(pair.server.qp(), send(1, {pair.server.memory().sge(0, 5000)}));
	wait_ok(pair.client.rcq());
	wait_ok(pair.server.rcq());
	post(pair.client.qp(), read(2, {pair.client.memory().sge(0, 5000)}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	if (with_faults)
		faults::enough();
}

bool exists(const std::string &device)
{
	return std::filesystem::exists("/sys/class/infiniband/" + device);
}

} // namespace

TEST_F(fault, device__open)
{
	EXPECT_GT(faults::each([&] {
			  Context context = open_device(lab::a().device);
			  faults::enough();
			  query_device(context.get());
		  }),
		  1);
}

TEST_F(fault, pd__alloc)
{
	Context context = open_device(lab::a().device);
	EXPECT_GT(faults::each([&] {
			  Pd pd = alloc_pd(context.get());
			  faults::enough();
		  }),
		  1);
}

TEST_F(fault, mr__register)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Memory memory(300000);
	EXPECT_GT(faults::each([&] {
			  Mr mr = reg_mr(pd.get(), memory.data(), memory.size());
			  faults::enough();
		  }),
		  1);
}

TEST_F(fault, cq__create)
{
	Context context = open_device(lab::a().device);
	CompChannel channel = create_channel(context.get());
	EXPECT_GT(faults::each([&] {
			  Cq cq = create_cq(context.get(), 300, channel.get());
			  faults::enough();
		  }),
		  1);
}

TEST_F(fault, qp__create)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);
	EXPECT_GT(faults::each([&] {
			  ibv_qp_init_attr attr = qp_attr(cq.get(), 100, 4);
			  Qp qp = create_qp(pd.get(), attr);
			  faults::enough();
		  }),
		  1);
}

TEST_F(fault, connection__listen)
{
	EXPECT_GT(faults::each([] {
			  Listener listener(lab::b());
			  faults::enough();
		  }),
		  1);
	talk();
}

TEST_F(fault, connection__whole_life)
{
	// librdmacm has a PD for each device that has ids, and keeps an id that it could not
	// destroy after an error of rdma_migrate_id().
	Pair other;
	EXPECT_GT(faults::each([] { talk(true); }), 1);
	talk();
}

TEST_F(fault, traffic__memory_is_scarce)
{
	// A Send that finds no memory is retried, even if no other event would cause a retry.
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Traffic traffic;
	{
		// SCTP repeats a lost packet a second later, so few may be lost.
		faults::Scarce scarce(lab::a().is_mpa() ? 50 : 5);
		traffic.rounds(5);
		EXPECT_GT(scarce.failed(), 0);
	}
	traffic.rounds(1);
	EXPECT_EQ(traffic.state(), IBV_QPS_RTS);
}

TEST_F(fault, connection__memory_is_scarce)
{
	// Each attempt may fail, but may neither hang nor leave objects.
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	const int tries = lab::repetitions(50, 10);
	int failed = 0;
	{
		faults::Scarce scarce(1);
		for (int i = 0; i < tries; i++)
			try {
				talk();
			} catch (const Failure &) {
				failed++;
			}
		EXPECT_GT(scarce.failed(), 0);
	}
	std::cout << "# " << failed << " of " << tries << " failed\n";
	talk();
}

TEST_F(fault, rendezvous__memory_is_scarce)
{
	// Without memory for a connection, the partners look for each other again.
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	std::list<lab::Policy> policies;
	for (const lab::Host *host : {&lab::a(), &lab::b()}) {
		policies.emplace_back(*host, "rendezvous_port", ib_style::port);
		// TCP does not try again to send a FIN for which it had no memory
		policies.emplace_back(*host, "startup_timeout_ms", 3000);
	}
	int failed = 0;
	for (int i = 0; i < lab::repetitions(100, 30); i++) {
		ib_style::Player a(lab::a()), b(lab::b());
		faults::Scarce scarce(1);
		ib_style::introduce(a, b);
		ib_style::transfers(a, b);
		failed += scarce.failed();
	}
	EXPECT_GT(failed, 0);
}

// Some 3000 allocations, nearly all of them by the RDMA core for files in sysfs, and each call
// takes a fifth of a second.
TEST_F(fault, link__add)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	lab::Inside inside(lab::a());
	int error = 0;
	EXPECT_GT(faults::each(
			  [&error] {
				  ASSERT_FALSE(exists("kwarpF"))
					  << "left by the call before, whose result was "
					  << strerror(error);
				  error = faults::link_add("kwarpF", "lo");
				  faults::enough();
				  // the device exists, but the kernel had no memory to report it,
				  // or the report was lost on its way
				  bool unsaid = (error == ENOBUFS || error == EFAULT) &&
						exists("kwarpF");
				  if (!error || unsaid)
					  lab::shell(lab::a(), "rdma link delete kwarpF");
				  check(error, "rdma link add");
			  },
			  100),
		  1);
}
