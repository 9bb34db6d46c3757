// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The MPA initiator: from iw_connect to CONNECT_REPLY. */
#include "cm/cm.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <net/ip.h>
#include <rdma/rdma_cm.h>

#include "cm/ep.h"
#include "proto/rdmap.h"
#include "rdmap/tx.h"

/*
 * Is the destination a loopback address? For these rdma_cm takes any active device, of any
 * namespace, but the peer is in the consumer's namespace, as for other sockets.
 */
static bool dest_is_loopback(const struct kwarp_startup *su)
{
	return kwarp_addr_loopback(&su->to);
}

/* rdma_cm and TCP take a wildcard destination for the loopback address, SCTP does not. */
static void replace_wildcard(struct sockaddr_storage *to)
{
	if (!kwarp_addr_any(to))
		return;
	if (to->ss_family == AF_INET6)
		((struct sockaddr_in6 *)to)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)to)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

/* Return: the namespace of the connection, with a reference, or NULL. */
static struct net *startup_net(struct kwarp_device *dev, const struct iw_cm_id *id,
			       const struct kwarp_startup *su)
{
	const struct rdma_cm_id *cm = id ? kwarp_ep_rdma_id(id) : NULL;

	if (cm && dest_is_loopback(su))
		return maybe_get_net(cm->route.addr.dev_addr.net);
	return kwarp_addr_net(dev, NULL);
}

/*
 * If TCP is connected already, as to a peer on this host, send the request in this call,
 * without waking a worker. Not if another endpoint is connecting: its request may have to be
 * sent first, because programs at both ends rely on the order of requests.
 */
static void send_at_once(struct kwarp_ep *ep)
{
	if (atomic_read(&ep_dev(ep)->connecting) == 1 &&
	    test_and_clear_bit(KWARP_LLP_EV_CONNECTED, &ep->events))
		kwarp_initiator_connected(ep);
}

static int open_connection(struct kwarp_device *dev, struct iw_cm_id *id, struct kwarp_startup *su)
{
	struct kwarp_llp_bind bind = { .local = &su->from, .tos = su->tos };
	struct kwarp_ep *ep;
	int ret;

	ep = kwarp_ep_alloc(dev);
	if (!ep)
		return -ENOMEM;
	/* Put below. */
	kwarp_llp_get(&ep->llp);
	kwarp_ep_keep_events(ep);
	ep->rendezvous = !id;
	if (su->sctp)
		ep->llp.ops = &kwarp_sctp_ops;
	ret = kwarp_ep_claim_qp(ep, su->qpn);
	if (ret)
		goto out;
	ret = -ENODEV;
	bind.net = startup_net(dev, id, su);
	if (!bind.net)
		goto out;
	/*
	 * The socket is not bound to the netdev. The route decides, as for any program: a
	 * connection to a local address goes through lo. The source address is the one
	 * that rdma_cm chose from the netdev.
	 */
	if (!dest_is_loopback(su)) {
		bind.vrf = kwarp_addr_vrf(dev);
		kwarp_addr_paths(dev, &bind);
	}
	ret = kwarp_llp_connect(&ep->llp, &bind, &su->to);
	put_net(bind.net);
	if (!ret && id)
		ret = kwarp_startup_prepare(ep, su);
	if (ret)
		goto out;
	if (id)
		kwarp_ep_set_id(ep, id);
	ep->su = su;
	kwarp_ep_set_state(ep, KWARP_EP_CONNECTING);
	kwarp_ep_arm_startup(ep);
	send_at_once(ep);
out:
	if (ret)
		kwarp_ep_close(ep, KWARP_ABORT);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	return ret;
}

/*
 * May TCP choose another source port? rdma_cm chooses a port of the ephemeral range without
 * asking TCP. A port outside of this range was set by the consumer, which relies on it; a port
 * of the range is taken for rdma_cm's choice.
 */
static bool may_replace_port(struct kwarp_device *dev, const struct iw_cm_id *id,
			     const struct kwarp_startup *su)
{
	int port = rpc_get_port((const struct sockaddr *)&su->from);
	struct net *net = startup_net(dev, id, su);
	int low, high;

	if (!net)
		return false;
	inet_get_local_port_range(net, &low, &high);
	put_net(net);
	return port >= low && port <= high;
}

