// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection that no case disturbs. Traffic on it shows whether the device still works.
#pragma once

#include "../iwarp/peer.h"
#include "victim.h"

namespace victim {

class Witness {
public:
	explicit Witness(Victim &v);
	~Witness();
	Witness(const Witness &) = delete;
	Witness &operator=(const Witness &) = delete;

	// Performs Send, Write and Read and compares all bytes. Returns a description of the first
	// fault, or an empty string.
	std::string turn();

private:
	std::optional<ibv_wc> completion();
	std::string send_and_write(const iwarp::Bytes &sent, const iwarp::Bytes &written);
	std::string read(const iwarp::Bytes &written);

	Victim &v_;
	iwarp::Peer p_;
	unsigned index_ = 0;
	unsigned turns_ = 0;
};

} // namespace victim
