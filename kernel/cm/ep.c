// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints: lifetime, events, timer, look-up.
 *
 * Who holds an endpoint (llp.refs):
 *	the state machine	from kwarp_ep_alloc() to kwarp_ep_close()
 *	its queued work		one
 *	an attached QP		one
 *	each pending child	one on its listener
 *	socket callbacks and downcalls of iw_cm, while they run
 * iw_cm holds none: its provider_data is a number (see kwarp_ep_find()).
 */
#include "cm.h"

#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/rdma_cm.h>

#include "../ctl/trace.h"
#include "ep.h"

/* provider_data to endpoint; entries hold no reference, see kwarp_ep_find(). */
static DEFINE_XARRAY_ALLOC1(handles);
static u32 next_handle;

/* Endpoints with a QP that is not attached yet, for kwarp_cm_qp_gone(). */
static DEFINE_SPINLOCK(qp_lock);
static DEFINE_HASHTABLE(qp_table, 8);

/* ---- lifetime ------------------------------------------------------------ */

/* The last reference is gone. Any context; nothing here sleeps. */
static void ep_release(struct kwarp_llp *llp)
{
	struct kwarp_ep *ep = to_ep(llp);
	struct kwarp_device *dev = ep_dev(ep);
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	list_del(&ep->dev_link);
	spin_unlock_irqrestore(&dev->lock, flags);
	/* Only the address counts: the device may be gone from here on. */
	wake_up_var(&dev->eps);
	kfree_rcu(ep, llp.rcu);
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
 * kwarp_ep_alloc() - make an endpoint
 * @dev:	device
 *
 * Context: process.
 * Return: endpoint in KWARP_EP_IDLE with the state machine's reference, or NULL.
 */
struct kwarp_ep *kwarp_ep_alloc(struct kwarp_device *dev)
{
	struct kwarp_ep *ep;
	unsigned long flags;

	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep)
		return NULL;
	kwarp_llp_init(&ep->llp, dev, &owner_ops);
	mutex_init(&ep->mutex);
	INIT_WORK(&ep->work, kwarp_ep_work);
	timer_setup(&ep->timer, ep_timeout, 0);
	ep->state = KWARP_EP_IDLE;
	INIT_HLIST_NODE(&ep->qp_link);
	INIT_LIST_HEAD(&ep->owing_link);
	INIT_LIST_HEAD(&ep->linger_link);
	INIT_LIST_HEAD(&ep->sibling);
	spin_lock_init(&ep->child_lock);
	INIT_LIST_HEAD(&ep->waiting);
	INIT_LIST_HEAD(&ep->asked);

	spin_lock_irqsave(&dev->lock, flags);
	list_add_tail(&ep->dev_link, &dev->eps);
	spin_unlock_irqrestore(&dev->lock, flags);
	return ep;
}

/**
 * kwarp_ep_close() - the end: release everything but the memory
 * @ep:		endpoint, mutex held; the caller has a reference of its own
 * @abort:	reset the connection instead of closing it
 *
 * Tells iw_cm nothing: what it is owed has been delivered. Idempotent.
 * Context: process, may sleep.
 */
void kwarp_ep_close(struct kwarp_ep *ep, bool abort)
{
	might_sleep();
	lockdep_assert_held(&ep->mutex);
	if (ep->state == KWARP_EP_CLOSED)
		return;
	kwarp_ep_set_state(ep, KWARP_EP_CLOSED);

	/* No downcall finds it, no listener and no dying QP names it. */
	kwarp_ep_drop_handle(ep);
	kwarp_listen_leave(ep);
	kwarp_linger_leave(ep);
	kwarp_ep_unbind_qp(ep);
	/* No engine runs; then no callback comes. */
	kwarp_qp_detach(&ep->llp);
	kwarp_llp_close(&ep->llp, abort);
	/* No timer either. Work that is queued finds the state. */
	timer_shutdown_sync(&ep->timer);

	kwarp_attach_put(ep);
	kwarp_ep_unclaim(ep);
	kwarp_meet_over(ep, -ECONNABORTED);
	kwarp_ep_drop_id(ep);
	kfree(ep->su);
	ep->su = NULL;
	kwarp_llp_put(&ep->llp);
}