/**
 * kwarp_initiator_start() - open a connection
 * @dev:	device
 * @id:		receiver of the connection's events; NULL if the QP is in rendezvous
 * @su:		addresses and parameters; owned by the new endpoint on success
 *
 * The source port may be in use by another socket, or by an earlier connection in TIME_WAIT.
 * If rdma_cm chose the port, we use any other one, as RNICs with a port mapper do;
 * kwarp_up_reply() reports the port to rdma_cm.
 *
 * Return: 0 if the endpoint will report the result; or negative errno.
 */
int kwarp_initiator_start(struct kwarp_device *dev, struct iw_cm_id *id,
			  struct kwarp_startup *su)
{
	int ret = open_connection(dev, id, su);

	if ((ret != -EADDRINUSE && ret != -EADDRNOTAVAIL) ||
	    !may_replace_port(dev, id, su))
		return ret;
	rpc_set_port((struct sockaddr *)&su->from, 0);
	return open_connection(dev, id, su);
}

/*
 * On the listener's side rdma_cm needs a device on the netdev that has the destination address,
 * which is lo for a loopback address. Without that device the connection will be refused.
 */
static void warn_within_host(struct kwarp_device *dev, const struct iw_cm_id *id,
			     const struct kwarp_startup *su)
{
	struct net *net = startup_net(dev, id, su);
	struct ib_device *ibdev;

	if (!net)
		return;
	ibdev = ib_device_get_by_netdev(net->loopback_dev, RDMA_DRIVER_UNKNOWN);
	put_net(net);
	if (ibdev) {
		ib_device_put(ibdev);
		return;
	}
	ibdev_info_ratelimited(&dev->ibdev,
			       "%pISpc needs: rdma link add NAME type kwarp netdev lo\n",
			       &su->to);
}

static int connect_id(struct iw_cm_id *id, const struct iw_cm_conn_param *params)
{
	struct kwarp_device *dev = to_kdev(id->device);
	struct kwarp_startup *su;
	u32 room;
	int ret;

	if (params->private_data_len > KWARP_MPA_PD_MAX ||
	    !kwarp_iw_qp_grant(id, params->qpn))
		return -EINVAL;
	su = kwarp_startup_alloc(dev, params->private_data,
				 params->private_data_len);
	if (!su)
		return -ENOMEM;
	if (READ_ONCE(dev->policy.llp) >= KWARP_LLP_SCTP_TCP)
		kwarp_startup_use_sctp(su);
	room = KWARP_MPA_PD_MAX -
	       (su->pol.rev >= KWARP_MPA_REV_2 ? KWARP_MPA_ENH_LEN : 0);
	ret = -EINVAL;
	if (params->private_data_len > room)
		goto err;

	/* A request for more than the device supports is limited, not refused. */
	su->local.ird = min_t(u32, params->ird, KWARP_MAX_IRD);
	su->local.ord = min_t(u32, params->ord, KWARP_MAX_ORD);
	su->qpn = params->qpn;
	su->tos = id->tos_set ? id->tos : -1;
	/*
	 * The port mapper never maps our own address, because our port is the kernel's. The
	 * peer's address may be mapped, if the peer is an RNIC with a TCP of its own.
	 */
	su->from = id->local_addr;
	su->to = id->m_remote_addr;
	ret = -EAFNOSUPPORT;
	if (su->from.ss_family != su->to.ss_family)
		goto err;
	ret = kwarp_addr_scope(dev, &su->from);
	if (!ret)
		ret = kwarp_addr_scope(dev, &su->to);
	if (ret)
		goto err;
	replace_wildcard(&su->to);
	if (dest_is_loopback(su))
		warn_within_host(dev, id, su);
	ret = kwarp_initiator_start(dev, id, su);
	if (ret)
		goto err;
	return 0;

err:
	kfree(su);
	return ret;
}

