// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How many objects of a kind one device has at most; that is what query_device
 * reports. What we allocate for them is charged to who makes them; this bounds the
 * rest, which is the core's.
 */
#include "verbs.h"

#include <linux/minmax.h>
#include <linux/module.h>

static unsigned int max_pd = KWARP_MAX_PD;
module_param(max_pd, uint, 0444);
MODULE_PARM_DESC(max_pd, "protection domains of a device, at most");

static unsigned int max_cq = KWARP_MAX_CQ;
module_param(max_cq, uint, 0444);
MODULE_PARM_DESC(max_cq, "completion queues of a device, at most");

static unsigned int max_qp = KWARP_MAX_QP;
module_param(max_qp, uint, 0444);
MODULE_PARM_DESC(max_qp, "queue pairs of a device, at most");

static unsigned int max_srq = KWARP_MAX_SRQ;
module_param(max_srq, uint, 0444);
MODULE_PARM_DESC(max_srq, "shared receive queues of a device, at most");

static unsigned int max_mr = KWARP_MAX_MR;
module_param(max_mr, uint, 0444);
MODULE_PARM_DESC(max_mr, "memory regions of a device, at most");

static unsigned int max_mw = KWARP_MAX_MW;
module_param(max_mw, uint, 0444);
MODULE_PARM_DESC(max_mw, "memory windows of a device, at most");

static const struct {
	const unsigned int *wanted;
	unsigned int most;
} limits[KWARP_OBJECT_KINDS] = {
	[KWARP_OBJECT_PD] = { &max_pd, KWARP_MAX_PD },
	[KWARP_OBJECT_CQ] = { &max_cq, KWARP_MAX_CQ },
	[KWARP_OBJECT_QP] = { &max_qp, KWARP_MAX_QP },
	[KWARP_OBJECT_SRQ] = { &max_srq, KWARP_MAX_SRQ },
	[KWARP_OBJECT_MR] = { &max_mr, KWARP_MAX_MR },
	[KWARP_OBJECT_MW] = { &max_mw, KWARP_MAX_MW },
};

unsigned int kwarp_object_limit(enum kwarp_object kind)
{
	return clamp(*limits[kind].wanted, 1U, limits[kind].most);
}

int kwarp_object_take(struct kwarp_device *dev, enum kwarp_object kind)
{
	int most = kwarp_object_limit(kind);

	return atomic_add_unless(&dev->objects[kind], 1, most) ? 0 : -ENOMEM;
}

void kwarp_object_give(struct kwarp_device *dev, enum kwarp_object kind)
{
	WARN_ON_ONCE(atomic_dec_return(&dev->objects[kind]) < 0);
}
