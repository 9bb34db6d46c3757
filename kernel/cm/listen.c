// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listeners. A child counts against the policy's backlog from accept() to the consumer's answer.
 * While there is no room, connections stay in the socket's accept queue, where they cost
 * little; their requests arrive meanwhile. So a child without a request belongs to a silent
 * peer (RFC 5042 6.4.1): the oldest of these children is evicted for a waiting connection.
 *
 * The consumer's backlog, which may be small (3 for rping), limits the requests that the consumer
 * has got and not answered. Other complete requests wait for their turn. Silent children do not
 * count: if they did, a few of them would take turns in keeping everybody else out.
 */
#include "cm/cm.h"

#include <rdma/rdma_cm.h>

#include "cm/ep.h"

static u32 child_limit(const struct kwarp_ep *ep)
{
	return READ_ONCE(ep_dev(ep)->policy.backlog);
}

/* Requests that the consumer may have at a time. iw_cm may have room for fewer: two listeners. */
static u32 asked_limit(const struct kwarp_ep *ep)
{
	return max(min(child_limit(ep), ep->backlog), 1U);
}

/*
 * Length of the socket's accept queue, at least the policy's backlog: if the queue is full, TCP
 * drops the last segment of a handshake and the request. The peer retransmits them at growing
 * intervals, so its child would look silent.
 */
static int queue_limit(const struct kwarp_ep *ep)
{
	if (ep->rendezvous)
		return child_limit(ep);
	return max_t(int, ep->backlog, child_limit(ep));
}

static void child_unlist(struct kwarp_ep *ep, struct kwarp_ep *child)
{
	lockdep_assert_held(&ep->child_lock);
	list_del_init(&child->sibling);
	ep->children--;
	ep->nr_asked -= child->counted;
	child->counted = false;
}

/* May this request be passed to the consumer, after those that were complete before? */
static bool is_turn(const struct kwarp_ep *ep, const struct kwarp_ep *child)
{
	lockdep_assert_held(&ep->child_lock);
	return ep->nr_asked < asked_limit(ep) &&
	       list_is_first(&child->sibling, &ep->ready);
}

/* There may be room for another request. */
static void call_next(struct kwarp_ep *ep)
{
	struct kwarp_ep *next = list_first_entry_or_null(&ep->ready, struct kwarp_ep,
							 sibling);

	lockdep_assert_held(&ep->child_lock);
	if (next && is_turn(ep, next))
		kwarp_ep_raise(next, KWARP_EP_EV_TURN);
}

/* Has this child sent nothing, although it had time for its request? */
static bool is_silent(const struct kwarp_ep *child)
{
	return time_after_eq(jiffies, child->arrived +
				      msecs_to_jiffies(KWARP_EP_SILENCE_MS)) &&
	       !test_bit(KWARP_LLP_EV_READABLE, &child->events);
}

/*
 * Make room for a child, if necessary by evicting a silent one. Only the listener's work adds
 * children, so the room stays until one has been accepted. Return: false if there is none.
 */
static bool make_room(struct kwarp_ep *ep)
{
	struct kwarp_ep *oldest;
	bool room;

	lockdep_assert_held(&ep->mutex);
	spin_lock(&ep->child_lock);
	room = ep->children < child_limit(ep);
	if (!room) {
		oldest = list_first_entry_or_null(&ep->waiting,
						  struct kwarp_ep, sibling);
		if (oldest && is_silent(oldest)) {
			kwarp_count(ep_dev(ep), KWARP_STAT_BACKLOG_DROP);
			child_unlist(ep, oldest);
			kwarp_ep_raise(oldest, KWARP_EP_EV_UNWANTED);
			room = true;
		}
	}
	spin_unlock(&ep->child_lock);
	return room;
}

