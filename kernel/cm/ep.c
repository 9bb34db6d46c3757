// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints: lifetime, events, timer, lookup.
 *
 * Holders of references on an endpoint (llp.refs):
 *	the state machine	from kwarp_ep_alloc() to kwarp_ep_close()
 *	its queued work		one
 *	an attached QP		one
 *	each pending child	one on its listener
 *	socket callbacks and downcalls of iw_cm, while they run
 * iw_cm holds none: its provider_data is a number (see kwarp_ep_find()).
 */
#include "cm/cm.h"

#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/rdma_cm.h>

#include "cm/ep.h"
#include "trace.h"

/* provider_data to endpoint; entries hold no reference, see kwarp_ep_find(). */
static DEFINE_XARRAY_ALLOC1(handles);
static u32 next_handle;

/* kmalloc() would use twice the size of an endpoint. */
static struct kmem_cache *ep_cache;

/* Work of attached sockets, and of connections from WAIT_RTR on: see ep_wq(). */
static struct workqueue_struct *conn_wq;

/* ---- lifetime ------------------------------------------------------------ */

/* The last reference was dropped. Any context; nothing here sleeps. */
static void ep_release(struct kwarp_llp *llp)
{
	struct kwarp_ep *ep = to_ep(llp);
	struct kwarp_device *dev = ep_dev(ep);
	unsigned long flags;

	/* kwarp_cm_exit() waits for this section: then kfree_rcu() has the endpoint. */
	rcu_read_lock();
	spin_lock_irqsave(&dev->lock, flags);
	list_del(&ep->dev_link);
	spin_unlock_irqrestore(&dev->lock, flags);
	/* Only the address of @dev is used: the device may be freed already. */
	wake_up_var(&dev->eps);
	put_pid(ep->owner);
	kfree_rcu(ep, llp.rcu);
	rcu_read_unlock();
}

static void llp_event(struct kwarp_llp *llp, unsigned int ev)
{
	kwarp_ep_raise(to_ep(llp), ev);
}

static const struct kwarp_llp_owner_ops owner_ops = {
	.event = llp_event,
	.release = ep_release,
};

static void ep_timeout(struct timer_list *t)
{
	struct kwarp_ep *ep = container_of(t, struct kwarp_ep, timer);

	kwarp_ep_raise(ep, KWARP_EP_EV_TIMEOUT);
}

/**
 * kwarp_ep_alloc() - allocate an endpoint
 * @dev:	device
 *
 * The removal of the device finds the endpoint from here on. Its events wait until the caller
 * releases the mutex, by kwarp_ep_unlock(), in another state than KWARP_EP_IDLE.
 *
 * Context: process; the mutex of another endpoint may be held.
 * Return: endpoint in KWARP_EP_IDLE, mutex held, with the state machine's reference, or NULL.
 */
struct kwarp_ep *kwarp_ep_alloc(struct kwarp_device *dev)
{
	struct kwarp_ep *ep;
	unsigned long flags;

	ep = kmem_cache_zalloc(ep_cache, GFP_KERNEL_ACCOUNT);
	if (!ep)
		return NULL;
	kwarp_llp_init(&ep->llp, dev, &owner_ops);
	mutex_init(&ep->mutex);
	INIT_WORK(&ep->work, kwarp_ep_work);
	timer_setup(&ep->timer, ep_timeout, 0);
	ep->state = KWARP_EP_IDLE;
	INIT_LIST_HEAD(&ep->upcall_link);
	INIT_LIST_HEAD(&ep->linger_link);
	INIT_LIST_HEAD(&ep->sibling);
	spin_lock_init(&ep->child_lock);
	INIT_LIST_HEAD(&ep->waiting);
	INIT_LIST_HEAD(&ep->ready);
	INIT_LIST_HEAD(&ep->asked);
	/* No other context knows the endpoint. Lockdep accepts a trylock inside another mutex. */
	WARN_ON_ONCE(!mutex_trylock(&ep->mutex));

