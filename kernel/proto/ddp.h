/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP segments (RFC 5041): headers and the checks of section 7.1. DDP's RsvdULP field
 * carries the RDMAP control byte and the Invalidate STag, so one structure holds both
 * layers' control information.
 */
#ifndef _KWARP_PROTO_DDP_H
#define _KWARP_PROTO_DDP_H

#include "proto/errors.h"

#define KWARP_DDP_TAGGED_LEN	14
#define KWARP_DDP_UNTAGGED_LEN	18
#define KWARP_DDP_HDR_MAX	18

#define KWARP_DDP_FIRST_MSN	1	/* RFC 5041 4.3 */

/* Version of both DDP and RDMAP; RFC 5044 C.1 forbids mixing them. */
enum kwarp_ddp_version {
	KWARP_DDP_V_RDMAC	= 0,	/* RDMA Consortium, MPA revision 0 */
	KWARP_DDP_V_IETF	= 1,
};

/* Queue numbers: RFC 5040 figure 4, RFC 7306 4.1 */
enum kwarp_ddp_qn {
	KWARP_QN_SEND		= 0,
	KWARP_QN_READ		= 1,	/* read and atomic requests */
	KWARP_QN_TERMINATE	= 2,
	KWARP_QN_ATOMIC		= 3,	/* atomic responses */
};

/**
 * struct kwarp_ddp_hdr - the header of a DDP segment
 * @tagged:	T flag: selects the valid fields below
 * @last:	L flag
 * @dv:		DDP version
 * @rv:		RDMAP version
 * @opcode:	RDMAP opcode, 0 to 15: enum kwarp_rdmap_opcode
 * @len:	bytes of the header on the wire
 * @stag:	tagged: STag
 * @to:		tagged: tagged offset
 * @inv_stag:	untagged: STag to invalidate; valid for two opcodes only
 * @qn:		untagged: queue number
 * @msn:	untagged: message sequence number
 * @mo:		untagged: message offset
 */
struct kwarp_ddp_hdr {
	bool tagged;
	bool last;
	u8 dv;
	u8 rv;
	u8 opcode;
	u8 len;
	u32 stag;
	u64 to;
	u32 inv_stag;
	u32 qn;
	u32 msn;
	u32 mo;
};

/**
 * kwarp_ddp_hdr_len() - length of a DDP header in bytes
 * @tagged:	buffer model
 *
 * Return: 14 or 18.
 */
static inline u32 kwarp_ddp_hdr_len(bool tagged)
{
	return tagged ? KWARP_DDP_TAGGED_LEN : KWARP_DDP_UNTAGGED_LEN;
}

/**
 * kwarp_ddp_encode() - write a header
 * @h:		the fields of its buffer model must be set; @h->len is ignored
 * @dst:	room for KWARP_DDP_HDR_MAX bytes
 *
 * Reserved bits are zero. @h->inv_stag is written unchanged: it must be zero except in
 * messages with invalidation (RFC 5040 4.1).
 *
 * Return: bytes written.
 */
u32 kwarp_ddp_encode(const struct kwarp_ddp_hdr *h, u8 *dst);

/**
 * kwarp_ddp_parse() - read a header
 * @p:		first bytes of the ULPDU: at least KWARP_DDP_HDR_MAX, or the whole ULPDU
 *		if it is shorter
 * @ulpdu_len:	bytes of the whole ULPDU
 * @h:		result; the fields of the other model are zero
 *
 * Reserved bits are ignored (RFC 5041 4.1, RFC 5040 4.1). Only the length is checked: see
 * kwarp_rdmap_check().
 *
 * Return: KWARP_ERR_NONE, or KWARP_ERR_SEGMENT with @h all zero.
 */
enum kwarp_err kwarp_ddp_parse(const u8 *p, u32 ulpdu_len,
			       struct kwarp_ddp_hdr *h);

/**
 * kwarp_ddp_check_msn() - RFC 5041 7.1, untagged checks 2 and 5
 * @msn:	MSN of the segment
 * @first:	MSN of the first incomplete buffer
 * @count:	number of buffers available from there on
 *
 * The MSN immediately after the last buffer is in order but has no buffer: NO_BUFFER. Any
 * other MSN outside the window is out of range. Wraps modulo 2^32.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_UNTAGGED_NO_BUFFER, KWARP_ERR_UNTAGGED_MSN.
 */
enum kwarp_err kwarp_ddp_check_msn(u32 msn, u32 first, u32 count);

/**
 * kwarp_ddp_check_mo() - RFC 5041 7.1, untagged checks 3 and 4
 * @mo:		message offset
 * @len:	bytes of payload
 * @size:	bytes of the buffer
 *
 * Offsets up to and including @size are valid, as check 4 requires: a segment that begins
 * immediately after a full buffer makes the message too long; its MO is valid.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_UNTAGGED_MO, KWARP_ERR_UNTAGGED_TOO_LONG.
 */
enum kwarp_err kwarp_ddp_check_mo(u32 mo, u32 len, u64 size);

/**
 * kwarp_ddp_check_to() - RFC 5041 7.1, tagged checks 3 to 5
 * @to:		tagged offset
 * @len:	bytes of payload; 0 disables the checks (RFC 5041 5.2)
 * @base:	tagged offset of the buffer's first byte
 * @size:	bytes of the buffer
 *
 * A wrap takes precedence over a bounds violation: it is the more precise error, and
 * would hardly ever be reported otherwise.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_TAGGED_WRAP, KWARP_ERR_TAGGED_BOUNDS.
 */
enum kwarp_err kwarp_ddp_check_to(u64 to, u32 len, u64 base, u64 size);

#endif /* _KWARP_PROTO_DDP_H */
