// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA negotiation. */
#include "proto/ddp.h"
#include "proto/mpa_negotiate.h"

static u16 max_depth(u16 limit)
{
	return min_t(u16, limit, KWARP_MPA_DEPTH_MAX);
}

static u16 own_ird(const struct kwarp_mpa_policy *pol,
		   const struct kwarp_mpa_local *local)
{
	return min(local->ird, max_depth(pol->max_ird));
}

static u16 own_ord(const struct kwarp_mpa_policy *pol,
		   const struct kwarp_mpa_local *local)
{
	return min(local->ord, max_depth(pol->max_ord));
}

/*
 * RTR indications that this side supports: at least one (RFC 6581 9.2). A zero-length RDMA
 * Read counts as one of @depth outstanding reads.
 */
static u8 own_rtr(const struct kwarp_mpa_policy *pol, u16 depth)
{
	u8 rtr = pol->rtr & KWARP_RTR_ALL ? : KWARP_RTR_ALL;

	if (!depth)
		rtr &= ~KWARP_RTR_READ;
	return rtr ? : KWARP_RTR_ALL & ~KWARP_RTR_READ;
}

/* Both frames of revision 0 have M and C set: RFC 5044 figure 14. */
static void force_rdmac(struct kwarp_mpa_frame *f)
{
	if (f->rev == KWARP_MPA_REV_RDMAC) {
		f->markers = true;
		f->crc = true;
	}
}

/* RFC 5044 7.1.1: M is about the FPDUs that its sender receives, C about both directions. */
static void agree_framing(const struct kwarp_mpa_frame *mine,
			  const struct kwarp_mpa_frame *peers, u8 rev,
			  struct kwarp_mpa_params *out)
{
	bool rdmac = rev == KWARP_MPA_REV_RDMAC;

	memset(out, 0, sizeof(*out));
	out->rev = rev;
	/* RFC 5044 appendix C: an RDMAC peer always uses markers and CRCs. */
	out->ddp_version = rdmac ? KWARP_DDP_V_RDMAC : KWARP_DDP_V_IETF;
	out->crc = rdmac || mine->crc || peers->crc;
	out->tx_markers = rdmac || peers->markers;
	out->rx_markers = rdmac || mine->markers;
	if (kwarp_mpa_enhanced(peers)) {
		out->peer_ird = peers->ird;
		out->peer_ord = peers->ord;
	}
}

/**
 * kwarp_mpa_request() - create a request
 * @pol:	policy
 * @local:	the consumer's parameters
 * @req:	result; encode it and keep it for kwarp_mpa_complete()
 */
void kwarp_mpa_request(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_local *local,
		       struct kwarp_mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->type = KWARP_MPA_REQ;
	req->rev = min_t(u8, pol->rev, KWARP_MPA_REV_MAX);
	req->markers = pol->markers;
	req->crc = pol->crc;
	req->pd_len = local->pd_len;
	force_rdmac(req);

	if (req->rev == KWARP_MPA_REV_1)
		req->s = pol->p2p && pol->rtr & KWARP_RTR_FRAME;
	if (req->rev < KWARP_MPA_REV_2)
		return;
	req->s = true;
	req->ird = own_ird(pol, local);
	req->ord = own_ord(pol, local);
	req->p2p = pol->p2p;
	req->rtr = pol->p2p ? own_rtr(pol, pol->max_ord) : 0;
}

/**
 * kwarp_mpa_admit() - is the revision of a request served?
 * @pol:	policy
 * @req:	decoded request
 *
 * Return: 0, or -KWARP_MPA_E_REV: close the connection (RFC 5044 7.1.1, RFC 6581
 * 10).
 */
int kwarp_mpa_admit(const struct kwarp_mpa_policy *pol,
		    const struct kwarp_mpa_frame *req)
{
	if (req->rev > pol->rev)
		return -KWARP_MPA_E_REV;
	if (req->rev == KWARP_MPA_REV_RDMAC && pol->rev && !pol->permissive)
		return -KWARP_MPA_E_REV;
	return 0;
}

