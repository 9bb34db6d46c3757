/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP segments (RFC 5041): headers and the checks of section 7.1. The RDMAP
 * control octet and the Invalidate STag travel in DDP's RsvdULP field, so one
 * structure holds both layers' control information.
 */
#ifndef _KWARP_PROTO_DDP_H
#define _KWARP_PROTO_DDP_H

#include "errors.h"

#define KWARP_DDP_TAGGED_LEN	14
#define KWARP_DDP_UNTAGGED_LEN	18
#define KWARP_DDP_HDR_MAX	18

#define KWARP_DDP_FIRST_MSN	1	/* RFC 5041 4.3 */

/* Version of DDP and RDMAP alike; RFC 5044 C.1 forbids to mix them. */
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
 * @tagged:	T flag: which of the fields below count
 * @last:	L flag
 * @dv:		DDP version
 * @rv:		RDMAP version
 * @opcode:	RDMAP opcode, 0 to 15: enum kwarp_rdmap_opcode
 * @len:	octets of the header on the wire
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
 * kwarp_ddp_hdr_len() - octets of a DDP header
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
 * @h:		all that counts for its model; @h->len is not looked at
 * @dst:	room for KWARP_DDP_HDR_MAX octets
 *
 * Reserved bits are zero. @h->inv_stag is written as it is: zero except for the
 * messages with invalidation (RFC 5040 4.1).
 *
 * Return: octets written.
 */
u32 kwarp_ddp_encode(const struct kwarp_ddp_hdr *h, u8 *dst);

/**
 * kwarp_ddp_parse() - read a header
 * @p:		first octets of the ULPDU: at least KWARP_DDP_HDR_MAX or the whole
 *		ULPDU if that is shorter
 * @ulpdu_len:	octets of the whole ULPDU
 * @h:		result; the fields of the other model are zero
 *
 * Reserved bits are not looked at (RFC 5041 4.1, RFC 5040 4.1). Nothing is
 * judged but the length: see kwarp_rdmap_check().
 *
 * Return: KWARP_ERR_NONE or KWARP_ERR_SEGMENT; then @h is all zero.
 */
enum kwarp_err kwarp_ddp_parse(const u8 *p, u32 ulpdu_len,
			       struct kwarp_ddp_hdr *h);

/**
 * kwarp_ddp_check_msn() - RFC 5041 7.1, untagged checks 2 and 5
 * @msn:	of the segment
 * @first:	MSN of the first buffer that is not complete
 * @count:	buffers available from there on
 *
 * The MSN right behind the last buffer is in order but finds none: NO_BUFFER.
 * Any other outside the window is out of range. Wraps modulo 2^32.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_UNTAGGED_NO_BUFFER, KWARP_ERR_UNTAGGED_MSN.
 */
enum kwarp_err kwarp_ddp_check_msn(u32 msn, u32 first, u32 count);

/**
 * kwarp_ddp_check_mo() - RFC 5041 7.1, untagged checks 3 and 4
 * @mo:		message offset
 * @len:	octets of payload
 * @size:	octets of the buffer
 *
 * Offsets are legal up to and including @size, as check 4 needs it: a segment
 * that begins just behind a full buffer is a message too long, not a wrong MO.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_UNTAGGED_MO, KWARP_ERR_UNTAGGED_TOO_LONG.
 */
enum kwarp_err kwarp_ddp_check_mo(u32 mo, u32 len, u64 size);

/**
 * kwarp_ddp_check_to() - RFC 5041 7.1, tagged checks 3 to 5
 * @to:		tagged offset
 * @len:	octets of payload; with 0 nothing is checked (RFC 5041 5.2)
 * @base:	tagged offset of the buffer's first octet
 * @size:	octets of the buffer
 *
 * A wrap is named before a range violation: it is the more precise of the two,
 * and would hardly ever be reported otherwise.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_TAGGED_WRAP, KWARP_ERR_TAGGED_BOUNDS.
 */
enum kwarp_err kwarp_ddp_check_to(u64 to, u32 len, u64 base, u64 size);

#endif /* _KWARP_PROTO_DDP_H */