int kwarp_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *params)
{
	unsigned int noio = memalloc_noio_save();
	int ret;

	might_sleep();
	ret = connect_id(id, params);
	memalloc_noio_restore(noio);
	return ret;
}

static void connect_failed(struct kwarp_ep *ep, int status)
{
	kwarp_up_reply(ep, status, NULL, 0, 0, 0);
	kwarp_ep_close(ep, KWARP_CLOSE);
}

/* Not counted for rendezvous: a partner that is not ready closes or refuses. */
static void count_closed(const struct kwarp_ep *ep)
{
	if (!ep->rendezvous)
		kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
}

/*
 * Did the peer answer our request by FIN? A reset is no sign that the peer does not support
 * the revision: a busy host resets connections, too.
 */
static bool peer_fin_after_request(const struct kwarp_ep *ep, int ret)
{
	return ret == -ECONNRESET && !ep->su->hello.have &&
	       !READ_ONCE(ep->llp.sk_err);
}

/*
 * RFC 6581 10: a responder without enhanced mode closes the connection; retry once in
 * revision 1. Some of these responders reply in revision 1 instead, but their consumer has
 * taken our enhanced data for private data, so that connection is unusable, too.
 */
static void fall_back(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	int ret;

	if (ep->rendezvous) {
		/* Rendezvous requires revision 2. */
		connect_failed(ep, -ECONNRESET);
		return;
	}
	kwarp_startup_failed(ep, KWARP_MPA_E_FALLBACK);
	if (ep->attach) {
		/* Only the program can open another connection. */
		connect_failed(ep, -EPROTO);
		return;
	}
	/* Plain RFC 5044, so without the S bit of the 2007 proposal. */
	su->pol.rev = KWARP_MPA_REV_1;
	su->pol.p2p = false;
	su->hello.have = 0;
	/* The new endpoint claims the QP and binds the same source port. */
	kwarp_ep_release_qp(ep, -ECONNRESET);
	kwarp_llp_close(&ep->llp, KWARP_ABORT);
	ret = kwarp_initiator_start(ep_dev(ep), ep->cm_id, su);
	if (ret) {
		connect_failed(ep, ret);
		return;
	}
	/* The new endpoint owns the cm_id and will report the reply. */
	ep->su = NULL;
	kwarp_ep_close(ep, KWARP_CLOSE);
}

/* KWARP_EP_CONNECTING: TCP is connected, send the request. */
void kwarp_initiator_connected(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	int ret;

	kwarp_mpa_request(&su->pol, &su->local, &su->req);
	ret = kwarp_startup_send(ep, &su->req, su->pd);
	if (ret) {
		count_closed(ep);
		connect_failed(ep, ret == -EPIPE ? -ECONNRESET : ret);
		return;
	}
	kwarp_ep_set_state(ep, KWARP_EP_WAIT_REP);
	kwarp_ep_arm_answer(ep);
}

static u8 rtr_opcode(u8 rtr)
{
	switch (rtr) {
	case KWARP_RTR_READ:
		return RDMAP_READ_REQUEST;
	case KWARP_RTR_SEND:
		return RDMAP_SEND;
	default:
		return RDMAP_WRITE;
	}
}

/*
 * The responder has accepted a connection that fails here, and there is no error code for that. A
 * session of SCTP ends with a Session Terminate (RFC 5043 6.2), which kwarp_linger() sends.
 */
static void accepted_failed(struct kwarp_ep *ep, int status)
{
	/* Whoever learns of the failure may use the QP again immediately. */
	kwarp_qp_detach(&ep->llp);
	if (kwarp_llp_is_mpa(&ep->llp)) {
		connect_failed(ep, status);
		return;
	}
	kwarp_up_reply(ep, status, NULL, 0, 0, 0);
	kwarp_linger(ep, KWARP_LINGER_ENDED);
}

/* Send a Terminate on the attached connection, which ends with it, and report the failure. */
static void terminate_accepted(struct kwarp_ep *ep, const struct kwarp_mpa_params *agreed,
			       enum kwarp_err err, int status)
{
	kwarp_llp_lock(&ep->llp);
	if (ep->llp.qp == ep->qp)
		kwarp_qp_terminate(ep->qp, err, NULL, 0, 0);
	kwarp_llp_unlock(&ep->llp);

