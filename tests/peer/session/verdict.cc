// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "verdict.h"

#include <algorithm>
#include <map>

namespace peer {
namespace {

// The layer and the type of the error have a counter each.
std::string class_of(const Code &got)
{
	if (got.layer == 2)
		return "mpa_errors";
	if (got.layer == 1)
		return got.etype == 1 ? "ddp_tagged_errors" : "ddp_untagged_errors";
	return got.etype == 1 ? "rdmap_protection_errors" : "rdmap_operation_errors";
}

// Returns the counter of the errors that usually have this code, or nothing if they have none.
std::string kind_of(const Code &got)
{
	using namespace iwarp;
	static const std::map<Code, std::string> kinds{
		{rdmap::prot_stag, "stag_errors"},
		{rdmap::prot_bounds, "bounds_errors"},
		{rdmap::prot_access, "access_errors"},
		{rdmap::prot_stream, "stag_errors"},
		{rdmap::prot_wrap, "bounds_errors"},
		{rdmap::prot_invalidate, "stag_errors"},
		{rdmap::op_version, "version_errors"},
		{rdmap::op_opcode, "opcode_errors"},
		{ddp::tagged_stag, "stag_errors"},
		{ddp::tagged_bounds, "bounds_errors"},
		{ddp::tagged_stream, "stag_errors"},
		{ddp::tagged_wrap, "bounds_errors"},
		{ddp::tagged_version, "version_errors"},
		{ddp::untagged_qn, "opcode_errors"},
		{ddp::untagged_no_buffer, "no_buffer_errors"},
		{ddp::untagged_msn, "sequence_errors"},
		{ddp::untagged_mo, "sequence_errors"},
		{ddp::untagged_too_long, "too_long_errors"},
		{ddp::untagged_version, "version_errors"},
		{mpa::closed, "llp_lost"},
		{mpa::crc, "crc_errors"},
		{mpa::marker, "marker_errors"},
		{mpa::insufficient_ird, "startup_ird_errors"},
		{mpa::no_rtr, "startup_rtr_errors"},
	};
	const auto kind = kinds.find(got);
	return kind == kinds.end() ? "" : kind->second;
}

} // namespace

bool Verdict::fits(const Code &got) const
{
	return std::find(codes.begin(), codes.end(), got) != codes.end();
}

std::vector<std::string> Verdict::counters_for(const Code &got) const
{
	std::vector<std::string> all{class_of(got)};
	const std::string kind = counter.empty() ? kind_of(got) : counter;
	if (!kind.empty())
		all.push_back(kind);
	return all;
}

} // namespace peer
