// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mutator.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "rdma/failure.h"

namespace local_fuzz {
namespace {

constexpr uint32_t most_sge = 16;

template <class T>
void put(uint8_t *at, const T &t)
{
	memcpy(at, &t, sizeof(t));
}

uint32_t sges_of(uint32_t stride, size_t header)
{
	return static_cast<uint32_t>(std::min<size_t>((stride - header) / sizeof(kwarp_sge),
						      most_sge));
}

} // namespace

uint32_t limit_32(Dice &dice)
{
	const uint32_t power = 1U << dice.below(32);
	return dice.any({0U, 1U, UINT32_MAX, UINT32_MAX - 1, 0x80000000U, 0x7FFFFFFFU, power,
			 power - 1, power + 1, dice.word(), dice.below(64)});
}

uint64_t limit_64(Dice &dice)
{
	const uint64_t power = uint64_t{1} << dice.below(64);
	return dice.any({uint64_t{0}, uint64_t{1}, UINT64_MAX, UINT64_MAX - 4095, power, power - 1,
			 power + 1, uint64_t{0x7FFFFFFFF000}, uint64_t{0xFFFF800000000000},
			 dice.two_words(), uint64_t{dice.word()}});
}

Mutator::Mutator(uint64_t seed, const Board &board, Side &a, Side &b, unsigned bad, bool watched)
	: dice_(seed), board_(board), a_(a), b_(b), bad_(bad), watched_(watched)
{
}

void Mutator::look(const Queue &q) const
{
	if (watched_ && !q.sane())
		throw rdma::Failure("the kernel is at element " +
				    std::to_string(Queue::load(q.ctl->kern_idx)) +
				    " of a queue of " + std::to_string(q.size) +
				    " that was posted to up to " +
				    std::to_string(q.posted->horizon));
}

Queue Mutator::any()
{
	return dice_.below(16) ? board_.live(dice_.word()) : board_.retired(dice_.word());
}

Host &Mutator::host_of(const Queue &q) const
{
	return a_.owns(q) ? a_.host() : b_.host();
}

Host &Mutator::peer_of(const Queue &q) const
{
	return a_.owns(q) ? b_.host() : a_.host();
}

// ---- words

uint32_t Mutator::index(uint32_t now, uint32_t size)
{
	const uint32_t half = 1U << 31;
	return dice_.any({now, now + 1, now - 1, now + size, now + size + 1, now + size - 1,
			  now - size, now - size - 1, now - 1 - dice_.below(8),
			  now + 1 + dice_.below(8), now + dice_.below(size),
			  now - dice_.below(size), now + half, now + half - 1, limit_32(dice_)});
}

void Mutator::control_word(const Queue &q)
{
	kwarp_ring_ctl &c = *q.ctl;
	const uint32_t kind = dice_.below(20);

	if (kind < 12) {
		const uint32_t now = q.posted && dice_.chance(70) ? q.posted->producer.load() :
								    Queue::load(c.kern_idx);
		q.publish(index(now, q.size));
	} else if (kind < 16) {
		Queue::store(c.arm, dice_.chance(70) ? dice_.below(4) : limit_32(dice_));
	} else if (!watched_ || !q.posted) {
		uint32_t *const words[] = {&c.kern_idx,
					   &c.flags,
					   &c.event_idx,
					   &c.closed,
					   &c.user_reserved[dice_.below(14)],
					   &c.kern_reserved[dice_.below(12)]};
		uint32_t &word = *words[dice_.below(6)];
		const uint32_t old = Queue::load(word);
		Queue::store(word, dice_.chance(50) ? index(old, q.size) : limit_32(dice_));
		// the kernel writes this word only on changes, for which good posts would wait
		if (dice_.below(8)) {
			if (!dice_.below(16))
				call();
			Queue::store(word, old);
		}
	}
	if (dice_.chance(20) && q.kind == Kind::sq)
		(a_.owns(q) ? a_ : b_).doorbell();
	if (dice_.chance(75))
		heal(q);
}

// Restores the state that a correct program would have left.
void Mutator::heal(const Queue &q)
{
	const uint32_t kernel = Queue::load(q.ctl->kern_idx);

	look(q);
	if (!q.posted) {
		q.publish(kernel);
		return;
	}
	if (q.posted->producer - kernel > q.size)
		q.posted->producer = kernel;
	q.publish(q.posted->producer);
}

void Mutator::poll()
{
	for (const Queue &q : board_.all_live())
		if (q.kind == Kind::cq) {
			heal(q);
			if (dice_.chance(30))
				Queue::store(q.ctl->arm, dice_.below(3));
		}
}

// ---- elements

void Mutator::sge_field(kwarp_sge &sge)
{
	switch (dice_.below(3)) {
	case 0:
		sge.addr = dice_.chance(50) ? sge.addr + limit_64(dice_) : limit_64(dice_);
		break;
	case 1:
		sge.length = limit_32(dice_);
		break;
	default:
		sge.lkey = dice_.any({limit_32(dice_), sge.lkey + 1,
				      sge.lkey ^ (1U << dice_.below(32)), a_.host().rkey,
				      b_.host().lkey, a_.host().mw_rkey[dice_.below(2)]});
	}
}

void Mutator::sqe_field(uint8_t *element, uint32_t stride)
{
	auto &e = *reinterpret_cast<kwarp_sqe *>(element);
	const uint32_t sges = sges_of(stride, sizeof(kwarp_sqe));

	switch (dice_.below(10)) {
	case 0:
		e.opcode = static_cast<uint8_t>(dice_.chance(70) ?
							dice_.below(KWARP_OP_RECV_IMM + 2) :
							dice_.word());
		break;
	case 1:
		e.flags = static_cast<uint8_t>(dice_.chance(50) ? dice_.below(16) : dice_.word());
		break;
	case 2:
		e.num_sge =
			static_cast<uint16_t>(dice_.any({sges, sges + 1, most_sge, most_sge + 1,
							 255U, 256U, 65535U, dice_.word(), 0U}));
		break;
	case 3:
		e.ex = dice_.any({limit_32(dice_), a_.host().rkey, b_.host().rkey,
				  a_.host().mw_rkey[1], b_.host().mw_rkey[0]});
		break;
	case 4:
		e.raddr = dice_.chance(50) ? e.raddr + limit_64(dice_) : limit_64(dice_);
		break;
	case 5:
		e.rkey = dice_.any({limit_32(dice_), e.rkey + 1, a_.host().lkey,
				    b_.host().mw_rkey[1], e.rkey ^ 0x100});
		break;
	case 6:
		e.flags |= KWARP_WQE_INLINE;
		e.inline_len =
			dice_.any({stride - 64, stride - 63, stride, 512U, 513U, limit_32(dice_)});
		break;
	case 7:
		e.arg[dice_.below(4)] = limit_64(dice_);
		break;
	case 8:
		e.wr_id = limit_64(dice_);
		break;
	default:
		sge_field(*reinterpret_cast<kwarp_sge *>(element + sizeof(e) +
							 dice_.below(sges) * sizeof(kwarp_sge)));
	}
}

void Mutator::rqe_field(uint8_t *element, uint32_t stride)
{
	auto &e = *reinterpret_cast<kwarp_rqe *>(element);
	const uint32_t sges = sges_of(stride, sizeof(kwarp_rqe));

	switch (dice_.below(4)) {
	case 0:
		e.num_sge =
			static_cast<uint16_t>(dice_.any({sges, sges + 1, most_sge, most_sge + 1,
							 255U, 256U, 65535U, dice_.word(), 0U}));
		break;
	case 1:
		e.wr_id = limit_64(dice_);
		break;
	case 2:
		e.reserved16 = static_cast<uint16_t>(dice_.word());
		e.reserved32 = dice_.word();
		break;
	default:
		sge_field(*reinterpret_cast<kwarp_sge *>(element + sizeof(e) +
							 dice_.below(sges) * sizeof(kwarp_sge)));
	}
}

void Mutator::field(const Queue &q, uint32_t at)
{
	uint8_t *element = q.element(at);

	switch (q.kind) {
	case Kind::sq:
		sqe_field(element, q.stride);
		break;
	case Kind::rq:
		rqe_field(element, q.stride);
		break;
	case Kind::cq:
		put(element + 8 * dice_.below(sizeof(kwarp_cqe) / 8), limit_64(dice_));
	}
}

void Mutator::bytes(const Queue &q)
{
	const size_t length = q.map->length();
	size_t at = dice_.two_words() % length;
	const size_t end = std::min<size_t>(length, at + 1 + dice_.below(512));

	for (; at < end; at++)
		q.map->base()[at] = static_cast<uint8_t>(dice_.word());
	heal(q);
}

// Whether to post a bad element, which ends the connection: most rounds must get further.
bool Mutator::daring()
{
	return dice_.below(1000) < std::max(bad_, 10U);
}

uint32_t Mutator::unposted(const Queue &q)
{
	if (!q.posted)
		return dice_.word();
	const uint32_t now = q.posted->producer,
		       posted = std::min(now - Queue::load(q.ctl->kern_idx), q.size - 1);
	return now + dice_.below(q.size - posted);
}

// ---- posts

kwarp_sge Mutator::some_memory(const Host &host, uint32_t most)
{
	const uint32_t length = dice_.chance(95) ? dice_.below(most / 64 + 1) :
						   dice_.below(most + 1);
	return {host.address(dice_.below(static_cast<uint32_t>(Host::memory_size) - length)),
		length, host.lkey};
}

void Mutator::build_send(const Queue &q, uint8_t *element)
{
	const Host &mine = host_of(q), &other = peer_of(q);
	const uint32_t sges = std::min(sges_of(q.stride, sizeof(kwarp_sqe)), 3U);
	kwarp_sqe e{};
	uint32_t n = dice_.below(sges + 1);

	if (dice_.chance(30)) {
		build_local(q, element);
		return;
	}
	e.wr_id = dice_.two_words();
	e.opcode = dice_.any<uint8_t>({KWARP_OP_WRITE, KWARP_OP_WRITE, KWARP_OP_SEND, KWARP_OP_SEND,
				       KWARP_OP_READ, KWARP_OP_READ, KWARP_OP_FETCH_ADD,
				       KWARP_OP_CMP_SWAP, KWARP_OP_WRITE_IMM});
	e.flags = static_cast<uint8_t>(dice_.below(8));
	e.raddr = other.address(8 * dice_.below(16));
	e.rkey = other.rkey;
	switch (e.opcode) {
	case KWARP_OP_FETCH_ADD:
	case KWARP_OP_CMP_SWAP:
		e.arg[0] = dice_.two_words();
		e.arg[2] = e.arg[3] = e.opcode == KWARP_OP_CMP_SWAP ? UINT64_MAX : 0;
		n = 1;
		break;
	case KWARP_OP_READ:
		n = 1;
	}
	e.num_sge = static_cast<uint16_t>(n);
	if (e.opcode <= KWARP_OP_SEND && dice_.chance(20)) {
		e.flags |= KWARP_WQE_INLINE;
		e.inline_len = dice_.below(std::min(q.stride - 64, 512U) + 1);
	}
	put(element, e);
	for (uint32_t i = 0; i < n; i++) {
		kwarp_sge sge = some_memory(mine, e.opcode == KWARP_OP_SEND ? 256 : 8192);
		if (e.opcode == KWARP_OP_FETCH_ADD || e.opcode == KWARP_OP_CMP_SWAP)
			sge.length = 8, sge.addr = mine.address();
		put(element + sizeof(e) + i * sizeof(sge), sge);
	}
}

void Mutator::build_receive(const Queue &q, uint8_t *element)
{
	const Host &mine = host_of(q);
	const kwarp_sge sge{mine.address(dice_.below(4096)), 4096, mine.lkey};
	kwarp_rqe e{};

	e.wr_id = dice_.two_words();
	e.num_sge = 1;
	put(element, e);
	put(element + sizeof(e), sge);
}

// A request that sends nothing and succeeds if it is an invalidation.
void Mutator::build_local(const Queue &q, uint8_t *element)
{
	const Host &mine = host_of(q);
	kwarp_sqe e{};

	e.wr_id = dice_.two_words();
	e.opcode = KWARP_OP_LOCAL_INV;
	e.flags = static_cast<uint8_t>(dice_.below(2));
	e.ex = mine.mw_rkey[1]; // of a window of type 2 that is not bound
	if (dice_.chance(20)) {
		e.opcode = KWARP_OP_BIND_MW;
		e.ex = mine.mw_rkey[0];
		e.rkey = e.ex + 1;
		e.raddr = mine.address();
		e.arg[0] = mine.lkey;
		e.arg[1] = 1 + dice_.below(4096);
		e.arg[2] = 2;
	}
	put(element, e);
}

// Writes the same contents to all elements, including those that were posted or taken.
void Mutator::flood(const Queue &q)
{
	std::vector<uint8_t> element(q.stride);

	if (q.kind == Kind::rq)
		build_receive(q, element.data());
	else if (q.kind == Kind::cq)
		put(element.data() + 8 * dice_.below(sizeof(kwarp_cqe) / 8), limit_64(dice_));
	else if (dice_.chance(60))
		build_local(q, element.data());
	else
		build_send(q, element.data());
	const uint32_t from = q.posted ? q.posted->producer.load() : dice_.word();
	for (uint32_t n = 0; n < std::min(q.size, 1024U); n++)
		memcpy(q.element(from + n), element.data(), q.stride);
}

void Mutator::post(const Queue &q, unsigned bad)
{
	const uint32_t n = 1 + dice_.below(dice_.below(64) ? 3 : 64);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = q.posted->producer;
		if (at - Queue::load(q.ctl->kern_idx) >= q.size)
			break;
		if (q.kind == Kind::sq)
			build_send(q, q.element(at));
		else
			build_receive(q, q.element(at));
		if (dice_.below(1000) < bad)
			field(q, at);
		++q.posted->producer;
	}
	q.publish(q.posted->producer);
}

