// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

#include <string>

namespace live_fuzz {

// What the kernel has complained of since the last time.
class KernelLog {
public:
	KernelLog();
	~KernelLog();
	std::string complaints();

private:
	int fd_;
};

} // namespace live_fuzz
