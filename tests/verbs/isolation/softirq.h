// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What one softirq for received packets does at most, by the kernel's tracing.
#pragma once

#include <cstddef>
#include <string>

namespace isolation {

class Softirqs {
public:
	// @completions: traces each, which takes longer than most that is done for it.
	explicit Softirqs(bool completions);
	~Softirqs();
	Softirqs(const Softirqs &) = delete;
	Softirqs &operator=(const Softirqs &) = delete;

	struct Most {
		size_t softirqs = 0;
		size_t completions = 0; // of one queue pair, in one softirq
		double milliseconds = 0;
	};
	// Since the construction. Throws if something was not recorded.
	Most most() const;

private:
	const std::string path_ = "/sys/kernel/tracing/instances/kwarp-isolation/";
};

} // namespace isolation
