// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup forms besides revisions 1 and 2 as everybody speaks them, with a peer that plays them by
// hand: revision 0 (RFC 5044 appendix C), the Rtr frame (2007 proposal), RTR indications (RFC 6581 9.2).
#pragma once

#include "trial.h"

namespace bad_input {

// 2007 proposal 1: the printed octets and the text differ.
inline constexpr std::string_view rtr_key = "MPA ID RtR Frame", rtr_key_of_the_text = "MPA ID Rtr Frame";

iwarp::StartupFrame rtr_frame(bool c, std::string_view key = rtr_key, size_t private_data = 0);

// A request with these flags and nothing else.
iwarp::StartupFrame request_with(uint8_t rev, bool s, bool c = true, bool m = false);
// Likewise a reply.
iwarp::StartupFrame reply_with_flags(uint8_t rev, bool s, bool c = true, bool m = false);

// The segment in DDP's and RDMAP's version 0 or 1.
iwarp::Segment in_version(uint8_t version, iwarp::Segment s);

// Send, Write and Read in both directions with that version in every header, data compared.
void expect_data_both_ways(victim::Victim &v, victim::Connection &c, iwarp::Peer &p, uint8_t version = 1);

// The victim sends although the peer has sent no FPDU yet.
void expect_victim_speaks_first(victim::Victim &v, victim::Connection &c, iwarp::Peer &p);

// What the consumer has been told of the connection; nothing within the time.
std::optional<rdma_cm_event_type> told(victim::Victim &v, victim::Connection &c,
				       iwarp::Millis limit = std::chrono::seconds(15));

// A counter of the device.
uint64_t counter(const std::string &name);

// Large enough for the helpers above.
victim::Options roomy();

// The device's own timeout does not end a form that is played slowly.
class Forms : public testing::Test {
protected:
	Forms();
	void SetUp() override;

	// Where the victim connects to.
	iwarp::Address target() const;
	// Its request there.
	iwarp::Peer asked();
	// The other way round: what the victim makes of a request.
	static iwarp::Peer ask(victim::Victim &v, const iwarp::StartupFrame &request);

	static void expect_established(victim::Victim &v, victim::Connection &c);
	// The passive consumer learns that nothing came of what it accepted.
	static void expect_failed(victim::Victim &v, victim::Connection &c);
	// The connection is closed without a word.
	static void expect_closed(iwarp::Peer &p);
	// The counter is above what it was, soon.
	static void expect_moves(const std::string &name, uint64_t before);

private:
	victim::PolicyScope timeout_;
	iwarp::Socket listener_;
};

} // namespace bad_input
