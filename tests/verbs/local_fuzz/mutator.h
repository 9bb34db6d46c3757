// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Writes valid, forbidden and random values to rings.
#pragma once

#include "fuzz/dice.h"
#include "rings.h"

namespace local_fuzz {

using live_fuzz::Dice;

// Values at the limits of a field.
uint32_t limit_32(Dice &dice);
uint64_t limit_64(Dice &dice);

class Mutator {
public:
	// Of a thousand posted elements, "bad" have a wrong field. If watched, the words that the
	// kernel writes are not changed, but checked.
	Mutator(uint64_t seed, const Board &board, Side &a, Side &b, unsigned bad,
		bool watched = false);

	// One mutation, and occasionally a call.
	void step();
	// Acts as a correct program: posts, polls, rings.
	void good_step();
	uint64_t mutations() const { return mutations_; }

private:
	Queue any();
	Side &side() { return dice_.chance(50) ? a_ : b_; }
	Host &peer_of(const Queue &q) const;
	Host &host_of(const Queue &q) const;
	uint32_t index(uint32_t now, uint32_t size);
	bool daring();
	uint32_t unposted(const Queue &q);
	void control_word(const Queue &q);
	void field(const Queue &q, uint32_t at);
	void sqe_field(uint8_t *element, uint32_t stride);
	void rqe_field(uint8_t *element, uint32_t stride);
	void sge_field(kwarp_sge &sge);
	void bytes(const Queue &q);
	void post(const Queue &q, unsigned bad);
	void build_send(const Queue &q, uint8_t *element);
	void build_local(const Queue &q, uint8_t *element);
	void flood(const Queue &q);
	void build_receive(const Queue &q, uint8_t *element);
	kwarp_sge some_memory(const Host &host, uint32_t most);
	void poll();
	// Throws if the kernel has taken an element that was never posted.
	void look(const Queue &q) const;
	void heal(const Queue &q);
	void call();

	Dice dice_;
	const Board &board_;
	Side &a_, &b_;
	const unsigned bad_;
	const bool watched_;
	uint64_t mutations_ = 0;
};

} // namespace local_fuzz