/* Create a reply, up to its enhanced data. */
static void start_reply(const struct kwarp_mpa_policy *pol,
			const struct kwarp_mpa_frame *req, u16 pd_len,
			struct kwarp_mpa_frame *rep)
{
	memset(rep, 0, sizeof(*rep));
	rep->type = KWARP_MPA_REP;
	rep->rev = req->rev;
	rep->markers = pol->markers;
	/*
	 * CRCs are used if either frame has C (RFC 5044 7.1.1). We set the result in the
	 * reply, because some initiators (siw) check only the reply, and the Rtr frame
	 * must repeat it (2007 proposal).
	 */
	rep->crc = pol->crc || req->crc;
	rep->pd_len = pd_len;
	force_rdmac(rep);

	/* RFC 6581 10: enhanced if and only if the request is. */
	rep->s = kwarp_mpa_enhanced(req);
	if (req->rev == KWARP_MPA_REV_1)
		rep->s = req->s && pol->rtr & KWARP_RTR_FRAME;
}

/* RFC 6581 9.2, responder: repeat A, offer the indications that both sides support. */
static void reply_rtr(const struct kwarp_mpa_policy *pol,
		      const struct kwarp_mpa_frame *req, u16 depth,
		      struct kwarp_mpa_frame *rep)
{
	u8 own = own_rtr(pol, depth);

	rep->p2p = req->p2p;
	/* With none in common, offer our own: the initiator then sends a Terminate. */
	if (req->p2p)
		rep->rtr = req->rtr & own ? : own;
}

/*
 * RFC 6581 9.1, responder. Our IRD should be at least the initiator's ORD, so we raise the
 * consumer's value, within the device's limit.
 */
static void reply_depths(const struct kwarp_mpa_policy *pol,
			 const struct kwarp_mpa_frame *req,
			 struct kwarp_mpa_frame *rep,
			 struct kwarp_mpa_params *out)
{
	u16 reach = min(req->ord, max_depth(pol->max_ird));

	if (req->ord == KWARP_MPA_NO_NEGOTIATION) {
		rep->ird = KWARP_MPA_NO_NEGOTIATION;
	} else {
		out->ird = max(out->ird, reach);
		rep->ird = out->ird;
	}
	if (req->ird == KWARP_MPA_NO_NEGOTIATION) {
		rep->ord = KWARP_MPA_NO_NEGOTIATION;
	} else {
		out->ord = min(out->ord, req->ird);
		rep->ord = out->ord;
	}
}

/**
 * kwarp_mpa_respond() - accept a request
 * @pol:	policy
 * @req:	admitted request
 * @local:	the consumer's parameters
 * @rep:	reply to send
 * @out:	agreed parameters
 */
void kwarp_mpa_respond(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_frame *req,
		       const struct kwarp_mpa_local *local,
		       struct kwarp_mpa_frame *rep,
		       struct kwarp_mpa_params *out)
{
	start_reply(pol, req, local->pd_len, rep);
	agree_framing(rep, req, req->rev, out);
	out->wait = pol->sctp ? KWARP_MPA_WAIT_NONE : KWARP_MPA_WAIT_FPDU;
	out->ird = own_ird(pol, local);
	out->ord = own_ord(pol, local);

	if (!kwarp_mpa_enhanced(rep)) {
		if (rep->s) {
			out->wait = KWARP_MPA_WAIT_RTR_FRAME;
			out->rtr = KWARP_RTR_FRAME;
		}
		return;
	}
	reply_depths(pol, req, rep, out);
	/* For an RTR indication by RDMA Read a negotiated IRD may be raised, no other. */
	reply_rtr(pol, req, rep->ird == KWARP_MPA_NO_NEGOTIATION ?
			    out->ird : pol->max_ird, rep);
	out->rtr = rep->rtr;
	if (rep->rtr & KWARP_RTR_READ && !out->ird) {
		out->ird = 1;
		rep->ird = 1;
	}
}