/* Make an accepted connection a child of the listener; both mutexes are held. */
static void child_adopt(struct kwarp_ep *ep, struct kwarp_ep *child)
{
	child->arrived = jiffies;
	spin_lock(&ep->child_lock);
	list_add_tail(&child->sibling, &ep->waiting);
	ep->children++;
	spin_unlock(&ep->child_lock);
	kwarp_llp_get(&ep->llp);
	child->listener = ep;
	child->rendezvous = ep->rendezvous;
	kwarp_ep_set_state(child, KWARP_EP_WAIT_REQ);
	kwarp_ep_arm_startup(child);
}

/* Accept one child. Return: 0, -EAGAIN if there is none, -EBUSY without room, other errno. */
static int take_child(struct kwarp_ep *ep)
{
	struct kwarp_ep *child;
	int ret;

	if (!kwarp_llp_has_child(&ep->llp))
		return -EAGAIN;
	if (!make_room(ep))
		return -EBUSY;
	child = kwarp_ep_alloc(ep_dev(ep));
	if (!child)
		return -ENOMEM;
	kwarp_llp_get(&child->llp);
	ret = kwarp_llp_accept(&ep->llp, &child->llp);
	if (ret)
		kwarp_ep_close(child, KWARP_ABORT);
	else
		child_adopt(ep, child);
	kwarp_ep_unlock(child);
	kwarp_llp_put(&child->llp);
	return ret;
}

/**
 * kwarp_listen_children() - KWARP_EP_LISTEN: connections have arrived
 * @ep:		listener, mutex held
 */
void kwarp_listen_children(struct kwarp_ep *ep)
{
	int i;

	for (i = 0; i < KWARP_EP_ACCEPT_RUN; i++) {
		switch (take_child(ep)) {
		case 0:
		case -ECONNABORTED:
		case -EPROTO:
			break;
		case -EAGAIN:
			return;
		case -EBUSY:
			/* Retry when a child leaves, or may be evicted as silent. */
			kwarp_ep_arm(ep, KWARP_EP_SILENCE_MS);
			return;
		default:
			/* No memory: TCP does not report waiting children again. */
			ibdev_warn_ratelimited(&ep_dev(ep)->ibdev,
					       "no memory for a connection; trying again\n");
			kwarp_ep_arm(ep, KWARP_EP_RETRY_MS);
			return;
		}
	}
	/* Let other work run. */
	kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
}

/**
 * kwarp_listen_readdress() - KWARP_EP_LISTEN: follow the netdev's addresses
 * @ep:		listener, mutex held
 */
void kwarp_listen_readdress(struct kwarp_ep *ep)
{
	struct kwarp_llp_bind bind = {};

	lockdep_assert_held(&ep->mutex);
	if (!ep->llp.ops->readdress)
		return;
	bind.net = kwarp_addr_net(ep_dev(ep), &bind.ifindex);
	if (!bind.net)
		return;
	kwarp_addr_paths(ep_dev(ep), &bind);
	if (ep->llp.ops->readdress(&ep->llp, &bind) == -EAGAIN)
		kwarp_ep_arm(ep, KWARP_EP_READDRESS_MS);
	put_net(bind.net);
}

/**
 * kwarp_listen_reset() - KWARP_EP_LISTEN: another party has ended the socket; listen again
 * @ep:		listener, mutex held
 */
void kwarp_listen_reset(struct kwarp_ep *ep)
{
	int ret;

	lockdep_assert_held(&ep->mutex);
	ret = kwarp_llp_relisten(&ep->llp, queue_limit(ep));
	if (!ret) {
		ibdev_warn_ratelimited(&ep_dev(ep)->ibdev,
				       "the socket of a listener was closed: listening again\n");
		return;
	}
	ibdev_warn_ratelimited(&ep_dev(ep)->ibdev,
			       "the socket of a listener was closed, and listening again failed: %pe\n",
			       ERR_PTR(ret));
	kwarp_ep_arm(ep, KWARP_EP_RETRY_MS);
}

