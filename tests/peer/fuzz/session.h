// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One session: executes a plan with a victim of its own, and checks the victim. For any plan, the
// victim must send well-formed FPDUs; the session must end; each work request must complete once;
// and memory to which the peer has no right, or which it has not addressed, must keep its pattern.
// If the plan has no fault, every operation must succeed.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "../iwarp/peer.h"
#include "../victim/victim.h"
#include "plan.h"

namespace live_fuzz {

// Longer than the startup timeout of the policy.
inline const iwarp::Millis long_patience = iwarp::patience;

class Session {
public:
	explicit Session(const Plan &plan);

	// Returns the faults in words, or an empty string.
	std::string run();

	bool established() const { return established_; }
	bool terminated() const { return terminated_; }

private:
	using Bytes = iwarp::Bytes;
	using Segment = iwarp::Segment;
	struct Read {
		uint32_t stag;
		uint64_t to;
		Bytes data, got;
	};

	// startup.cc
	bool start_up();
	bool respond();
	bool request();
	iwarp::StartupFrame reply_to(const iwarp::StartupFrame &request) const;
	void send_startup(const iwarp::StartupFrame &f);
	void follow(const iwarp::StartupFrame &reply);
	void send_control(const iwarp::StartupFrame &f);
	void receive_rtr_frame();
	bool common_kind(const iwarp::StartupFrame &request,
			 const iwarp::StartupFrame &reply) const;

	// steps.cc
	void perform(const Step &s, Dice dice);
	void right(const Step &s, Dice &dice);
	void post(const Step &s);
	void wrong(const Step &s, Dice &dice);
	Segment wrong_segment(const Step &s, Dice &dice);
	iwarp::ReadRequest wrong_read(const Step &s);
	void message(const Segment &whole, const Step &s, Dice &dice);
	void emit(const Segment &s, const Step &step, bool faulty);
	void emit_message(const Bytes &segment, const Step &step, bool faulty);
	void spoil(Bytes &o, const Step &s) const;
	victim::Region &region(Area a);

	// session.cc
	bool send(const Bytes &o); // TCP
	bool send(const iwarp::sctp::Message &m);
	bool transmit(const Segment &s);
	bool pump(iwarp::Millis timeout);
	void handle(Segment s);
	void answer(const Segment &request);
	void completions();
	bool settled() const;
	void settle();
	void finish();
	void finish_right();
	bool ends_within(iwarp::Millis limit);
	void drain();
	void judge();
	void fault(const std::string &what);
	bool version_0() const;

	const Plan &plan_;
	std::unique_ptr<victim::Victim> v_;
	std::optional<iwarp::PeerListener> listener_; // if the victim initiates
	std::optional<iwarp::Peer> p_;
	victim::Connection *c_ = nullptr;
	std::string faults_;
	size_t chunk_ = 0;

	bool right_;	    // no fault so far; the members below have all expected results
	bool gone_ = false; // the peer can send no more
	// bytes were changed that no CRC covers: writes may land anywhere inside regions
	bool loose_ = false;
	bool post_failed_ = false;
	bool established_ = false, terminated_ = false, ended_ = false;
	uint32_t next_sink_ = 1000;

	std::deque<Bytes> to_receive_;			 // messages that the victim must receive
	std::deque<Read> reads_;			 // outstanding reads of the peer
	std::deque<std::pair<uint8_t, Bytes>> incoming_; // from the victim: opcode, message
	Bytes partial_;					 // received part of the first of them
	unsigned posted_ = 0;				 // work requests without completion
	std::map<victim::Region *, std::vector<victim::Range>> allowed_;
	std::map<victim::Region *, Bytes> image_; // expected contents at the end
};

} // namespace live_fuzz
