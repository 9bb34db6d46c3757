// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The longest softirq for received packets, and its completions, measured by the kernel's tracing.
#pragma once

#include <cstddef>
#include <string>

namespace isolation {

class Softirqs {
public:
	// @completions: also traces each completion, which takes longer than the completion itself.
	explicit Softirqs(bool completions);
	~Softirqs();
	Softirqs(const Softirqs &) = delete;
	Softirqs &operator=(const Softirqs &) = delete;

	struct Most {
		size_t softirqs = 0;
		size_t completions = 0; // of one queue pair, in one softirq
		double milliseconds = 0;
	};
	// The maximum since construction. Throws if events were lost.
	Most most() const;

private:
	const std::string path_ = "/sys/kernel/tracing/instances/kwarp-isolation/";
};

} // namespace isolation
