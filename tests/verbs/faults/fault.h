// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The kernel's fault injection, for one thread (Documentation/fault-injection of the kernel).
#pragma once

#include <functional>
#include <limits>

namespace faults {

// Whether this kernel supports it.
bool supported();

// Calls the action without a failure, when it must not throw, then repeatedly: in the n-th call,
// the n-th allocation or copy to or from user space that the kernel performs for this thread fails.
// Ends with the first call that has fewer. A call with a failure may throw, but neither wait in
// vain (rdma::Timeout) nor leave objects. Returns the number of the last call. After the first
// "dense" calls only every 16th n is tried, for actions that take long, unless KWARP_THOROUGH is
// set; with KWARP_SHORT every 61st n after the first 100.
int each(const std::function<void()> &action, int dense = std::numeric_limits<int>::max());

// Called inside the action: nothing fails from here on, for example during cleanup.
void enough();

// Until the end of the scope, this percentage of allocations fails, in any context: those of the
// driver, and those of TCP in calls from the driver.
class Scarce {
public:
	explicit Scarce(int percent);
	~Scarce();
	Scarce(const Scarce &) = delete;
	Scarce &operator=(const Scarce &) = delete;
	// Number of injected failures.
	int failed() const;
};

} // namespace faults