	spin_lock_irqsave(&dev->lock, flags);
	list_add_tail(&ep->dev_link, &dev->eps);
	spin_unlock_irqrestore(&dev->lock, flags);
	return ep;
}

/**
 * kwarp_ep_close() - final state: release everything but the memory
 * @ep:		endpoint, mutex held; the caller holds its own reference
 * @ending:	how the connection ends
 *
 * Delivers no event to iw_cm: the caller has delivered those that were due. Idempotent.
 * Context: process, may sleep.
 */
void kwarp_ep_close(struct kwarp_ep *ep, enum kwarp_ending ending)
{
	might_sleep();
	lockdep_assert_held(&ep->mutex);
	if (ep->state == KWARP_EP_CLOSED)
		return;
	kwarp_ep_set_state(ep, KWARP_EP_CLOSED);

	/* Hide the endpoint from iw_cm's calls and from its listener. */
	kwarp_ep_drop_handle(ep);
	kwarp_listen_leave(ep);
	kwarp_linger_leave(ep);
	/* After the first call no engine runs, after the second no callback. */
	kwarp_qp_detach(&ep->llp);
	kwarp_llp_close(&ep->llp, ending);
	/* Stop the timer. Work that is still queued checks the state. */
	timer_shutdown_sync(&ep->timer);

	kwarp_attach_put(ep);
	kwarp_ep_release_qp(ep, -ECONNABORTED);
	kwarp_ep_drop_id(ep);
	kfree(ep->su);
	ep->su = NULL;
	kwarp_llp_put(&ep->llp);
}

/* ---- events and time ------------------------------------------------------ */

/*
 * dev->cm_wq is ordered, because consumers at both ends rely on the order of requests, and
 * rendezvous on one attempt at a time. Later work does not depend on other connections.
 */
static struct workqueue_struct *ep_wq(const struct kwarp_ep *ep)
{
	/* Attached sockets have no requests for a consumer. */
	if (READ_ONCE(ep->attach))
		return conn_wq;
	switch (READ_ONCE(ep->state)) {
	case KWARP_EP_WAIT_RTR:
	case KWARP_EP_ESTABLISHED:
	case KWARP_EP_CLOSING:
	case KWARP_EP_LINGER:
		return ep->rendezvous ? ep_dev(ep)->cm_wq : conn_wq;
	default:
		return ep_dev(ep)->cm_wq;
	}
}

/*
 * Queue the work, with a reference. The work may still run on the queue of an earlier state;
 * ep->mutex serialises the two runs. Context: any.
 */
static void queue_ep_work(struct kwarp_ep *ep)
{
	kwarp_llp_get(&ep->llp);
	if (!queue_work(ep_wq(ep), &ep->work))
		kwarp_llp_put(&ep->llp);
}

/**
 * kwarp_ep_raise() - record an event and queue its handling
 * @ep:		endpoint; the caller holds a reference
 * @ev:		enum kwarp_llp_event or kwarp_ep_event
 *
 * Context: any.
 */
void kwarp_ep_raise(struct kwarp_ep *ep, unsigned int ev)
{
	set_bit(ev, &ep->events);
	/* Set the event before the test; pairs with kwarp_ep_unlock() and kwarp_ep_trylock(). */
	smp_mb__after_atomic();
	if (!test_bit(KWARP_EP_EV_WAITING, &ep->events))
		queue_ep_work(ep);
}

/**
 * kwarp_ep_keep_events() - leave the work of events to kwarp_ep_unlock()
 * @ep:		endpoint, mutex held; the caller holds a reference
 *
 * Until then the caller can handle an event itself, before a worker is woken.
 */
void kwarp_ep_keep_events(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	set_bit(KWARP_EP_EV_WAITING, &ep->events);
}

