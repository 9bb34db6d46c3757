// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Completion queues that are resized: no completion is lost or duplicated.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <thread>

#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct cq_resize : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

int resize(ibv_cq *cq, int entries)
{
	int ret = ibv_resize_cq(cq, entries);
	return ret < 0 ? errno : ret;
}

// Signalled writes, numbered from first on.
void write_some(Pair &pair, int first, int count)
{
	for (int i = first; i < first + count; i++)
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
}

// On return this many completions, numbered from 0, wait to be polled: the peer has received the
// last message, and we its answer.
void let_wait(Pair &pair, int count)
{
	post_recv(pair.server.qp(), 0, {pair.server.memory().sge(0, 8)});
	write_some(pair, 0, count - 1);
	post(pair.client.qp(), send(count - 1, {pair.client.memory().sge(0, 8)}));
	wait_ok(pair.server.rcq());
	post(pair.server.qp(), read(1, {pair.server.memory().sge(0, 8)}, pair.client.remote()));
	wait_ok(pair.server.scq());
}

} // namespace

TEST_F(cq_resize, size__granted)
{
	Context context = open_device(lab::a().device);
	Cq cq = create_cq(context.get(), 16);
	for (int entries : {1, 100, 7, 4096, 16}) {
		EXPECT_EQ(resize(cq.get(), entries), 0);
		EXPECT_GE(cq->cqe, entries);
	}
}

TEST_F(cq_resize, size__refused)
{
	Context context = open_device(lab::a().device);
	Cq cq = create_cq(context.get(), 16);
	int before = cq->cqe;
	EXPECT_EQ(resize(cq.get(), 0), EINVAL);
	EXPECT_EQ(resize(cq.get(), query_device(context.get()).max_cqe + 1), EINVAL);
	EXPECT_EQ(cq->cqe, before);
}

TEST_F(cq_resize, waiting__stay_in_order)
{
	Config config;
	config.cq_entries = 16;
	Pair pair(both(config));
	// rings at several positions, including wrapped ones
	for (int round = 0; round < 4; round++) {
		let_wait(pair, 11);
		ASSERT_EQ(resize(pair.client.scq(), round % 2 ? 16 : 64), 0);
		std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 11);
		for (int i = 0; i < 11; i++)
			EXPECT_EQ(all[i].wr_id, uint64_t(i));
	}
}

TEST_F(cq_resize, waiting__more_than_would_fit)
{
	Pair pair;
	let_wait(pair, 9);
	int before = pair.client.scq()->cqe;
	EXPECT_EQ(resize(pair.client.scq(), 2), EINVAL);
	EXPECT_EQ(pair.client.scq()->cqe, before);
	std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 9);
	for (int i = 0; i < 9; i++)
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
}

TEST_F(cq_resize, arming__goes_along)
{
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.client.scq(), 0), 0);
	ASSERT_EQ(resize(pair.client.scq(), 1000), 0);
	write_some(pair, 0, 1);
	ASSERT_TRUE(readable(pair.client.comp_channel()->fd, patience));
	ibv_cq *cq = nullptr;
	void *cookie;
	ASSERT_EQ(ibv_get_cq_event(pair.client.comp_channel(), &cq, &cookie), 0);
	ibv_ack_cq_events(cq, 1);
	EXPECT_EQ(cq, pair.client.scq());
	wait_ok(pair.client.scq());
}

TEST_F(cq_resize, traffic__nothing_is_lost)
{
	constexpr int total = 2000, window = 32;
	Pair pair;
	std::atomic<bool> stop = false;
	std::atomic<int> resized = 0, failed = 0;
	std::thread resizer([&] {
		for (int i = 0; !stop; i++) {
			(resize(pair.client.scq(), i % 2 ? 64 : 1024) ? failed : resized)++;
			usleep(500); // the lock of the queue is not fair
		}
	});
	std::string error;
	try {
		int posted = 0, polled = 0;
		while (polled < total || !resized) {
			for (; posted < polled + window; posted++)
				write_some(pair, posted, 1);
			ibv_wc wc = wait_ok(pair.client.scq());
			if (wc.wr_id != uint64_t(polled))
				throw Failure("got " + std::to_string(wc.wr_id) + " instead of " +
					      std::to_string(polled));
			polled++;
		}
		wait_ok(pair.client.scq(), posted - polled);
	} catch (const std::exception &e) {
		error = e.what();
	}
	stop = true;
	resizer.join();
	EXPECT_EQ(error, "");
	EXPECT_GT(resized, 0);
	EXPECT_EQ(failed, 0);
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(pair.client.scq(), 1, &wc), 0);
}
