// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Fuzzes the memory that a program shares with the kernel: indices, flags, elements of all queues,
// while the queues are posted to, resized, flushed, reset and destroyed. Prints TAP; a failed round
// prints its seed, and "--seed SEED --rounds 1" repeats it.
#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>

#include "cable.h"
#include "campaign.h"
#include "mutator.h"

namespace local_fuzz {
namespace {

constexpr unsigned host_rounds = 64; // lifetime of contexts and the objects on them
constexpr unsigned most_resizes = 40;
constexpr unsigned look = 64;	  // steps between two checks of the state
constexpr unsigned afterlife = 3; // checks of a QP in error

// How a connection ends, if the round gets that far.
enum class End { none, disconnect, error, drain, reset, destroy, close_ids, count };

struct Plan {
	Sizes a, b;
	unsigned bad;
	unsigned lives;
	unsigned steps; // of each thread
	bool connected;
	bool swapped;
	End end;
	unsigned end_at; // step
	bool end_beside; // by another thread
	bool resize, resize_beside;
	unsigned scribblers;
	bool poster;
	bool watched;
};

uint32_t queue_size(Dice &d)
{
	if (!d.below(40))
		return 32768;
	return d.any({1U, 2U, 3U, 4U, 8U, 16U, 33U, 64U, 64U, 128U, 256U, 1024U});
}

uint32_t cq_size(Dice &d)
{
	if (!d.below(100))
		return 1U << 20;
	return d.any({1U, 16U, 64U, 256U, 256U, 1024U, 4096U});
}

Sizes draw_sizes(Dice &d)
{
	Sizes s{};
	s.sq = queue_size(d);
	s.rq = d.below(10) ? queue_size(d) : 0;
	s.srq = d.chance(30) ? queue_size(d) : 0;
	s.cq = cq_size(d);
	s.sge = d.any({1U, 2U, 4U, 16U});
	s.inline_data = d.any({0U, 1U, 64U, 512U});
	s.one_cq = d.chance(30);
	s.sig_all = d.chance(30);
	return s;
}

Plan draw(Dice &d)
{
	Plan p{};
	p.a = draw_sizes(d);
	p.b = draw_sizes(d);
	p.bad = d.any({0U, 0U, 0U, 1U, 5U, 50U, 1000U});
	p.lives = 1 + d.below(3);
	p.steps = d.any({1000U, 2000U, 4000U, 8000U});
	p.connected = d.chance(85);
	p.swapped = d.chance(50);
	p.end = static_cast<End>(d.below(static_cast<uint32_t>(End::count)));
	p.end_at = d.below(p.steps);
	p.end_beside = d.chance(30);
	p.resize = d.chance(40);
	p.resize_beside = d.chance(30);
	p.scribblers = d.chance(25) ? 1 + d.below(2) : 0;
	p.poster = d.chance(20);
	p.watched = !p.scribblers && !p.poster && d.chance(80);
	return p;
}

uint32_t resized(Dice &d)
{
	if (!d.below(50))
		return limit_32(d);
	return 1 + d.below(d.any({4U, 64U, 256U, 2048U}));
}

class Round {
public:
	Round(uint64_t seed, Host &a, Host &b, Cable &cable, std::atomic<uint64_t> &mutations)
		: dice_(seed), plan_(draw(dice_)), cable_(cable), mutations_(mutations),
		  a_(a, board_, plan_.a), b_(b, board_, plan_.b)
	{
	}

	void run()
	{
		for (unsigned n = 0; n < plan_.lives && !gone_; n++) {
			if (n)
				revive();
			if (plan_.connected && !gone_)
				cable_.connect(a_.qpn(), b_.qpn(), plan_.swapped);
			life(n + 1 == plan_.lives);
			cable_.close();
		}
		after();
	}

private:
	Side &side(Dice &d) { return d.chance(50) ? a_ : b_; }

	void end(Dice &d)
	{
		switch (plan_.end) {
		case End::disconnect:
			cable_.disconnect(d.chance(50));
			break;
		case End::error:
			side(d).modify(IBV_QPS_ERR);
			break;
		case End::drain:
			side(d).modify(IBV_QPS_SQD);
			break;
		case End::reset: {
			Side &s = side(d);
			s.modify(IBV_QPS_ERR);
			s.modify(IBV_QPS_RESET);
			s.modify(IBV_QPS_INIT);
			break;
		}
		case End::destroy:
			gone_ = side(d).destroy_qp() == 0;
			break;
		case End::close_ids:
			cable_.close();
			break;
		default:
			break;
		}
	}