/**
 * kwarp_mpa_reject() - reject a request
 * @pol:	policy
 * @req:	admitted request
 * @pd_len:	bytes of private data
 * @rep:	reply to send
 */
void kwarp_mpa_reject(const struct kwarp_mpa_policy *pol,
		      const struct kwarp_mpa_frame *req, u16 pd_len,
		      struct kwarp_mpa_frame *rep)
{
	start_reply(pol, req, pd_len, rep);
	rep->reject = true;
	if (kwarp_mpa_enhanced(rep)) {
		reply_rtr(pol, req, pol->max_ird, rep);
		/* IRD and ORD are not the reason for the rejection. */
		rep->ird = KWARP_MPA_NO_NEGOTIATION;
		rep->ord = KWARP_MPA_NO_NEGOTIATION;
	}
}

/*
 * Return: the revision that results from request and reply, or an error.
 *
 * A peer of a lower revision must close on an enhanced request (RFC 6581 10). If the peer
 * replies instead, its consumer has got the enhanced data as private data, so this
 * connection is unusable, but a second one with the lower revision may succeed. A peer of
 * revision 2 may send an unenhanced reply, in the format of revision 1.
 *
 * Over SCTP a peer without enhanced mode does not know the request, so it sends a Terminate. A
 * Reject comes from the consumer, in whatever form: an Enhanced Reject is for a request that would
 * have been accepted in the plain form (RFC 6581 7).
 */
static int agree_rev(const struct kwarp_mpa_policy *pol,
		     const struct kwarp_mpa_frame *req,
		     const struct kwarp_mpa_frame *rep)
{
	if (rep->rev == req->rev)
		return req->rev;
	if (pol->sctp && rep->reject)
		return rep->rev;
	if (req->rev == KWARP_MPA_REV_2)
		return rep->rev || pol->permissive ? -KWARP_MPA_E_FALLBACK :
						     -KWARP_MPA_E_REV;
	if (req->rev == KWARP_MPA_REV_RDMAC)
		return -KWARP_MPA_E_REV;
	if (rep->rev == KWARP_MPA_REV_RDMAC)
		return pol->permissive ? KWARP_MPA_REV_RDMAC : -KWARP_MPA_E_REV;
	return rep->s ? -KWARP_MPA_E_ENHANCED : KWARP_MPA_REV_1;
}

/* RFC 6581 9.1, initiator */
static int apply_depths(const struct kwarp_mpa_policy *pol,
			const struct kwarp_mpa_frame *rep,
			struct kwarp_mpa_params *out)
{
	if (rep->ird != KWARP_MPA_NO_NEGOTIATION)
		out->ord = min(out->ord, rep->ird);
	if (rep->ord == KWARP_MPA_NO_NEGOTIATION)
		return 0;
	if (rep->ord > max_depth(pol->max_ird))
		return -KWARP_MPA_E_IRD;
	out->ird = max(out->ird, rep->ord);
	return 0;
}

/* RFC 6581 9.2, initiator: choose the RTR indication. */
static int choose_rtr(const struct kwarp_mpa_policy *pol,
		      const struct kwarp_mpa_frame *req,
		      const struct kwarp_mpa_frame *rep,
		      struct kwarp_mpa_params *out)
{
	u8 common = rep->rtr & own_rtr(pol, pol->max_ord);

	/* The responder must repeat A; without A it expects no RTR indication. */
	if (!rep->p2p)
		return req->p2p ? -KWARP_MPA_E_RTR : 0;
	/* 9.1: without negotiation the ORD, which the Read needs, is not raised. */
	if (!rep->ird || (rep->ird == KWARP_MPA_NO_NEGOTIATION && !out->ord))
		common &= ~KWARP_RTR_READ;

