// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters of single queue pairs. A QP always counts, under its socket lock. When a
 * counter is read, the QP's events since the last read are added to the core's counter.
 *
 * The core calls these functions with the counter's mutex held; dev->counted_lock nests
 * inside. The core tests without a lock whether a QP is bound, so two calls for one QP, with
 * two counters or in turns with one, may both arrive here.
 */
#include "verbs/counter.h"

#include <linux/slab.h>

#include "rdmap/qp.h"

struct rdma_hw_stats *kwarp_counter_alloc_stats(struct rdma_counter *counter)
{
	return kwarp_alloc_hw_port_stats(counter->device, counter->port);
}

void kwarp_counter_init(struct rdma_counter *counter)
{
}

int kwarp_counter_dealloc(struct rdma_counter *counter)
{
	/* All QPs have been unbound, so the core has the final values. */
	return 0;
}

/* Add the events that a QP has counted since the last transfer. */
static void transfer_counts(struct kwarp_qp *qp, struct rdma_counter *counter)
{
	struct kwarp_device *dev = qp->dev;
	int i;

	lockdep_assert_held(&dev->counted_lock);
	for (i = 0; i < KWARP_STAT_QP; i++) {
		u64 now = READ_ONCE(qp->stats[i]);
		u64 delta = now - qp->counted[i];

		qp->counted[i] = now;
		counter->stats->value[i] += delta;
		dev->counted.v[i] += delta;
	}
}

int kwarp_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	struct kwarp_device *dev = qp->dev;
	int i, ret = -EINVAL;
	u64 *counted;

	counted = kmalloc_array(KWARP_STAT_QP, sizeof(*counted), GFP_KERNEL_ACCOUNT);
	if (!counted)
		return -ENOMEM;
	mutex_lock(&dev->counted_lock);
	/* A QP without references is being destroyed, and the core has unbound it. */
	if (!qp->counted && refcount_read(&qp->refs)) {
		for (i = 0; i < KWARP_STAT_QP; i++)
			counted[i] = READ_ONCE(qp->stats[i]);
		swap(qp->counted, counted);
		list_add_tail(&qp->counted_link, &dev->counted_qps);
		ibqp->counter = counter;
		ret = 0;
	}
	mutex_unlock(&dev->counted_lock);
	kfree(counted);
	return ret;
}

/**
 * kwarp_counter_leave() - a queue pair is not counted any more
 * @qp:		queue pair
 *
 * The core unbinds a QP before it calls destroy_qp, but an administrator may bind it once more.
 * Context: process.
 * Return: 0, or -EINVAL if the QP is not bound to a counter.
 */
int kwarp_counter_leave(struct kwarp_qp *qp)
{
	struct kwarp_device *dev = qp->dev;
	u64 *counted = NULL;

	mutex_lock(&dev->counted_lock);
	if (qp->counted) {
		transfer_counts(qp, qp->ibqp.counter);
		list_del(&qp->counted_link);
		qp->ibqp.counter = NULL;
		swap(qp->counted, counted);
	}
	mutex_unlock(&dev->counted_lock);
	if (!counted)
		return -EINVAL;
	kfree(counted);
	return 0;
}

int kwarp_counter_unbind(struct ib_qp *ibqp, u32 port)
{
	return kwarp_counter_leave(to_kqp(ibqp));
}

int kwarp_counter_update_stats(struct rdma_counter *counter)
{
	struct kwarp_device *dev = to_kdev(counter->device);
	struct kwarp_qp *qp;

	mutex_lock(&dev->counted_lock);
	list_for_each_entry(qp, &dev->counted_qps, counted_link) {
		if (qp->ibqp.counter == counter)
			transfer_counts(qp, counter);
	}
	mutex_unlock(&dev->counted_lock);
	return 0;
}

/**
 * kwarp_counter_bound() - sum the events that QPs have counted while bound to a counter
 * @dev:	device
 * @sum:	receives the sums
 *
 * The core reports a port counter as the port's value plus those of all QP counters, past
 * and present, because hardware counts an event in one place. kwarp counts in both, so the
 * caller subtracts these sums. Context: process.
 */
void kwarp_counter_bound(struct kwarp_device *dev, u64 sum[KWARP_STAT_COUNT])
{
	const struct kwarp_qp *qp;
	int i;

	mutex_lock(&dev->counted_lock);
	memcpy(sum, dev->counted.v, sizeof(dev->counted.v));
	list_for_each_entry(qp, &dev->counted_qps, counted_link) {
		for (i = 0; i < KWARP_STAT_QP; i++)
			sum[i] += READ_ONCE(qp->stats[i]) - qp->counted[i];
	}
	mutex_unlock(&dev->counted_lock);
}
