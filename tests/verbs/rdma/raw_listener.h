// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A TCP listener that is no RDMA device: it takes connections and says nothing.
#pragma once

#include <cstdint>

#include "lab/host.h"

namespace rdma {

class RawListener {
public:
	explicit RawListener(const lab::Host &host);
	~RawListener();
	RawListener(const RawListener &) = delete;
	RawListener &operator=(const RawListener &) = delete;

	uint16_t port() const { return port_; }
	// Accept the next connection and close it; false if there is none in two seconds.
	bool slam_door();

private:
	int fd_;
	uint16_t port_;
};

// A port of the host that nobody listens on.
uint16_t closed_port(const lab::Host &host);

} // namespace rdma
