/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What two startup frames agree on: RFC 5044 7.1 and appendix C, RFC 6581 9 and
 * 10, peer-to-peer proposal of 2007. Frames in, parameters out.
 *
 * Initiator: kwarp_mpa_request(), send; receive, kwarp_mpa_complete().
 * Responder: receive, kwarp_mpa_admit(), ask the consumer; kwarp_mpa_respond()
 * or kwarp_mpa_reject(), send.
 */
#ifndef _KWARP_PROTO_MPA_NEGOTIATE_H
#define _KWARP_PROTO_MPA_NEGOTIATE_H

#include "mpa_startup.h"

/**
 * struct kwarp_mpa_policy - the device's wishes
 * @rev:	highest revision to use: 0, 1 or 2
 * @permissive:	serve RDMA Consortium peers (revision 0) too
 * @crc:	want CRCs
 * @need_crc:	initiator: refuse a reply without C, although RFC 5044 7.1.1 binds
 *		its sender to the request's
 * @markers:	want to receive markers
 * @p2p:	initiator: ask for the peer-to-peer model
 * @rtr:	KWARP_RTR_* that can be sent and received; 0 means KWARP_RTR_ALL,
 *		since RFC 6581 9.2 requires one at least
 * @max_ird:	most inbound reads, up to KWARP_MPA_DEPTH_MAX
 * @max_ord:	most outbound reads, up to KWARP_MPA_DEPTH_MAX
 */
struct kwarp_mpa_policy {
	u8 rev;
	bool permissive;
	bool crc;
	bool need_crc;
	bool markers;
	bool p2p;
	u8 rtr;
	u16 max_ird;
	u16 max_ord;
};

/**
 * struct kwarp_mpa_local - what the consumer says at connect or accept
 * @ird:	inbound reads
 * @ord:	outbound reads
 * @pd_len:	octets of private data
 * @manual:	the ULP settles IRD and ORD itself: send 0x3FFF
 * @need_ord:	accept: reject rather than lower @ord (RFC 6581 9.1)
 */
struct kwarp_mpa_local {
	u16 ird;
	u16 ord;
	u16 pd_len;
	bool manual;
	bool need_ord;
};

/* What must arrive before we may send the first FPDU. */
enum kwarp_mpa_wait {
	KWARP_MPA_WAIT_NONE,		/* initiator */
	KWARP_MPA_WAIT_FPDU,		/* responder: RFC 5044 7.1.2, 4 */
	KWARP_MPA_WAIT_RTR_FRAME,	/* responder: 2007 proposal */
};

/**
 * struct kwarp_mpa_params - what was agreed
 * @rev:	revision in force
 * @ddp_version: enum kwarp_ddp_version
 * @crc:	generate and check CRCs
 * @tx_markers:	insert markers
 * @rx_markers:	expect markers
 * @wait:	enum kwarp_mpa_wait
 * @rtr:	initiator: the KWARP_RTR_* to send before anything else, or 0;
 *		responder: mask of those that may come, or 0
 * @ird:	our inbound reads
 * @ord:	our outbound reads
 * @peer_ird:	as the peer sent it, 0x3FFF included; 0 if it sent none. For the
 *		consumer (RFC 6581 9.1)
 * @peer_ord:	likewise
 */
struct kwarp_mpa_params {
	u8 rev;
	u8 ddp_version;
	bool crc;
	bool tx_markers;
	bool rx_markers;
	u8 wait;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 peer_ird;
	u16 peer_ord;
};

/**
 * kwarp_mpa_request() - make a request
 * @pol:	policy
 * @local:	consumer's parameters
 * @req:	result, to be encoded and kept for kwarp_mpa_complete()
 */
void kwarp_mpa_request(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_local *local,
		       struct kwarp_mpa_frame *req);

/**
 * kwarp_mpa_admit() - can a request be served at all
 * @pol:	policy
 * @req:	decoded request
 *
 * Return: 0, or -KWARP_MPA_E_REV: close the connection (RFC 5044 7.1.1, RFC 6581
 * 10).
 */
int kwarp_mpa_admit(const struct kwarp_mpa_policy *pol,
		    const struct kwarp_mpa_frame *req);

/**
 * kwarp_mpa_respond() - accept a request
 * @pol:	policy
 * @req:	admitted request
 * @local:	consumer's parameters
 * @rep:	reply to send
 * @out:	what is agreed
 *
 * Return: 0; or -KWARP_MPA_E_IRD: @local->need_ord and the initiator's IRD is
 * too low: then @rep is a reject that names the ORD (RFC 6581 9.1).
 */
int kwarp_mpa_respond(const struct kwarp_mpa_policy *pol,
		      const struct kwarp_mpa_frame *req,
		      const struct kwarp_mpa_local *local,
		      struct kwarp_mpa_frame *rep,
		      struct kwarp_mpa_params *out);

/**
 * kwarp_mpa_reject() - reject a request
 * @pol:	policy
 * @req:	admitted request
 * @pd_len:	octets of private data
 * @rep:	reply to send
 */
void kwarp_mpa_reject(const struct kwarp_mpa_policy *pol,
		      const struct kwarp_mpa_frame *req, u16 pd_len,
		      struct kwarp_mpa_frame *rep);

/**
 * kwarp_mpa_complete() - judge the reply
 * @pol:	policy that made the request
 * @local:	consumer's parameters, likewise
 * @req:	request
 * @rep:	decoded reply
 * @out:	what is agreed; also set with E_REJECTED, E_IRD, E_RTR and E_CRC:
 *		the consumer wants the peer's values, and the Terminate of the last
 *		three goes out under the agreed framing
 *
 * Return: 0 or -KWARP_MPA_E_REV, _FALLBACK, _ENHANCED, _REJECTED, _IRD, _RTR,
 * _CRC.
 */
int kwarp_mpa_complete(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_local *local,
		       const struct kwarp_mpa_frame *req,
		       const struct kwarp_mpa_frame *rep,
		       struct kwarp_mpa_params *out);

/**
 * kwarp_mpa_rtr_frame() - make the Rtr frame that @out->rtr asks for
 * @out:	agreed parameters
 * @f:		result
 */
void kwarp_mpa_rtr_frame(const struct kwarp_mpa_params *out,
			 struct kwarp_mpa_frame *f);

/**
 * kwarp_mpa_err_code() - what to put in a Terminate for a startup error
 * @err:	KWARP_MPA_E_*, positive or negative
 *
 * Return: KWARP_ERR_MPA_IRD, KWARP_ERR_MPA_RTR or (RFC 6581 9.3, errors without a
 * code of their own) KWARP_ERR_MPA_LOCAL for what enhanced startup terminates;
 * else KWARP_ERR_MPA_STARTUP: close at once (RFC 5044 8, 4).
 */
enum kwarp_err kwarp_mpa_err_code(int err);

#endif /* _KWARP_PROTO_MPA_NEGOTIATE_H */
