// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A user who makes one connection after the other, and measures how far attacks affect these.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "rdma/endpoint.h"

namespace isolation {

using Clock = std::chrono::steady_clock;

struct Figures {
	size_t count = 0;
	size_t failed = 0;
	Clock::duration median{};
	Clock::duration longest{};
	std::string failure; // reason of the last failure
};

std::string to_string(const Figures &figures);
std::string to_string(Clock::duration time); // in ms

// The client is on host A, the server, with a listener of its own, on host B.
class Innocent {
public:
	uint16_t port() const { return listener_.port(); }
	// Sets up this many connections, and more until over() is true.
	Figures connect(size_t count, const std::function<bool()> &over = [] { return true; });

private:
	void set_up();

	rdma::Listener listener_{lab::b(), lab::Family::ipv4, 1024};
};

} // namespace isolation
