// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a session is going to do, drawn from its seed before it begins. Places in the victim's
// memory are named by region and offset: addresses and STags are known only when it runs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "../iwarp/startup.h"
#include "dice.h"

namespace live_fuzz {

// The device's policy (sysfs), as far as sessions vary it.
struct Policy {
	unsigned mpa_rev = 2;
	bool permissive = true;
	std::string crc = "preferred";
	bool markers = false;
	std::string p2p = "send write read rtr-frame";
	std::string fpdu = "emss";
	unsigned startup_timeout_ms = 20000;
};

// How the peer's startup frame is wrong. Over SCTP: key is the code, pd_length the PPID, early_fpdu
// a segment behind it.
enum class StartupFault {
	none,
	flip,
	cut,
	key,
	pd_length,
	surplus,
	early_fpdu,
	garbage,
	silence,
	twice
};

struct Startup {
	bool victim_initiates = false;
	bool victim_rejects = false;
	uint8_t rev = 2;
	bool m = false, c = true;
	iwarp::Enhanced
		enhanced{}; // of the request; the kinds of a reply are cut to what is asked for
	size_t private_data = 0;
	bool rtr_frame = false; // revision 1: offered, or taken (2007 proposal)
	StartupFault fault = StartupFault::none;
	uint32_t at = 0, value = 0; // of the fault
};

enum class Area { rw, wo, ro, local, alien };

// The first ones are right, whatever their numbers; the others are not.
enum class Act {
	send,
	write,
	read,
	victim_send,
	victim_write,
	victim_read,
	last_right = victim_read,
	send_too_long,
	send_wrong_msn,
	send_wrong_mo,
	write_forbidden, // area without remote write
	write_no_stag,
	write_outside,
	read_forbidden,
	read_no_stag,
	read_outside,
	too_many_reads,
	response_unasked,
	terminate,
	short_segment,
	wrong_queue,
	any_segment, // all fields at random
	last = any_segment,
};

// What is done to the bytes of the FPDUs of a step. Over SCTP: crc is another PPID, marker an
// ordered chunk, length a DDP-SSN too high and pad one that was used before.
enum class Fault { none, crc, marker, length, flip, drop, insert, cut, twice, pad };

struct Step {
	Act act = Act::send;
	Area area = Area::rw;
	uint32_t at = 0, len = 0;
	uint32_t segments = 1;
	bool wait = false; // for all that is on its way, before the next
	Fault fault = Fault::none;
	uint32_t where = 0, value = 0; // of the fault

	bool right() const { return act <= Act::last_right && fault == Fault::none; }
};

enum class Ending { fin, reset, close, victim_disconnects, fin_inside };

struct Plan {
	uint64_t seed = 0;
	bool sctp = false; // the lower layer
	Policy policy{};
	Startup startup{};
	std::vector<Step> steps{};
	Ending ending = Ending::fin;
	std::vector<uint32_t> chunks{}; // bytes for each send call, in turn

	// The victim serves this revision.
	bool rev_served() const;
	// Nothing is wrong up to Full Operation.
	bool starts_right() const;
	// Nothing is wrong at all: all of it must succeed.
	bool right() const;
};

Plan draw(uint64_t seed, bool sctp);
std::ostream &operator<<(std::ostream &os, const Plan &p);

// Reads and writes keep apart, so that what a read returns is certain.
inline constexpr uint32_t rw_size = 32768, region_size = 8192, receive_size = 1024, receives = 8;
inline constexpr uint32_t written_half = rw_size / 2;

} // namespace live_fuzz
