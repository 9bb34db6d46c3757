// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The plan of a session, drawn from its seed before the session begins. Places in the victim's
// memory are regions and offsets, because addresses and STags are known only during the session.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "../iwarp/startup.h"
#include "dice.h"

namespace live_fuzz {

// Those knobs of the device's policy (sysfs) that sessions vary.
struct Policy {
	unsigned mpa_rev = 2;
	bool permissive = true;
	std::string crc = "preferred";
	bool markers = false;
	std::string p2p = "send write read rtr-frame";
	std::string fpdu = "emss";
	unsigned startup_timeout_ms = 20000;
};

// The fault in the peer's startup frame. Over SCTP key changes the function code, pd_length the
// PPID, and early_fpdu adds a segment after the control message.
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
		enhanced{}; // of a request; a reply has only those RTR kinds that were requested
	size_t private_data = 0;
	bool rtr_frame = false; // revision 1: S in the peer's frame (2007 proposal)
	StartupFault fault = StartupFault::none;
	uint32_t at = 0, value = 0; // of the fault
};

enum class Area { rw, wo, ro, local, alien };

// Acts up to last_right are correct with any operands; the others are errors.
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
	write_forbidden, // an area without the right of remote write
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

// A fault in the bytes of one FPDU of a step. Over SCTP crc changes the PPID, marker sends an
// ordered chunk, length skips DDP-SSNs, and pad repeats the previous DDP-SSN.
enum class Fault { none, crc, marker, length, flip, drop, insert, cut, twice, pad };

struct Step {
	Act act = Act::send;
	Area area = Area::rw;
	uint32_t at = 0, len = 0;
	uint32_t segments = 1;
	bool wait = false; // for all outstanding results, before the next step
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
	std::vector<uint32_t> chunks{}; // sizes of the send calls, used in turn

	// The victim serves this revision.
	bool rev_served() const;
	// No fault before Full Operation: the connection must be established.
	bool starts_right() const;
	// No fault at all: every operation must succeed.
	bool right() const;
};

Plan draw(uint64_t seed, bool sctp);
std::ostream &operator<<(std::ostream &os, const Plan &p);

// In the rw region writes use the first half and reads the second, so that the result of a read is
// known.
inline constexpr uint32_t rw_size = 32768, region_size = 8192, receive_size = 1024, receives = 8;
inline constexpr uint32_t written_half = rw_size / 2;

} // namespace live_fuzz
