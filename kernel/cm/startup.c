// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Startup: its frames, and attaching the connection to the QP after them. */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cm/ep.h"
#include "trace.h"

/**
 * kwarp_startup_alloc() - begin startup with the device's current policy
 * @dev:	device
 * @pd:		private data of our request or reply, or NULL
 * @pd_len:	its length
 *
 * Return: startup, or NULL.
 */
struct kwarp_startup *kwarp_startup_alloc(struct kwarp_device *dev,
					  const void *pd, u16 pd_len)
{
	const struct kwarp_policy *pol = &dev->policy;
	u8 p2p = READ_ONCE(pol->p2p);
	struct kwarp_startup *su;

	su = kzalloc(struct_size(su, pd, pd_len), GFP_KERNEL_ACCOUNT);
	if (!su)
		return NULL;
	su->pol.rev = READ_ONCE(pol->mpa_rev);
	su->pol.permissive = READ_ONCE(pol->permissive);
	su->pol.crc = READ_ONCE(pol->crc);
	su->pol.markers = READ_ONCE(pol->markers);
	su->pol.rtr = p2p;
	/* Requested only if the revision offered supports it. */
	su->pol.p2p = p2p & (su->pol.rev >= KWARP_MPA_REV_2 ? KWARP_RTR_ALL :
							     KWARP_RTR_FRAME);
	su->pol.max_ird = min_t(u16, READ_ONCE(pol->ird), KWARP_MAX_IRD);
	su->pol.max_ord = min_t(u16, READ_ONCE(pol->ord), KWARP_MAX_ORD);
	su->local.pd_len = pd_len;
	su->pd_len = pd_len;
	if (pd_len)
		memcpy(su->pd, pd, pd_len);
	return su;
}

/**
 * kwarp_startup_use_sctp() - set the policy for SCTP: no revision 0, CRCs, markers or turns
 * @su:		startup, no frame sent or received yet
 *
 * RFC 6581 7: either side may send first, so nobody needs the peer-to-peer model.
 */
void kwarp_startup_use_sctp(struct kwarp_startup *su)
{
	su->sctp = true;
	su->pol.rev = max_t(u8, su->pol.rev, KWARP_MPA_REV_1);
	su->pol.permissive = false;
	su->pol.crc = KWARP_CRC_OFF;
	su->pol.markers = false;
	su->pol.p2p = false;
	su->pol.sctp = true;
}

static const char *const failure_text[] = {
	[KWARP_MPA_E_KEY]	= "no startup frame of MPA",
	[KWARP_MPA_E_ROLE]	= "both sides have the same role in startup",
	[KWARP_MPA_E_REV]	= "MPA revision not supported",
	[KWARP_MPA_E_PD_LEN]	= "private data too long",
	[KWARP_MPA_E_ENHANCED]	= "enhanced data missing, or not requested",
	[KWARP_MPA_E_FALLBACK]	= "the peer does not support MPA revision 2",
	[KWARP_MPA_E_REJECTED]	= "the peer rejected the request",
	[KWARP_MPA_E_IRD]	= "insufficient IRD",
	[KWARP_MPA_E_RTR]	= "no common RTR indication",
	[KWARP_MPA_E_CRC]	= "CRCs refused, but required by policy crc",
};

/**
 * kwarp_startup_failed() - count and log a startup error by its reason
 * @ep:		endpoint with a connection, mutex held
 * @err:	KWARP_MPA_E_*, positive or negative
 */
