// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "commands.h"

#include <cstddef>
#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/kwarp-abi.h>

namespace local_fuzz {
namespace {

#define FIELD(type, member, means, ...) \
	(Field{offsetof(type, member), sizeof(type::member), Means::means, ##__VA_ARGS__})
#define HANDLE(type, member, of) \
	(Field{offsetof(type, member), sizeof(type::member), Means::handle, 0, Class::of})

std::vector<Field> create_cq_fields()
{
	using T = ib_uverbs_create_cq;
	return {FIELD(T, user_handle, address), FIELD(T, cqe, count),
		FIELD(T, comp_vector, small, 2), FIELD(T, comp_channel, channel)};
}

template <class T>
std::vector<Field> create_qp_fields()
{
	return {FIELD(T, user_handle, address), HANDLE(T, pd_handle, pd),
		HANDLE(T, send_cq_handle, cq),	HANDLE(T, recv_cq_handle, cq),
		HANDLE(T, srq_handle, srq),	FIELD(T, max_send_wr, count),
		FIELD(T, max_recv_wr, count),	FIELD(T, max_send_sge, sges),
		FIELD(T, max_recv_sge, sges),	FIELD(T, max_inline_data, inline_length),
		FIELD(T, sq_sig_all, small, 2), FIELD(T, qp_type, constant, IBV_QPT_RC),
		FIELD(T, is_srq, small, 2)};
}

template <class T>
std::vector<Field> modify_qp_fields(size_t base = 0)
{
	std::vector<Field> all{HANDLE(T, qp_handle, qp),
			       FIELD(T, attr_mask, attributes),
			       FIELD(T, dest_qp_num, small, 300),
			       FIELD(T, qp_access_flags, access),
			       FIELD(T, qp_state, state),
			       FIELD(T, cur_qp_state, state),
			       FIELD(T, path_mtu, small, 6),
			       FIELD(T, rq_psn, small, 3),
			       FIELD(T, sq_psn, small, 3),
			       FIELD(T, max_rd_atomic, small, 16),
			       FIELD(T, max_dest_rd_atomic, small, 16),
			       FIELD(T, port_num, constant, 1),
			       FIELD(T, timeout, small, 32),
			       FIELD(T, retry_cnt, small, 8),
			       FIELD(T, rnr_retry, small, 8),
			       FIELD(T, dest.dgid, gid),
			       FIELD(T, dest.is_global, constant, 1),
			       FIELD(T, dest.sgid_index, small, 3),
			       FIELD(T, dest.port_num, constant, 1),
			       FIELD(T, dest.hop_limit, small, 255)};
	for (Field &f : all)
		f.offset = static_cast<uint16_t>(f.offset + base);
	return all;
}

template <class T>
std::vector<Field> region_fields()
{
	return {FIELD(T, start, page), FIELD(T, length, length), FIELD(T, hca_va, page),
		HANDLE(T, pd_handle, pd), FIELD(T, access_flags, access)};
}

std::vector<Field> operator+(std::vector<Field> a, const std::vector<Field> &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

std::vector<Command> make_commands()
{
	const Class none = Class::none;
	std::vector<Command> all;
	auto add = [&](const char *name, uint32_t number, size_t in, size_t out,
		       std::vector<Field> fields, Class makes = Class::none,
		       Class ends = Class::none) -> Command & {
		all.push_back({name, number, false, in, out, 0, 0, makes, ends, -1, false,
			       std::move(fields)});
		return all.back();
	};
	auto driver = [](Command &c, size_t out, int key_at) {
		c.driver_out = out;
		c.key_at = key_at;
		c.heavy = true;
	};

	driver(add("get_context", IB_USER_VERBS_CMD_GET_CONTEXT, sizeof(ib_uverbs_get_context),
		   sizeof(ib_uverbs_get_context_resp), {}, Class::channel),
	       sizeof(kwarp_uresp_alloc_ctx), -1);
	add("query_device", IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(ib_uverbs_query_device),
	    sizeof(ib_uverbs_query_device_resp), {});
	add("query_port", IB_USER_VERBS_CMD_QUERY_PORT, sizeof(ib_uverbs_query_port),
	    sizeof(ib_uverbs_query_port_resp),
	    {FIELD(ib_uverbs_query_port, port_num, constant, 1)});
	add("alloc_pd", IB_USER_VERBS_CMD_ALLOC_PD, sizeof(ib_uverbs_alloc_pd),
	    sizeof(ib_uverbs_alloc_pd_resp), {}, Class::pd);
	add("dealloc_pd", IB_USER_VERBS_CMD_DEALLOC_PD, sizeof(ib_uverbs_dealloc_pd), 0,
	    {HANDLE(ib_uverbs_dealloc_pd, pd_handle, pd)}, none, Class::pd);
	add("create_ah", IB_USER_VERBS_CMD_CREATE_AH, sizeof(ib_uverbs_create_ah),
	    sizeof(ib_uverbs_create_ah_resp),
	    {HANDLE(ib_uverbs_create_ah, pd_handle, pd),
	     FIELD(ib_uverbs_create_ah, attr.port_num, constant, 1),
	     FIELD(ib_uverbs_create_ah, attr.is_global, small, 2)},
	    Class::ah);
	add("destroy_ah", IB_USER_VERBS_CMD_DESTROY_AH, sizeof(ib_uverbs_destroy_ah), 0,
	    {HANDLE(ib_uverbs_destroy_ah, ah_handle, ah)}, none, Class::ah);
	add("reg_mr", IB_USER_VERBS_CMD_REG_MR, sizeof(ib_uverbs_reg_mr),
	    sizeof(ib_uverbs_reg_mr_resp), region_fields<ib_uverbs_reg_mr>(), Class::mr)
		.heavy = true;
	add("rereg_mr", IB_USER_VERBS_CMD_REREG_MR, sizeof(ib_uverbs_rereg_mr),
	    sizeof(ib_uverbs_rereg_mr_resp),
	    region_fields<ib_uverbs_rereg_mr>() +
		    std::vector<Field>{HANDLE(ib_uverbs_rereg_mr, mr_handle, mr),
				       FIELD(ib_uverbs_rereg_mr, flags, small, 8)})
		.heavy = true;
	add("dereg_mr", IB_USER_VERBS_CMD_DEREG_MR, sizeof(ib_uverbs_dereg_mr), 0,
	    {HANDLE(ib_uverbs_dereg_mr, mr_handle, mr)}, none, Class::mr)
		.heavy = true;
	add("alloc_mw", IB_USER_VERBS_CMD_ALLOC_MW, sizeof(ib_uverbs_alloc_mw),
	    sizeof(ib_uverbs_alloc_mw_resp),
	    {HANDLE(ib_uverbs_alloc_mw, pd_handle, pd),
	     FIELD(ib_uverbs_alloc_mw, mw_type, small, 3)},
	    Class::mw);
	add("dealloc_mw", IB_USER_VERBS_CMD_DEALLOC_MW, sizeof(ib_uverbs_dealloc_mw), 0,
	    {HANDLE(ib_uverbs_dealloc_mw, mw_handle, mw)}, none, Class::mw);
	add("create_comp_channel", IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
	    sizeof(ib_uverbs_create_comp_channel), sizeof(ib_uverbs_create_comp_channel_resp), {},
	    Class::channel);
	driver(add("create_cq", IB_USER_VERBS_CMD_CREATE_CQ, sizeof(ib_uverbs_create_cq),
		   sizeof(ib_uverbs_create_cq_resp), create_cq_fields(), Class::cq),
	       sizeof(kwarp_uresp_create_cq), sizeof(ib_uverbs_create_cq_resp));
	driver(add("resize_cq", IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(ib_uverbs_resize_cq),
		   sizeof(ib_uverbs_resize_cq_resp),
		   {HANDLE(ib_uverbs_resize_cq, cq_handle, cq),
		    FIELD(ib_uverbs_resize_cq, cqe, count)}),
	       sizeof(kwarp_uresp_create_cq), sizeof(ib_uverbs_resize_cq_resp));
	add("destroy_cq", IB_USER_VERBS_CMD_DESTROY_CQ, sizeof(ib_uverbs_destroy_cq),
	    sizeof(ib_uverbs_destroy_cq_resp), {HANDLE(ib_uverbs_destroy_cq, cq_handle, cq)}, none,
	    Class::cq)
		.heavy = true;
	add("poll_cq", IB_USER_VERBS_CMD_POLL_CQ, sizeof(ib_uverbs_poll_cq),
	    sizeof(ib_uverbs_poll_cq_resp) + 4 * sizeof(ib_uverbs_wc),
	    {HANDLE(ib_uverbs_poll_cq, cq_handle, cq), FIELD(ib_uverbs_poll_cq, ne, small, 5)});
	add("req_notify_cq", IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, sizeof(ib_uverbs_req_notify_cq), 0,
	    {HANDLE(ib_uverbs_req_notify_cq, cq_handle, cq),
	     FIELD(ib_uverbs_req_notify_cq, solicited_only, small, 2)});
	driver(add("create_qp", IB_USER_VERBS_CMD_CREATE_QP, sizeof(ib_uverbs_create_qp),
		   sizeof(ib_uverbs_create_qp_resp), create_qp_fields<ib_uverbs_create_qp>(),
		   Class::qp),
	       sizeof(kwarp_uresp_create_qp), sizeof(ib_uverbs_create_qp_resp));
	add("query_qp", IB_USER_VERBS_CMD_QUERY_QP, sizeof(ib_uverbs_query_qp),
	    sizeof(ib_uverbs_query_qp_resp),
	    {HANDLE(ib_uverbs_query_qp, qp_handle, qp),
	     FIELD(ib_uverbs_query_qp, attr_mask, attributes)});
	add("modify_qp", IB_USER_VERBS_CMD_MODIFY_QP, sizeof(ib_uverbs_modify_qp), 0,
	    modify_qp_fields<ib_uverbs_modify_qp>());
	add("destroy_qp", IB_USER_VERBS_CMD_DESTROY_QP, sizeof(ib_uverbs_destroy_qp),
	    sizeof(ib_uverbs_destroy_qp_resp), {HANDLE(ib_uverbs_destroy_qp, qp_handle, qp)}, none,
	    Class::qp)
		.heavy = true;
	add("post_send", IB_USER_VERBS_CMD_POST_SEND, sizeof(ib_uverbs_post_send),
	    sizeof(ib_uverbs_post_send_resp),
	    {HANDLE(ib_uverbs_post_send, qp_handle, qp),
	     FIELD(ib_uverbs_post_send, wqe_size, constant, sizeof(ib_uverbs_send_wr))});
	add("post_recv", IB_USER_VERBS_CMD_POST_RECV, sizeof(ib_uverbs_post_recv),
	    sizeof(ib_uverbs_post_recv_resp),
	    {HANDLE(ib_uverbs_post_recv, qp_handle, qp),
	     FIELD(ib_uverbs_post_recv, wqe_size, constant, sizeof(ib_uverbs_recv_wr))});
	add("post_srq_recv", IB_USER_VERBS_CMD_POST_SRQ_RECV, sizeof(ib_uverbs_post_srq_recv),
	    sizeof(ib_uverbs_post_srq_recv_resp),
	    {HANDLE(ib_uverbs_post_srq_recv, srq_handle, srq),
	     FIELD(ib_uverbs_post_srq_recv, wqe_size, constant, sizeof(ib_uverbs_recv_wr))});
	add("attach_mcast", IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(ib_uverbs_attach_mcast), 0,
	    {HANDLE(ib_uverbs_attach_mcast, qp_handle, qp)});
	add("detach_mcast", IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(ib_uverbs_detach_mcast), 0,
	    {HANDLE(ib_uverbs_detach_mcast, qp_handle, qp)});
	driver(add("create_srq", IB_USER_VERBS_CMD_CREATE_SRQ, sizeof(ib_uverbs_create_srq),
		   sizeof(ib_uverbs_create_srq_resp),
		   {FIELD(ib_uverbs_create_srq, user_handle, address),
		    HANDLE(ib_uverbs_create_srq, pd_handle, pd),
		    FIELD(ib_uverbs_create_srq, max_wr, count),
		    FIELD(ib_uverbs_create_srq, max_sge, sges)},
		   Class::srq),
	       sizeof(kwarp_uresp_create_srq), sizeof(ib_uverbs_create_srq_resp));
	// the driver's part of the request contains the address of the reply
	Command &modify_srq = add("modify_srq", IB_USER_VERBS_CMD_MODIFY_SRQ,
				  sizeof(ib_uverbs_modify_srq) + sizeof(kwarp_ureq_modify_srq), 0,
				  {HANDLE(ib_uverbs_modify_srq, srq_handle, srq),
				   FIELD(ib_uverbs_modify_srq, attr_mask, small, 4),
				   FIELD(ib_uverbs_modify_srq, max_wr, count),
				   FIELD(ib_uverbs_modify_srq, srq_limit, small, 8),
				   Field{sizeof(ib_uverbs_modify_srq), 8, Means::address}});
	modify_srq.heavy = true;
	add("query_srq", IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(ib_uverbs_query_srq),
	    sizeof(ib_uverbs_query_srq_resp), {HANDLE(ib_uverbs_query_srq, srq_handle, srq)});
	add("destroy_srq", IB_USER_VERBS_CMD_DESTROY_SRQ, sizeof(ib_uverbs_destroy_srq),
	    sizeof(ib_uverbs_destroy_srq_resp), {HANDLE(ib_uverbs_destroy_srq, srq_handle, srq)},
	    none, Class::srq)
		.heavy = true;
	add("create_xsrq", IB_USER_VERBS_CMD_CREATE_XSRQ, sizeof(ib_uverbs_create_xsrq),
	    sizeof(ib_uverbs_create_srq_resp),
	    {HANDLE(ib_uverbs_create_xsrq, pd_handle, pd),
	     FIELD(ib_uverbs_create_xsrq, max_wr, count),
	     FIELD(ib_uverbs_create_xsrq, max_sge, sges),
	     FIELD(ib_uverbs_create_xsrq, srq_type, small, 3),
	     HANDLE(ib_uverbs_create_xsrq, cq_handle, cq)},
	    Class::srq)
		.driver_out = sizeof(kwarp_uresp_create_srq);
	add("open_xrcd", IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(ib_uverbs_open_xrcd),
	    sizeof(ib_uverbs_open_xrcd_resp), {});
	add("open_qp", IB_USER_VERBS_CMD_OPEN_QP, sizeof(ib_uverbs_open_qp),
	    sizeof(ib_uverbs_create_qp_resp),
	    {HANDLE(ib_uverbs_open_qp, pd_handle, pd), FIELD(ib_uverbs_open_qp, qpn, small, 300)},
	    Class::qp);

	auto extended = [&](const char *name, uint32_t number, size_t in, size_t out,
			    std::vector<Field> fields, Class makes = Class::none) -> Command & {
		Command &c = add(name, number | IB_USER_VERBS_CMD_FLAG_EXTENDED, in, out,
				 std::move(fields), makes);
		c.extended = true;
		return c;
	};
	extended("ex_query_device", IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		 sizeof(ib_uverbs_ex_query_device), sizeof(ib_uverbs_ex_query_device_resp), {});
	driver(extended("ex_create_cq", IB_USER_VERBS_EX_CMD_CREATE_CQ,
			sizeof(ib_uverbs_ex_create_cq), sizeof(ib_uverbs_ex_create_cq_resp),
			{FIELD(ib_uverbs_ex_create_cq, cqe, count),
			 FIELD(ib_uverbs_ex_create_cq, comp_vector, small, 2),
			 FIELD(ib_uverbs_ex_create_cq, comp_channel, channel),
			 FIELD(ib_uverbs_ex_create_cq, flags, small, 2)},
			Class::cq),
	       sizeof(kwarp_uresp_create_cq), sizeof(ib_uverbs_ex_create_cq_resp));
	driver(extended("ex_create_qp", IB_USER_VERBS_EX_CMD_CREATE_QP,
			sizeof(ib_uverbs_ex_create_qp), sizeof(ib_uverbs_ex_create_qp_resp),
			create_qp_fields<ib_uverbs_ex_create_qp>(), Class::qp),
	       sizeof(kwarp_uresp_create_qp), sizeof(ib_uverbs_ex_create_qp_resp));
	extended("ex_modify_qp", IB_USER_VERBS_EX_CMD_MODIFY_QP, sizeof(ib_uverbs_ex_modify_qp),
		 sizeof(ib_uverbs_ex_modify_qp_resp),
		 modify_qp_fields<ib_uverbs_modify_qp>(offsetof(ib_uverbs_ex_modify_qp, base)));
	extended("ex_modify_cq", IB_USER_VERBS_EX_CMD_MODIFY_CQ, sizeof(ib_uverbs_ex_modify_cq), 0,
		 {HANDLE(ib_uverbs_ex_modify_cq, cq_handle, cq),
		  FIELD(ib_uverbs_ex_modify_cq, attr_mask, constant, 1),
		  FIELD(ib_uverbs_ex_modify_cq, attr.cq_count, small, 100),
		  FIELD(ib_uverbs_ex_modify_cq, attr.cq_period, small, 100)});
	return all;
}

// ---- ioctl()

Attribute handle(uint16_t id, Class of, bool optional = false)
{
	return {Attribute::handle, id, 0, Means::handle, 0, of, optional};
}

Attribute made(uint16_t id, Class of)
{
	return {Attribute::make, id, 0, Means::nothing, 0, of};
}

Attribute ended(uint16_t id, Class of)
{
	return {Attribute::end, id, 0, Means::handle, 0, of};
}

Attribute in(uint16_t id, uint16_t length, Means means, uint32_t argument = 0,
	     bool optional = false)
{
	return {Attribute::in, id, length, means, argument, Class::none, optional};
}

Attribute out(uint16_t id, uint16_t length, bool optional = false)
{
	return {Attribute::out, id, length, Means::nothing, 0, Class::none, optional};
}

Attribute constant(uint16_t id, uint32_t value, uint16_t length = 4)
{
	return {Attribute::constant, id, length, Means::constant, value};
}

// Newer than the headers here: from Linux 7.2.
constexpr uint16_t method_reg_mr = UVERBS_METHOD_REG_DMABUF_MR + 1;

std::vector<Method> make_methods()
{
	constexpr uint16_t uhw_out = UVERBS_ATTR_UHW_OUT, uhw_in = UVERBS_ATTR_UHW_IN;
	return {
		{"method query_port",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_QUERY_PORT,
		 false,
		 {constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1, 8),
		  out(UVERBS_ATTR_QUERY_PORT_RESP, sizeof(ib_uverbs_query_port_resp_ex))}},
		{"method info_handles",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_INFO_HANDLES,
		 false,
		 {in(UVERBS_ATTR_INFO_OBJECT_ID, 8, Means::small, 10),
		  out(UVERBS_ATTR_INFO_TOTAL_HANDLES, 4), out(UVERBS_ATTR_INFO_HANDLES_LIST, 64)}},
		{"method get_context",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_GET_CONTEXT,
		 false,
		 {out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4, true),
		  out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8, true),
		  out(uhw_out, sizeof(kwarp_uresp_alloc_ctx))}},
		{"method query_context",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_QUERY_CONTEXT,
		 false,
		 {out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4, true),
		  out(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8, true)}},
		{"method query_gid_table",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_QUERY_GID_TABLE,
		 false,
		 {constant(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(ib_uverbs_gid_entry), 8),
		  in(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4, Means::nothing, 0, true),
		  out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 8 * sizeof(ib_uverbs_gid_entry)),
		  out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8)}},
		{"method query_gid_entry",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_QUERY_GID_ENTRY,
		 false,
		 {constant(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1, 8),
		  in(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 8, Means::small, 3),
		  in(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, Means::nothing),
		  out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(ib_uverbs_gid_entry))}},
		{"method create_cq",
		 UVERBS_OBJECT_CQ,
		 UVERBS_METHOD_CQ_CREATE,
		 true,
		 {made(UVERBS_ATTR_CREATE_CQ_HANDLE, Class::cq),
		  in(UVERBS_ATTR_CREATE_CQ_CQE, 4, Means::count),
		  in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, Means::address),
		  {Attribute::descriptor, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, Means::channel, 0,
		   Class::channel, true},
		  in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, Means::small, 2),
		  in(UVERBS_ATTR_CREATE_CQ_FLAGS, 4, Means::small, 2, true),
		  out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4),
		  out(uhw_out, sizeof(kwarp_uresp_create_cq))}},
		{"method destroy_cq",
		 UVERBS_OBJECT_CQ,
		 UVERBS_METHOD_CQ_DESTROY,
		 true,
		 {ended(UVERBS_ATTR_DESTROY_CQ_HANDLE, Class::cq),
		  out(UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(ib_uverbs_destroy_cq_resp))}},
		{"method create_qp",
		 UVERBS_OBJECT_QP,
		 UVERBS_METHOD_QP_CREATE,
		 true,
		 {made(UVERBS_ATTR_CREATE_QP_HANDLE, Class::qp),
		  handle(UVERBS_ATTR_CREATE_QP_PD_HANDLE, Class::pd),
		  handle(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, Class::srq, true),
		  handle(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, Class::cq),
		  handle(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, Class::cq),
		  in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, Means::address),
		  in(UVERBS_ATTR_CREATE_QP_CAP, sizeof(ib_uverbs_qp_cap), Means::sges),
		  constant(UVERBS_ATTR_CREATE_QP_TYPE, IBV_QPT_RC, 8),
		  in(UVERBS_ATTR_CREATE_QP_FLAGS, 4, Means::nothing, 0, true),
		  out(UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(ib_uverbs_qp_cap)),
		  out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4),
		  out(uhw_out, sizeof(kwarp_uresp_create_qp))}},
		{"method destroy_qp",
		 UVERBS_OBJECT_QP,
		 UVERBS_METHOD_QP_DESTROY,
		 true,
		 {ended(UVERBS_ATTR_DESTROY_QP_HANDLE, Class::qp),
		  out(UVERBS_ATTR_DESTROY_QP_RESP, sizeof(ib_uverbs_destroy_qp_resp))}},
		{"method create_srq",
		 UVERBS_OBJECT_SRQ,
		 UVERBS_METHOD_SRQ_CREATE,
		 true,
		 {made(UVERBS_ATTR_CREATE_SRQ_HANDLE, Class::srq),
		  handle(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, Class::pd),
		  constant(UVERBS_ATTR_CREATE_SRQ_TYPE, IBV_SRQT_BASIC, 8),
		  in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8, Means::address),
		  in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4, Means::count),
		  in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, Means::sges),
		  in(UVERBS_ATTR_CREATE_SRQ_LIMIT, 4, Means::nothing),
		  out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4),
		  out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4),
		  out(uhw_out, sizeof(kwarp_uresp_create_srq))}},
		{"method destroy_srq",
		 UVERBS_OBJECT_SRQ,
		 UVERBS_METHOD_SRQ_DESTROY,
		 true,
		 {ended(UVERBS_ATTR_DESTROY_SRQ_HANDLE, Class::srq),
		  out(UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(ib_uverbs_destroy_srq_resp))}},
		{"method destroy_pd",
		 UVERBS_OBJECT_PD,
		 UVERBS_METHOD_PD_DESTROY,
		 false,
		 {ended(UVERBS_ATTR_DESTROY_PD_HANDLE, Class::pd)}},
		{"method destroy_mw",
		 UVERBS_OBJECT_MW,
		 UVERBS_METHOD_MW_DESTROY,
		 false,
		 {ended(UVERBS_ATTR_DESTROY_MW_HANDLE, Class::mw)}},
		{"method destroy_ah",
		 UVERBS_OBJECT_AH,
		 UVERBS_METHOD_AH_DESTROY,
		 false,
		 {ended(UVERBS_ATTR_DESTROY_AH_HANDLE, Class::ah)}},
		{"method destroy_mr",
		 UVERBS_OBJECT_MR,
		 UVERBS_METHOD_MR_DESTROY,
		 true,
		 {ended(UVERBS_ATTR_DESTROY_MR_HANDLE, Class::mr)}},
		{"method query_mr",
		 UVERBS_OBJECT_MR,
		 UVERBS_METHOD_QUERY_MR,
		 false,
		 {handle(UVERBS_ATTR_QUERY_MR_HANDLE, Class::mr),
		  out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4), out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4),
		  out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8),
		  out(UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8, true)}},
		{"method advise_mr",
		 UVERBS_OBJECT_MR,
		 UVERBS_METHOD_ADVISE_MR,
		 false,
		 {handle(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, Class::pd),
		  constant(UVERBS_ATTR_ADVISE_MR_ADVICE, 0, 8),
		  in(UVERBS_ATTR_ADVISE_MR_FLAGS, 4, Means::small, 2),
		  in(UVERBS_ATTR_ADVISE_MR_SGE_LIST, 16, Means::nothing)}},
		{"method reg_dmabuf_mr",
		 UVERBS_OBJECT_MR,
		 UVERBS_METHOD_REG_DMABUF_MR,
		 true,
		 {made(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, Class::mr),
		  handle(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, Class::pd),
		  in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, Means::small, 2),
		  in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, Means::length),
		  in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, Means::small, 2),
		  {Attribute::in, UVERBS_ATTR_REG_DMABUF_MR_FD, 4, Means::handle, 0, Class::dmabuf},
		  in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, Means::access),
		  out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4),
		  out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4)}},
		{"method reg_mr",
		 UVERBS_OBJECT_MR,
		 method_reg_mr,
		 true,
		 {made(0, Class::mr), handle(1, Class::pd), in(3, 8, Means::page),
		  in(4, 8, Means::page), in(5, 8, Means::length), in(6, 4, Means::access),
		  out(9, 4), out(10, 4)}},
		{"method async_event",
		 UVERBS_OBJECT_ASYNC_EVENT,
		 UVERBS_METHOD_ASYNC_EVENT_ALLOC,
		 false,
		 {made(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, Class::channel)}},
		{"method attach",
		 UVERBS_OBJECT_QP,
		 KWARP_METHOD_QP_ATTACH,
		 false,
		 {handle(KWARP_ATTR_ATTACH_QP, Class::qp),
		  {Attribute::descriptor, KWARP_ATTR_ATTACH_FD, 0, Means::channel},
		  in(KWARP_ATTR_ATTACH_PARAMS, sizeof(kwarp_attach_params), Means::small, 3),
		  in(KWARP_ATTR_ATTACH_MESSAGE, 64, Means::nothing, 0, true),
		  in(KWARP_ATTR_ATTACH_PRIVATE_DATA, 64, Means::nothing, 0, true)}},
		{"method attach_wait",
		 UVERBS_OBJECT_QP,
		 KWARP_METHOD_QP_ATTACH_WAIT,
		 false,
		 {handle(KWARP_ATTR_ATTACH_WAIT_QP, Class::qp),
		  in(KWARP_ATTR_ATTACH_WAIT_MS, 4, Means::small, 3),
		  out(KWARP_ATTR_ATTACH_WAIT_RESULT, sizeof(kwarp_attach_result)),
		  out(KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA, 64, true)}},
		// any write() command through ioctl(); the caller fills in which
		{"method invoke_write",
		 UVERBS_OBJECT_DEVICE,
		 UVERBS_METHOD_INVOKE_WRITE,
		 true,
		 {in(UVERBS_ATTR_CORE_IN, 64, Means::nothing),
		  out(UVERBS_ATTR_CORE_OUT, 64, true),
		  in(UVERBS_ATTR_WRITE_CMD, 8, Means::nothing),
		  {Attribute::in, uhw_in, 8, Means::nothing, 0, Class::none, true},
		  out(uhw_out, 64, true)}},
	};
}

} // namespace

