// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One connection in Full Operation and how it must end. Cases are rows of tables: name, RFC section,
// outcome, and what the peer does.
#pragma once

#include <functional>

#include "testbed.h"

namespace conformance {

using iwarp::Code;
using iwarp::Octets;
using iwarp::Segment;

enum class Fate {
	lives,	    // it is legal: the connection goes on, in both directions
	terminates, // Terminate with the code, then FIN
	closes,	    // no Terminate: the peer is gone, or has sent one itself
	ends,	    // an error without a code in any RFC: either of the two
};

struct Outcome {
	Fate fate = Fate::lives;
	// The code; several where the RFC's text fits each.
	std::vector<Code> codes{};
	// Counter that moves by one. With a code it follows from that, unless named here.
	std::string counter{};
};

template <typename... C> Outcome terminates(C... codes)
{
	return {Fate::terminates, {codes...}, {}};
}
inline Outcome lives()
{
	return {};
}
inline Outcome closes(std::string counter = {})
{
	return {Fate::closes, {}, std::move(counter)};
}
inline Outcome ends()
{
	return {Fate::ends, {}, {}};
}

struct Terms {
	uint8_t rev = 1;
	bool crc = true;	  // false: neither side wants it
	bool markers_in = false;  // in what the victim receives
	bool markers_out = false; // in what it sends
	int rcvbuf = 0;		  // of the peer, 0: the system's choice
};

class Session {
public:
	// The account begins; then one of dial() and call().
	Session();
	// The victim as responder, startup as usual under these terms.
	explicit Session(const Terms &t);
	~Session();

	// The victim is the responder: this request, cut in two (0: not cut); throws without a reply.
	void dial(const iwarp::StartupFrame &request, size_t cut = 0, const iwarp::SocketOptions &o = victim::lab().peer_socket());
	// The victim is the initiator: it connects to the listener.
	void call(iwarp::Socket &listener, const std::function<iwarp::StartupFrame(const iwarp::Peer &)> &reply);

	Testbed &bed;
	victim::Victim &v;
	iwarp::Peer p;

	// Of DDP and RDMAP: 0 for a peer of the RDMA Consortium's revision (RFC 5044 appendix C).
	uint8_t version = 1;

	victim::Connection &c() { return v.connection(index_); }
	Segment segment(Octets payload); // a Send, the next

	// Sends the segment that is wrong; the Terminate must quote its header.
	void offend(const Segment &s, const iwarp::FpduFault &fault = {});
	// What a Terminate must quote although it was sent in another way.
	void quotes(const Segment &s) { offence_ = s; }
	// Memory: exactly these octets there; or: may have changed, because it was part of an error.
	void places(victim::Region &r, ptrdiff_t at, Octets octets);
	void may_touch(victim::Region &r, victim::Range range);
	void may_touch_slot() { may_touch(c().recv, c().slot(delivered_)); }
	// The victim has received this as its next message.
	void delivers(const Octets &message);
	// A correct message, and its delivery.
	void message(size_t len = 40);
	void read_answered() { reads_++; }
	// A completion of the victim's own work request.
	void completes(ibv_wc_opcode opcode);
	// The victim sends, the peer receives.
	void victim_sends(size_t len);

	// It is alive: both directions. Then the peer sends FIN.
	void check_life();
	// The judgement, as GoogleTest failures. Ends the connection.
	void judge(const Outcome &outcome);
	// The peer has gone; the counter moves by one, or none does.
	void judge_gone(const std::string &counter);
	// The end of a startup that led to no connection.
	void give_up();

private:
	struct Placed {
		victim::Region *region;
		victim::Range range;
		std::optional<Octets> octets;
	};

	void check_end(const Outcome &outcome);
	void check_terminate(const iwarp::End &end, const Outcome &outcome);
	void check_headers(const iwarp::Terminate &t);
	void check_victim(bool fatal);
	void let_go();
	void check_memory();

	unsigned index_;
	std::optional<Segment> offence_;
	std::vector<Placed> placed_;
	size_t history_;
	unsigned delivered_ = 0;
	unsigned reads_ = 0;
	unsigned sends_ = 0;
	bool dropped_ = false;
};

// hw_counters name of a Terminate code that the victim sends.
std::string counter_of(const Code &c);

struct Case {
	std::string name;
	const char *rfc; // where the outcome is said
	Outcome outcome;
	std::function<void(Session &)> act;
	Terms terms{};
};

// One test per row.
class Wire : public testing::TestWithParam<Case> {};

void PrintTo(const Case &c, std::ostream *os);

// For INSTANTIATE_TEST_SUITE_P: the row's name.
struct RowName {
	template <typename P> std::string operator()(const testing::TestParamInfo<P> &info) const
	{
		return info.param.name;
	}
};

std::string hex(uint64_t n);

} // namespace conformance