/* ---- events and time ------------------------------------------------------ */

/**
 * kwarp_ep_raise() - note an event and have it handled
 * @ep:		endpoint, on which the caller has a reference
 * @ev:		enum kwarp_llp_event or kwarp_ep_event
 *
 * Context: any.
 */
void kwarp_ep_raise(struct kwarp_ep *ep, unsigned int ev)
{
	set_bit(ev, &ep->events);
	kwarp_llp_get(&ep->llp);
	if (!queue_work(ep->taken ? kwarp_taken_wq : ep_dev(ep)->cm_wq,
			&ep->work))
		kwarp_llp_put(&ep->llp);
}

/**
 * kwarp_cm_delay() - work for later, in order with that of the endpoints
 * @dev:	device
 * @work:	work, perhaps queued already: then the delay counts anew
 * @delay:	jiffies
 *
 * Context: any.
 */
void kwarp_cm_delay(struct kwarp_device *dev, struct delayed_work *work,
		    unsigned long delay)
{
	mod_delayed_work(dev->cm_wq, work, delay);
}

static void look_later(struct kwarp_device *dev)
{
	mod_timer(&dev->look, jiffies + msecs_to_jiffies(KWARP_EP_LOOK_MS));
}

/* iw_cm makes its caller wait: for the reply, ESTABLISHED, perhaps CLOSE. */
static bool owes_event(const struct kwarp_ep *ep)
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

