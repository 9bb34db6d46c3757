// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

#include <string>

namespace live_fuzz {

// Kernel messages that report an error. complaints() returns those since the construction, or since
// the previous call.
class KernelLog {
public:
	KernelLog();
	~KernelLog();
	std::string complaints();

private:
	int fd_;
};

} // namespace live_fuzz
