// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The state of a queue pair beside its completions.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"
#include "rdma/urgent.h"

using namespace rdma;

namespace {

struct state : KwarpOnly {};

} // namespace

// Who sees the completion of an error may reset the queue pair at once. Another processor, which
// has delivered the completion, may not have entered ERR yet.
TEST_F(state, error__is_reset_at_once)
{
	constexpr int reads = 8;
	constexpr uint32_t size = 4096;
	for (int round = 0; round < lab::repetitions(200, 30); round++) {
		Pair pair;
		post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 8)});
		std::atomic<bool> waits{false};
		ibv_wc wc{};
		int result = -1;
		std::thread there([&] {
			waits = true;
			while (!ibv_poll_cq(pair.server.rcq(), 1, &wc))
				;
			result = modify_state(pair.server.qp(), IBV_QPS_RESET);
		});
		while (!waits)
			;
		// Over SCTP another context may get in while the answers to the Reads are sent.
		for (int i = 0; i < (round % 2 ? reads : 0); i++)
			post(pair.client.qp(),
			     read(2, {pair.client.memory().sge(0, size)}, pair.server.remote()));
		post(pair.client.qp(), send(1, {pair.client.memory().sge(0, 100)}));
		there.join();
		ASSERT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
		ASSERT_EQ(result, 0) << "round " << round;
	}
}
