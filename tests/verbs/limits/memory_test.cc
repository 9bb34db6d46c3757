// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All memory that a program makes the kernel allocate is charged to its control group and bounded.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "group.h"
#include "rdma/endpoint.h"
#include "rdma/window.h"
#include "user.h"

using namespace rdma;

namespace {

constexpr uint64_t mib = 1 << 20;
// The statistics are exact except for what each CPU has not yet reported.
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
	// Some of it is freed after a grace period.
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

// These pin nothing.
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

// A worker allocates what a connection needs; it is charged to the owner of the queue pair.
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
		// This includes the servers' queue pairs and sockets: less than a third.
		EXPECT_GE(group.kernel_memory(), before + count * 150 * 1024);
	});
}

namespace {

// A process in the group, whose clients connect when they are told to.
class Crowd {
public:
	Crowd(const limits::Group &group, const Listener &listener, const Config &config,
	      const Param &param, int count)
	{
		check(pipe(ready_), "pipe");
		check(pipe(go_), "pipe");
		fflush(stdout);
		child_ = fork();
		if (!child_)
			run(group, listener, config, param, count);
		char byte;
		check(read(ready_[0], &byte, 1) == 1 ? 0 : -1, "the clients' process has failed");
	}
	~Crowd()
	{
		kill(child_, SIGKILL);
		waitpid(child_, nullptr, 0);
		for (int fd : {ready_[0], ready_[1], go_[0], go_[1]})
			close(fd);
	}
	Crowd(const Crowd &) = delete;
	Crowd &operator=(const Crowd &) = delete;

	void go() const { check(write(go_[1], "", 1) == 1 ? 0 : -1, "write"); }

private:
	[[noreturn]] void run(const limits::Group &group, const Listener &listener,
			      const Config &config, const Param &param, int count) const
	{
		try {
			group.enter();
			std::vector<std::unique_ptr<Endpoint>> clients;
			for (int i = 0; i < count; i++) {
				clients.push_back(std::make_unique<Endpoint>(lab::a(), config));
				clients.back()->resolve(listener);
			}
			// All that is not the connect itself is done before the group is throttled.
			std::atomic<bool> go = false;
			std::vector<std::thread> threads;
			for (auto &client : clients)
				threads.emplace_back([&] {
					while (!go)
						usleep(1000);
					client->try_connect(param);
				});
			char byte;
			if (write(ready_[1], "", 1) != 1 || read(go_[0], &byte, 1) != 1)
				_exit(1);
			go = true;
			pause();
		} catch (const std::exception &e) {
			fprintf(stderr, "clients: %s\n", e.what());
		}
		_exit(1);
	}

	int ready_[2], go_[2];
	pid_t child_;
};

using Clock = std::chrono::steady_clock;

// The longest set-up of several connections, one after the other, until all is over.
template <class Over>
Clock::duration longest_set_up(Over over)
{
	Clock::duration longest{};
	for (int i = 0; i < 10 || !over(); i++) {
		const auto begin = Clock::now();
		Pair pair;
		longest = std::max(longest, Clock::now() - begin);
	}
	return longest;
}

} // namespace

// Whoever allocates on a throttled account waits, two seconds at a time: not a worker that serves
// others, too.
TEST_F(memory, throttled__keeps_nobody_else_waiting)
{
	lab::Policy ird_a(lab::a(), "ird", 128), ord_a(lab::a(), "ord", 128);
	lab::Policy ird_b(lab::b(), "ird", 128), ord_b(lab::b(), "ord", 128);
	constexpr int count = 24;
	Listener listener(lab::b());
	Param deep;
	deep.responder_resources = deep.initiator_depth = 128;
	Config config;
	config.sge = 16;
	config.send_wr = config.recv_wr = 8;
	const auto quiet = longest_set_up([] { return true; });
	Crowd crowd(group, listener, config, deep, count);
	std::atomic<bool> over = false;
	std::atomic<int> accepted = 0;
	std::thread server([&] {
		std::vector<std::unique_ptr<Endpoint>> servers;
		while (!over) {
			auto request = listener.channel().next(Milliseconds(20));
			if (!request || request->type != RDMA_CM_EVENT_CONNECT_REQUEST)
				continue;
			servers.push_back(std::make_unique<Endpoint>(*request, config));
			accepted += !servers.back()->try_accept(deep);
		}
	});
	group.throttle(true);
	crowd.go();
	const auto end = Clock::now() + patience;
	const auto longest =
		longest_set_up([&] { return accepted == count || Clock::now() > end; });
	group.throttle(false);
	over = true;
	server.join();
	EXPECT_EQ(accepted, count);
	EXPECT_LT(longest, std::chrono::seconds(1) + 5 * quiet);
	printf("# summary: the longest set-up beside a throttled user took %lld ms, without %lld\n",
	       static_cast<long long>(std::chrono::duration_cast<Milliseconds>(longest).count()),
	       static_cast<long long>(std::chrono::duration_cast<Milliseconds>(quiet).count()));
}
