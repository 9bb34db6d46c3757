// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listeners. A child counts against the backlog from TCP's handshake to the
 * consumer's answer. When the backlog is full, the oldest child whose request
 * has not come makes room: peers that connect and say nothing (RFC 5042 6.4.1)
 * then displace each other and not those that mean it.
 */
#include "cm.h"

#include <rdma/rdma_cm.h>

#include "ep.h"

static u32 child_limit(const struct kwarp_ep *ep)
{
	u32 limit = READ_ONCE(ep_dev(ep)->policy.backlog);

	return max(min(limit, ep->backlog), 1U);
}

/* Take a child out of the lists. */
static void unlist(struct kwarp_ep *ep, struct kwarp_ep *child)
{
	lockdep_assert_held(&ep->child_lock);
	list_del_init(&child->sibling);
	ep->children--;
}

/* Return: false if there is no room. */
static bool enlist(struct kwarp_ep *ep, struct kwarp_ep *child)
{
	struct kwarp_ep *oldest;
	bool full;

	spin_lock(&ep->child_lock);
	full = ep->children >= child_limit(ep);
	if (full) {
		kwarp_count(ep_dev(ep), KWARP_STAT_BACKLOG_DROP);
		oldest = list_first_entry_or_null(&ep->waiting,
						  struct kwarp_ep, sibling);
		if (oldest) {
			unlist(ep, oldest);
			kwarp_ep_raise(oldest, KWARP_EP_EV_UNWANTED);
			full = false;
		}
	}
	if (!full) {
		list_add_tail(&child->sibling, &ep->waiting);
		ep->children++;
	}
	spin_unlock(&ep->child_lock);
	return !full;
}

/* A new connection, its mutex held. */
static void adopt(struct kwarp_ep *ep, struct kwarp_ep *child)
{
	if (!enlist(ep, child)) {
		kwarp_ep_close(child, false);
		return;
	}
	kwarp_llp_get(&ep->llp);
	child->listener = ep;
	child->rendezvous = ep->rendezvous;
	kwarp_ep_set_state(child, KWARP_EP_WAIT_REQ);
	kwarp_ep_arm_startup(child);
}

/* Return: 0, -EAGAIN if there is none, other errno. */
static int take_child(struct kwarp_ep *ep)
{
	struct kwarp_ep *child = kwarp_ep_alloc(ep_dev(ep));
	int ret;

	if (!child)
		return -ENOMEM;
	/* Nobody knows the child, so ours is always the outer one. */
	mutex_lock_nested(&child->mutex, SINGLE_DEPTH_NESTING);
	kwarp_llp_get(&child->llp);
	ret = kwarp_llp_accept(&ep->llp, &child->llp);
	if (ret)
		kwarp_ep_close(child, true);
	else
		adopt(ep, child);
	mutex_unlock(&child->mutex);
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
		default:
			/* No memory: TCP will not remind us of those that wait. */
			kwarp_ep_arm(ep, KWARP_EP_RETRY_MS);
			return;
		}
	}
	/* Others' turn. */
	kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
}

/**
 * kwarp_listen_ask() - give the consumer a child's request
 * @child:	child in KWARP_EP_WAIT_REQ, mutex held
 * @ev:		CONNECT_REQUEST
 *
 * Return: 0; -ECONNABORTED if the listener or the child's place has gone; -ENOMEM
 * if iw_cm holds as many requests as it can.
 */
int kwarp_listen_ask(struct kwarp_ep *child, struct iw_cm_event *ev)
{
	struct kwarp_ep *ep = child->listener;
	int ret = -ECONNABORTED;

	lockdep_assert_held(&child->mutex);
	if (!ep)
		return ret;
	/* The lock keeps iw_cm's object: it only queues. */
	spin_lock(&ep->child_lock);
	if (ep->cm_id && !list_empty(&child->sibling))
		ret = ep->cm_id->event_handler(ep->cm_id, ev);
	if (!ret)
		list_move_tail(&child->sibling, &ep->asked);
	spin_unlock(&ep->child_lock);
	return ret;
}

/**
 * kwarp_listen_leave() - the child is answered, or ends
 * @child:	endpoint, mutex held; one that is no child (any more) is no error
 */
void kwarp_listen_leave(struct kwarp_ep *child)
{
	struct kwarp_ep *ep = child->listener;

	lockdep_assert_held(&child->mutex);
	if (!ep)
		return;
	spin_lock(&ep->child_lock);
	if (!list_empty(&child->sibling))
		unlist(ep, child);
	spin_unlock(&ep->child_lock);
	child->listener = NULL;
	kwarp_llp_put(&ep->llp);
}

static void unwanted(struct list_head *children)
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
	struct iw_cm_id *id;

	lockdep_assert_held(&ep->mutex);
	spin_lock(&ep->child_lock);
	/* From here on iw_cm hears nothing of this listener. */
	id = ep->cm_id;
	ep->cm_id = NULL;
	unwanted(&ep->waiting);
	unwanted(&ep->asked);
	spin_unlock(&ep->child_lock);
	if (id)
		id->rem_ref(id);
	kwarp_ep_close(ep, false);
}

