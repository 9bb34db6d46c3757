/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043 5, 6; RFC 6581 7): chunks and session control. A chunk is a
 * DDP-SSN, followed by a DDP segment or a session control message. Session control has
 * the meaning of MPA's startup frames and shares their decoded form and negotiation:
 * revision 2 stands for the enhanced function codes, revision 1 for the others.
 */
#ifndef _KWARP_PROTO_SCTP_SESSION_H
#define _KWARP_PROTO_SCTP_SESSION_H

#include "proto/mpa_startup.h"

#define KWARP_SCTP_ADAPTATION	1	/* RFC 5043 5.1 */
#define KWARP_SCTP_SSN_LEN	2
#define KWARP_SCTP_CODE_LEN	2
#define KWARP_SCTP_HEAD_MAX	(KWARP_SCTP_CODE_LEN + KWARP_MPA_ENH_LEN)
#define KWARP_SCTP_CONTROL_MAX	(KWARP_SCTP_CODE_LEN + KWARP_MPA_PD_MAX)
/* Linux's SCTP drops chunks this far (or farther) ahead of the oldest missing one. */
#define KWARP_SCTP_WINDOW	4096
/* RFC 5043 9: smallest MULPDU, and room for control chunks in the packet of a segment. */
#define KWARP_SCTP_MULPDU_MIN	516
#define KWARP_SCTP_CONTROL_ROOM	20

/* Payload protocol identifiers, RFC 5043 12 */
enum kwarp_sctp_ppid {
	KWARP_SCTP_SEGMENT	= 16,
	KWARP_SCTP_CONTROL	= 17,
};

/* Function codes. */
enum kwarp_session_code {
	KWARP_SESSION_INITIATE		= 1,
	KWARP_SESSION_ACCEPT		= 2,
	KWARP_SESSION_REJECT		= 3,
	KWARP_SESSION_TERMINATE		= 4,
	KWARP_SESSION_ENH_INITIATE	= 5,	/* RFC 6581 7 */
	KWARP_SESSION_ENH_ACCEPT	= 6,
	KWARP_SESSION_ENH_REJECT	= 7,
};

u32 kwarp_session_ahead(u16 ssn, u16 next);
int kwarp_session_encode(const struct kwarp_mpa_frame *f, u8 *dst);
int kwarp_session_decode(const u8 *p, u32 len, enum kwarp_mpa_type type,
			 struct kwarp_mpa_frame *f);
bool kwarp_session_is_terminate(const u8 *p, u32 len);

#endif /* _KWARP_PROTO_SCTP_SESSION_H */
