// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The kernel's header cannot be included together with librdmacm's.
#include "cm/kernel_id.h"

#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include "rdma/failure.h"

namespace {

// errno or 0
template <typename T>
int command(int fd, uint32_t number, const T &in, uint16_t out = 0)
{
	struct {
		rdma_ucm_cmd_hdr header;
		T in;
	} __attribute__((packed)) all{{number, sizeof(T), out}, in};
	return write(fd, &all, sizeof(all)) < 0 ? errno : 0;
}

} // namespace

KernelId::KernelId(int channel_fd) : fd_(channel_fd)
{
	for (id_ = 0; id_ < 65536; id_++) {
		rdma_ucm_query_addr_resp resp;
		rdma_ucm_query query{reinterpret_cast<uintptr_t>(&resp), id_,
				     RDMA_USER_CM_QUERY_ADDR};
		if (command(fd_, RDMA_USER_CM_CMD_QUERY, query, sizeof(resp)) == 0)
			return;
	}
	throw rdma::Failure("no id in the kernel");
}

int KernelId::accept(uint32_t qpn) const
{
	rdma_ucm_accept accept{};
	accept.uid = 1;
	accept.id = id_;
	accept.conn_param.qp_num = qpn;
	accept.conn_param.valid = 1;
	return command(fd_, RDMA_USER_CM_CMD_ACCEPT, accept);
}
