// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tables of cases: the peer's actions on a connection, and the outcome that an RFC requires.
#pragma once

#include <format>

#include "session.h"

namespace peer {

using Act = std::function<void(Session &)>;

struct Case : Row {
	Verdict verdict;
	Act act;
	Terms terms{};
};
using Table = std::vector<Case>;

// One test per row of a Table.
class Wire : public testing::TestWithParam<Case> {};

// A section of an RFC and the verdict that it requires. add() appends a row with both to the table.
class Rule {
public:
	Rule(Table &table, const char *rfc, Verdict verdict, Terms terms = {})
		: table_(table), rfc_(rfc), verdict_(std::move(verdict)), terms_(std::move(terms))
	{
	}

	const Rule &add(std::string name, Act act) const
	{
		table_.push_back({{std::move(name), rfc_}, verdict_, std::move(act), terms_});
		return *this;
	}

private:
	Table &table_;
	const char *rfc_;
	Verdict verdict_;
	Terms terms_;
};

inline constexpr const char *op_names[] = {
	"write",       "read_request", "read_response", "send",	 "send_inv", "send_se",
	"send_se_inv", "terminate",    "op_8",		"op_9",	 "op_10",    "op_11",
	"op_12",       "op_13",	       "op_14",		"op_15",
};

// A change to an otherwise correct segment.
using Edit = std::function<void(Segment &)>;

using RegionOf = std::unique_ptr<Region> Victim::*;
inline constexpr RegionOf rw = &Victim::rw, ro = &Victim::ro, wo = &Victim::wo,
			  local = &Victim::local, atomic = &Victim::atomic, alien = &Victim::alien;

// The data sink in the peer's Read Requests.
inline constexpr uint32_t sink_stag = 0x12345600;
inline constexpr uint64_t sink_to = 0x1000;

// The target of a Write or Read Request: memory of the victim.
struct Place {
	RegionOf region = rw;
	int64_t at = 0;			// from the region's base, in bytes
	uint32_t len = 40;		// in bytes
	uint32_t stag_xor = 0;		// changes the region's STag
	std::optional<uint32_t> stag{}; // instead of the region's STag
	std::optional<uint64_t> to{};	// instead of base and at

	uint32_t stag_in(const Session &s) const;
	uint64_t to_in(const Session &s) const;
	// Returns an RDMA Write of a pattern, or a Read Request with the next MSN.
	Segment write(const Session &s) const;
	Segment read(Session &s) const;
};

// Each sends a wrong segment: the given one, or a correct one with the change or fault applied. A
// Send and a Terminate have MSN 1, a Read Request has the next MSN of its queue.
Act offends(const Segment &wrong, const FpduFault &fault = {});
Act wrong_send(const Edit &change = {}, size_t len = 40, const FpduFault &fault = {});
Act wrong_write(const Place &where = {}, const Edit &change = {}, const FpduFault &fault = {});
Act wrong_read(const Place &where = {}, const Edit &change = {});
Act wrong_terminate(const Edit &change);
Act wrong_write_to_deregistered();
// Sends the first segment of a message, of first bytes, and then a wrong segment.
Act after_first(const Segment &second, size_t first = 100, const FpduFault &fault = {});
// Sends a wrong segment: opcode, a Send with Invalidate or with SE and Invalidate, for the STag of
// where.
Act invalidates(uint8_t opcode, const Place &where, size_t len = 40);
// Each makes one call of send(): for all the segments, all the FPDUs, or the first n bytes of an
// FPDU.
Act at_once(const std::vector<Segment> &all);
struct FaultyFpdu {
	Segment segment;
	FpduFault fault{};
};
Act fpdus(const std::vector<FaultyFpdu> &all);
Act first_bytes(const Segment &whole, size_t n);

// Each sends a correct segment and checks its effect: the next Send is delivered, the Write is
// placed, the Read Request is answered. The change or fault must be legal.
Act right_send(const Edit &change = {}, size_t len = 40, const FpduFault &fault = {});
Act right_write(const Place &where = {}, const Edit &change = {});
Act right_read(const Place &where = {});

// Sends n Read Requests in one call, each for the first len bytes of the region rw.
void read_at_once(Session &s, unsigned n, uint32_t len);
// Sends extra more Read Requests than IRD, in one call. Each is for the whole region rw, which must
// be larger than the buffers on the way: the peer receives nothing before the victim has counted an
// error.
Act reads_beyond_ird(unsigned extra);

// Sends n messages, then runs the act.
Act after_messages(unsigned n, const Act &act);
// Sends one message, restricts the remote access rights of the victim's QP, then runs the act.
Act with_access(int access, const Act &act);
// Runs the act, then sends a message, or ends the stream.
Act then_message(const Act &act);
Act then_fin(const Act &act);

} // namespace peer
