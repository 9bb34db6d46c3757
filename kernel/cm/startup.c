// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Startup frames: read octet by octet as they come and never beyond their end,
 * so that the FPDUs behind them stay in TCP's queue; sent in one piece.
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../ctl/trace.h"
#include "ep.h"

/**
 * kwarp_startup_alloc() - start afresh, with the device's policy of now
 * @dev:	device
 * @pd:		private data of our request, or NULL
 * @pd_len:	its length
 *
 * Return: startup, or NULL.
 */
struct kwarp_startup *kwarp_startup_alloc(struct kwarp_device *dev,
					  const void *pd, u16 pd_len)
{
	const struct kwarp_policy *pol = &dev->policy;
	u8 crc = READ_ONCE(pol->crc), p2p = READ_ONCE(pol->p2p);
	struct kwarp_startup *su;

	su = kzalloc(struct_size(su, pd, pd_len), GFP_KERNEL_ACCOUNT);
	if (!su)
		return NULL;
	su->pol.rev = READ_ONCE(pol->mpa_rev);
	su->pol.permissive = READ_ONCE(pol->permissive);
	su->pol.crc = crc != KWARP_CRC_OFF;
	su->pol.need_crc = crc == KWARP_CRC_REQUIRED;
	su->pol.markers = READ_ONCE(pol->markers);
	su->pol.rtr = p2p;
	/* Asked for only with what the revision offered has. */
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
 * kwarp_startup_count() - count a startup error by its reason
 * @dev:	device
 * @err:	KWARP_MPA_E_*, positive or negative
 */
void kwarp_startup_count(struct kwarp_device *dev, int err)
{
	trace_kwarp_mpa_error(dev, abs(err));
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
 * kwarp_startup_recv() - read what has come of a startup frame
 * @ep:		endpoint with startup, mutex held
 * @type:	type expected
 * @f:		result if complete; its private data are in ep->su->rx
 *
 * Return: 1 if the frame is complete; 0 if more must come; -EPROTO if it is
 * wrong, which has been counted; -ECONNRESET if the peer has closed the stream
 * before the frame's end; other errno of the socket.
 */
int kwarp_startup_recv(struct kwarp_ep *ep, enum kwarp_mpa_type type,
		       struct kwarp_mpa_frame *f)
{
	struct kwarp_startup *su = ep->su;
	int ret;

	lockdep_assert_held(&ep->mutex);
	for (;;) {
		u32 need = kwarp_mpa_need(su->rx, su->have);

		if (WARN_ON_ONCE(need <= su->have || need > sizeof(su->rx)))
			return -EPROTO;
		ret = kwarp_llp_recv(&ep->llp, su->rx + su->have,
				     need - su->have);
		if (ret == -EAGAIN)
			return 0;
		if (ret == 0 || ret == -ENOTCONN || ret == -EPIPE)
			return -ECONNRESET;
		if (ret < 0)
			return ret;
		su->have += ret;
		ret = kwarp_mpa_decode(su->rx, su->have, type, f);
		if (ret > 0) {
			trace_kwarp_mpa_received(ep_dev(ep), ep, f);
			return 1;
		}
		if (ret < 0) {
			kwarp_startup_count(ep_dev(ep), ret);
			return -EPROTO;
		}
	}
}

/**
 * kwarp_startup_send() - send a startup frame
 * @ep:		endpoint with a connection, mutex held
 * @f:		frame
 * @pd:		f->pd_len octets of private data
 *
 * Return: 0, -EINVAL if the private data are too long, -ENOMEM, or what TCP says.
 */
int kwarp_startup_send(struct kwarp_ep *ep, const struct kwarp_mpa_frame *f,
		       const void *pd)
{
	u8 *buf;
	int len, ret;

	lockdep_assert_held(&ep->mutex);
	buf = kmalloc(KWARP_MPA_FRAME_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	len = kwarp_mpa_encode(f, buf);
	if (len < 0) {
		ret = -EINVAL;
		goto out;
	}
	if (f->pd_len)
		memcpy(buf + len, pd, f->pd_len);
	len += f->pd_len;

	trace_kwarp_mpa_sent(ep_dev(ep), ep, f);
	/* The first octets of a connection: if they do not fit, none will. */
	ret = kwarp_llp_send(&ep->llp, buf, len);
	if (ret >= 0)
		ret = ret == len ? 0 : -ENOBUFS;
out:
	kfree(buf);
	return ret;
}

/**
 * kwarp_startup_attach() - put the connection under the QP
 * @ep:		endpoint with a bound QP, mutex held
 * @agreed:	what both frames say
 * @initiator:	we sent the request
 *
 * Return: as kwarp_qp_attach().
 */
int kwarp_startup_attach(struct kwarp_ep *ep,
			 const struct kwarp_mpa_params *agreed, bool initiator)
{
	struct kwarp_qp_params params = {
		.ird = agreed->ird,
		.ord = agreed->ord,
		.crc = agreed->crc,
		.tx_markers = agreed->tx_markers,
		.rx_markers = agreed->rx_markers,
		.ooo = agreed->rx_markers && agreed->crc &&
		       READ_ONCE(ep_dev(ep)->policy.ooo),
		.mpa_rev = agreed->rev,
		.initiator = initiator,
		.wait_first = agreed->wait == KWARP_MPA_WAIT_FPDU,
		.fpdu_large = READ_ONCE(ep_dev(ep)->policy.fpdu_large),
		.rtr = initiator ? 0 : agreed->rtr & KWARP_RTR_ALL,
		.send_imm = READ_ONCE(ep_dev(ep)->policy.send_imm),
		.ack = ep->rendezvous && agreed->ord &&
		       READ_ONCE(ep_dev(ep)->policy.rendezvous_ack),
		.user_ord = agreed->ord,
	};

	lockdep_assert_held(&ep->mutex);
	ep->ird = agreed->ird;
	ep->ord = agreed->ord;
	if (agreed->rev == KWARP_MPA_REV_RDMAC)
		kwarp_count(ep_dev(ep), KWARP_STAT_RDMAC);
	return kwarp_qp_attach(ep->qp, &ep->llp, &params);
}

/**
 * kwarp_startup_rtr_frame() - read what has come of the Rtr frame
 * @ep:		endpoint in KWARP_EP_WAIT_RTR, mutex held
 *
 * When it is complete, the connection is put under the QP: what follows are
 * FPDUs, from stream position zero. Its private data have no meaning (2007
 * proposal, 3); its C says nothing that the reply has not said (2).
 *
 * Return: 1 if attached; 0 if more must come, or no such frame is due; negative
 * errno if there will be no connection, which has been counted.
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
	ret = kwarp_startup_attach(ep, &su->agreed, false);
	su->rtr_frame = ret;
	return ret ? : 1;
}