	/* The indication that costs the responder least comes first. */
	if (common & KWARP_RTR_WRITE) {
		out->rtr = KWARP_RTR_WRITE;
	} else if (common & KWARP_RTR_READ) {
		out->rtr = KWARP_RTR_READ;
		out->ord = max_t(u16, out->ord, 1);
	} else if (common & KWARP_RTR_SEND) {
		out->rtr = KWARP_RTR_SEND;
	} else {
		return -KWARP_MPA_E_RTR;
	}
	return 0;
}

/**
 * kwarp_mpa_complete() - evaluate the reply
 * @pol:	policy used for the request
 * @local:	the consumer's parameters used for the request
 * @req:	request
 * @rep:	decoded reply
 * @out:	agreed parameters; also set with E_REJECTED, E_IRD, E_RTR, E_CRC, and, if the
 *		request is enhanced, E_ENHANCED: the consumer needs the peer's values, and
 *		the Terminate of the last four uses the agreed framing
 *
 * Return: 0 or -KWARP_MPA_E_REV, _FALLBACK, _ENHANCED, _REJECTED, _IRD, _RTR,
 * _CRC.
 */
int kwarp_mpa_complete(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_local *local,
		       const struct kwarp_mpa_frame *req,
		       const struct kwarp_mpa_frame *rep,
		       struct kwarp_mpa_params *out)
{
	int rev = agree_rev(pol, req, rep);
	int err;

	if (rev < 0)
		return rev;
	agree_framing(req, rep, rev, out);
	out->ird = own_ird(pol, local);
	out->ord = own_ord(pol, local);
	if (rep->reject)
		return -KWARP_MPA_E_REJECTED;
	if (pol->crc == KWARP_CRC_REQUIRED && !rep->crc)
		return -KWARP_MPA_E_CRC;

	if (rev < KWARP_MPA_REV_2) {
		/* 2007 proposal, 5: the reply's S bit decides. */
		if (rev == KWARP_MPA_REV_1 && req->s && rep->s)
			out->rtr = KWARP_RTR_FRAME;
		return 0;
	}
	if (rep->s != req->s)
		return -KWARP_MPA_E_ENHANCED;
	if (!rep->s)
		return 0;
	err = apply_depths(pol, rep, out);
	if (err)
		return err;
	return choose_rtr(pol, req, rep, out);
}

/**
 * kwarp_mpa_rtr_frame() - create the Rtr frame that KWARP_RTR_FRAME requires
 * @req:	request
 * @rep:	decoded reply
 * @f:		result
 */
void kwarp_mpa_rtr_frame(const struct kwarp_mpa_frame *req,
			 const struct kwarp_mpa_frame *rep,
			 struct kwarp_mpa_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->type = KWARP_MPA_RTR_FRAME;
	f->rev = KWARP_MPA_REV_1;
	/* 2007 proposal, 2: C as in the reply, even if CRCs are used because the request has C. */
	f->crc = rep->crc;
	f->markers = req->markers;
}

/**
 * kwarp_mpa_err_code() - Terminate error for a startup error
 * @err:	KWARP_MPA_E_*, positive or negative
 *
 * Return: KWARP_ERR_MPA_IRD, KWARP_ERR_MPA_RTR or KWARP_ERR_MPA_LOCAL (no code of its own,
 * RFC 6581 9.3) for errors that enhanced startup reports by a Terminate, otherwise
 * KWARP_ERR_MPA_STARTUP: close immediately (RFC 5044 8, error 4).
 */
enum kwarp_err kwarp_mpa_err_code(int err)
{
	switch (err < 0 ? -err : err) {
	case KWARP_MPA_E_IRD:
		return KWARP_ERR_MPA_IRD;
	case KWARP_MPA_E_RTR:
		return KWARP_ERR_MPA_RTR;
	case KWARP_MPA_E_CRC:
		return KWARP_ERR_MPA_LOCAL;
	default:
		return KWARP_ERR_MPA_STARTUP;
	}
}
