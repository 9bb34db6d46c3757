// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One connection between the peer and the victim, from startup to its end, and the checks of its
// outcome.
#pragma once

#include <functional>

#include "frames.h"
#include "rows.h"
#include "testbed.h"
#include "verdict.h"

namespace peer {

struct Terms {
	uint8_t rev = 1;
	bool crc = true;		 // false: neither side requires CRCs
	bool peer_wants_crc = true;	 // false: only the victim requires CRCs
	bool markers_in = false;	 // from the peer to the victim
	bool markers_out = false;	 // from the victim to the peer
	std::optional<Options> victim{}; // instead of usual.victim
};

// The peer's action after its last byte.
enum class Then { waits, fin, rst };

class Session {
public:
	// Sets the device's policy and records its counters and objects. The case then chooses one
	// of the startup functions below.
	explicit Session(const Options &o = usual.victim, const Knobs &policy = {});
	explicit Session(const Knobs &policy) : Session(usual.victim, policy) {}
	explicit Session(const Wishes &w) : Session(w.knobs()) {}
	// Starts up a connection with these terms, the victim as responder.
	explicit Session(const Terms &t);
	~Session();

	// ---- startup, the victim as responder

	// Sends the request, in two TCP segments if cut is not 0, and receives the reply.
	void dial(const StartupFrame &request, size_t cut = 0,
		  const PeerOptions &o = lab().peer_socket());
	// The second half of dial(), for a case that has sent the request itself: receives the
	// reply.
	void replied();
	// Sends bytes that a responder must not answer. Checks that the victim closes without a
	// reply, that its consumer receives no connection request, and that the counter moves by
	// one. Ends the session.
	void unanswered(View bytes, Then then, const std::string &counter);
	// Sends a request and checks its rejection: by the consumer, with these private data, or by
	// the device, because the private data are too long. Ends the session.
	void rejected(const StartupFrame &request, const Bytes &data, bool by_consumer);

	// ---- startup, the victim as initiator

	// Makes the victim connect to the listener. Returns a peer that has received the request.
	Peer attempt();
	// Accepts the victim's next attempt. Returns a peer that has received the request.
	Peer asked(Millis timeout = patience);
	// Each calls attempt() and sends a reply: the given one, or a matching one with the change.
	void call(const std::function<StartupFrame(const Peer &)> &reply);
	void call_fitting(const Change &change = {});
	// For a reply with R: checks that the consumer receives REJECTED with these private data.
	// Ends the session.
	void reply_rejected(const Bytes &private_data);
	// Each is for a reply that the victim refuses: checks that the consumer gets no connection
	// and that the victim closes, without or with a Terminate. Ends the session.
	void reply_refused(const std::string &counter);
	void reply_terminated(const Code &code, const std::string &counter);

	// ---- the victim's consumer

	// Returns the event that ended the set-up of the connection (ESTABLISHED, REJECTED, ...),
	// or nothing if none comes within the limit.
	std::optional<rdma_cm_event_type> cm_event(Millis limit = patience);
	// Each waits for that event and checks that it reports success, or failure.
	void established();
	void expect_failure_event();

	Testbed &bed;
	Victim &v;
	Peer p;
	PeerListener listener{Address(lab().peer_ip, 0), lab().peer_socket()};

	// Version of DDP and RDMAP: 0 on a connection of the RDMA Consortium's revision (RFC 5044
	// appendix C).
	uint8_t version = 1;

	Connection &c() { return v.connection(index_); }
	Segment segment(Bytes payload); // the peer's next Send; advances its MSN

	// ---- Full Operation

	// Sends a correct segment that is a whole message, and checks that the victim delivers it.
	void sends(const Segment &s, const FpduFault &fault = {});
	// Sends the first segment of the next message. Its payload must be placed.
	void begins(const Bytes &first);
	// Sends a correct RDMA Write. Its payload must be placed.
	void writes(Region &r, size_t at, const Bytes &data, const FpduFault &fault = {});
	// Sends a wrong segment. A Terminate of DDP or RDMAP must quote its header.
	void offend(const Segment &s, const FpduFault &fault = {});
	// Checks that the victim's next completion is the receive of this message.
	void delivers(const Bytes &message);
	// Sends a correct message of len bytes, and checks that the victim delivers it.
	void message(size_t len = 40);
	// Checks that the victim's next completion is a success with this opcode.
	void completes(ibv_wc_opcode opcode);
	// Posts a Send of len bytes, and checks that the peer receives it and that it completes.
	void victim_sends(size_t len);
	// Receives the peer's next message, checks every header field of its segments, and returns
	// them joined to one segment.
	Segment receives(uint8_t opcode);
	// Performs Send, Write and Read in both directions, with each of these sizes in bytes.
	void data_both_ways(const std::vector<size_t> &sizes = {1, 500, 1400, 5000});

	// For the check of the victim's memory at the end: these bytes must be there.
	void places(Region &r, ptrdiff_t at, Bytes bytes);
	// This range may have any contents, because an erroneous segment had it as its target.
	void may_touch(Region &r, Range range);
	void may_touch_slot() { may_touch(c().recv, c().slot(slot())); } // the next receive

	// ---- checks of the outcome; each reports GoogleTest failures and ends the session

	void judge(const Verdict &verdict);
	// For a peer that has closed: the counter must move by one; if it is empty, none may move.
	void judge_gone(const std::string &counter);
	// data_both_ways(), then a graceful end.
	void judge_working();
	// Checks only the victim's memory, and the device's counters and objects.
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
