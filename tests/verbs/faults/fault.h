// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The kernel's fault injection, for one thread (Documentation/fault-injection of the kernel).
#pragma once

#include <functional>
#include <limits>

namespace faults {

// This kernel has it.
bool supported();

// Calls the action again and again; in the n-th call, the n-th allocation or copy to or from user
// space that the kernel does for this thread fails. Ends with the first call that none failed in.
// Whether the action throws is its own matter; tells which call was the last. Behind the first "dense" ones it is
// every 16th only, for actions that take long, unless KWARP_THOROUGH is set.
int each(const std::function<void()> &action, int dense = std::numeric_limits<int>::max());

// Inside of the action: nothing fails from here on, such as what follows to tidy up.
void enough();

// Until the end of the scope, so many percent of the allocations that the driver does, or TCP does for
// it, fail, in whatever context.
class Scarce {
public:
	explicit Scarce(int percent);
	~Scarce();
	Scarce(const Scarce &) = delete;
	Scarce &operator=(const Scarce &) = delete;
	// How many have failed.
	int failed() const;
};

} // namespace faults
