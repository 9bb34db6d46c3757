// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "objects.h"

#include <gtest/gtest.h>

namespace rdma {

void report_destroy(const char *what, int error)
{
	ADD_FAILURE() << what << ": " << strerror(error > 0 ? error : errno);
}

Context open_device(const std::string &name)
{
	int count = 0;
	ibv_device **list = check(ibv_get_device_list(&count), "ibv_get_device_list");
	ibv_context *context = nullptr;

	for (int i = 0; i < count && !context; i++)
		if (name == ibv_get_device_name(list[i]))
			context = ibv_open_device(list[i]);
	int error = errno;
	ibv_free_device_list(list);
	if (!context)
		throw Failure("no usable device " + name, error);
	return Context(context);
}

ibv_device_attr query_device(ibv_context *context)
{
	ibv_device_attr attr{};
	check(ibv_query_device(context, &attr), "ibv_query_device");
	return attr;
}

Pd alloc_pd(ibv_context *context)
{
	return Pd(check(ibv_alloc_pd(context), "ibv_alloc_pd"));
}

CompChannel create_channel(ibv_context *context)
{
	return CompChannel(check(ibv_create_comp_channel(context), "ibv_create_comp_channel"));
}

Cq create_cq(ibv_context *context, int entries, ibv_comp_channel *channel)
{
	return Cq(check(ibv_create_cq(context, entries, nullptr, channel, 0), "ibv_create_cq"));
}

Cq create_cq_ex(ibv_context *context, int entries, ibv_comp_channel *channel, uint32_t flags)
{
	ibv_cq_init_attr_ex attr{};
	attr.cqe = entries;
	attr.channel = channel;
	attr.wc_flags = all_wc_flags;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = flags;
	return Cq(ibv_cq_ex_to_cq(check(ibv_create_cq_ex(context, &attr), "ibv_create_cq_ex")));
}

Srq create_srq(ibv_pd *pd, uint32_t depth, uint32_t sge)
{
	ibv_srq_init_attr attr{};
	attr.attr.max_wr = depth;
	attr.attr.max_sge = sge;
	return Srq(check(ibv_create_srq(pd, &attr), "ibv_create_srq"));
}

ibv_srq_attr query_srq(ibv_srq *srq)
{
	ibv_srq_attr attr{};
	check(ibv_query_srq(srq, &attr), "ibv_query_srq");
	return attr;
}

int modify_srq(ibv_srq *srq, int mask, uint32_t max_wr, uint32_t limit)
{
	ibv_srq_attr attr{};
	attr.max_wr = max_wr;
	attr.srq_limit = limit;
	int ret = ibv_modify_srq(srq, &attr, mask);
	return ret < 0 ? errno : ret;
}

Qp create_qp(ibv_pd *pd, ibv_qp_init_attr &attr)
{
	return Qp(check(ibv_create_qp(pd, &attr), "ibv_create_qp"));
}

ibv_qp_init_attr qp_attr(ibv_cq *cq, uint32_t depth, uint32_t sge)
{
	ibv_qp_init_attr attr{};
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.cap.max_send_wr = depth;
	attr.cap.max_recv_wr = depth;
	attr.cap.max_send_sge = sge;
	attr.cap.max_recv_sge = sge;
	attr.qp_type = IBV_QPT_RC;
	return attr;
}

ibv_qp_attr query_qp(ibv_qp *qp, ibv_qp_init_attr *init)
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr unused{};
	int all = IBV_QP_STATE | IBV_QP_CAP | IBV_QP_ACCESS_FLAGS | IBV_QP_MAX_QP_RD_ATOMIC |
		  IBV_QP_MAX_DEST_RD_ATOMIC;
	check(ibv_query_qp(qp, &attr, all, init ? init : &unused), "ibv_query_qp");
	return attr;
}

int modify_state(ibv_qp *qp, ibv_qp_state state)
{
	ibv_qp_attr attr{};
	attr.qp_state = state;
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	return ret < 0 ? errno : ret;
}

} // namespace rdma
