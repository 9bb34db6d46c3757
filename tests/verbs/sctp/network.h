// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Packets that the network loses, and the associations of the device's host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/host.h"

namespace sctp {

enum Chunk {
	data_chunk = 0,
	sack = 3,
	shutdown_ack = 8,
	cookie_ack = 11,
	shutdown_complete = 14,
};

// Drops packets of a host that begin with a chunk of this type; with a PPID, only DATA with it.
// Keeps the filters of tests/vm/lib.sh.
class Dropped {
public:
	Dropped(const lab::Host &host, Chunk type, uint32_t ppid = 0);
	~Dropped() { filter("del", ""); }
	Dropped(const Dropped &) = delete;
	Dropped &operator=(const Dropped &) = delete;

private:
	void filter(const std::string &what, const std::string &of) const;

	const lab::Host &host_;
};

enum State { closed = 0, established = 3 };

// An association, as the kernel lists it, whether its socket was released or not.
struct Listed {
	int socket_state;
	int state;
	uint16_t port; // on the device's side
};

std::vector<Listed> associations();

// The number of associations of this port that are not closed.
size_t associations(uint16_t port);
// Waits until none of these is established any more.
bool all_end(uint16_t port);

} // namespace sctp
