// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Verbs objects that destroy themselves, in the reverse order of their creation.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "failure.h"

namespace rdma {

void report_destroy(const char *what, int error);

template <auto destroy>
struct Destroy {
	template <class T>
	void operator()(T *object) const
	{
		if (int error = destroy(object))
			report_destroy(__PRETTY_FUNCTION__, error);
	}
};

using Context = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;
using CompChannel = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using Cq = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using Srq = std::unique_ptr<ibv_srq, Destroy<ibv_destroy_srq>>;
using Qp = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;

Context open_device(const std::string &name);
ibv_device_attr query_device(ibv_context *context);
Pd alloc_pd(ibv_context *context);
CompChannel create_channel(ibv_context *context);
Cq create_cq(ibv_context *context, int entries, ibv_comp_channel *channel = nullptr);
// All fields that an extended CQ of kwarp supports.
constexpr uint64_t all_wc_flags = uint64_t{IBV_WC_STANDARD_FLAGS} |
				  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
// Every operation that an iWARP RNIC supports.
constexpr uint64_t all_send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
				  IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
Cq create_cq_ex(ibv_context *context, int entries, ibv_comp_channel *channel = nullptr,
		uint32_t flags = 0);
Srq create_srq(ibv_pd *pd, uint32_t depth, uint32_t sge = 1);
ibv_srq_attr query_srq(ibv_srq *srq);
int modify_srq(ibv_srq *srq, int mask, uint32_t max_wr, uint32_t limit); // errno or 0
// An RC queue pair; the capabilities that were granted are in attr.
Qp create_qp(ibv_pd *pd, ibv_qp_init_attr &attr);
ibv_qp_init_attr qp_attr(ibv_cq *cq, uint32_t depth = 16, uint32_t sge = 1);
ibv_qp_attr query_qp(ibv_qp *qp, ibv_qp_init_attr *init = nullptr);
int modify_state(ibv_qp *qp, ibv_qp_state state); // errno or 0

} // namespace rdma
