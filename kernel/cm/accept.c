// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The MPA responder: from the request to ESTABLISHED. */
#include "cm/cm.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "cm/ep.h"

/* Time until a request for which iw_cm had no room is passed to it once more. */
#define ASK_AGAIN_MS	100

/**
 * kwarp_responder_drop() - close without an answer
 * @ep:		child, mutex held
 *
 * TCP has a limit for sockets that were released and wait for their peers (tcp_max_orphans). SCTP
 * has none, so strangers could leave any number of associations behind: abort.
 */
void kwarp_responder_drop(struct kwarp_ep *ep)
{
	kwarp_ep_close(ep, kwarp_llp_is_mpa(&ep->llp) ? KWARP_CLOSE : KWARP_ABORT);
}

/* The peer closed the connection before startup was complete. */
void kwarp_responder_lost(struct kwarp_ep *ep)
{
	kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
	kwarp_attach_done(ep, -ECONNRESET, NULL, 0);
	kwarp_responder_drop(ep);
}

/* KWARP_EP_WAIT_REQ timed out: RFC 5044 7.1.2, 8 and 10. */
void kwarp_responder_timeout(struct kwarp_ep *ep)
{
	kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_TIMEOUT);
	kwarp_attach_done(ep, -ETIMEDOUT, NULL, 0);
	kwarp_ep_close(ep, KWARP_ABORT);
}

/* The request is rejected or refused: hide the child from consumer and listener. */
static void child_leave(struct kwarp_ep *ep)
{
	ibdev_dbg(&ep_dev(ep)->ibdev, "ep %p: request refused\n", ep);
	kwarp_count(ep_dev(ep), KWARP_STAT_REJECT_TX);
	kwarp_ep_drop_handle(ep);
	kwarp_listen_leave(ep);
}

/*
 * Reply with Rejected Connection, then wait for the peer to close, because a reset would
 * overtake the reply. A peer that gets no reply to an enhanced request would retry
 * without enhanced mode.
 */
static void reject_plain(struct kwarp_ep *ep, const void *pd, u16 pd_len)
{
	struct kwarp_startup *su = ep->su;
	struct kwarp_mpa_frame rep;

	kwarp_mpa_reject(&su->pol, &su->req, pd_len, &rep);
	child_leave(ep);
	if (kwarp_startup_send(ep, &rep, pd))
		kwarp_responder_drop(ep);
	else
		kwarp_linger(ep, KWARP_LINGER_REFUSED);
}

/*
 * Refuse a request without a decision of the consumer. Over SCTP only the consumer may reject
 * (RFC 5043 6.3). A request that the consumer has not got ends with a Session Terminate, which
 * kwarp_linger() sends (RFC 5043 5, 6.4); a request that the consumer has not answered, or
 * could not accept, with an ABORT: after a Session Terminate the initiator would retry in
 * unenhanced form, because a responder without enhanced mode sends the same.
 */
static void refuse_request(struct kwarp_ep *ep)
{
	bool asked = ep->state == KWARP_EP_REQUESTED;

	if (kwarp_llp_is_mpa(&ep->llp)) {
		reject_plain(ep, NULL, 0);
		return;
	}
	child_leave(ep);
	if (asked)
		kwarp_ep_close(ep, KWARP_ABORT);
	else
		kwarp_linger(ep, KWARP_LINGER_REFUSED);
}

/*
 * The end of the stream after a request of revision 2 tells the peer that this revision is not
 * supported: RFC 6581 10. Over SCTP a Session Terminate tells that, an ABORT does not.
 */
static void refuse_revision(struct kwarp_ep *ep)
{
	if (kwarp_llp_is_mpa(&ep->llp)) {
		kwarp_responder_drop(ep);
		return;
	}
	kwarp_listen_leave(ep);
	kwarp_linger(ep, KWARP_LINGER_REFUSED);
}

/*
 * Check that nothing follows the request. The initiator sends no FPDU before the reply
 * (RFC 5044 7.1.2, 3), so more bytes mean that PD_Length does not match the private data
 * (7.1.1). We close the endpoint then, and at the end of the stream.
 * Return: false if the endpoint was closed.
 */
