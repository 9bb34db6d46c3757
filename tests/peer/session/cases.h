// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tables of cases: what the peer does on a connection, and what an RFC says of the outcome.
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

// One test per row.
class Wire : public testing::TestWithParam<Case> {};

// A section of an RFC and its verdict. add() makes a row of the table from them.
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

// A change to a segment that is right otherwise.
using Edit = std::function<void(Segment &)>;

using RegionOf = std::unique_ptr<Region> Victim::*;
inline constexpr RegionOf rw = &Victim::rw, ro = &Victim::ro, wo = &Victim::wo,
			  local = &Victim::local, alien = &Victim::alien;

// Where the peer wants the answers to its reads.
inline constexpr uint32_t sink_stag = 0x12345600;
inline constexpr uint64_t sink_to = 0x1000;

// What a segment names: memory in a region of the victim, unless stag or to says otherwise.
struct Place {
	RegionOf region = rw;
	int64_t at = 0;
	uint32_t len = 40;
	uint32_t stag_xor = 0;
	std::optional<uint32_t> stag{};
	std::optional<uint64_t> to{};

	uint32_t stag_in(const Session &s) const;
	uint64_t to_in(const Session &s) const;
	// An RDMA Write of a pattern; a Read Request, with the next MSN.
	Segment write(const Session &s) const;
	Segment read(Session &s) const;
};

// Sends a wrong segment: this one, or one that only the change makes wrong. Untagged ones have
// MSN 1.
Act offends(const Segment &wrong, const FpduFault &fault = {});
Act wrong_send(const Edit &change = {}, size_t len = 40, const FpduFault &fault = {});
Act wrong_write(const Place &where = {}, const Edit &change = {}, const FpduFault &fault = {});
Act wrong_read(const Place &where = {}, const Edit &change = {});
Act wrong_terminate(const Edit &change);
Act wrong_write_to_deregistered();
// Sends a wrong segment behind the first segment of a message.
Act after_first(const Segment &second, size_t first = 100, const FpduFault &fault = {});
// Sends a Send with Invalidate of the place's STag.
Act invalidates(uint8_t opcode, const Place &where, size_t len = 40);
// Sends these segments, or FPDUs, in one call; or only the first bytes of an FPDU.
Act at_once(const std::vector<Segment> &all);
struct FaultyFpdu {
	Segment segment;
	FpduFault fault{};
};
Act fpdus(const std::vector<FaultyFpdu> &all);
Act first_bytes(const Segment &whole, size_t n);

// Sends what is right: the next message, a Write, a Read, which is answered.
Act right_send(const Edit &change = {}, size_t len = 40, const FpduFault &fault = {});
Act right_write(const Place &where = {}, const Edit &change = {});
Act right_read(const Place &where = {});

// The act behind so many messages, or with these rights of the QP only.
Act after_messages(unsigned n, const Act &act);
Act with_access(int access, const Act &act);
// The act, and behind it a message, or the end of the stream.
Act then_message(const Act &act);
Act then_fin(const Act &act);

} // namespace peer
