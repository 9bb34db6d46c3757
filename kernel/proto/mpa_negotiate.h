/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Negotiation by two startup frames: RFC 5044 7.1 and appendix C, RFC 6581 9 and 10,
 * peer-to-peer proposal of 2007. Input: frames; output: parameters.
 *
 * Initiator: kwarp_mpa_request(), send; receive, kwarp_mpa_complete().
 * Responder: receive, kwarp_mpa_admit(), ask the consumer; kwarp_mpa_respond()
 * or kwarp_mpa_reject(), send.
 */
#ifndef _KWARP_PROTO_MPA_NEGOTIATE_H
#define _KWARP_PROTO_MPA_NEGOTIATE_H

#include "proto/mpa_startup.h"

/* Use of CRCs (C flag, RFC 5044 7.1.1). */
enum kwarp_crc_policy {
	KWARP_CRC_OFF,		/* only if the peer sets C */
	KWARP_CRC_PREFERRED,	/* set C */
	KWARP_CRC_REQUIRED,	/* set C; an initiator refuses a reply without C */
};

/**
 * struct kwarp_mpa_policy - the device's preferences
 * @rev:	highest revision to use: 0, 1 or 2
 * @permissive:	also serve RDMA Consortium peers (revision 0)
 * @crc:	enum kwarp_crc_policy. By RFC 5044 7.1.1 the request's C suffices;
 *		KWARP_CRC_REQUIRED nevertheless refuses a reply without C
 * @markers:	request markers from the peer
 * @p2p:	initiator: request the peer-to-peer model
 * @rtr:	KWARP_RTR_* that can be sent and received. Without any of KWARP_RTR_ALL,
 *		revision 2 uses all of these, because RFC 6581 9.2 requires at least one
 * @max_ird:	maximum inbound reads, up to KWARP_MPA_DEPTH_MAX
 * @max_ord:	maximum outbound reads, up to KWARP_MPA_DEPTH_MAX
 * @sctp:	the frames are session control of SCTP (RFC 6581 7): either side may send first, so
 *		a responder does not wait for the initiator's first FPDU; and an enhanced request
 *		may get a plain Reject
 */
struct kwarp_mpa_policy {
	u8 rev;
	bool permissive;
	u8 crc;
	bool markers;
	bool p2p;
	u8 rtr;
	u16 max_ird;
	u16 max_ord;
	bool sctp;
};

/**
 * struct kwarp_mpa_local - the consumer's parameters at connect or accept
 * @ird:	maximum inbound reads
 * @ord:	maximum outbound reads
 * @pd_len:	bytes of private data
 */
struct kwarp_mpa_local {
	u16 ird;
	u16 ord;
	u16 pd_len;
};

/* The event after which this side may send its first FPDU. */
enum kwarp_mpa_wait {
	KWARP_MPA_WAIT_NONE,		/* initiator; SCTP */
	KWARP_MPA_WAIT_FPDU,		/* responder: RFC 5044 7.1.2, 4 */
	KWARP_MPA_WAIT_RTR_FRAME,	/* responder: 2007 proposal */
};

/**
 * struct kwarp_mpa_params - agreed parameters
 * @rev:	revision in use
 * @ddp_version: enum kwarp_ddp_version
 * @crc:	generate and check CRCs
 * @tx_markers:	insert markers
 * @rx_markers:	expect markers
 * @wait:	enum kwarp_mpa_wait
 * @rtr:	initiator: the KWARP_RTR_* to send before anything else, or 0; responder:
 *		mask of those that may arrive, or 0
 * @ird:	IRD of this side
 * @ord:	ORD of this side
 * @peer_ird:	IRD that the peer sent, possibly 0x3FFF, or 0 if none; for the consumer (RFC
 *		6581 9.1)
 * @peer_ord:	likewise the peer's ORD
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

void kwarp_mpa_request(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_local *local,
		       struct kwarp_mpa_frame *req);
int kwarp_mpa_admit(const struct kwarp_mpa_policy *pol,
		    const struct kwarp_mpa_frame *req);
void kwarp_mpa_respond(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_frame *req,
		       const struct kwarp_mpa_local *local,
		       struct kwarp_mpa_frame *rep,
		       struct kwarp_mpa_params *out);
void kwarp_mpa_reject(const struct kwarp_mpa_policy *pol,
		      const struct kwarp_mpa_frame *req, u16 pd_len,
		      struct kwarp_mpa_frame *rep);
int kwarp_mpa_complete(const struct kwarp_mpa_policy *pol,
		       const struct kwarp_mpa_local *local,
		       const struct kwarp_mpa_frame *req,
		       const struct kwarp_mpa_frame *rep,
		       struct kwarp_mpa_params *out);
void kwarp_mpa_rtr_frame(const struct kwarp_mpa_frame *req,
			 const struct kwarp_mpa_frame *rep,
			 struct kwarp_mpa_frame *f);
enum kwarp_err kwarp_mpa_err_code(int err);

#endif /* _KWARP_PROTO_MPA_NEGOTIATE_H */
