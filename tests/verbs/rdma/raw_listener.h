// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A TCP listener that is not an RDMA device: it accepts connections and sends nothing.
#pragma once

#include <cstdint>

#include "lab/host.h"
#include "work.h"

namespace rdma {

class RawListener {
public:
	// 0: any port
	explicit RawListener(const lab::Host &host, uint16_t port = 0);
	~RawListener();
	RawListener(const RawListener &) = delete;
	RawListener &operator=(const RawListener &) = delete;

	uint16_t port() const { return port_; }
	// Accepts the next connection and closes it; false if there is none in time.
	bool slam_door(Milliseconds limit = patience);
	// Accepts the next connection, receives its first bytes, and closes or resets it.
	bool refuse(bool reset, Milliseconds limit = patience);

private:
	int fd_;
	uint16_t port_;
};

// A port of the host without a listener.
uint16_t closed_port(const lab::Host &host);

} // namespace rdma
