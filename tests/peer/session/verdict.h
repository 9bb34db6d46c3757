// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the RFC lets happen to a connection.
#pragma once

#include <string>
#include <vector>

#include "../iwarp/terminate.h"

namespace peer {

using iwarp::Code;

enum class Fate {
	lives,	    // it is legal: the connection goes on, in both directions
	terminates, // Terminate with the code, then FIN
	closes,	    // no Terminate: the peer is gone, or has sent one itself
	ends,	    // an error without a code in any RFC: either of the two
	either,	    // the RFC does not say: it goes on, or ends; nothing else may break
};

struct Verdict {
	Fate fate = Fate::lives;
	// The code; several where the RFC's text fits each.
	std::vector<Code> codes{};
	// Counter that moves by one. With a code it follows from that, unless named here.
	std::string counter{};

	bool fits(const Code &got) const;
	// The counter that moves with this code.
	std::string counter_for(const Code &got) const;
};

template <typename... C>
Verdict terminates(C... codes)
{
	return {Fate::terminates, {codes...}, {}};
}
inline Verdict lives()
{
	return {};
}
inline Verdict closes(std::string counter = {})
{
	return {Fate::closes, {}, std::move(counter)};
}
inline Verdict ends()
{
	return {Fate::ends, {}, {}};
}
inline Verdict either()
{
	return {Fate::either, {}, {}};
}

} // namespace peer
