// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs as iw_cm knows them.
 *
 * iw_cm keeps its pointer to a QP from accept or connect until the end of the connection or of its
 * cm_id. A program decides when that is, and the program need not be the owner of the QP: rdma_cm
 * takes any number, and passes a second answer to a request, which replaces the QP. Therefore iw_cm
 * gets a handle. A handle has no reference on the QP, so destroy_qp waits for nothing that another
 * program decides. And it has no effect on the QP before kwarp_iw_qp_grant() has found that the
 * caller may connect the QP.
 *
 * iw_cm uses its pointer for iw_rem_ref() and for ib_modify_qp(), which passes real_qp to the
 * driver: that is the handle again, and kwarp_modify_qp() looks for the QP.
 */
#include "cm/cm.h"

#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "cm/ep.h"

/**
 * struct iw_qp - a handle
 * @ibqp:	the part that iw_cm uses; ibqp.qp_num is the number of the QP
 * @link:	entry of @requested until the driver's accept or connect has taken the handle
 * @task:	caller of iw_get_qp, only compared
 * @id:		kwarp_mem_accessor.id of the QP, because numbers are used again
 * @granted:	the handle may change the QP; set before iw_cm changes the QP for the first time
 * @refs:	references of iw_cm, which takes the first one right after iw_get_qp
 * @rcu:	for the grace period after the last reference
 */
struct iw_qp {
	struct ib_qp ibqp;
	struct list_head link;
	const struct task_struct *task;
	u64 id;
	bool granted;
	atomic_t refs;
	struct rcu_head rcu;
};

static struct kmem_cache *cache;	/* on 64 bits kmalloc() would use 512 bytes for 392 */
static LIST_HEAD(requested);
static DEFINE_SPINLOCK(requested_lock);	/* irqsave; a leaf of the lock order */

static struct iw_qp *to_iw_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct iw_qp, ibqp);
}

/* The QP of a handle, with a reference, or NULL if the QP is being destroyed. */
static struct kwarp_qp *find_qp(const struct iw_qp *h)
{
	struct kwarp_qp *qp = kwarp_qp_find(to_kdev(h->ibqp.device), h->ibqp.qp_num);

	if (qp && qp->memory.id != h->id) {
		kwarp_qp_put(qp);
		qp = NULL;
	}
	return qp;
}

/**
 * kwarp_cm_get_qp() - iw_get_qp: create a handle
 * @ibdev:	device
 * @qpn:	number that the caller of accept or connect has named
 *
 * Context: iw_cm's spinlock held.
 * Return: the handle, which the last iw_rem_ref frees; NULL without such a QP or without memory.
 */
struct ib_qp *kwarp_cm_get_qp(struct ib_device *ibdev, int qpn)
{
	struct kwarp_qp *qp = kwarp_qp_find(to_kdev(ibdev), qpn);
	struct iw_qp *h = NULL;
	unsigned long flags;

	if (!qp)
		return NULL;
	h = kmem_cache_zalloc(cache, GFP_ATOMIC | __GFP_ACCOUNT);
	if (h) {
		h->ibqp.device = ibdev;
		h->ibqp.qp_num = qpn;
		h->ibqp.qp_type = IB_QPT_DRIVER;
		h->ibqp.real_qp = &h->ibqp;
		h->id = qp->memory.id;
		h->task = current;
		spin_lock_irqsave(&requested_lock, flags);
		list_add(&h->link, &requested);
		spin_unlock_irqrestore(&requested_lock, flags);
	}
	kwarp_qp_put(qp);
	return h ? &h->ibqp : NULL;
}

void kwarp_cm_qp_add_ref(struct ib_qp *ibqp)
{
	atomic_inc(&to_iw_qp(ibqp)->refs);
}

static void free_handle(struct rcu_head *rcu)
{
	kmem_cache_free(cache, container_of(rcu, struct iw_qp, rcu));
}

/**
 * kwarp_cm_qp_rem_ref() - iw_rem_ref: iw_cm has dropped a pointer to a handle
 * @ibqp:	handle
 *
 * iw_cm_disconnect() of a connected QP uses the pointer without a reference: it reads the pointer
 * under a lock, releases the lock and calls kwarp_modify_qp(). Meanwhile the task may be preempted,
 * but does not sleep, and RCU Tasks waits for that. Without RCU Tasks, call_rcu_tasks() is
 * call_rcu(), which is enough on a kernel that is not preemptible. A handle without rights may be
 * that of a connected QP, too: after a second answer, see accept_again().
 * Context: any.
 */
