// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Counters of queue pairs ("rdma statistic qp"), which the RDMA core binds to a queue pair in
// modify_qp without a lock.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

// Each queue pair is bound to a counter of its type when it enters INIT.
class Auto {
public:
	Auto() { set("type on"); }
	~Auto()
	{
		try {
			set("off");
		} catch (const std::exception &e) {
			ADD_FAILURE() << e.what();
		}
	}
	Auto(const Auto &) = delete;
	Auto &operator=(const Auto &) = delete;

private:
	static void set(const std::string &mode)
	{
		lab::shell(lab::a(),
			   "rdma statistic qp set link " + lab::a().device + "/1 auto " + mode);
	}
};

// Reads the counter of each queue pair, and those of the port, which include them.
void read_counters()
{
	lab::shell(lab::a(), "rdma statistic qp show link " + lab::a().device + "/1 >/dev/null");
	lab::shell(lab::a(), "rdma statistic show link " + lab::a().device + "/1 >/dev/null");
}

int init(ibv_qp *qp)
{
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

struct counter : KwarpOnly {};

} // namespace

TEST_F(counter, bind__by_two_threads_at_once)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);
	ibv_qp_init_attr attr = qp_attr(cq.get(), 1);
	Auto automatic;
	for (int round = 0; round < lab::repetitions(50, 20); round++) {
		// Few enough that the kernel's dump of the counter fits into one message.
		std::vector<Qp> qps;
		for (int i = 0; i < 20; i++)
			qps.push_back(create_qp(pd.get(), attr));
		std::barrier together(2);
		auto each = [&] {
			for (const Qp &qp : qps) {
				together.arrive_and_wait();
				EXPECT_EQ(init(qp.get()), 0);
			}
		};
		std::thread other(each);
		each();
		other.join();
		read_counters();
		qps.clear();
		read_counters();
	}
}