	kwarp_up_reply(ep, status, NULL, 0, agreed->peer_ord, agreed->peer_ird);
	kwarp_ep_drop_id(ep);
	kwarp_ep_set_state(ep, KWARP_EP_CLOSING);
	kwarp_ep_arm_startup(ep);
}

/*
 * RFC 6581 9.1 to 9.3: the responder considers the connection accepted, so it is notified
 * by a Terminate, which only a QP in Full Operation can send. Before RFC 6581 there were
 * no codes for this: the connection is closed.
 */
static void accept_and_terminate(struct kwarp_ep *ep, const struct kwarp_mpa_params *agreed,
				 enum kwarp_err err, int status)
{
	/* A Terminate would put the QP in ERR, but the QP goes on seeking its partner. */
	if (ep->rendezvous)
		connect_failed(ep, status);
	else if (agreed->rev < KWARP_MPA_REV_2 ||
		 kwarp_startup_attach(ep, agreed, KWARP_MPA_INITIATOR))
		accepted_failed(ep, status);
	else
		terminate_accepted(ep, agreed, err, status);
}

/* RFC 5044 7.1.2, 3 allows other uses of the connection after a rejection; iw_cm has none. */
static void reply_rejected(struct kwarp_ep *ep, const struct kwarp_mpa_frame *rep,
			   const struct kwarp_mpa_params *agreed)
{
	/* Report the rejection without private data that do not fit into an event. */
	bool fits = rep->pd_len <= kwarp_ep_pd_max(ep);

	kwarp_up_reply(ep, -ECONNREFUSED, ep->su->hello.rx + rep->pd_off,
		       fits ? rep->pd_len : 0, agreed->peer_ord,
		       agreed->peer_ird);
	kwarp_ep_close(ep, KWARP_CLOSE);
}

/* 2007 proposal: the last startup frame. Stream position zero follows it. */
static int send_rtr_frame(struct kwarp_ep *ep, const struct kwarp_mpa_frame *rep)
{
	struct kwarp_mpa_frame f;
	int ret;

	kwarp_mpa_rtr_frame(&ep->su->req, rep, &f);
	ret = kwarp_startup_send(ep, &f, NULL);
	if (!ret)
		kwarp_count(ep_dev(ep), KWARP_STAT_TX_RTR_FRAME);
	else
		kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
	return ret == -EPIPE ? -ECONNRESET : ret;
}

/*
 * The connection cannot be attached to the QP, usually for lack of memory. Perhaps there is
 * memory for a QP that only sends the Terminate. Partners of a rendezvous get none: before the
 * first FPDU, the end of a connection lets both look for each other again.
 */
static void reply_not_attached(struct kwarp_ep *ep, const struct kwarp_mpa_params *agreed,
			       int status)
{
	bool raised = agreed->ird > ep->su->local.ird;
	struct kwarp_mpa_params least = *agreed;

	least.ird = 0;
	least.ord = 0;
	least.rtr = 0;
	accept_and_terminate(ep, &least, raised ? KWARP_ERR_MPA_IRD : KWARP_ERR_MPA_LOCAL,
			     status);
}