static bool nothing_behind(struct kwarp_ep *ep)
{
	int ret = kwarp_llp_hello_more(&ep->llp);

	if (ret == -EAGAIN)
		return true;
	if (ret > 0) {
		kwarp_startup_failed(ep, KWARP_MPA_E_PD_LEN);
		kwarp_attach_done(ep, -EPROTO, NULL, 0);
		kwarp_responder_drop(ep);
	} else {
		kwarp_responder_lost(ep);
	}
	return false;
}

/* KWARP_EP_READY, KWARP_EP_REQUESTED: data or the end of the stream before our reply. */
void kwarp_responder_early(struct kwarp_ep *ep)
{
	nothing_behind(ep);
}

/* A depth that the peer requests, for an event; our limit if the peer states none. */
static u8 event_depth(const struct kwarp_mpa_frame *req, u16 depth, u16 limit)
{
	if (kwarp_mpa_enhanced(req) && depth != KWARP_MPA_NO_NEGOTIATION)
		limit = min(limit, depth);
	return min_t(u16, limit, KWARP_EP_EVENT_MAX);
}

static int ask_consumer(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.private_data = su->hello.rx + su->req.pd_off,
		.private_data_len = su->req.pd_len,
		.ird = event_depth(&su->req, su->req.ird, su->pol.max_ord),
		.ord = event_depth(&su->req, su->req.ord, su->pol.max_ird),
	};
	int ret = ep->handle ? 0 : kwarp_ep_set_handle(ep);

	if (ret)
		return ret;
	ev.provider_data = kwarp_ep_provider_data(ep);
	kwarp_addr_event(ep, &ev);
	return kwarp_listen_ask(ep, &ev);
}

/* KWARP_EP_READY: pass the request to the consumer, if it is its turn. */
void kwarp_responder_ask(struct kwarp_ep *ep)
{
	int ret = ask_consumer(ep);

	if (ret == -EAGAIN)
		return;
	/* iw_cm forgets a request only after the consumer has been told of it: try again. */
	if (ret == -ENOMEM) {
		kwarp_ep_arm(ep, ASK_AGAIN_MS);
		return;
	}
	if (ret) {
		kwarp_count(ep_dev(ep), KWARP_STAT_BACKLOG_DROP);
		refuse_request(ep);
		return;
	}
	kwarp_ep_set_state(ep, KWARP_EP_REQUESTED);
	kwarp_ep_arm(ep, READ_ONCE(ep_dev(ep)->policy.answer_timeout_ms));
}

/* KWARP_EP_WAIT_REQ: part of the request has arrived, or the end of the stream. */
void kwarp_responder_request(struct kwarp_ep *ep)
{
	struct kwarp_startup *su;
	int ret;

	if (kwarp_attach_key(ep))
		return;
	/* Allocate only after the first byte, so that a silent peer costs less. */
	if (!ep->su) {
		ep->su = kwarp_startup_alloc(ep_dev(ep), NULL, 0);
		if (ep->su && !kwarp_llp_is_mpa(&ep->llp))
			kwarp_startup_use_sctp(ep->su);
		/* Partners of a rendezvous use this revision, whatever the policy (meet.c). */
		if (ep->su && ep->rendezvous)
			ep->su->pol.rev = KWARP_MPA_REV_2;
	}
	su = ep->su;
	if (!su) {
		kwarp_llp_warn(&ep->llp, "no memory for a request");
		kwarp_ep_close(ep, KWARP_ABORT);
		return;
	}
	ret = kwarp_startup_recv(ep, KWARP_MPA_REQ, &su->req);
	if (ret == 0)
		return;
	if (ret == -EPROTO) {
		/* RFC 5044 7.1.2, 2: send no reply. */
		kwarp_attach_done(ep, ret, NULL, 0);
		kwarp_responder_drop(ep);
		return;
	}
	if (ret < 0) {
		kwarp_responder_lost(ep);
		return;
	}
	ret = kwarp_mpa_admit(&su->pol, &su->req);
	if (ret) {
		kwarp_startup_failed(ep, ret);
		kwarp_attach_done(ep, -EPROTO, NULL, 0);
		refuse_revision(ep);
		return;
	}
	if (!nothing_behind(ep) || kwarp_attach_request(ep) ||
	    kwarp_meet_request(ep))
		return;
	/*
	 * A request may carry 512 bytes of private data, an iw_cm event 255. The ULP would
	 * take truncated private data for complete.
	 */
	if (su->req.pd_len > KWARP_EP_EVENT_MAX) {
		kwarp_startup_failed(ep, KWARP_MPA_E_PD_LEN);
		refuse_request(ep);
		return;
	}
	/* The peer has done its part: as in the accept queue, it may wait without a limit. */
	kwarp_ep_set_state(ep, KWARP_EP_READY);
	kwarp_ep_disarm(ep);
	kwarp_listen_ready(ep);
	kwarp_responder_ask(ep);
}

