// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The outcome of a connection that an RFC requires or permits.
#pragma once

#include <string>
#include <vector>

#include "../iwarp/terminate.h"

namespace peer {

using iwarp::Code;

enum class Fate {
	lives,	    // no error: the connection goes on, in both directions
	terminates, // the victim sends a Terminate with one of the codes, then FIN
	closes,	    // no Terminate: the peer has closed, or has sent a Terminate itself
	ends,	    // an error for which no RFC has a code: with or without a Terminate
	either,	    // not specified: the connection goes on or ends; nothing else may break
};

struct Verdict {
	Fate fate = Fate::lives;
	// The permitted codes of the Terminate; several if the RFC's text permits each.
	std::vector<Code> codes{};
	// The counter that moves by one, beside that of the Terminate's class. If it is empty: the
	// one of the errors that usually have the Terminate's code, or none without a Terminate.
	std::string counter{};

	bool fits(const Code &got) const;
	// Returns the counters that move with this code.
	std::vector<std::string> counters_for(const Code &got) const;
	// The same verdict, with a Terminate whose code does not tell the kind of the error.
	Verdict counted_as(std::string kind) const { return {fate, codes, std::move(kind)}; }
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