	void resize(Dice &d)
	{
		if (resizes_++ >= most_resizes)
			return;
		Side &s = side(d);
		if (d.chance(60))
			s.resize_cq(d.chance(50), resized(d));
		else
			s.resize_srq(resized(d));
	}

	// Starts the threads that run beside the leading one.
	void start_helpers()
	{
		auto start = [&](auto work) {
			helpers_.emplace_back([this, work, seed = dice_.two_words()] {
				work(seed);
			});
		};
		for (unsigned n = 0; n < plan_.scribblers; n++)
			start([this](uint64_t seed) { mutate(seed, &Mutator::step); });
		if (plan_.poster)
			start([this](uint64_t seed) { mutate(seed, &Mutator::good_step); });
		if (plan_.resize && plan_.resize_beside)
			start([this](uint64_t seed) {
				for (Dice d(seed); !stop_ && resizes_ < most_resizes;
				     usleep(d.below(500)))
					resize(d);
			});
		if (plan_.end_beside)
			start([this](uint64_t seed) {
				while (step_ < plan_.end_at && !stop_)
					usleep(100);
				Dice d(seed);
				if (!stop_)
					end(d);
			});
	}

	struct Joined {
		explicit Joined(Round &r) : round(r) {}
		~Joined() { round.stop_helpers(); }
		Round &round;
	};

	void stop_helpers()
	{
		stop_ = true;
		for (std::thread &t : helpers_)
			t.join();
		helpers_.clear();
		stop_ = false;
	}

	void mutate(uint64_t seed, void (Mutator::*step)())
	{
		Mutator m(seed, board_, a_, b_, plan_.bad);
		while (!stop_) {
			for (unsigned n = 0; n < look && !stop_; n++)
				(m.*step)();
			std::this_thread::yield();
		}
		mutations_ += m.mutations();
	}

	bool in_error() { return a_.state() != IBV_QPS_RTS || b_.state() != IBV_QPS_RTS; }

	void life(bool last)
	{
		Mutator m(dice_.two_words(), board_, a_, b_, plan_.bad, plan_.watched);
		unsigned errors = 0;

		step_ = 0;
		start_helpers();
		Joined joined(*this);
		for (; step_ < plan_.steps && errors < afterlife; ++step_) {
			m.step();
			if (step_ == plan_.end_at && !plan_.end_beside && last)
				end(dice_);
			if (step_ % look)
				continue;
			if (plan_.resize && !plan_.resize_beside)
				resize(dice_);
			if (plan_.connected)
				errors += in_error();
		}
		mutations_ += m.mutations();
	}

	// Resets and connects both QPs again.
	void revive()
	{
		for (Side *s : {&a_, &b_}) {
			s->modify(IBV_QPS_ERR);
			s->modify(IBV_QPS_RESET);
			s->modify(IBV_QPS_INIT);
			s->rewind();
		}
	}

	// Writes to the mappings after their queues were destroyed.
	void after()
	{
		Mutator m(dice_.two_words(), board_, a_, b_, 1000);
		a_.destroy_qp();
		for (unsigned n = 0; n < look; n++)
			m.step();
		b_.destroy_qp();
		for (unsigned n = 0; n < look; n++)
			m.step();
		mutations_ += m.mutations();
	}

	Dice dice_;
	const Plan plan_;
	Cable &cable_;
	std::atomic<uint64_t> &mutations_;
	Board board_;
	Side a_, b_;
	std::atomic<bool> stop_ = false;
	std::atomic<bool> gone_ = false;
	std::atomic<unsigned> step_ = 0;
	std::atomic<unsigned> resizes_ = 0;
	std::vector<std::thread> helpers_;
};

struct Hosts {
	Host a{lab::a().device}, b{lab::b().device};
	unsigned rounds = 0;
};

int fuzz(const Options &options)
{
	Bystander bystander;
	Campaign campaign(options, bystander);
	std::atomic<uint64_t> mutations = 0;
	int status;
	{
		Cable cable;
		std::unique_ptr<Hosts> hosts;
		status = campaign.run([&](uint64_t seed) {
			if (!hosts || hosts->rounds++ == host_rounds) {
				hosts.reset();
				hosts = std::make_unique<Hosts>();
			}
			Round(seed, hosts->a, hosts->b, cable, mutations).run();
			return std::string();
		});
	}
	std::cout << "# summary: seed " << options.seed << ": " << campaign.rounds() << " rounds, "
		  << mutations << " mutations, " << stopwatch().calls() << " calls; "
		  << campaign.summary() << "\n";
	return status;
}

} // namespace
} // namespace local_fuzz

int main(int argc, char **argv)
{
	return local_fuzz::run_main(argc, argv, local_fuzz::fuzz);
}