void kwarp_cm_qp_rem_ref(struct ib_qp *ibqp)
{
	struct iw_qp *h = to_iw_qp(ibqp);
	unsigned long flags;

	if (!atomic_dec_and_test(&h->refs))
		return;
	spin_lock_irqsave(&requested_lock, flags);
	list_del_init(&h->link);
	spin_unlock_irqrestore(&requested_lock, flags);
	call_rcu_tasks(&h->rcu, free_handle);
}

/* Return: 0 or -ENOMEM. */
int kwarp_iw_qp_init(void)
{
	cache = kmem_cache_create("kwarp_iw_qp", sizeof(struct iw_qp), 0, SLAB_ACCOUNT, NULL);
	return cache ? 0 : -ENOMEM;
}

/* Context: module exit, process, may sleep. */
void kwarp_iw_qp_exit(void)
{
	if (IS_ENABLED(CONFIG_TASKS_RCU))
		rcu_barrier_tasks();
	else
		rcu_barrier();
	kmem_cache_destroy(cache);
}

/**
 * kwarp_iw_qp_target() - find the QP of a handle that iw_cm modifies
 * @ibqp:	handle: qp_type is IB_QPT_DRIVER
 *
 * Context: any; does not sleep, and the caller has not slept since iw_cm called it.
 * Return: the QP with a reference; NULL if it is being destroyed, or the handle has no rights.
 */
struct kwarp_qp *kwarp_iw_qp_target(struct ib_qp *ibqp)
{
	const struct iw_qp *h = to_iw_qp(ibqp);

	return READ_ONCE(h->granted) ? find_qp(h) : NULL;
}

/* May the caller connect the QP? */
static bool may_connect(const struct iw_cm_id *id, u32 qpn)
{
	const struct rdma_cm_id *cm = kwarp_ep_rdma_id(id);
	struct kwarp_qp *qp = kwarp_qp_find(to_kdev(id->device), qpn);
	bool yes;

	if (!qp)
		return false;
	if (cm && cm->qp)
		yes = cm->qp == &qp->ibqp;
	else
		yes = qp->owner && qp->owner == task_tgid(current);
	kwarp_qp_put(qp);
	return yes;
}

/**
 * kwarp_iw_qp_take() - the handle that iw_cm has got for this call of accept or connect
 * @id:		the consumer's id
 * @qpn:	QP number
 *
 * Context: the consumer's call.
 * Return: the handle.
 */
struct ib_qp *kwarp_iw_qp_take(const struct iw_cm_id *id, u32 qpn)
{
	struct ib_qp *found = NULL;
	unsigned long flags;
	struct iw_qp *h;

	spin_lock_irqsave(&requested_lock, flags);
	/* The newest comes first. */
	list_for_each_entry(h, &requested, link) {
		if (h->task != current || h->ibqp.qp_num != qpn || h->ibqp.device != id->device)
			continue;
		list_del_init(&h->link);
		found = &h->ibqp;
		break;
	}
	spin_unlock_irqrestore(&requested_lock, flags);
	return found;
}

/**
 * kwarp_iw_qp_grant() - take the handle, and let iw_cm change a QP that the caller may connect
 * @id:		the consumer's id, in connect or accept
 * @qpn:	QP number
 *
 * rdma_cm takes any number from user space. A kernel consumer's QP may be connected by
 * the id that created it; a user's QP by the process that created it, in whose write()
 * rdma_cm calls us.
 *
 * Context: the consumer's call.
 * Return: the handle; or NULL: the caller gets the same error as if there were no such QP.
 */
struct ib_qp *kwarp_iw_qp_grant(const struct iw_cm_id *id, u32 qpn)
{
	struct ib_qp *iw_qp = may_connect(id, qpn) ? kwarp_iw_qp_take(id, qpn) : NULL;

	if (iw_qp)
		WRITE_ONCE(to_iw_qp(iw_qp)->granted, true);
	return iw_qp;
}
