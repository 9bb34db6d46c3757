// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Many messages of every operation over several connections at once, with the contents of each
// compared when it is delivered.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "rdma/endpoint.h"

namespace rdma {

// Delivered bytes, or the description of a message, differ from what was sent. Not a Failure, which
// the removal of a device causes.
struct WrongData : std::runtime_error {
	explicit WrongData(const std::string &what) : std::runtime_error("wrong data: " + what) {}
};

// One direction of a connection: the requests of one end, checked at the end that gets to know of
// them. The bytes of a message are a random part of the sender's source area; its slot held another
// part before.
class Way {
public:
	enum Kind { send, write, write_imm, read, atomic, kinds };
	using Counts = std::array<uint64_t, kinds>;

	static constexpr size_t window = 16; // messages in flight
	static constexpr size_t longest = 30000;

	static Config config();

	// slots: where the receives of that end are; srq: another object posts the receives.
	Way(Endpoint &from, Endpoint &to, const Region &slots, ibv_srq *srq, unsigned int seed);
	// Posts and checks as much as possible. Returns whether there was progress.
	bool go(uint64_t messages);
	bool done(uint64_t messages) const { return retired_ == messages; }

	Counts counts{};
	uint64_t bytes = 0;

private:
	struct Message {
		Kind kind;
		uint64_t seq;
		size_t at; // in the source
		size_t len;
		uint64_t before; // atomics: the number before
		bool judged = false;
		bool completed = false;
	};

	Kind choose(uint64_t messages);
	size_t choose_length();
	void post_next(uint64_t messages);
	void post(const Message &m);
	void sent(const ibv_wc &wc);
	void received(const ibv_wc &wc);
	void judge(Message &m, const uint8_t *bytes);
	Message &message(uint64_t seq) { return flight_.at(seq - retired_); }

	Endpoint &from_, &to_;
	const Region &slots_;
	ibv_srq *srq_;
	std::mt19937_64 random_;
	std::deque<Message> flight_;	// from the oldest unfinished one
	std::deque<uint64_t> arriving_; // messages that the other end will learn of, in order
	uint64_t next_ = 0, completed_ = 0, retired_ = 0;
	uint64_t number_ = 0; // the other end's
};

class Soak {
public:
	// Half of the connections receive on host B from one shared receive queue.
	explicit Soak(unsigned int connections);
	// Runs this many messages in total. Throws if one is wrong, or if there is no progress.
	void run(uint64_t messages);
	Way::Counts counts() const;
	uint64_t bytes() const;

private:
	std::vector<std::unique_ptr<Pair>> own_;
	Pd pd_;
	Srq srq_;
	std::unique_ptr<Region> shared_;
	std::vector<std::unique_ptr<Pair>> sharing_;
	std::vector<std::unique_ptr<Way>> ways_;
};

} // namespace rdma
