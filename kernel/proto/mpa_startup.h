/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA startup frames (RFC 5044 7.1.1, RFC 6581 6 and 9, peer-to-peer proposal of 2007):
 * decoded form, encoder, decoder. mpa_negotiate.c implements their semantics.
 */
#ifndef _KWARP_PROTO_MPA_STARTUP_H
#define _KWARP_PROTO_MPA_STARTUP_H

#include "proto/errors.h"

#define KWARP_MPA_KEY_LEN	16
#define KWARP_MPA_FRAME_LEN	20	/* without private data */
#define KWARP_MPA_ENH_LEN	4	/* RFC 6581 9, part of the private data */
#define KWARP_MPA_PD_MAX	512	/* enhanced data included */
#define KWARP_MPA_FRAME_MAX	(KWARP_MPA_FRAME_LEN + KWARP_MPA_PD_MAX)
#define KWARP_MPA_NO_NEGOTIATION 0x3fff	/* IRD, ORD: left to the ULP */
#define KWARP_MPA_DEPTH_MAX	0x3ffe	/* largest IRD, ORD */

enum kwarp_mpa_rev {
	KWARP_MPA_REV_RDMAC	= 0,	/* RFC 5044 appendix C */
	KWARP_MPA_REV_1		= 1,
	KWARP_MPA_REV_2		= 2,	/* RFC 6581 */
	KWARP_MPA_REV_MAX	= 2,
};

/* Ready-to-receive indications: the initiator's first message. A bit mask. */
enum kwarp_mpa_rtr {
	KWARP_RTR_SEND		= 0x01,	/* RFC 6581 9: flag B */
	KWARP_RTR_WRITE		= 0x02,	/* flag C */
	KWARP_RTR_READ		= 0x04,	/* flag D */
	KWARP_RTR_ALL		= 0x07,	/* all of RFC 6581 */
	KWARP_RTR_FRAME		= 0x08,	/* 2007 proposal, revision 1 */
};

enum kwarp_mpa_role {
	KWARP_MPA_INITIATOR,
	KWARP_MPA_RESPONDER,
};

enum kwarp_mpa_type {
	KWARP_MPA_REQ,
	KWARP_MPA_REP,
	KWARP_MPA_RTR_FRAME,
};

/**
 * enum kwarp_mpa_err - reasons of startup failures; functions return them negated
 * @KWARP_MPA_E_KEY:	not an MPA startup frame
 * @KWARP_MPA_E_ROLE:	a startup frame of another type: both sides are initiator (RFC
 *		5044 7.1.2, 8), or both responder
 * @KWARP_MPA_E_REV:	revision that cannot be served
 * @KWARP_MPA_E_PD_LEN:	private data too long
 * @KWARP_MPA_E_ENHANCED: enhanced data missing, or not requested
 * @KWARP_MPA_E_FALLBACK: the peer supports a lower revision only: connect again with that
 *		(RFC 6581 10)
 * @KWARP_MPA_E_REJECTED: reply with Rejected Connection bit
 * @KWARP_MPA_E_IRD:	insufficient IRD (RFC 6581 9.1)
 * @KWARP_MPA_E_RTR:	no common ready-to-receive indication (RFC 6581 9.2)
 * @KWARP_MPA_E_CRC:	the reply refuses CRCs that local policy requires
 */
enum kwarp_mpa_err {
	KWARP_MPA_E_KEY = 1,
	KWARP_MPA_E_ROLE,
	KWARP_MPA_E_REV,
	KWARP_MPA_E_PD_LEN,
	KWARP_MPA_E_ENHANCED,
	KWARP_MPA_E_FALLBACK,
	KWARP_MPA_E_REJECTED,
	KWARP_MPA_E_IRD,
	KWARP_MPA_E_RTR,
	KWARP_MPA_E_CRC,
};

/**
 * struct kwarp_mpa_frame - a startup frame, except for its private data
 * @type:	enum kwarp_mpa_type
 * @rev:	revision
 * @markers:	M: the receiver of the frame must send markers
 * @crc:	C: CRCs requested
 * @reject:	R: connection rejected (reply)
 * @s:		S: revision 2: enhanced data present; revision 1: Rtr frame supported
 * @p2p:	enhanced data, A: peer-to-peer model
 * @rtr:	enhanced data, B, C, D: KWARP_RTR_SEND, _WRITE, _READ
 * @ird:	enhanced data: IRD of the frame's sender
 * @ord:	enhanced data: ORD of the frame's sender
 * @pd_len:	bytes of the consumer's private data, without enhanced data
 * @pd_off:	decoded frame: offset of the consumer's private data
 *
 * The fields of enhanced data are encoded and decoded only if kwarp_mpa_enhanced() is true.
 */
struct kwarp_mpa_frame {
	u8 type;
	u8 rev;
	bool markers;
	bool crc;
	bool reject;
	bool s;
	bool p2p;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 pd_len;
	u16 pd_off;
};

bool kwarp_mpa_enhanced(const struct kwarp_mpa_frame *f);
u32 kwarp_mpa_pd_room(const struct kwarp_mpa_frame *f);
void kwarp_mpa_enhanced_encode(const struct kwarp_mpa_frame *f, u8 *dst);
void kwarp_mpa_enhanced_decode(const u8 *p, struct kwarp_mpa_frame *f);
int kwarp_mpa_encode(const struct kwarp_mpa_frame *f, u8 *dst);
int kwarp_mpa_decode(const u8 *p, u32 len, enum kwarp_mpa_type type,
		     struct kwarp_mpa_frame *f);
u32 kwarp_mpa_need(const u8 *p, u32 len);

#endif /* _KWARP_PROTO_MPA_STARTUP_H */
