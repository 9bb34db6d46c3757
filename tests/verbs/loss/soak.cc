// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "soak.h"

#include <arpa/inet.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace rdma {
namespace {

constexpr size_t source_size = 256 * 1024;
constexpr size_t slot_size = 30016;
constexpr size_t area = Way::window * slot_size;
// Areas of each end's memory.
constexpr size_t source = 0, receives = source + source_size, written = receives + area,
		 sinks = written + area, number = sinks + area, memory_size = number + 8;
// A segment may be lost several times, and retransmission waits longer each time.
const Milliseconds stall = 3 * patience;

size_t slot(uint64_t seq)
{
	return seq % Way::window * slot_size;
}

void randomise(const Region &m, std::mt19937_64 &random)
{
	for (size_t i = 0; i < source_size; i += 8) {
		uint64_t bytes = random();
		memcpy(m.data() + source + i, &bytes, 8);
	}
}

void receive(Endpoint &end, const Region &slots, ibv_srq *srq, uint64_t index)
{
	const size_t at = srq ? index * slot_size : receives + index * slot_size;
	if (srq)
		post_srq_recv(srq, index, {slots.sge(at, slot_size)});
	else
		post_recv(end.qp(), index, {slots.sge(at, slot_size)});
}

} // namespace

Config Way::config()
{
	Config c;
	c.memory = memory_size;
	c.access = all_access | IBV_ACCESS_REMOTE_ATOMIC;
	return c;
}

Way::Way(Endpoint &from, Endpoint &to, const Region &slots, ibv_srq *srq, unsigned int seed)
	: from_(from), to_(to), slots_(slots), srq_(srq), random_(seed)
{
	randomise(from.memory(), random_);
	for (size_t i = 0; !srq && i < window; i++)
		receive(to, slots, srq, i);
}

// The other end learns of a Write by a later Send: one in four messages, and the last, are Sends.
Way::Kind Way::choose(uint64_t messages)
{
	static constexpr Kind mix[] = {send, write, write, write_imm, write_imm,
				       read, read,  read,  read,      atomic};

	if (next_ % 4 == 3 || next_ + 1 == messages)
		return send;
	return mix[random_() % std::size(mix)];
}

// Most messages are small; a few take many segments.
size_t Way::choose_length()
{
	static constexpr size_t most[] = {64, 64, 256, 256, 1024, 1500, 9000, longest};

	return 1 + random_() % most[random_() % std::size(most)];
}

void Way::post(const Message &m)
{
	static constexpr ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						    IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
						    IBV_WR_ATOMIC_FETCH_AND_ADD};
	const Region &mine = from_.memory();
	ibv_sge local =
		mine.sge(m.kind == read || m.kind == atomic ? sinks + slot(m.seq) : m.at, m.len);
	Remote remote = to_.remote(m.kind == read   ? m.at :
				   m.kind == atomic ? number :
						      written + slot(m.seq));
	Send wr(opcodes[m.kind], m.seq, {local}, m.kind == send ? std::optional<Remote>() : remote);

	if (m.kind == write_imm)
		wr.wr.imm_data = htonl(static_cast<uint32_t>(m.seq));
	if (m.kind == atomic) {
		wr.wr.wr.atomic.remote_addr = remote.address;
		wr.wr.wr.atomic.rkey = remote.rkey;
		wr.wr.wr.atomic.compare_add = m.at;
	}
	rdma::post(from_.qp(), wr);
}

void Way::post_next(uint64_t messages)
{
	Message m{choose(messages), next_++, 0, 8, number_};

	if (m.kind != atomic)
		m.len = choose_length();
	m.at = source + random_() % (source_size - m.len);
	if (m.kind == atomic)
		number_ += m.at;
	if (m.kind == send || m.kind == write || m.kind == write_imm)
		arriving_.push_back(m.seq);
	flight_.push_back(m);
	post(m);
	counts[m.kind]++;
	bytes += m.len;
}

void Way::judge(Message &m, const uint8_t *bytes)
{
	const uint8_t *wanted = (m.kind == read ? to_ : from_).memory().data() + m.at;

	if (m.kind == atomic)
		wanted = reinterpret_cast<const uint8_t *>(&m.before);
	if (memcmp(bytes, wanted, m.len))
		throw WrongData("message " + std::to_string(m.seq) + " of kind " +
				std::to_string(m.kind) + ", " + std::to_string(m.len) + " bytes");
	m.judged = true;
}