/**
 * kwarp_listen_retry() - KWARP_EP_LISTEN: retry after a temporary failure
 * @ep:		listener, mutex held
 */
void kwarp_listen_retry(struct kwarp_ep *ep)
{
	if (READ_ONCE(ep->llp.sk_err)) {
		kwarp_listen_reset(ep);
		return;
	}
	kwarp_listen_readdress(ep);
	kwarp_listen_children(ep);
}

/**
 * kwarp_listen_ready() - a child's request is complete: it waits for its turn
 * @child:	child in KWARP_EP_READY, mutex held
 */
void kwarp_listen_ready(struct kwarp_ep *child)
{
	struct kwarp_ep *ep = child->listener;

	lockdep_assert_held(&child->mutex);
	if (!ep)
		return;
	spin_lock(&ep->child_lock);
	if (!list_empty(&child->sibling))
		list_move_tail(&child->sibling, &ep->ready);
	/* Earlier ones may have room meanwhile, after a change of the policy. */
	call_next(ep);
	spin_unlock(&ep->child_lock);
}

/**
 * kwarp_listen_ask() - pass a child's request to the consumer
 * @child:	child in KWARP_EP_READY, mutex held
 * @ev:		CONNECT_REQUEST
 *
 * Return: 0; -EAGAIN before its turn, which KWARP_EP_EV_TURN reports; -ECONNABORTED if the
 * listener is gone or the child was evicted; -ENOMEM if iw_cm holds as many requests as it can.
 */
int kwarp_listen_ask(struct kwarp_ep *child, struct iw_cm_event *ev)
{
	struct kwarp_ep *ep = child->listener;
	int ret = -ECONNABORTED;

	lockdep_assert_held(&child->mutex);
	if (!ep)
		return ret;
	/* The lock keeps the cm_id alive; the handler only queues. */
	spin_lock(&ep->child_lock);
	if (ep->cm_id && !list_empty(&child->sibling))
		ret = is_turn(ep, child) ? kwarp_up_event(ep->cm_id, ev) : -EAGAIN;
	if (!ret) {
		list_move_tail(&child->sibling, &ep->asked);
		child->counted = true;
		ep->nr_asked++;
		call_next(ep);
	}
	spin_unlock(&ep->child_lock);
	return ret;
}

/**
 * kwarp_listen_leave() - the child is answered or closed
 * @child:	endpoint, mutex held; does nothing if it is not a child (any more)
 */
void kwarp_listen_leave(struct kwarp_ep *child)
{
	struct kwarp_ep *ep = child->listener;
	bool was_full;

	lockdep_assert_held(&child->mutex);
	if (!ep)
		return;
	spin_lock(&ep->child_lock);
	was_full = ep->children >= child_limit(ep);
	if (!list_empty(&child->sibling)) {
		child_unlist(ep, child);
		call_next(ep);
	}
	spin_unlock(&ep->child_lock);
	/* Connections may wait in the accept queue. */
	if (was_full)
		kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
	child->listener = NULL;
	kwarp_llp_put(&ep->llp);
}

static void children_unwanted(struct list_head *children)
{
	struct kwarp_ep *child;

	list_for_each_entry(child, children, sibling)
		kwarp_ep_raise(child, KWARP_EP_EV_UNWANTED);
}

/**
 * kwarp_listen_end() - stop listening
 * @ep:		listener, mutex held
 */
void kwarp_listen_end(struct kwarp_ep *ep)
{
	struct kwarp_ep *twin = ep->twin;
	struct iw_cm_id *id;

	lockdep_assert_held(&ep->mutex);
	spin_lock(&ep->child_lock);
	/* From here on iw_cm gets no event of this listener. */
	id = ep->cm_id;
	ep->cm_id = NULL;
	children_unwanted(&ep->waiting);
	children_unwanted(&ep->ready);
	children_unwanted(&ep->asked);
	spin_unlock(&ep->child_lock);
	if (id)
		id->rem_ref(id);
	/* SCTP would shut down the associations that wait in the queue, and keep silent ones. */
	kwarp_ep_close(ep, KWARP_ABORT);
	ep->twin = NULL;
	if (!twin)
		return;
	mutex_lock_nested(&twin->mutex, SINGLE_DEPTH_NESTING);
	kwarp_listen_end(twin);
	kwarp_ep_unlock(twin);
	kwarp_llp_put(&twin->llp);
}