std::span<const Command> commands()
{
	static const std::vector<Command> all = make_commands();
	return all;
}

std::span<const Method> methods()
{
	static const std::vector<Method> all = make_methods();
	return all;
}

uint64_t typical(Means means, uint32_t argument, Class of, const Pool &pool, const Arena &arena,
		 Dice &dice)
{
	switch (means) {
	case Means::handle:
		return pool.any(of, dice);
	case Means::channel:
		return dice.chance(50) ? pool.any(Class::channel, dice) : UINT64_MAX;
	case Means::count:
		return dice.below(200) ? 1 + dice.below(64) : 1U << dice.below(22);
	case Means::sges:
		return dice.below(18);
	case Means::inline_length:
		return dice.below(520);
	case Means::access:
		return dice.below(20) ? dice.below(32) : limit_32(dice);
	case Means::address:
		return arena.address(dice.below(Arena::size / 2));
	case Means::page:
		return arena.address(dice.below(Arena::size / 8192) * 4096);
	case Means::length:
		return 1 + dice.below(dice.below(20) ? 16384 : Arena::size / 2);
	case Means::state:
		return dice.below(7);
	case Means::attributes: {
		const uint32_t masks[] = {
			IBV_QP_STATE,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
			IBV_QP_ACCESS_FLAGS,
			IBV_QP_STATE | IBV_QP_CUR_STATE,
			IBV_QP_STATE | 1U << dice.below(32),
			dice.word() & 0x1FFFFF};
		return masks[dice.below(std::size(masks))];
	}
	case Means::small:
		return dice.below(argument);
	case Means::constant:
		return argument;
	default:
		return 0;
	}
}

} // namespace local_fuzz
