// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connections by rdma_cm between the two hosts, of QPs that are given by number only.
#pragma once

#include <cstdint>

#include "rdma/cm.h"

namespace local_fuzz {

class Cable {
public:
	Cable();

	// Connects qp_a, on host A, and qp_b, on host B. Host A is the initiator, or host B if
	// swapped. Returns an errno or 0.
	int connect(uint32_t qp_a, uint32_t qp_b, bool swapped);
	void disconnect(bool swapped);
	// Destroys both ids, whatever the state of the connection.
	void close();

private:
	struct Port {
		explicit Port(const lab::Host &h) : host(h), listener(h) {}
		const lab::Host &host;
		rdma::Listener listener;
	};
	static rdma::Event wait(rdma::Channel &channel, rdma_cm_id *id);
	rdma::CmId requested(rdma::Channel &channel);
	int accept(Port &to, uint32_t qpn);

	Port a_, b_;
	rdma::Channel channel_;
	rdma::CmId client_, server_;
};

} // namespace local_fuzz
