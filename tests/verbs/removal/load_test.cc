// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The device is removed while threads use it in every way. Each thread must get an error.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "device.h"
#include "rdma/endpoint.h"
#include "rdma/eventually.h"

using namespace rdma;
using removal::error_of;

namespace {

// Each thread repeats its function until the function fails; all must fail with the same error.
class Threads {
public:
	void run(const std::function<int()> &call)
	{
		threads_.emplace_back([this, call] {
			int error;
			while (!(error = call()))
				calls_++;
			if (error != EIO)
				others_ = error;
		});
	}
	// Waits until each of them has had time to work.
	bool busy() const
	{
		return eventually([this] { return calls_ >= 100 * threads_.size(); });
	}
	// Waits until all threads have ended; returns EIO, or another error if a thread had one.
	int join()
	{
		for (std::thread &thread : threads_)
			thread.join();
		return others_;
	}

private:
	std::vector<std::thread> threads_;
	std::atomic<size_t> calls_ = 0;
	std::atomic<int> others_ = EIO;
};

int polled(ibv_cq *cq)
{
	ibv_wc wc[16];
	int n = ibv_poll_cq(cq, 16, wc);
	return n < 0 ? EIO : 0;
}

// A full queue is not an error.
int unless_full(int error)
{
	return error == ENOMEM ? 0 : error;
}

// Registers and deregisters memory.
int registers(ibv_pd *pd, void *data)
{
	ibv_mr *mr = ibv_reg_mr(pd, data, 4096, all_access);
	return mr ? error_of(ibv_dereg_mr(mr)) : errno;
}

int creates(ibv_context *context)
{
	ibv_cq *cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
	return cq ? error_of(ibv_destroy_cq(cq)) : errno;
}

int queries(ibv_qp *qp)
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};
	return error_of(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
}

struct removal_under_load : removal::Devices {
	static constexpr int rounds = 3;
};

// Writes, reads and their completions, from one thread.
std::function<int()> streams(Endpoint &from, Endpoint &to)
{
	return [&from, &to] {
		int error = unless_full(try_post(from.qp(), write(1, {from.memory().sge(0, 16384)},
								  to.remote())));
		if (!error)
			error = unless_full(try_post(from.qp(),
						     read(2, {from.memory().sge(0, 16384)},
							  to.remote(20000))));
		return error ? error : polled(from.scq());
	};
}

} // namespace

TEST_F(removal_under_load, traffic_and_verbs)
{
	for (int round = 0; round < rounds; round++) {
		Devices::SetUp();
		Pair pair;
		Threads threads;
		Memory memory(4096);
		threads.run(streams(pair.client, pair.server));
		threads.run([&] { return registers(pair.client.pd(), memory.data()); });
		threads.run([&] { return creates(pair.client.context()); });
		threads.run([&] { return queries(pair.client.qp()); });
		EXPECT_TRUE(threads.busy());
		removal::remove(lab::a());
		EXPECT_EQ(threads.join(), EIO);
	}
}

TEST_F(removal_under_load, of_the_target)
{
	for (int round = 0; round < rounds; round++) {
		Devices::SetUp();
		Pair pair;
		Threads threads;
		threads.run([&] { return polled(pair.server.rcq()); });
		threads.run([&] {
			return unless_full(try_post_recv(pair.server.qp(), 1,
							 {pair.server.memory().sge(0, 64)}));
		});
		for (int i = 0; i < 16; i++)
			post(pair.client.qp(),
			     write(i, {pair.client.memory().sge(0, 60000)}, pair.server.remote()));
		EXPECT_TRUE(threads.busy());
		removal::remove(lab::b());
		EXPECT_EQ(threads.join(), EIO);
		// Each request completes once, whether it was sent or flushed.
		EXPECT_EQ(wait(pair.client.scq(), 16).size(), 16u);
		EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
	}
}

// Sleeping threads are woken.
TEST_F(removal_under_load, sleepers)
{
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.client.rcq(), 0), 0);
	int error = 0;
	std::thread completions([&] {
		ibv_cq *cq = nullptr;
		void *cookie = nullptr;
		while (!(error = error_of(ibv_get_cq_event(pair.client.comp_channel(), &cq,
							   &cookie))))
			ibv_ack_cq_events(cq, 1);
	});
	std::thread events([&] {
		ibv_async_event event{};
		do {
			if (ibv_get_async_event(pair.client.context(), &event))
				throw Failure("ibv_get_async_event", errno);
			ibv_ack_async_event(&event);
		} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	});
	removal::remove(lab::a());
	completions.join();
	events.join();
	EXPECT_EQ(error, EIO);
}