static int start_listener(struct kwarp_ep *ep, struct iw_cm_id *id, int limit)
{
	struct sockaddr_storage local = id->local_addr;
	struct kwarp_llp_bind bind = {
		.local = &local,
		.tos = id->tos_set ? id->tos : -1,
		.afonly = id->afonly,
	};
	int ret;

	ret = kwarp_addr_scope(ep_dev(ep), &local);
	if (ret)
		return ret;
	ret = kwarp_ep_set_handle(ep);
	if (ret)
		return ret;
	bind.net = kwarp_addr_net(ep_dev(ep), &bind.ifindex);
	if (!bind.net)
		return -ENODEV;
	/*
	 * rdma_cm opens a wildcard listener on every device, so each is bound to its
	 * netdev; that covers local connections, too, because the kernel treats packets
	 * on lo as received on the netdev that has the address. A specific address needs
	 * no binding.
	 */
	if (!kwarp_addr_any(&local))
		bind.ifindex = 0;
	bind.vrf = kwarp_addr_vrf(ep_dev(ep));
	kwarp_addr_paths(ep_dev(ep), &bind);
	ep->backlog = limit;
	ret = kwarp_llp_listen(&ep->llp, &bind, queue_limit(ep));
	put_net(bind.net);
	if (ret)
		return ret;
	kwarp_ep_set_id(ep, id);
	kwarp_ep_set_state(ep, KWARP_EP_LISTEN);
	/*
	 * Connections that arrived before this state have their event pending. Address
	 * changes have none, because kwarp_cm_readdress() skips other states: raise it here.
	 */
	if (ep->llp.ops->readdress)
		kwarp_ep_raise(ep, KWARP_EP_EV_READDRESS);
	return 0;
}

/*
 * rdma_cm listens for a wildcard or loopback address on all devices, but refuses requests that
 * arrive on a netdev of another namespace, and assigns those to a loopback address to the
 * device on lo. Other devices' listeners would only occupy the port, so they get no socket.
 * Nor does a device that is leaving: after an error, rdma_cm would listen on no device.
 */
static bool serves_address(const struct iw_cm_id *id)
{
	bool loopback = kwarp_addr_loopback(&id->local_addr);
	const struct rdma_cm_id *cm = kwarp_ep_rdma_id(id);
	struct net_device *ndev;
	bool ret;

	if (!cm || (!loopback && !kwarp_addr_any(&id->local_addr)))
		return true;
	ndev = ib_device_get_netdev(id->device, 1);
	if (!ndev)
		return false;
	ret = net_eq(dev_net(ndev), cm->route.addr.dev_addr.net) &&
	      (!loopback || ndev->flags & IFF_LOOPBACK);
	dev_put(ndev);
	/* As in kwarp_addr_net(): the namespace first. */
	smp_rmb();
	return ret && !READ_ONCE(to_kdev(id->device)->leaving);
}

/**
 * kwarp_listen_rendezvous() - listen for rendezvous partners
 * @dev:	device
 * @port:	TCP port
 *
 * The listener covers all addresses of the netdev and no others, so devices of one namespace
 * may use the same port. The listener holds no reference to the namespace, and must be
 * closed before the namespace ends.
 *
 * Return: endpoint with a reference, or ERR_PTR() with the socket layer's error.
 */
