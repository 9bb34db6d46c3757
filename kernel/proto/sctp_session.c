// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Session control of DDP over SCTP. */
#include "proto/sctp_session.h"

/* The startup frame that each function code stands for; rev is 0 if none. */
static const struct {
	u8 type;
	u8 rev;
	bool reject;
} forms[] = {
	[KWARP_SESSION_INITIATE]	= { KWARP_MPA_REQ, KWARP_MPA_REV_1, false },
	[KWARP_SESSION_ACCEPT]		= { KWARP_MPA_REP, KWARP_MPA_REV_1, false },
	[KWARP_SESSION_REJECT]		= { KWARP_MPA_REP, KWARP_MPA_REV_1, true },
	[KWARP_SESSION_ENH_INITIATE]	= { KWARP_MPA_REQ, KWARP_MPA_REV_2, false },
	[KWARP_SESSION_ENH_ACCEPT]	= { KWARP_MPA_REP, KWARP_MPA_REV_2, false },
	[KWARP_SESSION_ENH_REJECT]	= { KWARP_MPA_REP, KWARP_MPA_REV_2, true },
};

static u16 code_of(const struct kwarp_mpa_frame *f)
{
	bool enhanced = kwarp_mpa_enhanced(f);

	if (f->type == KWARP_MPA_REQ)
		return enhanced ? KWARP_SESSION_ENH_INITIATE :
				  KWARP_SESSION_INITIATE;
	if (f->reject)
		return enhanced ? KWARP_SESSION_ENH_REJECT : KWARP_SESSION_REJECT;
	return enhanced ? KWARP_SESSION_ENH_ACCEPT : KWARP_SESSION_ACCEPT;
}

/**
 * kwarp_session_encode() - write a control message up to its private data
 * @f:		request or reply, revision 1 or 2
 * @dst:	room for KWARP_SCTP_HEAD_MAX bytes, after the DDP-SSN
 *
 * RFC 6581 7 requires the word with IRD and ORD in Initiate and Accept, and does not name the
 * Enhanced Reject. But the same section lets an Enhanced Reject tell which RTR indications the
 * responder supports, and only this word can: we write it as in the other messages.
 *
 * Return: bytes written, or -KWARP_MPA_E_PD_LEN.
 */
int kwarp_session_encode(const struct kwarp_mpa_frame *f, u8 *dst)
{
	if (f->pd_len > kwarp_mpa_pd_room(f))
		return -KWARP_MPA_E_PD_LEN;
	put_unaligned_be16(code_of(f), dst);
	if (!kwarp_mpa_enhanced(f))
		return KWARP_SCTP_CODE_LEN;
	kwarp_mpa_enhanced_encode(f, dst + KWARP_SCTP_CODE_LEN);
	return KWARP_SCTP_CODE_LEN + KWARP_MPA_ENH_LEN;
}

/**
 * kwarp_session_decode() - read a control message other than Session Terminate
 * @p:		bytes of the message after the DDP-SSN
 * @len:	number of bytes
 * @type:	expected type: KWARP_MPA_REQ or KWARP_MPA_REP
 * @f:		result
 *
 * An Enhanced Reject too short for IRD and ORD has private data only: see encode.
 *
 * Return: 0, or -KWARP_MPA_E_KEY (unknown code), _ROLE (not of @type), _PD_LEN, _ENHANCED
 * (enhanced data missing).
 */
int kwarp_session_decode(const u8 *p, u32 len, enum kwarp_mpa_type type,
			 struct kwarp_mpa_frame *f)
{
	u16 code;

	memset(f, 0, sizeof(*f));
	if (len < KWARP_SCTP_CODE_LEN)
		return -KWARP_MPA_E_KEY;
	code = get_unaligned_be16(p);
	if (code >= ARRAY_SIZE(forms) || !forms[code].rev)
		return -KWARP_MPA_E_KEY;
	if (forms[code].type != type)
		return -KWARP_MPA_E_ROLE;
	if (len > KWARP_SCTP_CONTROL_MAX)
		return -KWARP_MPA_E_PD_LEN;
	f->type = type;
	f->rev = forms[code].rev;
	f->s = f->rev >= KWARP_MPA_REV_2;
	f->reject = forms[code].reject;
	f->pd_off = KWARP_SCTP_CODE_LEN;
	if (kwarp_mpa_enhanced(f) && len >= KWARP_SCTP_HEAD_MAX) {
		kwarp_mpa_enhanced_decode(p + f->pd_off, f);
		f->pd_off += KWARP_MPA_ENH_LEN;
	} else if (kwarp_mpa_enhanced(f) && !f->reject) {
		return -KWARP_MPA_E_ENHANCED;
	}
	f->pd_len = len - f->pd_off;
	return 0;
}

/* Is this control message a Session Terminate? It has no private data. */
bool kwarp_session_is_terminate(const u8 *p, u32 len)
{
	return len == KWARP_SCTP_CODE_LEN &&
	       get_unaligned_be16(p) == KWARP_SESSION_TERMINATE;
}

/**
 * kwarp_session_ahead() - distance of a DDP-SSN from the next one in order
 * @ssn:	DDP-SSN received
 * @next:	next DDP-SSN in order
 *
 * Return: number of messages from @next to @ssn, less than KWARP_SCTP_WINDOW; or
 * KWARP_SCTP_WINDOW if @ssn is not valid: repeated, or too far ahead.
 */
u32 kwarp_session_ahead(u16 ssn, u16 next)
{
	u16 ahead = ssn - next;

	return ahead < KWARP_SCTP_WINDOW ? ahead : KWARP_SCTP_WINDOW;
}
