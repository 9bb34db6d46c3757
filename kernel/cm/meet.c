// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The connections of a rendezvous. They use MPA revision 2 with a ready-to-receive
 * indication, because either end may send first. No consumer gets a request or an event:
 * the parameters of the queue pairs decide, and a peer that does not know these parameters
 * gets no answer.
 */
#include "cm/cm.h"

#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <rdma/ib_addr.h>

#include "cm/ep.h"
#include "core/gid.h"

/* Override policies by which the two ends could disagree. */
static void set_policy(struct kwarp_startup *su,
		       const struct iw_cm_conn_param *params)
{
	su->pol.rev = KWARP_MPA_REV_2;
	su->pol.p2p = true;
	su->pol.rtr = KWARP_RTR_ALL;
	/* One read more than the consumer sees, for acknowledgments. */
	su->pol.max_ird++;
	su->pol.max_ord++;
	su->local.ird = params->ird;
	su->local.ord = params->ord;
}

/* From the address of our GID to that of the partner's GID. */
static int set_addresses(struct kwarp_qp *qp, struct kwarp_startup *su)
{
	u16 port = READ_ONCE(qp->dev->policy.rendezvous_port);
	union ib_gid from, to;
	int ret;

	memcpy(&from, qp->rdv.id.gid, sizeof(from));
	memcpy(&to, qp->rdv.id.peer_gid, sizeof(to));
	if (!port || !kwarp_gid_to_addr(&to, &su->to))
		return -EADDRNOTAVAIL;
	if (!kwarp_gid_to_addr(&from, &su->from) ||
	    su->from.ss_family != su->to.ss_family) {
		/* A connection to this device itself: any address of it may be the source. */
		memset(&su->from, 0, sizeof(su->from));
		su->from.ss_family = su->to.ss_family;
	}
	rpc_set_port((struct sockaddr *)&su->to, port);
	ret = kwarp_addr_scope(qp->dev, &su->from);
	return ret ? : kwarp_addr_scope(qp->dev, &su->to);
}

/**
 * kwarp_meet_connect() - try to connect to the partner
 * @qp:		queue pair that the caller references
 * @params:	its parameters
 *
 * Return: 0 if kwarp_meet_made() or kwarp_rdv_unclaim() follows; or negative errno.
 */
int kwarp_meet_connect(struct kwarp_qp *qp, const struct iw_cm_conn_param *params)
{
	struct kwarp_startup *su;
	int ret;

	might_sleep();
	su = kwarp_startup_alloc(qp->dev, params->private_data, params->private_data_len);
	if (!su)
		return -ENOMEM;
	set_policy(su, params);
	su->qpn = params->qpn;
	su->tos = qp->rdv.tos ? : -1;
	ret = set_addresses(qp, su);
	if (!ret)
		ret = kwarp_initiator_start(qp->dev, NULL, su);
	if (ret)
		kfree(su);
	return ret;
}

/**
 * kwarp_meet_reply_ok() - check that the reply comes from our partner
 * @ep:		endpoint in KWARP_EP_WAIT_REP, mutex held
 * @pd:		private data of the reply
 * @pd_len:	its length
 *
 * Return: false if it does not; true also for other endpoints.
 */
bool kwarp_meet_reply_ok(struct kwarp_ep *ep, const void *pd, u16 pd_len)
{
	struct kwarp_rdv_id theirs;

	lockdep_assert_held(&ep->mutex);
	if (!ep->rendezvous)
		return true;
	return ep->qp && kwarp_rdv_decode(pd, pd_len, &theirs) &&
	       kwarp_rdv_match(ep->qp, &theirs);
}

/*
 * Does the connection come from the address that its peer claims? A device may connect to
 * itself from any of its addresses. No check is needed for connections that we open: they
 * go to the partner's address.
 */
static bool address_ok(struct kwarp_ep *ep, const struct kwarp_rdv_id *theirs)
{
	struct kwarp_device *dev = ep_dev(ep);
	struct sockaddr_storage from, claimed;
	union ib_gid gid, from_gid;

	memcpy(&gid, theirs->gid, sizeof(gid));
	if (kwarp_addr_peer(ep, &from) || !kwarp_gid_to_addr(&gid, &claimed) ||
	    kwarp_addr_scope(dev, &claimed))
		return false;
	if (rpc_cmp_addr((struct sockaddr *)&from, (struct sockaddr *)&claimed))
		return true;
	return kwarp_gid_is_ours(dev, &gid) &&
	       !rdma_ip2gid((struct sockaddr *)&from, &from_gid) &&
	       kwarp_gid_is_ours(dev, &from_gid);
}

/* Claim the QP that expects this peer. Return: the QP, with a reference, or NULL. */
static struct kwarp_qp *partner_of(struct kwarp_ep *ep,
				   struct iw_cm_conn_param *params, u8 *pd)
{
	struct kwarp_startup *su = ep->su;
	struct kwarp_rdv_id theirs;
	struct kwarp_qp *qp;

	if (!kwarp_mpa_enhanced(&su->req) ||
	    !kwarp_rdv_decode(su->hello.rx + su->req.pd_off, su->req.pd_len, &theirs))
		return NULL;
	if (!address_ok(ep, &theirs)) {
		kwarp_count(ep_dev(ep), KWARP_STAT_RDV_ADDR_ERR);
		return NULL;
	}
	qp = kwarp_qp_find(ep_dev(ep), theirs.peer_qpn);
	if (!qp || kwarp_rdv_claim(qp, &theirs, &ep->llp, params, pd))
		return qp;
	kwarp_qp_put(qp);
	return NULL;
}

/* No queue pair expects this peer. Close silently, so that strangers learn nothing. */
static void refuse_partner(struct kwarp_ep *ep)
{
	kwarp_count(ep_dev(ep), KWARP_STAT_RDV_REFUSED);
	kwarp_responder_drop(ep);
}

/**
 * kwarp_meet_request() - a valid request arrived: look for its partner
 * @ep:		endpoint in KWARP_EP_WAIT_REQ, mutex held
 *
 * Return: false if it is for a listening consumer.
 */
bool kwarp_meet_request(struct kwarp_ep *ep)
{
	struct iw_cm_conn_param params;
	struct kwarp_qp *qp;
	u8 pd[KWARP_RDV_LEN];

	lockdep_assert_held(&ep->mutex);
	if (!ep->rendezvous)
		return false;
	qp = partner_of(ep, &params, pd);
	if (!qp) {
		refuse_partner(ep);
		return true;
	}
	kwarp_ep_hold_qp(ep, qp);
	set_policy(ep->su, &params);
	kwarp_ep_set_state(ep, KWARP_EP_REQUESTED);
	/* If this fails, the endpoint releases the queue pair. */
	kwarp_responder_answer(ep, NULL, &params);
	return true;
}

/**
 * kwarp_meet_made() - the partners are connected
 * @ep:		endpoint with an attached QP, mutex held
 */
void kwarp_meet_made(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	if (ep->rendezvous && ep->qp)
		kwarp_rdv_made(ep->qp);
}