void Way::sent(const ibv_wc &wc)
{
	const std::string what = "completion of request " + std::to_string(completed_) + ": " +
				 to_string(wc);
	if (wc.status != IBV_WC_SUCCESS)
		throw Failure(what);
	if (wc.wr_id != completed_)
		throw WrongData(what);
	Message &m = message(completed_++);
	m.completed = true;
	if (m.kind == read || m.kind == atomic)
		judge(m, from_.memory().data() + sinks + slot(m.seq));
}

void Way::received(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		throw Failure("receive: " + to_string(wc));
	const uint8_t *writes = to_.memory().data() + written;
	for (;;) {
		if (arriving_.empty())
			throw WrongData("a message that was never sent");
		Message &m = message(arriving_.front());
		arriving_.pop_front();
		if (m.kind == write) {
			judge(m, writes + slot(m.seq));
			continue;
		}
		const bool imm = m.kind == write_imm;
		if (wc.byte_len != m.len ||
		    wc.opcode != (imm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) ||
		    (imm && ntohl(wc.imm_data) != static_cast<uint32_t>(m.seq)))
			throw WrongData("message " + std::to_string(m.seq) +
					": wrong length, opcode or immediate data");
		judge(m, imm ? writes + slot(m.seq) :
			       slots_.data() + (srq_ ? 0 : receives) + wc.wr_id * slot_size);
		break;
	}
	receive(to_, slots_, srq_, wc.wr_id);
}

bool Way::go(uint64_t messages)
{
	std::array<ibv_wc, 16> wc;
	bool moved = false;

	for (int n = ibv_poll_cq(to_.rcq(), wc.size(), wc.data()), i = 0; i < n; i++, moved = true)
		received(wc[i]);
	for (int n = ibv_poll_cq(from_.scq(), wc.size(), wc.data()), i = 0; i < n;
	     i++, moved = true)
		sent(wc[i]);
	for (; !flight_.empty() && flight_.front().judged && flight_.front().completed; retired_++)
		flight_.pop_front();
	for (; next_ < messages && flight_.size() < window; moved = true)
		post_next(messages);
	return moved;
}

Soak::Soak(unsigned int connections)
{
	const unsigned int half = connections / 2;
	PairConfig config = both(Way::config());
	unsigned int seed = 1;
	auto both_ways = [&](Pair &p, bool shared) {
		const Region &slots = shared ? *shared_ : p.server.memory();
		ways_.push_back(std::make_unique<Way>(p.client, p.server, slots,
						      shared ? srq_.get() : nullptr, seed++));
		ways_.push_back(std::make_unique<Way>(p.server, p.client, p.client.memory(),
						      nullptr, seed++));
	};

	while (own_.size() < connections - half) {
		own_.push_back(std::make_unique<Pair>(config));
		both_ways(*own_.back(), false);
	}
	const uint32_t depth = half * Way::window;
	pd_ = alloc_pd(own_.front()->server.context());
	srq_ = create_srq(pd_.get(), depth);
	shared_ = std::make_unique<Region>(pd_.get(), depth * slot_size);
	for (uint32_t i = 0; i < depth; i++)
		post_srq_recv(srq_.get(), i, {shared_->sge(i * slot_size, slot_size)});
	config.server.srq = srq_.get();
	config.server.pd = pd_.get();
	while (sharing_.size() < half) {
		sharing_.push_back(std::make_unique<Pair>(config));
		both_ways(*sharing_.back(), true);
	}
}

void Soak::run(uint64_t messages)
{
	using Clock = std::chrono::steady_clock;
	const uint64_t each = messages / ways_.size() + 1;
	Clock::time_point last = Clock::now();

	for (bool done = false; !done;) {
		bool moved = false;
		done = true;
		for (auto &way : ways_) {
			moved |= way->go(each);
			done &= way->done(each);
		}
		if (moved) {
			last = Clock::now();
			continue;
		}
		if (Clock::now() - last > stall)
			throw Timeout("no progress any more");
		usleep(100);
	}
}

Way::Counts Soak::counts() const
{
	Way::Counts sum{};
	for (const auto &way : ways_)
		for (size_t i = 0; i < sum.size(); i++)
			sum[i] += way->counts[i];
	return sum;
}

uint64_t Soak::bytes() const
{
	uint64_t sum = 0;
	for (const auto &way : ways_)
		sum += way->bytes;
	return sum;
}

} // namespace rdma