// ---- steps

void Mutator::call()
{
	Side &s = side();

	switch (dice_.below(6)) {
	case 0:
	case 1:
	case 2:
		s.doorbell();
		break;
	case 3:
		s.receive_doorbell();
		break;
	case 4:
		s.notify(dice_.chance(50), dice_.chance(50));
		break;
	default:
		if (dice_.below(16))
			s.doorbell();
		else
			s.limit_srq(dice_.chance(50) ? dice_.below(8) : limit_32(dice_));
	}
}

void Mutator::good_step()
{
	const Queue q = board_.live(dice_.word());

	mutations_++;
	if (q.kind == Kind::cq)
		poll();
	else
		post(q, 0);
	if (!dice_.below(16))
		call();
}

void Mutator::step()
{
	const uint32_t what = dice_.below(100);
	const Queue q = any();

	mutations_++;
	if (what < 30) {
		control_word(q);
	} else if (what < 75) {
		field(q, daring() ? dice_.word() : unposted(q));
	} else if (what < 76) {
		flood(q);
	} else if (what < 78 && !watched_ && daring()) {
		bytes(q);
	} else if (what < 92) {
		if (q.posted)
			post(q, bad_);
		else
			poll();
	} else {
		for (const Queue &each : board_.all_live())
			heal(each);
		poll();
	}
	if (!dice_.below(48))
		call();
}

} // namespace local_fuzz
