// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "verdict.h"

#include <algorithm>

namespace peer {

bool Verdict::fits(const Code &got) const
{
	return std::find(codes.begin(), codes.end(), got) != codes.end();
}

std::string Verdict::counter_for(const Code &got) const
{
	if (!counter.empty())
		return counter;
	if (got == iwarp::mpa::closed)
		return "llp_lost";
	if (got == iwarp::mpa::crc)
		return "crc_errors";
	if (got == iwarp::mpa::marker)
		return "marker_errors";
	if (got.layer == 1)
		return got.etype == 1 ? "ddp_tagged_errors" : "ddp_untagged_errors";
	if (got.layer == 0)
		return got.etype == 1 ? "rdmap_protection_errors" : "rdmap_operation_errors";
	return "startup_negotiation_errors";
}

} // namespace peer
