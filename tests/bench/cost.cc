// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// cost DRIVER VARIANT MTU [TEST [SIZE [COUNT]]]: measures the cost of messages, for both sides
// together. One thread has both ends of a connection, and the guest has one processor, whose clock
// counts instructions (QEMU's -icount). Therefore nanoseconds are instructions, and equal in every
// run. Prints records as guest.sh does. A single TEST, SIZE and COUNT are for profiling.
#include <chrono>
#include <functional>
#include <iostream>
#include <sys/mman.h>

#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr unsigned window = 32;
constexpr size_t largest = 65536;

double now()
{
	return std::chrono::duration<double, std::nano>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

unsigned poll(ibv_cq *cq)
{
	ibv_wc wc[16];
	int n = ibv_poll_cq(cq, 16, wc);
	check(n < 0 ? -n : 0, "ibv_poll_cq");
	for (int i = 0; i < n; i++)
		check(wc[i].status ? EIO : 0, ibv_wc_status_str(wc[i].status));
	return static_cast<unsigned>(n);
}

void wait_polling(ibv_cq *cq)
{
	while (!poll(cq))
		;
}

class Bench {
public:
	Bench(std::string driver, std::string variant, std::string mtu)
		: driver_(std::move(driver)), variant_(std::move(variant)), mtu_(std::move(mtu)),
		  pair_(config())
	{
		for (unsigned i = 0; i < 2 * window; i++)
			post_recv(pair_.server.qp(), i, {pair_.server.memory().sge(0, largest)});
		post_recv(pair_.client.qp(), 0, {pair_.client.memory().sge(0, largest)});
	}

	// Consecutive messages, at most one window of them in flight.
	void stream(const std::string &test, ibv_wr_opcode opcode, size_t size, unsigned count)
	{
		run(opcode, size, 2 * window);
		double start = now();
		run(opcode, size, count);
		record(test, size, (now() - start) / count);
	}

	void ping_pong(size_t size, unsigned count)
	{
		turns(size, window);
		double start = now();
		turns(size, count);
		record("send_turn_cost", size, (now() - start) / count / 2);
	}

private:
	static PairConfig config()
	{
		Config c;
		c.send_wr = c.recv_wr = 4 * window;
		c.cq_entries = 8 * window;
		// Use a huge page. Small pages may be contiguous or not, which differs between
		// runs and changes the cost of 64 KiB by up to 4 %.
		c.memory = 4 << 20;
		return both(c);
	}

	void run(ibv_wr_opcode opcode, size_t size, unsigned count)
	{
		Endpoint &from = pair_.client, &to = pair_.server;
		bool two_sided = opcode == IBV_WR_SEND;
		unsigned posted = 0, done = 0, arrived = two_sided ? 0 : count;
		std::optional<Remote> remote;
		if (!two_sided)
			remote = to.remote();
		Send wr(opcode, 1, {from.memory().sge(0, size)}, remote);
		while (done < count || arrived < count) {
			while (posted < count && posted - done < window &&
			       (!two_sided || posted - arrived < window)) {
				ibv_send_wr *bad;
				check(ibv_post_send(from.qp(), wr.get(), &bad), "ibv_post_send");
				posted++;
			}
			done += poll(from.scq());
			if (!two_sided)
				continue;
			unsigned n = poll(to.rcq());
			arrived += n;
			while (n--)
				post_recv(to.qp(), 1, {to.memory().sge(0, largest)});
		}
		// Writes complete when they are sent: one Read waits until they have arrived.
		Send last(IBV_WR_RDMA_READ, 2, {from.memory().sge(0, 1)}, to.remote());
		ibv_send_wr *bad;
		check(ibv_post_send(from.qp(), last.get(), &bad), "ibv_post_send");
		wait_polling(from.scq());
	}

	void turns(size_t size, unsigned count)
	{
		Send there(IBV_WR_SEND, 1, {pair_.client.memory().sge(0, size)});
		Send back(IBV_WR_SEND, 1, {pair_.server.memory().sge(0, size)});
		while (count--) {
			turn(pair_.client, pair_.server, there);
			turn(pair_.server, pair_.client, back);
		}
	}

	static void turn(Endpoint &from, Endpoint &to, Send &wr)
	{
		ibv_send_wr *bad;
		check(ibv_post_send(from.qp(), wr.get(), &bad), "ibv_post_send");
		wait_polling(to.rcq());
		post_recv(to.qp(), 1, {to.memory().sge(0, largest)});
		wait_polling(from.scq());
	}

	void record(const std::string &test, size_t size, double value)
	{
		std::cout << "1\t" << driver_ << '\t' << variant_ << '\t' << test << '\t' << size
			  << "\t1\t" << mtu_ << '\t' << value << std::endl;
	}

	std::string driver_, variant_, mtu_;
	Pair pair_;
};

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4 || argc > 7) {
		std::cerr << "usage: cost DRIVER VARIANT MTU [TEST [SIZE [COUNT]]]\n";
		return 2;
	}
	try {
		// While the guest waits for the disk of the host, its clock leaps from timer to
		// timer, past every limit: lock all pages, so that none is read from disk later.
		check(mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
		std::string test = argc > 4 ? argv[4] : "";
		size_t only = argc > 5 ? std::stoul(argv[5]) : 0;
		Bench bench(argv[1], argv[2], argv[3]);
		for (size_t size : {size_t{64}, size_t{4096}, largest}) {
			unsigned count = argc > 6	 ? std::stoul(argv[6]) :
					 size == largest ? 200 :
							   1000;
			auto wanted = [&](const std::string &name) {
				return (test.empty() || test == name) && (!only || only == size);
			};
			for (auto &[name, opcode] : {std::pair{"write_cost", IBV_WR_RDMA_WRITE},
						     {"read_cost", IBV_WR_RDMA_READ},
						     {"send_cost", IBV_WR_SEND}})
				if (wanted(name))
					bench.stream(name, opcode, size, count);
			if (size == 64 && wanted("send_turn_cost"))
				bench.ping_pong(size, count);
		}
	} catch (const std::exception &e) {
		std::cerr << "cost: " << e.what() << "\n";
		return 1;
	}
}
