// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attached sockets: MPA is started on a TCP connection that a program has made (RFC 5044
 * 7.1.3; drafts culley-iwarp-mpa-02 and -03). Differences from a connection of iw_cm:
 *
 *	the socket	is taken from the program (llp/mpa/take.c) and cannot be opened
 *			again, so there is no fallback to another revision
 *	the consumer	gets no events; it passes all parameters in advance and waits for
 *			kwarp_attach_done(), which connect.c and accept.c call, too
 *	the form	Start Keys, and no startup frames at all, are handled here
 */
#include "cm/cm.h"

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <rdma/kwarp-abi.h>

#include "cm/ep.h"
#include "proto/mpa_start_key.h"

/**
 * struct kwarp_attach - request of a program, and the result, which the QP keeps
 * @refs:	QP, endpoint, waiters
 * @form:	enum kwarp_attach_form
 * @role:	role
 * @rev:	MPA revision to assume with a Start Key or without frames
 * @key:	our Start Key
 * @done:	startup has ended; the following fields are valid
 * @res:	result
 * @pd:		the peer's private data
 */
struct kwarp_attach {
	struct kref refs;
	u8 form;
	enum kwarp_mpa_role role;
	u8 rev;
	struct kwarp_start_key key;
	struct completion done;
	struct kwarp_attach_result res;
	u8 pd[KWARP_MPA_PD_MAX];
};

static void attach_free(struct kref *refs)
{
	kfree(container_of(refs, struct kwarp_attach, refs));
}

static void attach_unref(struct kwarp_attach *at)
{
	if (at)
		kref_put(&at->refs, attach_free);
}

/* ---- end of startup and of the connection ----------------------------------- */

static void set_peer_data(struct kwarp_attach *at, const void *pd, u16 pd_len)
{
	if (!pd_len || WARN_ON_ONCE(pd_len > sizeof(at->pd)))
		return;
	memcpy(at->pd, pd, pd_len);
	at->res.private_data_len = pd_len;
}

/**
 * kwarp_attach_done() - startup of an attached socket has ended
 * @ep:		endpoint, mutex held
 * @status:	0 if the QP is attached, or negative errno
 * @pd:		the peer's private data, if they arrived with this event
 * @pd_len:	their length
 *
 * Only the first call counts.
 */
void kwarp_attach_done(struct kwarp_ep *ep, int status, const void *pd,
		       u16 pd_len)
{
	struct kwarp_attach *at = ep->attach;

	lockdep_assert_held(&ep->mutex);
	if (!at || completion_done(&at->done))
		return;
	ep->startup_ms = 0;
	/* For the caller, EAGAIN means that startup goes on. */
	if (status == -EAGAIN)
		status = -ENOBUFS;
	at->res.status = -status;
	set_peer_data(at, pd, pd_len);
	if (!status) {
		const struct kwarp_mpa_framing *framing = &ep->llp.framing;
		const struct kwarp_qp_params *params = &ep->qp->params;

		at->res.ird = params->ird;
		at->res.ord = params->ord;
		at->res.crc = framing->crc;
		at->res.tx_markers = framing->tx_markers;
		at->res.rx_markers = framing->rx_markers;
		at->res.mpa_rev = params->mpa_rev;
	}
	/* Before the result, because a waiter may try again immediately. */
	if (status)
		kwarp_ep_release_qp(ep, status);
	complete_all(&at->done);
}

/**
 * kwarp_attach_put() - the endpoint is closed
 * @ep:		endpoint, mutex held
 */
void kwarp_attach_put(struct kwarp_ep *ep)
{
	struct kwarp_attach *at = ep->attach;

	if (!at)
		return;
	kwarp_attach_done(ep, -ECONNABORTED, NULL, 0);
	ep->attach = NULL;
	attach_unref(at);
}

/* ---- startup ----------------------------------------------------------------- */

static void attach_established(struct kwarp_ep *ep)
{
	kwarp_count(ep_dev(ep), ep->attach->role == KWARP_MPA_INITIATOR ? KWARP_STAT_CONNECT :
							KWARP_STAT_ACCEPT);
	kwarp_attach_done(ep, 0, NULL, 0);
	kwarp_ep_enter(ep);
}

static void attach_fail(struct kwarp_ep *ep, int status)
{
	/* Whoever learns of the failure may use the QP again immediately. */
	kwarp_qp_detach(&ep->llp);
	kwarp_attach_done(ep, status, NULL, 0);
	kwarp_ep_close(ep, KWARP_CLOSE);
}

/* Only request and reply negotiate depths; here the consumer and our limits decide. */
static void set_depths(const struct kwarp_startup *su,
		       struct kwarp_mpa_params *agreed)
{
	agreed->ird = min(su->local.ird, su->pol.max_ird);
	agreed->ord = min(su->local.ord, su->pol.max_ord);
}

