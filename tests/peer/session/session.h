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
	// Sets the device's policy and begins the account of counters and objects. The case then
	// takes one of the ways to start up.
	explicit Session(const Options &o = usual.victim, const Knobs &policy = {});
	explicit Session(const Knobs &policy) : Session(usual.victim, policy) {}
	explicit Session(const Wishes &w) : Session(w.knobs()) {}
	// Starts up with the victim as responder, under these terms.
	explicit Session(const Terms &t);
	~Session();

	// ---- startup, the victim as responder

	// Sends the request, in two TCP segments if cut is not 0, and receives the reply.
	void dial(const StartupFrame &request, size_t cut = 0,
		  const PeerOptions &o = lab().peer_socket());
	// The second half of dial(), for a case that has sent its request itself.
	void replied();
	// Sends bytes that a responder must not answer: the victim closes, its consumer is not
	// told, the counter moves by one. Ends the session.
	void unanswered(View bytes, Then then, const std::string &counter);
	// Sends a request that the consumer rejects with these data, or the device for its length.
	// Ends the session.
	void rejected(const StartupFrame &request, const Bytes &data, bool by_consumer);

	// ---- startup, the victim as initiator

	// Lets the victim connect to the listener. Returns the peer, which has received the
	// request.
	Peer attempt();
	// The peer of the victim's next attempt.
	Peer asked(Millis timeout = patience);
	// attempt(), and sends a reply: this one, or one that fits, with a change.
	void call(const std::function<StartupFrame(const Peer &)> &reply);
	void call_fitting(const Change &change = {});
	// The reply had R, and the consumer receives its private data. Ends the session.
	void reply_rejected(const Bytes &private_data);
	// The reply was wrong: the victim closes without a Terminate, or with one. Ends the
	// session.
	void reply_refused(const std::string &counter);
	void reply_terminated(const Code &code, const std::vector<std::string> &counters = {
							"startup_negotiation_errors"});

	// ---- the victim's consumer

	// What it was told of the connection; nothing within the time.
	std::optional<rdma_cm_event_type> told(Millis limit = patience);
	void established();
	void told_of_failure();

	Testbed &bed;
	Victim &v;
	Peer p;
	PeerListener listener{Address(lab().peer_ip, 0), lab().peer_socket()};

	// Of DDP and RDMAP: 0 for a peer of the RDMA Consortium's revision (RFC 5044 appendix C).
	uint8_t version = 1;

	Connection &c() { return v.connection(index_); }
	Segment segment(Bytes payload); // the next Send

	// ---- Full Operation

	// Sends a segment that is right and the whole of the victim's next message.
	void sends(const Segment &s, const FpduFault &fault = {});
	// Sends the first segment of the next message, which the victim places.
	void begins(const Bytes &first);
	// Sends an RDMA Write that is right.
	void writes(Region &r, size_t at, const Bytes &data, const FpduFault &fault = {});
	// Sends a segment that is wrong. The Terminate must quote its header.
	void offend(const Segment &s, const FpduFault &fault = {});
	// The victim has received this message, its next one.
	void delivers(const Bytes &message);
	// Sends a correct message, which the victim receives.
	void message(size_t len = 40);
	// A work request of the victim has completed.
	void completes(ibv_wc_opcode opcode);
	// The victim sends, the peer receives.
	void victim_sends(size_t len);
	// The peer's next message, its segments as one. Every field of their headers is checked.
	Segment receives(uint8_t opcode);
	// Each operation, of each size, by both sides.
	void data_both_ways(const std::vector<size_t> &sizes = {1, 500, 1400, 5000});

	// Memory of the victim: these bytes must be there in the end; any may, since they were part
	// of an error.
	void places(Region &r, ptrdiff_t at, Bytes bytes);
	void may_touch(Region &r, Range range);
	void may_touch_slot() { may_touch(c().recv, c().slot(slot())); } // the next receive

	// ---- judgement, as GoogleTest failures; each ends the session

	void judge(const Verdict &verdict);
	// The peer has gone; the counter moves by one, or none does.
	void judge_gone(const std::string &counter);
	// data_both_ways(), then an orderly end.
	void judge_working();
	// No verdict: memory, counters and objects are as they should be.
	void give_up();

private:
	struct Placed {
		Region *region;
		Range range;
		std::optional<Bytes> bytes;
	};

	void begin_operation();
	bool alive();
	void check_life();
	Segment in_version(Segment s) const;
	void peer_acts(size_t n);
	void victim_acts(size_t n);
	unsigned slot() const { return delivered_ % v.options().receives; }
	void judge_life();
	void check_end(const Verdict &verdict);
	void check_terminate(const End &end, const Verdict &verdict);
	void check_headers(const Terminate &t);
	void check_victim(bool fatal);
	void check_memory();

	unsigned index_;
	std::optional<Segment> offence_;
	std::vector<Placed> placed_;
	size_t history_;
	unsigned delivered_ = 0;
	unsigned reads_ = 0;
	bool initiator_ = false; // the victim
	bool dropped_ = false;
};

} // namespace peer
