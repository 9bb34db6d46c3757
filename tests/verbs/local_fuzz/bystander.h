// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Another process with a connection between the same devices: it continuously sends, writes and
// reads, and checks each byte that arrives.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace local_fuzz {

class Bystander {
public:
	// Forks; call it before this process has threads or opens a device.
	Bystander();
	~Bystander();
	Bystander(const Bystander &) = delete;
	Bystander &operator=(const Bystander &) = delete;

	// Waits until it has completed a turn that began after the call. Returns the error, or
	// nothing.
	std::string turn();
	uint64_t turns() const;

private:
	struct Shared;
	Shared *shared_;
	pid_t pid_;
};

} // namespace local_fuzz