static int send_key(struct kwarp_ep *ep)
{
	u8 buf[KWARP_START_KEY_LEN];
	int ret;

	kwarp_start_key_encode(&ep->attach->key, buf);
	ret = kwarp_llp_send(&ep->llp, buf, sizeof(buf));
	if (ret == sizeof(buf))
		return 0;
	if (ret >= 0)
		return -ENOBUFS;
	return ret == -EPIPE ? -ECONNRESET : ret;
}

/*
 * Draft -03, 8.1, 2: the active side (our responder) answers a valid key with its own.
 * Attach the QP first, because the first FPDU may follow immediately.
 */
static void have_key(struct kwarp_ep *ep, const struct kwarp_start_key *peers)
{
	struct kwarp_attach *at = ep->attach;
	struct kwarp_mpa_params agreed;
	int ret;

	kwarp_start_key_agree(&at->key, peers, at->role, &agreed);
	agreed.rev = at->rev;
	set_depths(ep->su, &agreed);
	ret = kwarp_startup_attach(ep, &agreed, at->role);
	if (!ret && at->role == KWARP_MPA_RESPONDER)
		ret = send_key(ep);
	if (ret)
		attach_fail(ep, ret);
	else
		attach_established(ep);
}

/**
 * kwarp_attach_key() - bytes or the end of the stream arrived: read a Start Key
 * @ep:		endpoint in KWARP_EP_WAIT_REP or KWARP_EP_WAIT_REQ, mutex held
 *
 * Return: false if the endpoint waits for another frame.
 */
bool kwarp_attach_key(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	struct kwarp_start_key key;
	int ret;

	if (!ep->attach || ep->attach->form != KWARP_ATTACH_START_KEY)
		return false;
	for (;;) {
		ret = kwarp_llp_recv(&ep->llp, su->hello.rx + su->hello.have,
				     KWARP_START_KEY_LEN - su->hello.have);
		if (ret == -EAGAIN)
			return true;
		if (ret <= 0) {
			kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
			attach_fail(ep, -ECONNRESET);
			return true;
		}
		su->hello.have += ret;
		ret = kwarp_start_key_decode(su->hello.rx, su->hello.have, &key);
		if (ret < 0) {
			/* Draft -03, 8.1, 6 */
			kwarp_startup_failed(ep, ret);
			attach_fail(ep, -EPROTO);
			return true;
		}
		if (ret > 0) {
			have_key(ep, &key);
			return true;
		}
	}
}

/**
 * kwarp_attach_request() - answer a valid request, without asking a consumer
 * @ep:		endpoint in KWARP_EP_WAIT_REQ, mutex held
 *
 * Return: false if a consumer must be asked.
 */
bool kwarp_attach_request(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	struct iw_cm_conn_param params = {};
	int ret;

	if (!ep->attach)
		return false;
	params.ird = su->local.ird;
	params.ord = su->local.ord;
	params.private_data = su->pd;
	params.private_data_len = su->pd_len;
	set_peer_data(ep->attach, su->hello.rx + su->req.pd_off, su->req.pd_len);
	kwarp_ep_set_state(ep, KWARP_EP_REQUESTED);
	ret = kwarp_responder_answer(ep, NULL, &params);
	if (ret)
		kwarp_attach_done(ep, ret, NULL, 0);
	return true;
}

static void start_none(struct kwarp_ep *ep)
{
	struct kwarp_mpa_params agreed = {
		.rev = ep->attach->rev,
		/* Draft -02 knows no other mode. */
		.crc = true,
		.tx_markers = true,
		.rx_markers = true,
		/* The two directions may start independently. */
		.wait = KWARP_MPA_WAIT_NONE,
	};
	int ret;

	set_depths(ep->su, &agreed);
	ret = kwarp_startup_attach(ep, &agreed, ep->attach->role);
	if (ret)
		attach_fail(ep, ret);
	else
		attach_established(ep);
}

/* Wait for the peer's frame, part of which may have arrived already. */
static void await_frame(struct kwarp_ep *ep, enum kwarp_ep_state state)
{
	kwarp_ep_set_state(ep, state);
	kwarp_ep_arm_startup(ep);
	kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
}

/* The socket is taken and the last streaming message sent. */
static void attach_begin(struct kwarp_ep *ep)
{
	struct kwarp_attach *at = ep->attach;
	int ret;

	if (at->form == KWARP_ATTACH_NONE) {
		start_none(ep);
		return;
	}
	if (at->role == KWARP_MPA_RESPONDER) {
		await_frame(ep, KWARP_EP_WAIT_REQ);
		return;
	}
	if (at->form == KWARP_ATTACH_REQ_REP) {
		kwarp_initiator_connected(ep);
		if (ep->state == KWARP_EP_WAIT_REP)
			kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
		return;
	}
	ret = send_key(ep);
	if (ret)
		attach_fail(ep, ret);
	else
		await_frame(ep, KWARP_EP_WAIT_REP);
}