/**
 * kwarp_ep_unlock() - release an endpoint's mutex
 * @ep:		endpoint, mutex held; the caller holds a reference
 *
 * A worker never waits for the mutex, because calls of the consumer hold the mutex during
 * allocations that the consumer's memory cgroup may delay. The worker sets
 * KWARP_EP_EV_WAITING instead, and the holder of the mutex queues the work again here.
 */
void kwarp_ep_unlock(struct kwarp_ep *ep)
{
	mutex_unlock(&ep->mutex);
	/* Unlock before the test of WAITING; pairs with kwarp_ep_trylock(). */
	smp_mb();
	/* Clear WAITING before the test for events; pairs with kwarp_ep_raise(). */
	if (test_and_clear_bit(KWARP_EP_EV_WAITING, &ep->events) && READ_ONCE(ep->events))
		queue_ep_work(ep);
}

/**
 * kwarp_ep_trylock() - take an endpoint's mutex in its work
 * @ep:		endpoint, referenced
 *
 * Return: false if the mutex is held; its holder will queue the work again.
 */
bool kwarp_ep_trylock(struct kwarp_ep *ep)
{
	if (mutex_trylock(&ep->mutex))
		return true;
	set_bit(KWARP_EP_EV_WAITING, &ep->events);
	/* Set WAITING before the second attempt; pairs with kwarp_ep_unlock(). */
	smp_mb__after_atomic();
	if (!mutex_trylock(&ep->mutex))
		return false;
	clear_bit(KWARP_EP_EV_WAITING, &ep->events);
	/* Clear WAITING before the caller reads the events; pairs with kwarp_ep_raise(). */
	smp_mb__after_atomic();
	return true;
}

/**
 * kwarp_cm_queue_delayed() - queue delayed work, serialised with the work of rendezvous endpoints
 * @dev:	device
 * @work:	work; if it is already queued, the delay restarts
 * @delay:	jiffies
 *
 * Context: any.
 */
void kwarp_cm_queue_delayed(struct kwarp_device *dev, struct delayed_work *work,
			    unsigned long delay)
{
	mod_delayed_work(dev->cm_wq, work, delay);
}

static void poll_owners_later(struct kwarp_device *dev, u32 ms)
{
	mod_timer(&dev->owner_poll, jiffies + msecs_to_jiffies(ms));
}

/* iw_cm blocks callers until CONNECT_REPLY, ESTABLISHED or, at times, CLOSE arrives. */
static bool upcall_is_due(const struct kwarp_ep *ep)
{
	switch (ep->state) {
	case KWARP_EP_CONNECTING:
	case KWARP_EP_WAIT_REP:
	case KWARP_EP_WAIT_RTR:
	case KWARP_EP_CLOSING:
		return ep->cm_id;
	default:
		return false;
	}
}

