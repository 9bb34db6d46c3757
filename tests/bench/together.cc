// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// together COUNT SIZE MILLISECONDS: writes from host A to host B over COUNT connections at the same
// time, with a thread for each, and prints the sum of their rates in MiB/s. Several programs of
// perftest on two processors print no rates: each measures the frequency of its processor first,
// which fails while others use the processor, too.
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <sched.h>
#include <thread>
#include <vector>

#include "rdma/endpoint.h"

using namespace rdma;
using std::chrono::steady_clock;

namespace {

constexpr unsigned window = 16;
constexpr std::chrono::milliseconds warm_up{200};

// A connection, and a thread that keeps it busy between start() and finish().
class Writer {
public:
	explicit Writer(size_t size)
		: pair_(config(size)),
		  wr_(IBV_WR_RDMA_WRITE, 1, {pair_.client.memory().sge(0, size)},
		      pair_.server.remote())
	{
	}

	void start()
	{
		thread_ = std::jthread([this](const std::stop_token &stop) {
			try {
				write(stop);
			} catch (...) {
				failure_ = std::current_exception();
			}
		});
	}

	void finish()
	{
		thread_.request_stop();
		thread_.join();
		if (failure_)
			std::rethrow_exception(failure_);
	}

	// the number of messages that have completed
	uint64_t done() const { return done_; }

private:
	static PairConfig config(size_t size)
	{
		Config c;
		c.send_wr = window;
		c.memory = size;
		return both(c);
	}

	void write(const std::stop_token &stop)
	{
		uint64_t posted = 0;
		while (!stop.stop_requested()) {
			for (; posted - done_ < window; posted++) {
				ibv_send_wr *bad;
				check(ibv_post_send(pair_.client.qp(), wr_.get(), &bad),
				      "ibv_post_send");
			}
			const unsigned n = poll_ok(pair_.client.scq());
			done_ += n;
			if (!n)
				sched_yield(); // to the threads of the other connections
		}
	}

	Pair pair_;
	Send wr_;
	std::atomic<uint64_t> done_ = 0;
	std::exception_ptr failure_; // written by the thread, read when it has ended
	std::jthread thread_;
};

double rate(unsigned count, size_t size, std::chrono::milliseconds length)
{
	std::vector<std::unique_ptr<Writer>> writers;
	while (writers.size() < count)
		writers.push_back(std::make_unique<Writer>(size));
	auto done = [&] {
		uint64_t sum = 0;
		for (const auto &writer : writers)
			sum += writer->done();
		return sum;
	};
	for (const auto &writer : writers)
		writer->start();
	std::this_thread::sleep_for(warm_up);
	const uint64_t first = done();
	const auto begin = steady_clock::now();
	std::this_thread::sleep_for(length);
	const uint64_t messages = done() - first;
	const std::chrono::duration<double> time = steady_clock::now() - begin;
	for (const auto &writer : writers)
		writer->finish();
	return static_cast<double>(messages * size) / 1048576 / time.count();
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::cerr << "usage: together COUNT SIZE MILLISECONDS\n";
		return 2;
	}
	try {
		std::cout << rate(std::max(1U, static_cast<unsigned>(std::stoul(argv[1]))),
				  std::stoul(argv[2]),
				  std::chrono::milliseconds(std::stoul(argv[3])))
			  << '\n';
	} catch (const std::exception &e) {
		std::cerr << "together: " << e.what() << "\n";
		return 1;
	}
}