/* ---- calls of a program ------------------------------------------------------- */

static bool choice_is_on(u8 wish, bool otherwise)
{
	return wish == KWARP_ATTACH_POLICY ? otherwise :
					     wish == KWARP_ATTACH_ON;
}

static int check_params(const struct kwarp_attach_params *p, u16 pd_len)
{
	if (p->form > KWARP_ATTACH_NONE || p->role > KWARP_ATTACH_RESPONDER ||
	    p->crc > KWARP_ATTACH_ON || p->markers > KWARP_ATTACH_ON ||
	    p->p2p > KWARP_ATTACH_ON || p->mpa_rev > KWARP_MPA_REV_2 ||
	    p->flags & ~KWARP_ATTACH_IETF ||
	    p->timeout_ms > KWARP_ATTACH_TIMEOUT_MAX_MS)
		return -EINVAL;
	if (p->form == KWARP_ATTACH_REQ_REP)
		return p->flags & KWARP_ATTACH_IETF ? -EINVAL : 0;
	/* These forms have no frame that could carry these parameters. */
	if (pd_len || p->mpa_rev || p->p2p)
		return -EINVAL;
	if (p->form == KWARP_ATTACH_NONE &&
	    (p->crc == KWARP_ATTACH_OFF || p->markers == KWARP_ATTACH_OFF))
		return -EINVAL;
	return 0;
}

/*
 * The consumer's parameters override the device's policy, but only an administrator, by the policy,
 * can prefer no CRCs: RFC 5044 4.4.
 */
static int apply_params(const struct kwarp_attach_params *p, struct kwarp_attach *at,
			struct kwarp_startup *su)
{
	bool p2p;

	at->form = p->form;
	at->role = p->role == KWARP_ATTACH_INITIATOR ? KWARP_MPA_INITIATOR :
						       KWARP_MPA_RESPONDER;
	at->rev = p->flags & KWARP_ATTACH_IETF ? KWARP_MPA_REV_1 :
						 KWARP_MPA_REV_RDMAC;
	if (p->crc == KWARP_ATTACH_OFF && su->pol.crc != KWARP_CRC_OFF)
		return -EPERM;
	if (p->crc == KWARP_ATTACH_ON && su->pol.crc == KWARP_CRC_OFF)
		su->pol.crc = KWARP_CRC_PREFERRED;
	su->pol.markers = choice_is_on(p->markers, su->pol.markers);
	if (p->mpa_rev)
		su->pol.rev = p->mpa_rev;
	p2p = choice_is_on(p->p2p, su->pol.rtr);
	if (p2p && !su->pol.rtr)
		su->pol.rtr = KWARP_RTR_ALL | KWARP_RTR_FRAME;
	/* Limited to what the revision supports. */
	su->pol.p2p = p2p && su->pol.rtr & (su->pol.rev >= KWARP_MPA_REV_2 ?
					    KWARP_RTR_ALL : KWARP_RTR_FRAME);
	su->local.ird = min_t(u16, p->ird, KWARP_MAX_IRD);
	su->local.ord = min_t(u16, p->ord, KWARP_MAX_ORD);
	at->key.crc = su->pol.crc;
	at->key.markers = su->pol.markers;
	if (at->role == KWARP_MPA_INITIATOR && su->pol.rev >= KWARP_MPA_REV_2 &&
	    su->pd_len > KWARP_MPA_PD_MAX - KWARP_MPA_ENH_LEN)
		return -EINVAL;
	return 0;
}

/* The QP is claimed, so the attach whose result it holds has ended. */
static void remember_attach(struct kwarp_qp *qp, struct kwarp_attach *at)
{
	mutex_lock(&qp->mutex);
	attach_unref(qp->attach);
	kref_get(&at->refs);
	qp->attach = at;
	mutex_unlock(&qp->mutex);
}

/* Is another attach using the QP? */
static bool in_progress(struct kwarp_qp *qp)
{
	bool yes;

	mutex_lock(&qp->mutex);
	yes = qp->attach && !completion_done(&qp->attach->done);
	mutex_unlock(&qp->mutex);
	return yes;
}

/* Send the last streaming message, which is no startup frame. Return: false if it was not sent. */
static bool send_message(struct kwarp_llp *llp, const struct kwarp_bytes *msg)
{
	bool sent = !msg->len || kwarp_llp_send(llp, msg->p, msg->len) == msg->len;

	llp->startup_sent = false;
	return sent;
}

