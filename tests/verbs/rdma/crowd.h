// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Many idle connections, and the kernel memory that they need.
#pragma once

#include <memory>
#include <vector>

#include "endpoint.h"

namespace rdma {

// All memory in bytes except free pages, page cache and the memory of programs.
double kernel_memory();

// The verbs objects that all queue pairs of a crowd on one host share.
struct Shared {
	Pd pd;
	Cq cq;

	// The first call creates the other objects.
	void create_qp(rdma_cm_id *id);
};

struct DestroyWithQp {
	void operator()(rdma_cm_id *id) const;
};
using CmIdWithQp = std::unique_ptr<rdma_cm_id, DestroyWithQp>;

// Connections between the hosts.
class Crowd {
public:
	Crowd();
	void add();

private:
	Channel channel_;
	Listener listener_;
	Shared a_, b_;
	std::vector<CmIdWithQp> all_;
};

// The memory in bytes that one more idle queue pair of such a connection needs: the mean of @count
// connections after as many others, including the TCP socket, objects of the connection manager and
// rings.
double idle_cost(size_t count);

} // namespace rdma
