// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Many connections that do nothing, and what the kernel has taken for them.
#pragma once

#include <memory>
#include <vector>

#include "endpoint.h"

namespace rdma {

// Everything but free pages, files' and programs' own, in octets.
double kernel_memory();

// Connections between the hosts whose two ends share a protection domain and a completion queue on each host.
class Crowd {
public:
	Crowd();
	void add();
	// Queue pairs: two for each connection.
	size_t size() const { return all_.size(); }

private:
	struct Shared {
		Pd pd;
		Cq cq;

		void create_qp(rdma_cm_id *id);
	};
	struct DestroyWithQp {
		void operator()(rdma_cm_id *id) const;
	};

	Channel channel_;
	Listener listener_;
	Shared a_, b_;
	std::vector<std::unique_ptr<rdma_cm_id, DestroyWithQp>> all_;
};

// Octets that one more idle queue pair of such a connection costs: the mean of @count connections, with all
// that belongs to it: TCP's socket, connection manager, rings.
double idle_cost(size_t count);

} // namespace rdma
