// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Commands of rdma_ucm that librdmacm would not send.
#pragma once

#include <cstdint>

// The kernel's object of an id, which is the only one of its channel.
class KernelId {
public:
	explicit KernelId(int channel_fd);
	// errno or 0
	int accept(uint32_t qpn) const;

private:
	int fd_;
	uint32_t id_;
};