/* KWARP_EP_REQUESTED: the consumer has not answered in time. */
void kwarp_responder_unanswered(struct kwarp_ep *ep)
{
	refuse_request(ep);
}

/* ---- the consumer's answer -------------------------------------------------- */

/* ESTABLISHED follows now or, peer-to-peer, with the RTR indication (RFC 6581 9.2). */
static void request_accepted(struct kwarp_ep *ep, struct iw_cm_id *id,
			     const struct kwarp_mpa_params *agreed)
{
	kwarp_count(ep_dev(ep), KWARP_STAT_ACCEPT);
	kwarp_listen_leave(ep);
	if (id)
		kwarp_ep_set_id(ep, id);
	if (agreed->rtr) {
		if (ep->su->rtr_frame)
			kwarp_qp_accepted(ep->qp);
		kwarp_ep_set_state(ep, KWARP_EP_WAIT_RTR);
		kwarp_ep_arm_startup(ep);
	} else {
		kwarp_up_established(ep, 0);
		kwarp_ep_enter(ep);
	}
}

/**
 * kwarp_responder_answer() - accept a request
 * @ep:		endpoint in KWARP_EP_REQUESTED, mutex held
 * @id:		cm_id that gets the connection's events; NULL for an attached socket or a
 *		rendezvous
 * @params:	the consumer's parameters
 *
 * The QP is attached before the reply is sent: if attaching fails, the reply can still be
 * a rejection, and a receive engine is ready for the first FPDU after the reply. The engines
 * send nothing before the reply. If an Rtr frame is to follow the reply, the QP is only
 * claimed here, and attached after that frame.
 *
 * If accepting fails, the request is refused: rdma_cm then rejects it, but iw_cm does not pass
 * that call to the driver. As rdma_cm does this by itself, it is no decision of the consumer.
 *
 * Return: 0, or negative errno if the request was refused or closed.
 */
int kwarp_responder_answer(struct kwarp_ep *ep, struct iw_cm_id *id,
			   const struct iw_cm_conn_param *params)
{
	struct kwarp_startup *su = ep->su;
	struct kwarp_mpa_params agreed;
	struct kwarp_mpa_frame rep;
	struct ib_qp *iw_qp = NULL;
	int ret;

	if (!nothing_behind(ep))
		return -ECONNRESET;
	su->local.ird = min_t(u32, params->ird, KWARP_MAX_IRD);
	su->local.ord = min_t(u32, params->ord, KWARP_MAX_ORD);
	su->local.pd_len = params->private_data_len;
	kwarp_mpa_respond(&su->pol, &su->req, &su->local, &rep, &agreed);
	ret = -EINVAL;
	if (params->private_data_len > kwarp_mpa_pd_room(&rep))
		goto err;
	if (id) {
		iw_qp = kwarp_iw_qp_grant(id, params->qpn);
		if (!iw_qp)
			goto err;
	}
	/* The QP of an attached socket or of a rendezvous is claimed already. */
	ret = ep->qp ? 0 : kwarp_ep_claim_qp(ep, params->qpn);
	if (ret)
		goto err;
	su->rtr_frame = agreed.wait == KWARP_MPA_WAIT_RTR_FRAME;
	su->agreed = agreed;
	su->hello.have = 0;
	if (su->rtr_frame)
		ret = kwarp_startup_prepare(ep, su);
	else
		ret = kwarp_startup_attach(ep, &agreed, KWARP_MPA_RESPONDER);
	if (ret)
		goto err;
	ret = kwarp_startup_send(ep, &rep, params->private_data);
	if (ret) {
		kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
		kwarp_ep_close(ep, KWARP_ABORT);
		return ret == -EPIPE ? -ECONNRESET : ret;
	}
	ep->iw_qp = iw_qp;
	request_accepted(ep, id, &agreed);
	return 0;

err:
	refuse_request(ep);
	return ret;
}

