// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// cost DRIVER VARIANT MTU [TEST [SIZE [COUNT]]]: measures the cost of messages, for both sides
// together. One thread has both ends of a connection, and the guest has one processor, whose clock
// counts instructions (QEMU's -icount). Therefore nanoseconds are instructions, and equal in every
// run. Prints records as guest.sh does. A single TEST, SIZE and COUNT are for profiling. With
// DRIVER "tcp" the messages are sent over TCP, without RDMA; they are compared with Writes.
#include <chrono>
#include <functional>
#include <iostream>
#include <numeric>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <vector>

#include "iwarp/socket.h"
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

// Where nothing can be done until a thread of the kernel has run, the program yields, so that the
// instructions of polling do not count.
void wait_polling(ibv_cq *cq)
{
	while (!poll_ok(cq))
		sched_yield();
}

// What the records of a run have in common.
struct Label {
	std::string driver, variant, mtu;

	void record(const std::string &test, size_t size, double value) const
	{
		std::cout << "1\t" << driver << '\t' << variant << '\t' << test << '\t' << size
			  << "\t1\t" << mtu << '\t' << value << std::endl;
	}
};

class Bench {
public:
	explicit Bench(Label label) : label_(std::move(label)), pair_(config())
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
		label_.record(test, size, (now() - start) / count);
	}

	void ping_pong(size_t size, unsigned count)
	{
		turns(size, window);
		double start = now();
		turns(size, count);
		label_.record("send_turn_cost", size, (now() - start) / count / 2);
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
			const unsigned before = posted + done + arrived;
			while (posted < count && posted - done < window &&
			       (!two_sided || posted - arrived < window)) {
				ibv_send_wr *bad;
				check(ibv_post_send(from.qp(), wr.get(), &bad), "ibv_post_send");
				posted++;
			}
			done += poll_ok(from.scq());
			unsigned n = two_sided ? poll_ok(to.rcq()) : 0;
			arrived += n;
			while (n--)
				post_recv(to.qp(), 1, {to.memory().sge(0, largest)});
			if (posted + done + arrived == before)
				sched_yield();
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

	Label label_;
	Pair pair_;
};

// A client with several queue pairs and a single CQ. It posts a group of RDMA Writes, of which the
// last one is signaled, on each queue pair that has none in progress, then polls.
class Many {
public:
	explicit Many(Label label) : label_(std::move(label))
	{
		for (unsigned i = 0; i < queue_pairs; i++) {
			PairConfig c = both(Config{});
			c.client.cq = i ? pairs_[0]->client.scq() : nullptr;
			pairs_.push_back(std::make_unique<Pair>(c));
		}
	}

	// The first pair has the CQ.
	~Many()
	{
		while (!pairs_.empty())
			pairs_.pop_back();
	}

	// Sends at least @count messages.
	void stream(const std::string &test, size_t size, unsigned count)
	{
		const unsigned groups = count / (queue_pairs * group) + 1;
		run(size, 2);
		double start = now();
		run(size, groups);
		label_.record(test, size, (now() - start) / (groups * queue_pairs * group));
	}

private:
	static constexpr unsigned queue_pairs = 16, group = 16;

	void post_group(size_t index, size_t size)
	{
		Pair &pair = *pairs_[index];
		Send wr(IBV_WR_RDMA_WRITE, index, {pair.client.memory().sge(0, size)},
			pair.server.remote());
		wr.unsignaled();
		for (unsigned i = 1; i <= group; i++) {
			if (i == group)
				wr.flags(IBV_SEND_SIGNALED);
			ibv_send_wr *bad;
			check(ibv_post_send(pair.client.qp(), wr.get(), &bad), "ibv_post_send");
		}
	}

	void run(size_t size, unsigned groups)
	{
		std::vector<unsigned> done(queue_pairs); // groups
		std::vector<size_t> ready(queue_pairs);
		std::iota(ready.begin(), ready.end(), 0);
		for (unsigned left = groups * queue_pairs; left;) {
			for (size_t index : ready)
				post_group(index, size);
			ready.clear();
			ibv_wc wc[16];
			const int n = ibv_poll_cq(pairs_[0]->client.scq(), 16, wc);
			check(n < 0 ? EIO : 0, "ibv_poll_cq");
			for (int i = 0; i < n; i++) {
				check(wc[i].status ? EIO : 0, "completion");
				left--;
				if (++done[wc[i].wr_id] < groups)
					ready.push_back(wc[i].wr_id);
			}
			if (!n)
				sched_yield();
		}
	}

