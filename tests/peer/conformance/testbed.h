// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What all cases share: one victim on the device under test, a connection that nothing may disturb,
// and the device's own account of errors and objects.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>

#include "../iwarp/peer.h"
#include "../victim/victim.h"
#include "nldev.h"

namespace conformance {

// The device's policy in sysfs. A knob is written only when its value changes, and all are put back
// at the end.
class Policy {
public:
	~Policy();
	// False if the device does not know the knob or the value.
	bool set(const std::string &knob, const std::string &value);
	void crc(bool wanted);
	void markers(bool wanted) { must("markers", wanted ? "1" : "0"); }
	void rev(uint8_t highest) { must("mpa_rev", std::to_string(highest)); }
	void must(const std::string &knob, const std::string &value);

private:
	struct Knob {
		std::string before, now;
	};
	std::map<std::string, Knob> knobs_;
};

class Testbed {
public:
	static Testbed &the();

	// Before and after a case. finish() tells, as GoogleTest failures, what the case has left
	// behind: objects, counts other than expected, foreign memory changed, the other connection hurt.
	void begin();
	void finish();

	// A counter that must have moved by n when the case ends.
	void expect_count(const std::string &name, uint64_t n = 1) { expected_[name] += n; }
	// Have they?
	bool all_counted();
	// One error of a class that no RFC names.
	void expect_some_error() { some_error_ = true; }

	victim::Victim v;
	Policy policy;

	~Testbed();

private:
	Testbed();
	static victim::Options options();
	void open_bystander();
	Counts wanted() const;
	void check_counters();
	void check_resources();
	void check_bystander();

	Nldev nldev_;
	std::unique_ptr<iwarp::Peer> bystander_;
	unsigned bystander_index_ = 0;
	unsigned bystander_messages_ = 0;
	Counts resources_, counters_, expected_;
	bool some_error_ = false;
	bool begun_ = false;
};

// Waits for the condition as long as a slow machine may need.
bool eventually(const std::function<bool()> &condition);

// Until TCP has an acknowledgement for all that was sent: what is sent then is another segment.
void wait_acknowledged(const iwarp::Socket &s);

// Number of receives posted on each connection, and their size.
inline constexpr unsigned receives = 4;
inline constexpr uint32_t receive_size = 2048;
inline constexpr size_t region_size = 8192;
inline constexpr size_t rw_size = 128 * 1024;
inline constexpr uint8_t depth = 4; // IRD and ORD

} // namespace conformance