static void note_owing(struct kwarp_ep *ep)
{
	struct kwarp_device *dev = ep_dev(ep);
	bool owes = owes_event(ep);
	unsigned long flags;

	/* Only those who hold the mutex change it. */
	if (owes == !list_empty(&ep->owing_link))
		return;
	spin_lock_irqsave(&dev->lock, flags);
	if (!owes) {
		list_del_init(&ep->owing_link);
	} else {
		if (list_empty(&dev->owing))
			look_later(dev);
		list_add_tail(&ep->owing_link, &dev->owing);
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
	ep->state = state;
	note_owing(ep);
}

/**
 * kwarp_ep_arm() - set the timer, whatever it was set to
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
 * kwarp_ep_timed_out() - the timer has fired: is the wait over
 * @ep:		endpoint, mutex held
 *
 * Return: true if so, once; false if another has begun meanwhile, or none is on.
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
 * kwarp_ep_arm_startup() - set the timer to the policy's limit of a wait
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_arm_startup(struct kwarp_ep *ep)
{
	kwarp_ep_arm(ep, ep->startup_ms ? :
		     READ_ONCE(ep_dev(ep)->policy.startup_timeout_ms));
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

/* ---- what iw_cm holds ----------------------------------------------------- */

/**
 * kwarp_ep_set_handle() - make the endpoint known to iw_cm by a number
 * @ep:		endpoint, mutex held
 *
 * Not by a pointer with a reference: iw_cm drops a connect request without a
 * word to us when the listener is being destroyed or memory is short, and keeps
 * a listener's cm_id after the device has gone.
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

/**
 * kwarp_ep_drop_handle() - undo kwarp_ep_set_handle()
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_drop_handle(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	if (!ep->handle)
		return;
	xa_erase(&handles, ep->handle);
	ep->handle = 0;
}

/**
 * kwarp_ep_provider_data() - an endpoint's handle as iw_cm stores it
 * @ep:		endpoint with a handle
 *
 * Return: the value for provider_data.
 */
void *kwarp_ep_provider_data(const struct kwarp_ep *ep)
{
	return (void *)(unsigned long)ep->handle;
}

/**
 * kwarp_ep_find() - the endpoint of a cm_id's provider_data
 * @id:		listening cm_id, or one of a connect request
 *
 * Return: endpoint with a reference, or NULL if it has ended. Context: any.
 */
struct kwarp_ep *kwarp_ep_find(const struct iw_cm_id *id)
{
	struct kwarp_ep *ep;

	/* A handle goes under this lock, before the state machine's reference. */
	xa_lock(&handles);
	ep = xa_load(&handles, (unsigned long)id->provider_data);
	if (ep)
		kwarp_llp_get(&ep->llp);
	xa_unlock(&handles);
	return ep;
}

/**
 * kwarp_ep_set_id() - remember the cm_id that gets this connection's events
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
 * kwarp_ep_drop_id() - forget the cm_id, if there is one
 * @ep:		endpoint, mutex held
 */
void kwarp_ep_drop_id(struct kwarp_ep *ep)
{
	struct iw_cm_id *id = ep->cm_id;

	lockdep_assert_held(&ep->mutex);
	if (!id)
		return;
	ep->cm_id = NULL;
	id->rem_ref(id);
}

/**
 * kwarp_ep_rdma_id() - whose an iw_cm_id is
 * @id:		consumer's
 *
 * iw_cm does not say, but its one user is rdma_cm, whose own id is the context.
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
 * kwarp_ep_owns_qp() - may the caller connect this queue pair
 * @id:		consumer's, in connect or accept
 * @qpn:	QP number, on which iw_cm has a reference
 *
 * rdma_cm takes any number from user space. A kernel consumer's QP is connected by
 * the id that made it; a user's by the process that made it, in whose write()
 * rdma_cm calls us.
 *
 * Context: of the consumer's call.
 * Return: true if so; others are told the same as if there were no such QP.
 */
bool kwarp_ep_owns_qp(const struct iw_cm_id *id, u32 qpn)
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

/* For this endpoint; a partner has been claimed before. */
static bool claim(struct kwarp_ep *ep)
{
	struct kwarp_qp *qp = ep->qp;
	bool ret;

	if (ep->rendezvous)
		return kwarp_qp_is(qp)->idle;
	mutex_lock(&qp->mutex);
	ret = kwarp_qp_claim(qp, false);
	mutex_unlock(&qp->mutex);
	if (ret) {
		kwarp_qp_get(qp);
		ep->claim = qp;
	}
	return ret;
}

/**
 * kwarp_ep_unclaim() - the connection is over, or has not come about
 * @ep:		endpoint without an attached QP, or that is about to lose it; mutex
 *		held
 *
 * Nothing if there is no claim, and for partners: kwarp_meet_over(). Context: process,
 * may sleep.
 */
void kwarp_ep_unclaim(struct kwarp_ep *ep)
{
	struct kwarp_qp *qp = ep->claim;

	lockdep_assert_held(&ep->mutex);
	if (!qp)
		return;
	ep->claim = NULL;
	mutex_lock(&qp->mutex);
	kwarp_qp_unclaim(qp);
	mutex_unlock(&qp->mutex);
	kwarp_qp_put(qp);
}

/**
 * kwarp_ep_bind_qp() - claim and hold a QP for the connection that is being made
 * @ep:		endpoint, mutex held
 * @qpn:	QP number
 *
 * Return: 0; -EINVAL if there is no such QP, or it cannot be connected (any
 * more), or another connection has it.
 */
int kwarp_ep_bind_qp(struct kwarp_ep *ep, u32 qpn)
{
	lockdep_assert_held(&ep->mutex);
	ep->qp = kwarp_qp_find(ep_dev(ep), qpn);
	if (!ep->qp)
		return -EINVAL;
	spin_lock(&qp_lock);
	hash_add(qp_table, &ep->qp_link, (unsigned long)ep->qp);
	spin_unlock(&qp_lock);

	/*
	 * destroy_qp puts the QP in ERR before it calls kwarp_cm_qp_gone(): if
	 * that did not find us yet, we find ERR.
	 */
	if (claim(ep))
		return 0;
	kwarp_ep_unbind_qp(ep);
	return -EINVAL;
}

/**
 * kwarp_ep_unbind_qp() - undo kwarp_ep_bind_qp()
 * @ep:		endpoint, mutex held
 *
 * An attached QP is found through its own pointer from then on.
 */
void kwarp_ep_unbind_qp(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	if (!ep->qp)
		return;
	spin_lock(&qp_lock);
	hash_del(&ep->qp_link);
	spin_unlock(&qp_lock);
	kwarp_qp_put(ep->qp);
	ep->qp = NULL;
}

void kwarp_cm_qp_gone(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp;
	struct kwarp_ep *ep;

	/* Hashed endpoints hold the state machine's reference. */
	spin_lock(&qp_lock);
	hash_for_each_possible(qp_table, ep, qp_link, (unsigned long)qp)
		if (ep->qp == qp)
			kwarp_ep_raise(ep, KWARP_LLP_EV_QP_GONE);
	spin_unlock(&qp_lock);

	/* After the table: an endpoint leaves it when it has attached the QP. */
	llp = kwarp_qp_llp(qp);
	if (llp) {
		kwarp_ep_raise(to_ep(llp), KWARP_LLP_EV_QP_GONE);
		kwarp_llp_put(llp);
	}
}

void kwarp_cm_qp_add_ref(struct ib_qp *ibqp)
{
	/* iw_cm calls this right after kwarp_cm_get_qp(), which took it. */
}

void kwarp_cm_qp_rem_ref(struct ib_qp *ibqp)
{
	kwarp_qp_put(to_kqp(ibqp));
}

/*
 * With the reference that iw_cm takes next: between the two calls, which are
 * the only ones there are, the QP of an unrelated process could go.
 */
struct ib_qp *kwarp_cm_get_qp(struct ib_device *ibdev, int qpn)
{
	struct kwarp_qp *qp = kwarp_qp_find(to_kdev(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

/* ---- device --------------------------------------------------------------- */

/* The endpoint behind @ep (NULL: the first), with a reference. Puts @ep. */
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

	/* The lock: the last release has left the device alone when we return. */
	spin_lock_irqsave(&dev->lock, flags);
	empty = list_empty(&dev->eps);
	spin_unlock_irqrestore(&dev->lock, flags);
	return empty;
}

/*
 * The core takes a device away from its clients before it tells the driver, and
 * there iw_cm waits for each connect and accept to end. All that can be seen of it
 * from here is the lock that the core holds meanwhile, so somebody has to look while
 * iw_cm may wait: for nothing else. A client of our own would be told, but behind
 * those that were loaded later, and they wait, too.
 */
static void look(struct timer_list *t)
{
	struct kwarp_device *dev = container_of(t, struct kwarp_device, look);
	struct kwarp_ep *ep;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	if (!list_empty(&dev->owing)) {
		/* Listed endpoints hold the state machine's reference. */
		if (mutex_is_locked(&dev->ibdev.unregistration_lock))
			list_for_each_entry(ep, &dev->owing, owing_link)
				kwarp_ep_raise(ep, KWARP_EP_EV_DOWN);
		look_later(dev);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
}

void kwarp_cm_device_init(struct kwarp_device *dev)
{
	int i;

	INIT_LIST_HEAD(&dev->eps);
	INIT_LIST_HEAD(&dev->owing);
	timer_setup(&dev->look, look, 0);
	for (i = 0; i < KWARP_LINGER_KINDS; i++)
		INIT_LIST_HEAD(&dev->lingering[i].eps);
}

void kwarp_cm_device_exit(struct kwarp_device *dev)
{
	timer_shutdown_sync(&dev->look);
	WARN_ON_ONCE(!list_empty(&dev->eps));
}

bool kwarp_cm_device_down(struct kwarp_device *dev, bool wait)
{
	struct kwarp_ep *ep = NULL;
	bool any = false;

	might_sleep();
	do {
		while ((ep = next_ep(dev, ep))) {
			kwarp_ep_raise(ep, wait ? KWARP_EP_EV_REMOVED :
						  KWARP_EP_EV_DOWN);
			any = true;
		}
		/* Again: a listener may have had a child in hand. */
	} while (wait &&
		 !wait_var_event_timeout(&dev->eps, no_eps(dev), HZ / 10));
	return any;
}

/* ---- module --------------------------------------------------------------- */

int kwarp_cm_init(void)
{
	BUILD_BUG_ON(KWARP_EP_EVENTS > BITS_PER_LONG);
	return kwarp_rdv_module_init();
}

void kwarp_cm_exit(void)
{
	kwarp_rdv_module_exit();
	WARN_ON_ONCE(!xa_empty(&handles));
}
