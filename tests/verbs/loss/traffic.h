// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Every operation in both directions at once, with each byte compared.
#pragma once

#include "rdma/endpoint.h"

namespace rdma {

class Traffic {
public:
	explicit Traffic(lab::Family family = lab::Family::ipv4);
	// Writes, Reads and Sends of many sizes, all outstanding together; ends when all are
	// complete and correct. Throws if one fails, or if nothing completes for a minute.
	void round();
	void rounds(int n);
	ibv_qp_state state() const { return pair_.client.state(); }

private:
	void prepare(Endpoint &end, unsigned int seed);
	void start(Endpoint &end, Endpoint &peer);
	void complete(Endpoint &end);
	void compare(Endpoint &end, unsigned int peers_seed);

	Pair pair_;
	unsigned int seed_ = 0;
};

} // namespace rdma
