// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// paced COUNT MICROSECONDS SIZE TIMES: sends COUNT messages from host A to host B, one every
// MICROSECONDS whatever the network does, and measures the latency of each: from its due time to
// its completion, whose time stamp the kernel takes from the same clock. Prints lines "word
// number": percentiles in microseconds. Writes the time of each completion to the file TIMES, in
// nanoseconds of the real time clock, which captures use.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>

#include "rdma/endpoint.h"

using namespace rdma;

namespace {

// The maximum number of messages in flight: enough to show the effect of a network that stalls.
constexpr unsigned depth = 2048;
constexpr uint64_t patience_ns = 20'000'000'000;

uint64_t now(clockid_t clock = CLOCK_MONOTONIC)
{
	timespec t{};
	clock_gettime(clock, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// The offset of the real time clock, from the try with the least time between the two readings.
uint64_t real_time_ahead()
{
	uint64_t best = UINT64_MAX, ahead = 0;
	for (int i = 0; i < 1000; i++) {
		const uint64_t before = now(), real = now(CLOCK_REALTIME), after = now();
		if (after - before < best) {
			best = after - before;
			ahead = real - (before + best / 2);
		}
	}
	return ahead;
}

// The beginning of a message.
struct Stamp {
	uint64_t number;
	uint64_t due;
};

class Paced {
public:
	Paced(unsigned count, uint64_t interval, size_t size)
		: count_(count), interval_(interval), size_(std::max(size, sizeof(Stamp))),
		  pair_(config(size_))
	{
		for (unsigned i = 0; i < depth; i++)
			post_recv(pair_.server.qp(), i, {slot(pair_.server, i)});
	}

	void run()
	{
		const uint64_t start = now() + 1'000'000;
		uint64_t progress = start;
		unsigned posted = 0, sent = 0;
		while (sent < count_ || took_.size() < count_) {
			const uint64_t t = now();
			const unsigned before = sent + static_cast<unsigned>(took_.size());
			if (posted < count_ && t >= start + posted * interval_ &&
			    posted < sent + depth && posted < took_.size() + depth) {
				send(posted, start + posted * interval_);
				posted++;
			}
			sent += poll_ok(pair_.client.scq());
			receive();
			if (sent + took_.size() != before)
				progress = t;
			if (t > progress + patience_ns)
				throw Failure("only " + std::to_string(took_.size()) +
					      " messages arrived");
		}
	}

	void print() const
	{
		std::vector<uint64_t> sorted = took_;
		std::ranges::sort(sorted);
		auto rank = [&](double share) {
			return sorted[static_cast<size_t>(share * (sorted.size() - 1))] / 1000.0;
		};
		std::cout << "messages " << count_ << "\nlat_p50 " << rank(0.5) << "\nlat_p90 "
			  << rank(0.9) << "\nlat_p99 " << rank(0.99) << "\nlat_p99.9 "
			  << rank(0.999) << "\nlat_max " << rank(1) << "\n";
	}

	void save(const std::string &file) const
	{
		std::ofstream out(file);
		const uint64_t ahead = real_time_ahead();
		for (uint64_t t : arrived_)
			out << t + ahead << '\n';
	}

private:
	static PairConfig config(size_t size)
	{
		Config c;
		c.send_wr = c.recv_wr = depth;
		c.cq_entries = 2 * depth;
		c.memory = depth * size;
		c.extended = true; // for completion time stamps
		return both(c);
	}

	ibv_sge slot(const Endpoint &end, unsigned i) const
	{
		return end.memory().sge(i % depth * size_, size_);
	}

	void send(unsigned i, uint64_t due)
	{
		const Stamp stamp{i, due};
		ibv_sge sge = slot(pair_.client, i);
		memcpy(reinterpret_cast<void *>(sge.addr), &stamp, sizeof(stamp));
		post(pair_.client.qp(), rdma::send(i, {sge}));
	}

	void receive()
	{
		auto *cq = reinterpret_cast<ibv_cq_ex *>(pair_.server.rcq());
		ibv_poll_cq_attr attr{};
		int ret = ibv_start_poll(cq, &attr);
		if (ret == ENOENT)
			return;
		for (; !ret; ret = ibv_next_poll(cq)) {
			check(cq->status ? EIO : 0, ibv_wc_status_str(cq->status));
			const unsigned i = static_cast<unsigned>(took_.size());
			Stamp stamp;
			memcpy(&stamp, reinterpret_cast<void *>(slot(pair_.server, i).addr),
			       sizeof(stamp));
			check(stamp.number != i ? EBADMSG : 0, "a message out of order");
			arrived_.push_back(ibv_wc_read_completion_ts(cq));
			took_.push_back(arrived_.back() - stamp.due);
			again_.push_back(i);
		}
		ibv_end_poll(cq);
		check(ret != ENOENT ? ret : 0, "ibv_next_poll");
		for (unsigned i : again_)
			post_recv(pair_.server.qp(), i, {slot(pair_.server, i)});
		again_.clear();
	}

	unsigned count_;
	uint64_t interval_;
	size_t size_;
	Pair pair_;
	std::vector<uint64_t> took_, arrived_;
	std::vector<unsigned> again_;
};

} // namespace

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::cerr << "usage: paced COUNT MICROSECONDS SIZE TIMES\n";
		return 2;
	}
	try {
		Paced paced(std::max(1U, static_cast<unsigned>(std::stoul(argv[1]))),
			    std::stoul(argv[2]) * 1000, std::stoul(argv[3]));
		paced.run();
		paced.print();
		paced.save(argv[4]);
	} catch (const std::exception &e) {
		std::cerr << "paced: " << e.what() << "\n";
		return 1;
	}
}