static void reply_accepted(struct kwarp_ep *ep, const struct kwarp_mpa_frame *rep,
			   const struct kwarp_mpa_params *agreed)
{
	int ret = 0;

	/* Too long for an event: the ULP would take truncated data for complete. */
	if (rep->pd_len > kwarp_ep_pd_max(ep)) {
		kwarp_startup_failed(ep, KWARP_MPA_E_PD_LEN);
		accept_and_terminate(ep, agreed, KWARP_ERR_MPA_LOCAL, -EMSGSIZE);
		return;
	}
	if (!kwarp_meet_reply_ok(ep, ep->su->hello.rx + rep->pd_off, rep->pd_len)) {
		connect_failed(ep, -EPROTO);
		return;
	}
	if (agreed->rtr == KWARP_RTR_FRAME)
		ret = send_rtr_frame(ep, rep);
	if (!ret)
		ret = kwarp_startup_attach(ep, agreed, KWARP_MPA_INITIATOR);
	if (ret) {
		reply_not_attached(ep, agreed, ret);
		return;
	}
	if (agreed->rtr & KWARP_RTR_ALL)
		kwarp_tx_rtr(ep->qp, rtr_opcode(agreed->rtr));
	ret = kwarp_up_reply(ep, 0, ep->su->hello.rx + rep->pd_off, rep->pd_len,
			     agreed->ird, agreed->ord);
	if (ret) {
		if (agreed->rev >= KWARP_MPA_REV_2)
			terminate_accepted(ep, agreed, KWARP_ERR_MPA_LOCAL, ret);
		else
			accepted_failed(ep, ret);
		return;
	}
	kwarp_count(ep_dev(ep), KWARP_STAT_CONNECT);
	kwarp_ep_enter(ep);
}

/* KWARP_EP_WAIT_REP: part of the reply has arrived, or the end of the stream. */
void kwarp_initiator_reply(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	struct kwarp_mpa_params agreed;
	struct kwarp_mpa_frame rep;
	u32 had;
	int ret;

	if (kwarp_attach_key(ep))
		return;
	had = su->hello.have;
	ret = kwarp_startup_recv(ep, KWARP_MPA_REP, &rep);
	if (ret == 0) {
		/* The reply has begun, so the limit is no longer that of the consumer. */
		if (!had && su->hello.have)
			kwarp_ep_arm_startup(ep);
		return;
	}
	if (peer_fin_after_request(ep, ret) && kwarp_mpa_enhanced(&su->req)) {
		fall_back(ep);
		return;
	}
	if (ret < 0) {
		if (ret != -EPROTO)
			count_closed(ep);
		connect_failed(ep, ret);
		return;
	}
	ret = kwarp_mpa_complete(&su->pol, &su->local, &su->req, &rep, &agreed);
	switch (ret) {
	case 0:
		reply_accepted(ep, &rep, &agreed);
		return;
	case -KWARP_MPA_E_FALLBACK:
		fall_back(ep);
		return;
	}
	kwarp_startup_failed(ep, ret);
	switch (ret) {
	case -KWARP_MPA_E_REJECTED:
		reply_rejected(ep, &rep, &agreed);
		break;
	case -KWARP_MPA_E_IRD:
	case -KWARP_MPA_E_RTR:
	case -KWARP_MPA_E_CRC:
		accept_and_terminate(ep, &agreed, kwarp_mpa_err_code(ret),
				     ret == -KWARP_MPA_E_IRD ? -ENOMEM : -EPROTO);
		break;
	case -KWARP_MPA_E_ENHANCED:
		/* A reply of revision 2 is well-formed without S, but not permitted: 10. */
		if (kwarp_mpa_enhanced(&su->req)) {
			accept_and_terminate(ep, &agreed, KWARP_ERR_MPA_LOCAL, -EPROTO);
			break;
		}
		fallthrough;
	default:
		connect_failed(ep, -EPROTO);
		break;
	}
}

/* KWARP_EP_CONNECTING: refused, unreachable, or timed out in TCP. */
void kwarp_initiator_refused(struct kwarp_ep *ep)
{
	count_closed(ep);
	connect_failed(ep, -(READ_ONCE(ep->llp.sk_err) ? : ECONNRESET));
}

/* KWARP_EP_CONNECTING, KWARP_EP_WAIT_REP timed out: RFC 5044 7.1.2, 10. */
void kwarp_initiator_timeout(struct kwarp_ep *ep)
{
	kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_TIMEOUT);
	connect_failed(ep, -ETIMEDOUT);
}

void kwarp_initiator_down(struct kwarp_ep *ep)
{
	connect_failed(ep, -ENETDOWN);
}

/* The consumer destroyed the QP during connection setup. */
void kwarp_initiator_qp_gone(struct kwarp_ep *ep)
{
	connect_failed(ep, -ECONNABORTED);
}