void kwarp_startup_failed(struct kwarp_ep *ep, int err)
{
	struct kwarp_device *dev = ep_dev(ep);

	lockdep_assert_held(&ep->mutex);
	trace_kwarp_mpa_error(dev, abs(err));
	kwarp_llp_warn(&ep->llp, "startup: %s", failure_text[abs(err)]);
	switch (abs(err)) {
	case KWARP_MPA_E_ROLE:
		kwarp_count(dev, KWARP_STAT_STARTUP_ROLE_ERR);
		fallthrough;
	case KWARP_MPA_E_KEY:
		kwarp_count(dev, KWARP_STAT_STARTUP_KEY_ERR);
		break;
	case KWARP_MPA_E_REV:
		kwarp_count(dev, KWARP_STAT_STARTUP_REV_ERR);
		break;
	case KWARP_MPA_E_PD_LEN:
	case KWARP_MPA_E_ENHANCED:
		kwarp_count(dev, KWARP_STAT_STARTUP_LEN_ERR);
		break;
	case KWARP_MPA_E_FALLBACK:
		kwarp_count(dev, KWARP_STAT_FALLBACK);
		break;
	case KWARP_MPA_E_REJECTED:
		kwarp_count(dev, KWARP_STAT_REJECT_RX);
		break;
	case KWARP_MPA_E_IRD:
		kwarp_count(dev, KWARP_STAT_STARTUP_IRD_ERR);
		kwarp_count(dev, KWARP_STAT_STARTUP_NEGOTIATION);
		break;
	case KWARP_MPA_E_RTR:
		kwarp_count(dev, KWARP_STAT_STARTUP_RTR_ERR);
		kwarp_count(dev, KWARP_STAT_STARTUP_NEGOTIATION);
		break;
	case KWARP_MPA_E_CRC:
		kwarp_count(dev, KWARP_STAT_STARTUP_CRC_ERR);
		kwarp_count(dev, KWARP_STAT_STARTUP_NEGOTIATION);
		break;
	}
}

/**
 * kwarp_startup_recv() - read available bytes of a startup frame
 * @ep:		endpoint with startup state, mutex held
 * @type:	expected type
 * @f:		result if complete; its private data are in ep->su->hello.rx
 *
 * Return: as kwarp_llp_hello_recv(); -EPROTO has been counted.
 */
int kwarp_startup_recv(struct kwarp_ep *ep, enum kwarp_mpa_type type,
		       struct kwarp_mpa_frame *f)
{
	struct kwarp_hello *hello = &ep->su->hello;
	int ret;

	lockdep_assert_held(&ep->mutex);
	ret = kwarp_llp_hello_recv(&ep->llp, hello, type);
	if (ret == -EPROTO)
		kwarp_startup_failed(ep, hello->err);
	if (ret <= 0)
		return ret;
	*f = hello->f;
	trace_kwarp_mpa_received(ep_dev(ep), ep, f);
	return 1;
}

/**
 * kwarp_startup_send() - send a startup frame
 * @ep:		endpoint with a connection, mutex held
 * @f:		frame
 * @pd:		f->pd_len bytes of private data
 *
 * Return: as kwarp_llp_hello_send().
 */
int kwarp_startup_send(struct kwarp_ep *ep, const struct kwarp_mpa_frame *f,
		       const void *pd)
{
	lockdep_assert_held(&ep->mutex);
	trace_kwarp_mpa_sent(ep_dev(ep), ep, f);
	return kwarp_llp_hello_send(&ep->llp, f, pd);
}

/* Extensions of RFC 5040: the RDMA Consortium's version (revision 0) has none. */
static u8 extensions_agreed(const struct kwarp_ep *ep,
			    const struct kwarp_mpa_params *agreed)
{
	if (agreed->rev == KWARP_MPA_REV_RDMAC)
		return 0;
	if (READ_ONCE(ep_dev(ep)->policy.send_imm))
		return KWARP_RDMAP_EXT_7306 | KWARP_RDMAP_EXT_OWN;
	return KWARP_RDMAP_EXT_7306;
}

/*
 * Behind a gap in the TCP stream, markers locate FPDUs and CRCs verify them. SCTP delivers
 * whole messages in any order.
 */
static bool may_place_early(const struct kwarp_ep *ep,
			    const struct kwarp_mpa_params *agreed)
{
	if (!kwarp_llp_is_mpa(&ep->llp))
		return true;
	return agreed->rx_markers && agreed->crc && READ_ONCE(ep_dev(ep)->policy.ooo);
}

/**
 * kwarp_startup_prepare() - allocate the memory that the connection will need
 * @ep:		endpoint with a QP, mutex held
 * @su:		the parameters that are offered
 *
 * A call of the consumer may wait for memory of the consumer's cgroup, a worker may not. If
 * more is agreed on later (the peer may ask for more reads), attaching allocates the
 * difference. Context: process, may sleep.
 *
 * Return: as kwarp_qp_prepare().
 */