/* Takes ownership of @at and @su, also on failure. */
static int attach_start(struct kwarp_qp *qp, int fd, struct kwarp_attach *at,
			struct kwarp_startup *su, const struct kwarp_attach_params *p,
			const struct kwarp_bytes *msg)
{
	struct kwarp_ep *ep = kwarp_ep_alloc(qp->dev);
	struct net *net;
	int ret;

	if (!ep) {
		kfree(su);
		attach_unref(at);
		return -ENOMEM;
	}
	/* Put below. kwarp_ep_unlock() queues the work for events that arrive meanwhile. */
	kwarp_llp_get(&ep->llp);
	ep->attach = at;
	ep->su = su;
	ep->startup_ms = p->timeout_ms;
	ret = kwarp_ep_claim_qp(ep, qp->ibqp.qp_num);
	if (ret) {
		if (in_progress(qp))
			ret = -EALREADY;
		goto out;
	}
	ret = kwarp_startup_prepare(ep, su);
	if (ret)
		goto out;
	ret = -ENODEV;
	net = kwarp_addr_net(qp->dev, NULL);
	if (!net)
		goto out;
	ret = kwarp_llp_take(&ep->llp, fd, net);
	put_net(net);
	if (ret)
		goto out;

	/* The takeover cannot be undone, so later failures are reported in the result. */
	remember_attach(qp, at);
	if (!send_message(&ep->llp, msg))
		attach_fail(ep, -ENOBUFS);
	else
		attach_begin(ep);
out:
	if (ret)
		kwarp_ep_close(ep, KWARP_CLOSE);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	return ret;
}

/**
 * kwarp_cm_attach() - start MPA on a program's TCP socket
 * @qp:		queue pair in INIT; the caller holds a reference
 * @fd:		descriptor of the calling process
 * @p:		parameters, not yet validated
 * @msg:	last streaming message, at most KWARP_ATTACH_MESSAGE_MAX bytes
 * @pd:		private data, at most KWARP_MPA_PD_MAX bytes
 *
 * Starts the setup; kwarp_cm_attach_wait() reports its result. On failure the socket is
 * unchanged. Context: process.
 *
 * Return: 0; -EINVAL (parameters; QP not in INIT), -EALREADY (an earlier attach is still
 * in progress), -ENODEV, -ENOMEM, or as kwarp_llp_take().
 */
int kwarp_cm_attach(struct kwarp_qp *qp, int fd,
		    const struct kwarp_attach_params *p,
		    const struct kwarp_bytes *msg, const struct kwarp_bytes *pd)
{
	struct kwarp_startup *su;
	struct kwarp_attach *at;
	int ret;

	might_sleep();
	ret = check_params(p, pd->len);
	if (ret)
		return ret;
	at = kzalloc(sizeof(*at), GFP_KERNEL_ACCOUNT);
	if (!at)
		return -ENOMEM;
	kref_init(&at->refs);
	init_completion(&at->done);
	su = kwarp_startup_alloc(qp->dev, pd->p, pd->len);
	ret = su ? apply_params(p, at, su) : -ENOMEM;
	if (ret) {
		kfree(su);
		attach_unref(at);
		return ret;
	}
	return attach_start(qp, fd, at, su, p, msg);
}

static_assert(KWARP_ATTACH_PRIVATE_DATA_MAX == KWARP_MPA_PD_MAX);

/**
 * kwarp_cm_attach_wait() - wait for the end of startup
 * @qp:		queue pair; the caller holds a reference
 * @ms:		limit, milliseconds, up to KWARP_ATTACH_WAIT_MAX_MS
 * @res:	result
 * @pd:		gets the peer's private data: room for KWARP_MPA_PD_MAX bytes
 *
 * Context: process.
 * Return: 0 if startup has ended, with the outcome in @res->status; -EAGAIN if it has
 * not, -ERESTARTSYS, -ENOENT if nothing was attached.
 */
int kwarp_cm_attach_wait(struct kwarp_qp *qp, u32 ms,
			 struct kwarp_attach_result *res, u8 *pd)
{
	struct kwarp_attach *at;
	long left;
	int ret = 0;

	might_sleep();
	mutex_lock(&qp->mutex);
	at = qp->attach;
	if (at)
		kref_get(&at->refs);
	mutex_unlock(&qp->mutex);
	if (!at)
		return -ENOENT;

	/* The limit is short, because removal of the device waits for calls of programs. */
	ms = min_t(u32, ms, KWARP_ATTACH_WAIT_MAX_MS);
	if (!completion_done(&at->done)) {
		left = wait_for_completion_interruptible_timeout(&at->done,
								 msecs_to_jiffies(ms));
		if (left <= 0)
			ret = left ? : -EAGAIN;
	}
	if (!ret) {
		*res = at->res;
		memcpy(pd, at->pd, at->res.private_data_len);
	}
	attach_unref(at);
	return ret;
}

void kwarp_cm_attach_forget(struct kwarp_qp *qp)
{
	attach_unref(qp->attach);
	qp->attach = NULL;
}