struct kwarp_ep *kwarp_listen_rendezvous(struct kwarp_device *dev, u16 port)
{
	struct sockaddr_storage any = {};
	struct kwarp_llp_bind bind = { .local = &any, .tos = -1, .borrow_net = true };
	struct kwarp_ep *ep;
	int ret;

	bind.net = kwarp_addr_net(dev, &bind.ifindex);
	if (!bind.net)
		return ERR_PTR(-ENODEV);
	ep = kwarp_ep_alloc(dev);
	if (!ep) {
		put_net(bind.net);
		return ERR_PTR(-ENOMEM);
	}
	kwarp_llp_get(&ep->llp);
	ep->rendezvous = true;
	ep->backlog = INT_MAX;
	kwarp_addr_wildcard(&any, port);
	ret = kwarp_llp_listen(&ep->llp, &bind, queue_limit(ep));
	if (ret)
		kwarp_ep_close(ep, KWARP_ABORT);
	else
		kwarp_ep_set_state(ep, KWARP_EP_LISTEN);
	kwarp_ep_unlock(ep);
	put_net(bind.net);
	if (!ret)
		return ep;
	kwarp_llp_put(&ep->llp);
	return ERR_PTR(ret);
}

/* Return: a listener with a reference, or ERR_PTR(). */
static struct kwarp_ep *open_ep_listener(struct iw_cm_id *id, int backlog, bool sctp)
{
	struct kwarp_ep *ep = kwarp_ep_alloc(to_kdev(id->device));
	int ret;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	kwarp_llp_get(&ep->llp);
	if (sctp)
		ep->llp.ops = &kwarp_sctp_ops;
	ret = start_listener(ep, id, backlog);
	if (ret)
		kwarp_ep_close(ep, KWARP_ABORT);
	kwarp_ep_unlock(ep);
	if (!ret)
		return ep;
	kwarp_llp_put(&ep->llp);
	return ERR_PTR(ret);
}

/* Puts the caller's reference. */
static void close_ep_listener(struct kwarp_ep *ep)
{
	mutex_lock(&ep->mutex);
	kwarp_listen_end(ep);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
}

/* Listen on the other lower layer, too. */
static int add_twin(struct kwarp_ep *ep, struct iw_cm_id *id, int backlog, bool sctp)
{
	struct kwarp_ep *twin = open_ep_listener(id, backlog, sctp);
	bool ended;

	if (IS_ERR(twin))
		return PTR_ERR(twin);
	mutex_lock(&ep->mutex);
	ended = ep->state != KWARP_EP_LISTEN;
	if (!ended)
		ep->twin = twin;
	kwarp_ep_unlock(ep);
	if (!ended)
		return 0;
	/* The device is being removed. */
	close_ep_listener(twin);
	return -ENODEV;
}

int kwarp_cm_create_listen(struct iw_cm_id *id, int backlog)
{
	u8 llp = READ_ONCE(to_kdev(id->device)->policy.llp);
	bool sctp_first = llp >= KWARP_LLP_SCTP_TCP;
	struct kwarp_ep *first;
	int ret;

	might_sleep();
	id->provider_data = NULL;
	if (!serves_address(id))
		return 0;
	first = open_ep_listener(id, backlog, sctp_first);
	if (IS_ERR(first))
		return PTR_ERR(first);
	if (llp == KWARP_LLP_TCP_SCTP || llp == KWARP_LLP_SCTP_TCP) {
		ret = add_twin(first, id, backlog, !sctp_first);
		if (ret) {
			close_ep_listener(first);
			return ret;
		}
	}
	id->provider_data = kwarp_ep_provider_data(first);
	kwarp_llp_put(&first->llp);
	return 0;
}

int kwarp_cm_destroy_listen(struct iw_cm_id *id)
{
	struct kwarp_ep *ep = kwarp_ep_find(id);

	might_sleep();
	id->provider_data = NULL;
	if (ep)
		close_ep_listener(ep);
	return 0;
}
