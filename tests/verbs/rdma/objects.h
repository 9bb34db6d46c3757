// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Verbs objects that destroy themselves, in the reverse order of their making.
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
using Qp = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;

Context open_device(const std::string &name);
ibv_device_attr query_device(ibv_context *context);
Pd alloc_pd(ibv_context *context);
CompChannel create_channel(ibv_context *context);
Cq create_cq(ibv_context *context, int entries, ibv_comp_channel *channel = nullptr);
// An RC queue pair; the capabilities that were granted are in attr.
Qp create_qp(ibv_pd *pd, ibv_qp_init_attr &attr);
ibv_qp_init_attr qp_attr(ibv_cq *cq, uint32_t depth = 16, uint32_t sge = 1);
ibv_qp_attr query_qp(ibv_qp *qp, ibv_qp_init_attr *init = nullptr);
int modify_state(ibv_qp *qp, ibv_qp_state state); // errno or 0

} // namespace rdma
