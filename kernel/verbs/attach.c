// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Driver-specific methods of the queue pair: attached sockets. */
#include "verbs/verbs.h"

#include <linux/slab.h>
#include <rdma/kwarp-abi.h>

#include "cm/cm.h"
#include "proto/mpa_startup.h"

#define UVERBS_MODULE_NAME kwarp
#include <rdma/uverbs_named_ioctl.h>

/* Get an optional byte array: NULL and 0 if it is missing. */
static int optional_bytes(struct uverbs_attr_bundle *attrs, u16 id,
			  struct kwarp_bytes *b)
{
	b->p = NULL;
	b->len = 0;
	if (!uverbs_attr_is_valid(attrs, id))
		return 0;
	b->p = uverbs_attr_get_alloced_ptr(attrs, id);
	if (IS_ERR(b->p))
		return PTR_ERR(b->p);
	b->len = uverbs_attr_get_len(attrs, id);
	return 0;
}

static int UVERBS_HANDLER(KWARP_METHOD_QP_ATTACH)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, KWARP_ATTR_ATTACH_QP);
	struct kwarp_attach_params params;
	struct kwarp_bytes msg, pd;
	int fd, ret;

	ret = uverbs_get_raw_fd(&fd, attrs, KWARP_ATTR_ATTACH_FD);
	if (ret)
		return ret;
	ret = uverbs_copy_from_or_zero(&params, attrs, KWARP_ATTR_ATTACH_PARAMS);
	if (ret)
		return ret;
	ret = optional_bytes(attrs, KWARP_ATTR_ATTACH_MESSAGE, &msg);
	if (ret)
		return ret;
	ret = optional_bytes(attrs, KWARP_ATTR_ATTACH_PRIVATE_DATA, &pd);
	if (ret)
		return ret;
	return kwarp_cm_attach(to_kqp(ibqp), fd, &params, &msg, &pd);
}

static int UVERBS_HANDLER(KWARP_METHOD_QP_ATTACH_WAIT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs,
						 KWARP_ATTR_ATTACH_WAIT_QP);
	struct kwarp_attach_result res;
	u32 ms, room = 0;
	u8 *pd;
	int ret;

	ret = uverbs_copy_from(&ms, attrs, KWARP_ATTR_ATTACH_WAIT_MS);
	if (ret)
		return ret;
	if (uverbs_attr_is_valid(attrs, KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA))
		room = uverbs_attr_get_len(attrs,
					   KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA);
	pd = uverbs_zalloc(attrs, KWARP_MPA_PD_MAX);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = kwarp_cm_attach_wait(to_kqp(ibqp), ms, &res, pd);
	if (ret)
		return ret;
	room = min_t(u32, room, res.private_data_len);
	if (room)
		ret = uverbs_copy_to(attrs, KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA,
				     pd, room);
	if (ret)
		return ret;
	return uverbs_copy_to_struct_or_zero(attrs,
					     KWARP_ATTR_ATTACH_WAIT_RESULT,
					     &res, sizeof(res));
}

DECLARE_UVERBS_NAMED_METHOD(KWARP_METHOD_QP_ATTACH,
			    UVERBS_ATTR_IDR(KWARP_ATTR_ATTACH_QP,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_RAW_FD(KWARP_ATTR_ATTACH_FD,
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(KWARP_ATTR_ATTACH_PARAMS,
					       UVERBS_ATTR_STRUCT(struct kwarp_attach_params,
								  timeout_ms),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(KWARP_ATTR_ATTACH_MESSAGE,
					       UVERBS_ATTR_SIZE(1, KWARP_ATTACH_MESSAGE_MAX),
					       UA_OPTIONAL,
					       UA_ALLOC_AND_COPY),
			    UVERBS_ATTR_PTR_IN(KWARP_ATTR_ATTACH_PRIVATE_DATA,
					       UVERBS_ATTR_SIZE(1, KWARP_ATTACH_PRIVATE_DATA_MAX),
					       UA_OPTIONAL,
					       UA_ALLOC_AND_COPY));

DECLARE_UVERBS_NAMED_METHOD(KWARP_METHOD_QP_ATTACH_WAIT,
			    UVERBS_ATTR_IDR(KWARP_ATTR_ATTACH_WAIT_QP,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(KWARP_ATTR_ATTACH_WAIT_MS,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(KWARP_ATTR_ATTACH_WAIT_RESULT,
						UVERBS_ATTR_STRUCT(struct kwarp_attach_result,
								   reserved),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA,
						UVERBS_ATTR_MIN_SIZE(1),
						UA_OPTIONAL));

ADD_UVERBS_METHODS(kwarp_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(KWARP_METHOD_QP_ATTACH),
		   &UVERBS_METHOD(KWARP_METHOD_QP_ATTACH_WAIT));

const struct uapi_definition kwarp_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &kwarp_qp_methods),
	{},
};