static void update_upcall_due(struct kwarp_ep *ep)
{
	struct kwarp_device *dev = ep_dev(ep);
	bool due = upcall_is_due(ep);
	unsigned long flags;

	/* ep->mutex protects membership in the list: the test needs no other lock. */
	if (due == !list_empty(&ep->upcall_link))
		return;
	spin_lock_irqsave(&dev->lock, flags);
	if (!due) {
		list_del_init(&ep->upcall_link);
	} else {
		if (list_empty(&dev->upcall_due))
			poll_owners_later(dev, KWARP_EP_OWNER_POLL_MS);
		list_add_tail(&ep->upcall_link, &dev->upcall_due);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * kwarp_ep_set_state() - change the state
 * @ep:		endpoint, mutex held
 * @state:	new state
 */
void kwarp_ep_set_state(struct kwarp_ep *ep, enum kwarp_ep_state state)
{
	lockdep_assert_held(&ep->mutex);
	if (trace_kwarp_ep_state_enabled())
		trace_kwarp_ep_state(ep_dev(ep), ep,
				     ep->qp ? ep->qp->ibqp.qp_num : 0,
				     kwarp_ep_state_name(ep->state),
				     kwarp_ep_state_name(state));
	atomic_add((state == KWARP_EP_CONNECTING) - (ep->state == KWARP_EP_CONNECTING),
		   &ep_dev(ep)->connecting);
	WRITE_ONCE(ep->state, state);
	update_upcall_due(ep);
}

/**
 * kwarp_ep_arm() - set the timer, replacing an earlier setting
 * @ep:		endpoint, mutex held
 * @ms:		milliseconds until KWARP_EP_EV_TIMEOUT
 */
void kwarp_ep_arm(struct kwarp_ep *ep, u32 ms)
{
	lockdep_assert_held(&ep->mutex);
	ep->deadline = jiffies + max(msecs_to_jiffies(ms), 1UL);
	ep->armed = true;
	mod_timer(&ep->timer, ep->deadline);
}

/**
 * kwarp_ep_timed_out() - the timer has fired: check whether the wait is over
 * @ep:		endpoint, mutex held
 *
 * Return: true if so, once; false if a new wait has begun, or the timer is off.
 */
bool kwarp_ep_timed_out(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	if (!ep->armed || time_before(jiffies, ep->deadline))
		return false;
	ep->armed = false;
	return true;
}

/**
 * kwarp_ep_arm_startup() - set the timer to the policy's limit for one wait
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_arm_startup(struct kwarp_ep *ep)
{
	kwarp_ep_arm(ep, ep->startup_ms ? :
		     READ_ONCE(ep_dev(ep)->policy.startup_timeout_ms));
}

/**
 * kwarp_ep_arm_answer() - set the timer to the limit for the peer's consumer to answer
 * @ep:		endpoint, mutex held
 *
 * Startup frames come from the peer's kernel or RNIC, but the answer depends on a program,
 * which may allocate and register much memory before it accepts.
 */
void kwarp_ep_arm_answer(struct kwarp_ep *ep)
{
	const struct kwarp_policy *pol = &ep_dev(ep)->policy;

	/* An attached socket may have its own limit; rendezvous asks no program. */
	if (ep->startup_ms || ep->rendezvous)
		kwarp_ep_arm_startup(ep);
	else
		kwarp_ep_arm(ep, READ_ONCE(pol->startup_timeout_ms) +
				 READ_ONCE(pol->answer_timeout_ms));
}

/**
 * kwarp_ep_disarm() - stop the timer
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_disarm(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	ep->armed = false;
	timer_delete(&ep->timer);
}

/* ---- handles for iw_cm ---------------------------------------------------- */

/**
 * kwarp_ep_set_handle() - publish the endpoint to iw_cm as a number
 * @ep:		endpoint, mutex held
 *
 * iw_cm gets no pointer with a reference, because that reference might never be put: iw_cm
 * drops a connect request without notice when the listener is being destroyed or memory is
 * short, and keeps a listener's cm_id after the device is gone.
 * Return: 0, -ENOMEM, -EBUSY.
 */
int kwarp_ep_set_handle(struct kwarp_ep *ep)
{
	int ret;

	lockdep_assert_held(&ep->mutex);
	ret = xa_alloc_cyclic(&handles, &ep->handle, ep,
			      XA_LIMIT(1, INT_MAX), &next_handle, GFP_KERNEL);
	if (ret < 0)
		ep->handle = 0;
	return min(ret, 0);
}

/* In provider_data: a pointer to struct ib_qp instead of twice a number. */
#define ENDED	1UL

/*
 * The endpoint is about to leave its cm_id, to which ESTABLISHED may be on its way. Until iw_cm has
 * handled that event, iw_cm lets its user accept again: leave the QP that iw_cm has.
 */
static void leave_iw_qp(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	if (!ep->cm_id || !ep->iw_qp)
		return;
	WRITE_ONCE(ep->cm_id->provider_data, (void *)((unsigned long)ep->iw_qp | ENDED));
	ep->iw_qp = NULL;
}

/**
 * kwarp_ep_swap_ended() - replace the QP that an endpoint has left in its cm_id
 * @id:		cm_id
 * @iw_qp:	the QP that iw_cm has got meanwhile
 *
 * Context: kwarp_ep_find() has found no endpoint of the cm_id, or one that has left it.
 * Return: the previous QP, which iw_cm has forgotten; or NULL: no endpoint has left one.
 */
struct ib_qp *kwarp_ep_swap_ended(struct iw_cm_id *id, struct ib_qp *iw_qp)
{
	unsigned long data = (unsigned long)READ_ONCE(id->provider_data);

	if (!(data & ENDED))
		return NULL;
	WRITE_ONCE(id->provider_data, iw_qp ? (void *)((unsigned long)iw_qp | ENDED) : NULL);
	return (struct ib_qp *)(data & ~ENDED);
}

/**
 * kwarp_ep_drop_handle() - undo kwarp_ep_set_handle()
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_drop_handle(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	/* Before: an accept that finds no endpoint looks for the QP. */
	leave_iw_qp(ep);
	if (!ep->handle)
		return;
	xa_erase(&handles, ep->handle);
	ep->handle = 0;
}

/**
 * kwarp_ep_provider_data() - an endpoint's handle as stored by iw_cm
 * @ep:		endpoint with a handle
 *
 * Return: the value for provider_data.
 */
void *kwarp_ep_provider_data(const struct kwarp_ep *ep)
{
	return (void *)(2UL * ep->handle);
}

/**
 * kwarp_ep_find() - find the endpoint of a cm_id's provider_data
 * @id:		listening cm_id, or one of a connect request
 *
 * Return: endpoint with a reference, or NULL if it was closed. Context: any.
 */
struct kwarp_ep *kwarp_ep_find(const struct iw_cm_id *id)
{
	unsigned long data = (unsigned long)READ_ONCE(id->provider_data);
	struct kwarp_ep *ep;

	if (data & ENDED)
		return NULL;
	/* A handle is removed under this lock before the state machine's reference is put. */
	xa_lock(&handles);
	ep = xa_load(&handles, data / 2);
	if (ep)
		kwarp_llp_get(&ep->llp);
	xa_unlock(&handles);
	return ep;
}

/**
 * kwarp_ep_set_id() - store the cm_id that gets this connection's events
 * @ep:		endpoint, mutex held
 * @id:		cm_id
 */
void kwarp_ep_set_id(struct kwarp_ep *ep, struct iw_cm_id *id)
{
	lockdep_assert_held(&ep->mutex);
	id->add_ref(id);
	ep->cm_id = id;
}

/**
 * kwarp_ep_drop_id() - release the cm_id, if there is one
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_drop_id(struct kwarp_ep *ep)
{
	struct iw_cm_id *id = ep->cm_id;

	lockdep_assert_held(&ep->mutex);
	if (!id)
		return;
	leave_iw_qp(ep);
	ep->cm_id = NULL;
	id->rem_ref(id);
}

/**
 * kwarp_ep_rdma_id() - find the rdma_cm id that owns an iw_cm_id
 * @id:		the consumer's id
 *
 * iw_cm does not record the owner, but rdma_cm is its only user and stores its id in
 * @id->context.
 *
 * Return: rdma_cm's id, or NULL.
 */
const struct rdma_cm_id *kwarp_ep_rdma_id(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cm = id->context;

	return cm && cm->device == id->device ? cm : NULL;
}

/* ---- queue pairs ---------------------------------------------------------- */

/**
 * kwarp_ep_hold_qp() - the endpoint has claimed this QP for its connection
 * @ep:		endpoint, mutex held, without a QP
 * @qp:		queue pair whose claimant is ep->llp; the caller's reference becomes the
 *		endpoint's
 *
 * kwarp_ep_release_qp() gives up both claim and reference.
 */
void kwarp_ep_hold_qp(struct kwarp_ep *ep, struct kwarp_qp *qp)
{
	lockdep_assert_held(&ep->mutex);
	WARN_ON_ONCE(ep->qp);
	ep->qp = qp;
	if (!ep->owner)
		ep->owner = get_pid(qp->owner);
}

/**
 * kwarp_ep_claim_qp() - claim and hold a QP for the connection being set up
 * @ep:		endpoint, mutex held
 * @qpn:	QP number
 *
 * Return: 0; -EINVAL if there is no such QP, or it cannot be connected (any more), or
 * another connection has claimed it.
 */
int kwarp_ep_claim_qp(struct kwarp_ep *ep, u32 qpn)
{
	struct kwarp_qp *qp = kwarp_qp_find(ep_dev(ep), qpn);

	if (!qp)
		return -EINVAL;
	if (!(ep->rendezvous ? kwarp_qp_claim_partner(qp, &ep->llp) :
			       kwarp_qp_claim(qp, &ep->llp))) {
		kwarp_qp_put(qp);
		return -EINVAL;
	}
	kwarp_ep_hold_qp(ep, qp);
	return 0;
}

/*
 * Without a cm_id, the consumer learns of the end of a connection by an event of the QP. The
 * end of a rendezvous connection raises this event only if the netdev is gone, because the QP
 * survives a partner that closes (partner_gone() in rdmap/stream.c). An error of the stream, which
 * precedes a reset, has its own event.
 */
static void report_loss(const struct kwarp_ep *ep, struct kwarp_qp *qp, int status)
{
	bool lost = ep->rendezvous ? status == -ENETDOWN : ep->attach && status;

	if (lost && ep->state == KWARP_EP_ESTABLISHED &&
	    READ_ONCE(qp->err_from) == KWARP_ERR_FROM_NOBODY)
		kwarp_qp_event(qp, IB_EVENT_QP_FATAL);
}

/**
 * kwarp_ep_release_qp() - the connection is over for its QP, or was not established
 * @ep:		endpoint, mutex held, with a QP or not
 * @status:	0 or negative errno
 *
 * The only place where a connection releases its QP. After that another connection may claim
 * the QP, and destroy_qp does not wait for this one's claim. A QP may still be attached, to
 * send its Terminate: kwarp_qp_detach() follows then. Context: process, may sleep.
 */
void kwarp_ep_release_qp(struct kwarp_ep *ep, int status)
{
	struct kwarp_qp *qp = ep->qp;

	lockdep_assert_held(&ep->mutex);
	if (!qp)
		return;
	ep->qp = NULL;
	/* kwarp_qp_detach() frees the memory of an attached connection. */
	if (!ep->llp.qp)
		kwarp_qp_unprepare(qp, &ep->llp);
	/* Before the QP can be connected again: this event is not one of the next connection. */
	report_loss(ep, qp, status);
	if (ep->rendezvous)
		kwarp_rdv_unclaim(qp);
	else
		kwarp_qp_unclaim(qp);
	kwarp_qp_put(qp);
}

static void tell_qp_gone(struct kwarp_llp *llp)
{
	if (!llp)
		return;
	kwarp_ep_raise(to_ep(llp), KWARP_LLP_EV_QP_GONE);
	kwarp_llp_put(llp);
}

/**
 * kwarp_cm_qp_gone() - a QP is being destroyed: end its connection
 * @qp:		queue pair in ERR, with the caller's reference
 *
 * Raises KWARP_LLP_EV_QP_GONE for its connection, attached or still being set up. Returns
 * immediately. The connection drops its references soon after: destroy_qp waits for qp->free,
 * without qp->mutex.
 * Context: process.
 */
void kwarp_cm_qp_gone(struct kwarp_qp *qp)
{
	/* The caller has put the QP in ERR, so it is not claimed again. */
	tell_qp_gone(kwarp_qp_claimant(qp));
	/* A failed connection has released its claim and may still send its Terminate. */
	tell_qp_gone(kwarp_qp_llp(qp));
}

/**
 * kwarp_cm_qp_leave() - end the connection of a queue pair, and the search for a partner
 * @qp:		queue pair in ERR, its mutex not held
 *
 * Context: process, may sleep, but does not wait for the network.
 * Return: 0 if no connection is attached or will be; -ERESTARTSYS if the calling process is
 * being killed: the connection may not have ended yet.
 */
int kwarp_cm_qp_leave(struct kwarp_qp *qp)
{
	might_sleep();
	kwarp_rdv_cancel(qp);
	kwarp_cm_qp_gone(qp);
	return kwarp_qp_await_end(qp);
}

/* ---- device --------------------------------------------------------------- */

/* The endpoint after @ep (NULL: the first), with a reference. Puts @ep. */
static struct kwarp_ep *next_ep(struct kwarp_device *dev, struct kwarp_ep *ep)
{
	struct kwarp_ep *next, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	next = list_prepare_entry(ep, &dev->eps, dev_link);
	list_for_each_entry_continue(next, &dev->eps, dev_link) {
		if (refcount_inc_not_zero(&next->llp.refs)) {
			found = next;
			break;
		}
	}
	spin_unlock_irqrestore(&dev->lock, flags);
	if (ep)
		kwarp_llp_put(&ep->llp);
	return found;
}

static bool no_eps(struct kwarp_device *dev)
{
	unsigned long flags;
	bool empty;

	/* Locked: if the list is empty, ep_release() no longer accesses the device. */
	spin_lock_irqsave(&dev->lock, flags);
	empty = list_empty(&dev->eps);
	spin_unlock_irqrestore(&dev->lock, flags);
	return empty;
}

/* Has the process ended, or is its whole thread group exiting? */
static bool is_ending(struct pid *pid)
{
	const struct task_struct *task;
	bool ending;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	ending = !task || READ_ONCE(task->signal->flags) & SIGNAL_GROUP_EXIT;
	rcu_read_unlock();
	return ending;
}

/*
 * iw_cm waits for the result of a connect or an accept, which may take a minute, at two times when
 * we can end the wait:
 *
 * - iw_destroy_cm_id() of an ending process, uninterruptibly. We end the connections as if their
 *   queue pairs had been destroyed, as they soon will be.
 * - The core removes the device from its clients before it notifies the driver. An ib_client of
 *   kwarp would be notified after those registered later, which also wait. kwarp_is_removed() looks
 *   at the core's lock and list of clients.
 */
static void end_wait(struct kwarp_ep *ep, bool removal)
{
	if (removal)
		kwarp_ep_raise(ep, KWARP_EP_EV_DOWN);
	else if (ep->owner && is_ending(ep->owner))
		kwarp_ep_raise(ep, KWARP_LLP_EV_QP_GONE);
}

/* So a timer polls while iw_cm may be waiting: KWARP_EP_OWNER_POLL_MAX endpoints, in rotation. */
static void poll_owners(struct timer_list *t)
{
	struct kwarp_device *dev = container_of(t, struct kwarp_device, owner_poll);
	bool removal = kwarp_is_removed(dev);
	struct list_head *first;
	struct kwarp_ep *ep;
	unsigned long flags;
	int i = 0;

	spin_lock_irqsave(&dev->lock, flags);
	first = dev->upcall_due.next;
	while (!list_empty(&dev->upcall_due)) {
		/* Listed endpoints hold the state machine's reference. */
		ep = list_first_entry(&dev->upcall_due, struct kwarp_ep, upcall_link);
		end_wait(ep, removal);
		list_rotate_left(&dev->upcall_due);
		if (dev->upcall_due.next == first || ++i == KWARP_EP_OWNER_POLL_MAX)
			break;
	}
	if (!list_empty(&dev->upcall_due))
		poll_owners_later(dev, removal ? KWARP_EP_REMOVAL_POLL_MS : KWARP_EP_OWNER_POLL_MS);
	spin_unlock_irqrestore(&dev->lock, flags);
}

void kwarp_cm_device_init(struct kwarp_device *dev)
{
	int i;

	INIT_LIST_HEAD(&dev->eps);
	INIT_LIST_HEAD(&dev->upcall_due);
	timer_setup(&dev->owner_poll, poll_owners, 0);
	for (i = 0; i < KWARP_LINGER_KINDS; i++)
		INIT_LIST_HEAD(&dev->lingering[i].eps);
}

void kwarp_cm_device_exit(struct kwarp_device *dev)
{
	timer_shutdown_sync(&dev->owner_poll);
	WARN_ON_ONCE(!list_empty(&dev->eps));
}

/* Raise an event for every endpoint. Return: true if there was one, listeners included. */
static bool raise_all(struct kwarp_device *dev, unsigned int event)
{
	struct kwarp_ep *ep = NULL;
	bool any = false;

	while ((ep = next_ep(dev, ep))) {
		kwarp_ep_raise(ep, event);
		any = true;
	}
	return any;
}

/**
 * kwarp_cm_device_down() - the netdev is going away: end every connection
 * @dev:	device
 *
 * Context: any.
 * Return: true if there was an endpoint, listeners included.
 */
bool kwarp_cm_device_down(struct kwarp_device *dev)
{
	return raise_all(dev, KWARP_EP_EV_DOWN);
}

/**
 * kwarp_cm_device_drain() - end every endpoint, listeners included, and wait for their end
 * @dev:	device; no new connection or listener may be created, so
 *		ib_unregister_device() has finished
 *
 * Context: process, may sleep.
 */
void kwarp_cm_device_drain(struct kwarp_device *dev)
{
	int waits = 0;

	might_sleep();
	do {
		/* This is a defect of kwarp: no program can delay removal so long. */
		if (waits++ == KWARP_EP_DOWN_WAITS)
			ibdev_err(&dev->ibdev,
				  "removal waits for a connection: please report this defect of kwarp\n");
		raise_all(dev, KWARP_EP_EV_REMOVED);
		/* Repeat: a listener may have accepted a child meanwhile. */
	} while (!wait_var_event_timeout(&dev->eps, no_eps(dev), HZ / 10));
}

/**
 * kwarp_cm_readdress() - the netdev's addresses may have changed
 * @dev:	device
 *
 * SCTP's wildcard listeners follow soon. Context: any.
 */
void kwarp_cm_readdress(struct kwarp_device *dev)
{
	struct kwarp_ep *ep = NULL;

	while ((ep = next_ep(dev, ep)))
		if (READ_ONCE(ep->state) == KWARP_EP_LISTEN)
			kwarp_ep_raise(ep, KWARP_EP_EV_READDRESS);
}

/* ---- module --------------------------------------------------------------- */

int kwarp_cm_init(void)
{
	int ret;

	BUILD_BUG_ON(KWARP_EP_EV_WAITING >= BITS_PER_LONG);
	conn_wq = alloc_workqueue("kwarp_conn", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!conn_wq)
		return -ENOMEM;
	ret = -ENOMEM;
	ep_cache = KMEM_CACHE(kwarp_ep, SLAB_ACCOUNT);
	if (!ep_cache)
		goto err_wq;
	ret = kwarp_iw_qp_init();
	if (ret)
		goto err_cache;
	ret = kwarp_rdv_module_init();
	if (ret)
		goto err_iw_qp;
	return 0;

err_iw_qp:
	kwarp_iw_qp_exit();
err_cache:
	kmem_cache_destroy(ep_cache);
err_wq:
	destroy_workqueue(conn_wq);
	return ret;
}

void kwarp_cm_exit(void)
{
	kwarp_rdv_module_exit();
	destroy_workqueue(conn_wq);
	kwarp_iw_qp_exit();
	/* For ep_release(). kmem_cache_destroy() waits for kfree_rcu(). */
	synchronize_rcu();
	kmem_cache_destroy(ep_cache);
	WARN_ON_ONCE(!xa_empty(&handles));
}