static int start(struct kwarp_ep *ep, struct iw_cm_id *id, int limit)
{
	struct sockaddr_storage local = id->local_addr;
	struct net *net;
	int ifindex, ret;

	ret = kwarp_addr_scope(ep_dev(ep), &local);
	if (ret)
		return ret;
	ret = kwarp_ep_set_handle(ep);
	if (ret)
		return ret;
	net = kwarp_addr_net(ep_dev(ep), &ifindex);
	if (!net)
		return -ENODEV;
	/*
	 * rdma_cm opens a wildcard listener on every device, so each is bound to
	 * its netdev; that covers its own addresses, too, since the kernel
	 * takes what goes through lo as come in where the address is. A
	 * definite address needs no binding.
	 */
	if (!kwarp_addr_any(&local))
		ifindex = 0;
	ret = kwarp_llp_listen(&ep->llp, net, ifindex, &local, limit,
			       id->tos_set ? id->tos : -1, id->afonly, true);
	put_net(net);
	if (ret)
		return ret;
	kwarp_ep_set_id(ep, id);
	ep->backlog = limit;
	kwarp_ep_set_state(ep, KWARP_EP_LISTEN);
	/* Connections may have come before the state did: their event waits. */
	return 0;
}

/* Is the consumer in another namespace than the netdev? */
static bool elsewhere(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cm = kwarp_ep_rdma_id(id);
	struct net *net;
	bool ret;

	if (!cm)
		return false;
	net = kwarp_addr_net(to_kdev(id->device), NULL);
	if (!net)
		return false;
	ret = !net_eq(net, cm->route.addr.dev_addr.net);
	put_net(net);
	return ret;
}

/**
 * kwarp_listen_rendezvous() - listen where partners meet
 * @dev:	device
 * @port:	TCP port
 *
 * On all addresses of the netdev, and no others': devices of one namespace may
 * have the same port. The listener does not keep the namespace, so it must be
 * closed before that ends.
 *
 * Return: endpoint with a reference, or ERR_PTR(): what the socket layer says.
 */
struct kwarp_ep *kwarp_listen_rendezvous(struct kwarp_device *dev, u16 port)
{
	struct sockaddr_storage any = {};
	struct kwarp_ep *ep;
	struct net *net;
	int ifindex, ret;

	net = kwarp_addr_net(dev, &ifindex);
	if (!net)
		return ERR_PTR(-ENODEV);
	ep = kwarp_ep_alloc(dev);
	if (!ep) {
		put_net(net);
		return ERR_PTR(-ENOMEM);
	}
	mutex_lock(&ep->mutex);
	kwarp_llp_get(&ep->llp);
	ep->rendezvous = true;
	ep->backlog = INT_MAX;
	kwarp_addr_wildcard(&any, port);
	ret = kwarp_llp_listen(&ep->llp, net, ifindex, &any, child_limit(ep),
			       -1, false, false);
	if (ret)
		kwarp_ep_close(ep, true);
	else
		kwarp_ep_set_state(ep, KWARP_EP_LISTEN);
	mutex_unlock(&ep->mutex);
	put_net(net);
	if (!ret)
		return ep;
	kwarp_llp_put(&ep->llp);
	return ERR_PTR(ret);
}

int kwarp_cm_create_listen(struct iw_cm_id *id, int backlog)
{
	struct kwarp_ep *ep;
	int ret;

	might_sleep();
	/*
	 * rdma_cm listens for a wildcard address on all devices there are. What
	 * comes in where another namespace's netdev is, it refuses; but the
	 * port would be taken there. So there is a listener that hears nothing.
	 */
	if (kwarp_addr_any(&id->local_addr) && elsewhere(id)) {
		id->provider_data = NULL;
		return 0;
	}
	ep = kwarp_ep_alloc(to_kdev(id->device));
	if (!ep)
		return -ENOMEM;
	mutex_lock(&ep->mutex);
	kwarp_llp_get(&ep->llp);
	ret = start(ep, id, backlog);
	if (ret)
		kwarp_ep_close(ep, true);
	else
		id->provider_data = kwarp_ep_provider_data(ep);
	mutex_unlock(&ep->mutex);
	kwarp_llp_put(&ep->llp);
	return ret;
}

int kwarp_cm_destroy_listen(struct iw_cm_id *id)
{
	struct kwarp_ep *ep = kwarp_ep_find(id);

	might_sleep();
	id->provider_data = NULL;
	if (!ep)
		return 0;
	mutex_lock(&ep->mutex);
	kwarp_listen_end(ep);
	mutex_unlock(&ep->mutex);
	kwarp_llp_put(&ep->llp);
	return 0;
}
