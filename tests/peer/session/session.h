// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One connection with the victim, from startup to its end, and the judgement how it was.
#pragma once

#include <functional>

#include "frames.h"
#include "rows.h"
#include "testbed.h"
#include "verdict.h"

namespace peer {

struct Terms {
	uint8_t rev = 1;
	bool crc = true;		 // false: neither side wants it
	bool peer_wants_crc = true;	 // false: only the victim does
	bool markers_in = false;	 // in what the victim receives
	bool markers_out = false;	 // in what it sends
	int rcvbuf = 0;			 // of the peer, 0: the system's choice
	std::optional<Options> victim{}; // other than usual
};

// What the peer does behind its bytes.
enum class Then { waits, fin, rst };

class Session {
public:
	// The account begins, with this policy of the device; then one of dial() and call().
	explicit Session(const Options &o = usual.victim, const Knobs &policy = {});
	explicit Session(const Wishes &w) : Session(usual.victim, w.knobs()) {}
	// The victim as responder, startup as usual under these terms.
	explicit Session(const Terms &t);
	~Session();

	// The victim is the responder: this request, cut in two (0: not cut); throws without a
	// reply.
	void dial(const StartupFrame &request, size_t cut = 0,
		  const PeerOptions &o = lab().peer_socket());
	// Behind a request that the case has sent itself.
	void replied();
	// The victim is the initiator: it connects to the listener, and the peer has its request.
	Peer attempt();
	// Its next one.
	Peer asked(Millis timeout = patience);
	// The same, and the peer's reply.
	void call(const std::function<StartupFrame(const Peer &)> &reply);
	void call_fitting(const Change &change = {});
	// Bytes that a responder must not answer: it closes, tells no consumer, counts once.
	void unanswered(View bytes, Then then, const std::string &counter);

	// A request that is rejected, by the consumer with its data, or else for its length.
	void rejected(const StartupFrame &request, const Bytes &data, bool by_consumer);

	// What the consumer has been told of the connection; nothing within the time.
	std::optional<rdma_cm_event_type> told(Millis limit = patience);
	void established();
	void told_of_failure();
	// The reply has R, and the consumer gets its private data.
	void reply_rejected(const Bytes &private_data);
	// An initiator finds the reply wrong: it closes without a word, or sends a Terminate.
	void reply_refused(const std::string &counter);
	void reply_terminated(const Code &code, const std::vector<std::string> &counters = {
							"startup_negotiation_errors"});

	Testbed &bed;
	Victim &v;
	Peer p;
	PeerListener listener{Address(lab().peer_ip, 0), lab().peer_socket()};

	// Of DDP and RDMAP: 0 for a peer of the RDMA Consortium's revision (RFC 5044 appendix C).
	uint8_t version = 1;

	Connection &c() { return v.connection(index_); }
	Segment segment(Bytes payload); // a Send, the next

	// Sends what is right, and the victim has received it as its next message.
	void sends(const Segment &s, const FpduFault &fault = {});
	// The first segment of the next message, which is placed; others are to follow.
	void begins(const Bytes &first);
	// Sends an RDMA Write that is right: of these bytes, to this place in the region.
	void writes(Region &r, size_t at, const Bytes &data, const FpduFault &fault = {});
	// Sends the segment that is wrong; the Terminate must quote its header.
	void offend(const Segment &s, const FpduFault &fault = {});
	// What a Terminate must quote although it was sent in another way.
	void quotes(const Segment &s) { offence_ = s; }
	// Memory: exactly these bytes there; or: may have changed, because it was part of an
	// error.
	void places(Region &r, ptrdiff_t at, Bytes bytes);
	void may_touch(Region &r, Range range);
	void may_touch_slot() { may_touch(c().recv, c().slot(slot())); }
	// The first bytes of the next receive.
	void fills_slot(const Bytes &data) { places(c().recv, c().slot(slot()).at, data); }
	// The victim has received this as its next message.
	void delivers(const Bytes &message);
	// A correct message, and its delivery.
	void message(size_t len = 40);
	void read_answered() { reads_++; }
	// A completion of the victim's own work request.
	void completes(ibv_wc_opcode opcode);
	// The victim sends, the peer receives.
	void victim_sends(size_t len);
	// The peer's next message, its segments as one; every field of their headers is checked.
	Segment receives(uint8_t opcode);
	// Every operation, of each size, by both sides.
	void data_both_ways(const std::vector<size_t> &sizes = {1, 500, 1400, 5000});

	// Does the next message arrive? Others may, before it.
	bool alive();
	// It is alive: both directions. Then the peer sends FIN.
	void check_life();
	// The judgement, as GoogleTest failures. Ends the connection.
	void judge(const Verdict &verdict);
	// The peer has gone; the counter moves by one, or none does.
	void judge_gone(const std::string &counter);
	// The same for data both ways and an orderly end.
	void judge_working();
	// The end of a startup that led to no connection.
	void give_up();

private:
	struct Placed {
		Region *region;
		Range range;
		std::optional<Bytes> bytes;
	};

	void begin_operation();
	Segment in_version(Segment s) const;
	void peer_acts(size_t n);
	void victim_acts(size_t n);
	unsigned slot() const { return delivered_ % v.options().receives; }
	void judge_life();
	void check_end(const Verdict &verdict);
	void check_terminate(const End &end, const Verdict &verdict);
	void check_headers(const Terminate &t);
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
	bool initiator_ = false; // the victim
	bool dropped_ = false;
};

} // namespace peer
