// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Properties of a host's TCP packets on its wire, until the end of a scope.
#pragma once

#include <cstdint>
#include <set>

#include "lab/host.h"

namespace options {

class Packets {
public:
	explicit Packets(const lab::Host &host);
	~Packets();
	Packets(const Packets &) = delete;
	Packets &operator=(const Packets &) = delete;

	// The types of service (IPv6: traffic classes) of TCP packets to or from a port, without
	// ECN.
	struct Seen {
		std::set<int> sent;
		std::set<int> received;
	};
	// Of all packets since the last call.
	Seen services(uint16_t port);

private:
	int fd_;
};

} // namespace options