	Label label_;
	std::vector<std::unique_ptr<Pair>> pairs_;
};

// A connection over TCP without RDMA. The sender fills the buffers, then the receiver empties them.
class Stream {
public:
	explicit Stream(Label label) : label_(std::move(label))
	{
		auto listener = [] {
			lab::Inside inside(lab::b());
			return iwarp::Socket::listen({lab::b().ip4, 0});
		}();
		lab::Inside inside(lab::a());
		from_ = iwarp::Socket::connect({lab::b().ip4, listener.local().port()});
		to_ = listener.accept(iwarp::patience);
	}

	void stream(const std::string &test, size_t size, unsigned count)
	{
		run(size, 2 * window);
		double start = now();
		run(size, count);
		label_.record(test, size, (now() - start) / count);
	}

private:
	void run(size_t size, unsigned count)
	{
		const size_t all = size * count;
		size_t sent = 0, received = 0;
		while (received < all) {
			const size_t before = sent + received;
			while (sent < all) {
				const size_t rest = size - sent % size;
				const size_t n = moved(::send(from_.fd(), memory_.data(), rest,
							      MSG_DONTWAIT | MSG_NOSIGNAL));
				if (!n)
					break;
				sent += n;
			}
			while (const size_t n = moved(recv(to_.fd(), memory_.data(), memory_.size(),
							   MSG_DONTWAIT)))
				received += n;
			if (sent + received == before)
				sched_yield();
		}
	}

	// the bytes that a call has moved, 0 if it would have to wait
	static size_t moved(ssize_t n)
	{
		if (n < 0 && errno == EAGAIN)
			return 0;
		check(n <= 0 ? EIO : 0, "send or recv");
		return static_cast<size_t>(n);
	}

	Label label_;
	iwarp::Socket from_, to_;
	std::vector<char> memory_ = std::vector<char>(largest, 'x');
};

// A single test, if its name is not empty, a single size and number of messages, if they are not 0.
struct Selection {
	std::string test;
	size_t size;
	unsigned count;

	bool has(const std::string &name, size_t of) const
	{
		return (test.empty() || test == name) && (!size || size == of);
	}
	unsigned messages(size_t of) const
	{
		if (count)
			return count;
		return of == largest ? 200 : 1000;
	}
};

void rdma_tests(const Label &label, const Selection &wanted)
{
	Bench bench(label);
	for (size_t size : {size_t{64}, size_t{4096}, largest}) {
		for (auto &[name, opcode] : {std::pair{"write_cost", IBV_WR_RDMA_WRITE},
					     {"read_cost", IBV_WR_RDMA_READ},
					     {"send_cost", IBV_WR_SEND}})
			if (wanted.has(name, size))
				bench.stream(name, opcode, size, wanted.messages(size));
		if (size == 64 && wanted.has("send_turn_cost", size))
			bench.ping_pong(size, wanted.messages(size));
	}
}

void many_tests(const Label &label, const Selection &wanted)
{
	constexpr size_t size = 4096;
	if (wanted.has("write_many_cost", size))
		Many(label).stream("write_many_cost", size, 4 * wanted.messages(size));
}

void tcp_tests(const Label &label, const Selection &wanted)
{
	Stream stream(label);
	for (size_t size : {size_t{4096}, largest})
		if (wanted.has("write_cost", size))
			stream.stream("write_cost", size, wanted.messages(size));
}

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
		const Label label{argv[1], argv[2], argv[3]};
		const Selection wanted{argc > 4 ? argv[4] : "", argc > 5 ? std::stoul(argv[5]) : 0,
				       argc > 6 ? static_cast<unsigned>(std::stoul(argv[6])) : 0};
		if (label.driver == "tcp") {
			tcp_tests(label, wanted);
		} else {
			rdma_tests(label, wanted);
			many_tests(label, wanted);
		}
	} catch (const std::exception &e) {
		std::cerr << "cost: " << e.what() << "\n";
		return 1;
	}
}
