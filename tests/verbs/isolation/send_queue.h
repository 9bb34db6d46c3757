// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The ring of a send queue, of which a program says that it is full without posting to it.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/kwarp-abi.h>

#include "rdma/window.h"
#include "rdma/work.h"

namespace isolation {

class SendQueue {
public:
	// Posts one request, by which the code finds the ring among the mappings of the process.
	explicit SendQueue(ibv_qp *qp);

	uint32_t depth() const { return depth_; }
	// A request that succeeds, sends nothing, and makes no completion.
	rdma::Send local_request() const;
	// Elements that the kernel has completed.
	uint32_t done() const;
	// Moves the producer index as far as possible; rings no doorbell.
	void announce_all() const;
	// The same, and rings a doorbell if the kernel has completed all elements.
	void keep_running() const;

private:
	ibv_qp *qp_;
	rdma::Mw window_;
	kwarp_ring_ctl *ctl_ = nullptr;
	uint32_t depth_ = 0;
};

} // namespace isolation