int kwarp_startup_prepare(struct kwarp_ep *ep, const struct kwarp_startup *su)
{
	const struct kwarp_policy *pol = &ep_dev(ep)->policy;
	struct kwarp_qp_params most = {
		.ird = min(su->local.ird, su->pol.max_ird),
		.ird_limit = su->pol.rev < KWARP_MPA_REV_2 ? su->pol.max_ird : 0,
		.ord = min(su->local.ord, su->pol.max_ord),
		.early = su->sctp || (READ_ONCE(pol->ooo) && su->pol.markers),
	};

	lockdep_assert_held(&ep->mutex);
	return kwarp_qp_prepare(ep->qp, &ep->llp, &most);
}

/**
 * kwarp_startup_attach() - attach the connection to the QP
 * @ep:		endpoint with a QP, mutex held
 * @agreed:	parameters that both frames agree on
 * @role:	our role
 *
 * Return: as kwarp_qp_attach().
 */
int kwarp_startup_attach(struct kwarp_ep *ep,
			 const struct kwarp_mpa_params *agreed, enum kwarp_mpa_role role)
{
	const bool initiator = role == KWARP_MPA_INITIATOR;
	struct kwarp_qp_params params = {
		.ird = agreed->ird,
		/* Before revision 2 no frame tells the peer our IRD. */
		.ird_limit = agreed->rev < KWARP_MPA_REV_2 ? ep->su->pol.max_ird : 0,
		.ord = agreed->ord,
		.early = may_place_early(ep, agreed),
		.mpa_rev = agreed->rev,
		.initiator = initiator,
		.wait_first = agreed->wait == KWARP_MPA_WAIT_FPDU,
		.rtr = initiator ? 0 : agreed->rtr & KWARP_RTR_ALL,
		.ext = extensions_agreed(ep, agreed),
		.ack = ep->rendezvous && agreed->ord &&
		       READ_ONCE(ep_dev(ep)->policy.rendezvous_ack),
		.user_ord = agreed->ord,
	};

	lockdep_assert_held(&ep->mutex);
	ep->ird = agreed->ird;
	ep->ord = agreed->ord;
	if (agreed->rev == KWARP_MPA_REV_RDMAC)
		kwarp_count(ep_dev(ep), KWARP_STAT_RDMAC);
	ep->llp.framing = (struct kwarp_mpa_framing){
		.crc = agreed->crc,
		.tx_markers = agreed->tx_markers,
		.rx_markers = agreed->rx_markers,
		.large = READ_ONCE(ep_dev(ep)->policy.fpdu_large),
	};
	return kwarp_qp_attach(ep->qp, &ep->llp, &params);
}

/**
 * kwarp_startup_rtr_frame() - read available bytes of the Rtr frame
 * @ep:		endpoint in KWARP_EP_WAIT_RTR, mutex held
 *
 * When the frame is complete, the connection is attached to the QP: FPDUs follow, from
 * stream position zero. Its private data have no meaning (2007 proposal, 3); its C bit
 * only repeats that of the reply (2).
 *
 * Return: 1 if attached; 0 if more bytes are needed, or no Rtr frame is expected;
 * negative errno if there will be no connection, which has been counted.
 */
int kwarp_startup_rtr_frame(struct kwarp_ep *ep)
{
	struct kwarp_startup *su = ep->su;
	struct kwarp_mpa_frame f;
	int ret;

	lockdep_assert_held(&ep->mutex);
	if (!su || !su->rtr_frame)
		return 0;
	ret = kwarp_startup_recv(ep, KWARP_MPA_RTR_FRAME, &f);
	if (ret < 0 && ret != -EPROTO)
		kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
	if (ret <= 0)
		return ret;
	kwarp_count(ep_dev(ep), KWARP_STAT_RX_RTR_FRAME);
	ret = kwarp_startup_attach(ep, &su->agreed, KWARP_MPA_RESPONDER);
	su->rtr_frame = ret;
	return ret ? : 1;
}
