// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A trial: a victim, a peer in Full Operation that does something, and the judgement
// of how the victim took it. Cases are rows of tables; the expected outcome is the RFC's.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "../iwarp/peer.h"
#include "../victim/victim.h"

namespace bad_input {

using iwarp::Code;
using iwarp::Octets;
using victim::soon; // for counters, too: drivers may refresh them only now and then

// What the RFC lets happen.
struct Verdict {
	std::vector<Code> codes{}; // Terminate with one of these
	bool may_end = false;	   // Terminate with any code, or close: no RFC names one
	bool may_live = false;	   // the connection goes on
};

// Exactly one of these codes. More than one: the RFC's text fits each.
template <typename... C> Verdict terminates(C... codes)
{
	return {{codes...}, false, false};
}
// It is an error, but no document gives it a code.
Verdict ends();
// It is legal.
Verdict lives();
// The RFC does not say; nothing else may break.
Verdict either();

struct Terms {
	uint8_t rev = 1;
	bool crc = true;	     // false: both sides prefer none
	bool peer_wants_crc = true;  // false: only the victim does
	bool markers_to_victim = false;
	bool markers_to_peer = false;
	int rcvbuf = 0;		     // of the peer, 0: the system's choice
	victim::Options victim{};
};

// What a case changes in memory although it ends in an error, or legally.
struct Touched {
	victim::Region *region;
	victim::Range range;
};

class Trial {
public:
	explicit Trial(const Terms &s);

	victim::Victim v;
	iwarp::Peer p;
	const Terms setup;

	victim::Connection &connection() { return v.connection(0); }

	// Sends the segment that is wrong; a Terminate must quote its header.
	void offend(const iwarp::Segment &s, const iwarp::FpduFault &fault = {});
	// These octets may differ from what they were.
	void touches(victim::Region &r, victim::Range range) { touched_.push_back({&r, range}); }
	void touches_receive(unsigned slot);
	// A correct message in between, which the victim must have received.
	void good_message(size_t len = 40);

	// One of the victim's reads was answered well.
	void expect_read() { reads_++; }

	// The judgement, as GoogleTest failures.
	void judge(const Verdict &verdict);

private:
	bool lives();
	void check_terminate(const iwarp::End &end, const Verdict &verdict);
	void check_headers(const iwarp::Terminate &t);
	void check_ended(const iwarp::End &end);
	void check_memory();
	void check_counters(bool ended, const std::optional<Code> &code);

	std::optional<iwarp::Segment> offence_;
	std::vector<Touched> touched_;
	unsigned received_ = 0;
	unsigned reads_ = 0;
	uint64_t errors_before_;
	std::vector<std::pair<std::string, std::optional<uint64_t>>> counters_before_;
};

// A fresh connection to the same listener does Send, Write and Read correctly.
void expect_healthy(victim::Victim &v);

// Policy for the connections of one trial; skips the test where the device has no such knob.
class TrialPolicy {
public:
	explicit TrialPolicy(const Terms &s);
	bool holds() const { return holds_; }

private:
	victim::PolicyScope crc_, markers_;
	bool holds_;
};

struct Case {
	std::string name;
	const char *rfc; // where the outcome is said
	Verdict verdict;
	std::function<void(Trial &)> act;
	Terms setup{};
};

// One test per row.
class Wire : public testing::TestWithParam<Case> {};

void PrintTo(const Case &c, std::ostream *os);
std::string case_name(const testing::TestParamInfo<Case> &info);

} // namespace bad_input