/*
 * iw_cm lets its user accept or reject a request again until ESTABLISHED is handled. That second
 * call has changed what iw_cm expects: no event, and after an accept that fails no QP.
 */
static void withdraw(struct kwarp_ep *ep)
{
	ibdev_warn_ratelimited(&ep_dev(ep)->ibdev,
			       "a program answered a connection request twice: connection closed\n");
	kwarp_ep_withdraw(ep);
}

/*
 * The handle of this call has replaced the granted one in iw_cm: drop that one, which iw_cm has
 * forgotten. The new one has no rights. If ESTABLISHED is on its way, iw_cm must not get an error.
 */
static int accept_again(struct kwarp_ep *ep, const struct iw_cm_id *id, u32 qpn)
{
	if (ep->iw_qp)
		kwarp_cm_qp_rem_ref(ep->iw_qp);
	ep->iw_qp = NULL;
	if (ep->state != KWARP_EP_WAIT_RTR) {
		ep->iw_qp = kwarp_iw_qp_take(id, qpn);
		return 0;
	}
	withdraw(ep);
	return -EINVAL;
}

/* The connection has ended, and has told iw_cm so, ESTABLISHED first, if it was ever accepted. */
static int accept_ended(struct iw_cm_id *id, u32 qpn)
{
	struct ib_qp *iw_qp = kwarp_iw_qp_take(id, qpn);
	struct ib_qp *forgotten = kwarp_ep_swap_ended(id, iw_qp);

	if (!forgotten)
		return -ECONNRESET;
	kwarp_cm_qp_rem_ref(forgotten);
	return 0;
}

int kwarp_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *params)
{
	struct kwarp_ep *ep = kwarp_ep_find(id);
	unsigned int noio;
	int ret;

	might_sleep();
	if (!ep)
		return accept_ended(id, params->qpn);
	noio = memalloc_noio_save();
	mutex_lock(&ep->mutex);
	if (ep->state == KWARP_EP_REQUESTED)
		ret = kwarp_responder_answer(ep, id, params);
	else if (ep->cm_id == id)
		ret = accept_again(ep, id, params->qpn);
	else
		ret = accept_ended(id, params->qpn);
	kwarp_ep_unlock(ep);
	memalloc_noio_restore(noio);
	kwarp_llp_put(&ep->llp);
	return ret;
}

/*
 * The consumer rejects: a program always by way of a buffer for private data, although it may
 * have none. @pdata is NULL if iw_cm or rdma_cm rejects by itself, because the consumer has
 * destroyed the id, has ended, or could not accept. A consumer in the kernel that passes NULL
 * (isert) cannot be told from that.
 */
int kwarp_cm_reject(struct iw_cm_id *id, const void *pdata, u8 pd_len)
{
	struct kwarp_ep *ep = kwarp_ep_find(id);
	int ret = -ECONNRESET;

	might_sleep();
	if (!ep)
		return ret;
	mutex_lock(&ep->mutex);
	if (ep->state == KWARP_EP_REQUESTED) {
		if (pdata)
			reject_plain(ep, pdata, pd_len);
		else
			refuse_request(ep);
		ret = 0;
	} else if (ep->state == KWARP_EP_WAIT_RTR && ep->cm_id == id) {
		withdraw(ep);
		ret = 0;
	}
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	return ret;
}
