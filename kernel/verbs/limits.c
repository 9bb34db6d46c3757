// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Maximum number of objects of a kind per device, as query_device reports it. Memory that
 * kwarp allocates for an object is charged to its creator; the number limits the memory
 * that the core allocates for it.
 */
#include "verbs/verbs.h"

#include <linux/minmax.h>
#include <linux/module.h>

/* Limits of the core's tables and of STags. */
static const unsigned int most[KWARP_OBJECT_KINDS] = {
	[KWARP_OBJECT_PD] = KWARP_MAX_PD,
	[KWARP_OBJECT_CQ] = KWARP_MAX_CQ,
	[KWARP_OBJECT_QP] = KWARP_MAX_QP,
	[KWARP_OBJECT_SRQ] = KWARP_MAX_SRQ,
	[KWARP_OBJECT_MR] = KWARP_MAX_MR,
	[KWARP_OBJECT_MW] = KWARP_MAX_MW,
};

static unsigned int wanted[KWARP_OBJECT_KINDS] = {
	[KWARP_OBJECT_PD] = KWARP_MAX_PD,
	[KWARP_OBJECT_CQ] = KWARP_MAX_CQ,
	[KWARP_OBJECT_QP] = KWARP_MAX_QP,
	[KWARP_OBJECT_SRQ] = KWARP_MAX_SRQ,
	[KWARP_OBJECT_MR] = KWARP_MAX_MR,
	[KWARP_OBJECT_MW] = KWARP_MAX_MW,
};

module_param_named(max_pd, wanted[KWARP_OBJECT_PD], uint, 0444);
MODULE_PARM_DESC(max_pd, "protection domains of a device, at most");
module_param_named(max_cq, wanted[KWARP_OBJECT_CQ], uint, 0444);
MODULE_PARM_DESC(max_cq, "completion queues of a device, at most");
module_param_named(max_qp, wanted[KWARP_OBJECT_QP], uint, 0444);
MODULE_PARM_DESC(max_qp, "queue pairs of a device, at most");
module_param_named(max_srq, wanted[KWARP_OBJECT_SRQ], uint, 0444);
MODULE_PARM_DESC(max_srq, "shared receive queues of a device, at most");
module_param_named(max_mr, wanted[KWARP_OBJECT_MR], uint, 0444);
MODULE_PARM_DESC(max_mr, "memory regions of a device, at most");
module_param_named(max_mw, wanted[KWARP_OBJECT_MW], uint, 0444);
MODULE_PARM_DESC(max_mw, "memory windows of a device, at most");

/**
 * kwarp_object_limit() - maximum number of objects of a kind per device
 * @kind:	kind
 *
 * Return: the value that query_device reports; constant.
 */
unsigned int kwarp_object_limit(enum kwarp_object kind)
{
	return clamp(wanted[kind], 1U, most[kind]);
}

/**
 * kwarp_object_take() - count one more object, within the limit
 * @dev:	device
 * @kind:	kind
 *
 * Context: any.
 * Return: 0, or -ENOMEM at the limit.
 */
int kwarp_object_take(struct kwarp_device *dev, enum kwarp_object kind)
{
	int limit = kwarp_object_limit(kind);

	return atomic_add_unless(&dev->objects[kind], 1, limit) ? 0 : -ENOMEM;
}

/* Count one object less. Context: any. */
void kwarp_object_give(struct kwarp_device *dev, enum kwarp_object kind)
{
	WARN_ON_ONCE(atomic_dec_return(&dev->objects[kind]) < 0);
}
