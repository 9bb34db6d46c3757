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

/* The control bytes of DDP (RFC 5041 4.1) and RDMAP (RFC 5040 4.1), as one big-endian number. */
#define KWARP_DDP_T		0x8000
#define KWARP_DDP_L		0x4000
#define KWARP_DDP_DV_SHIFT	8
#define KWARP_DDP_DV_MASK	0x03
#define KWARP_DDP_RV_SHIFT	6
#define KWARP_DDP_OPCODE_MASK	0x0f
#define KWARP_DDP_CTL_NONE	0xffff	/* no header has this value without the L flag */

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
 * @ctl:	of a parsed header: the control bytes without the L flag; KWARP_DDP_CTL_NONE: the
 *		header tells nothing about the next one
 * @stag:	tagged: STag
 * @to:		tagged: tagged offset
 * @inv_stag:	untagged: Invalidate STag; in a Send with Immediate the immediate data
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
	u16 ctl;
	u32 stag;
	u64 to;
	u32 inv_stag;
	u32 qn;
	u32 msn;
	u32 mo;
};

/**
 * kwarp_ddp_hdr_len() - length of a DDP header in bytes
 * @tagged:	true for the tagged buffer model
 *
 * Return: 14 or 18.
 */
static inline u32 kwarp_ddp_hdr_len(bool tagged)
{
	return tagged ? KWARP_DDP_TAGGED_LEN : KWARP_DDP_UNTAGGED_LEN;
}

/**
 * kwarp_ddp_advance() - make a header that of the next segment of its message
 * @h:		header
 * @payload:	bytes of the segment's payload
 */
static inline void kwarp_ddp_advance(struct kwarp_ddp_hdr *h, u32 payload)
{
	if (h->tagged)
		h->to += payload;
	else
		h->mo += payload;
}

/**
 * kwarp_ddp_continues() - is a segment the next one of its message?
 * @h:		header of the message's previous segment, parsed and advanced; on success that of
 *		the segment
 * @p:		first bytes of the ULPDU, two at least; all of the header if the ULPDU has that
 * @ulpdu_len:	bytes of the whole ULPDU
 *
 * Header prediction: most segments of a long message differ from the previous one in TO or MO, and
 * perhaps in the L flag, only. If the previous segment has passed kwarp_ddp_parse() and
 * kwarp_rdmap_check(), and is part of a message with payload, so does the segment.
 *
 * Return: true if so; false, with @h unchanged, if the header must be parsed, for example because
 * the previous segment was the last one of its message.
 */
static inline bool kwarp_ddp_continues(struct kwarp_ddp_hdr *h, const u8 *p, u32 ulpdu_len)
{
	u32 ctl = get_unaligned_be16(p);

	if ((ctl & ~KWARP_DDP_L) != h->ctl || h->last || ulpdu_len < h->len)
		return false;
	if (h->tagged) {
		if (get_unaligned_be32(p + 2) != h->stag || get_unaligned_be64(p + 6) != h->to)
			return false;
	} else {
		if (get_unaligned_be32(p + 2) != h->inv_stag ||
		    get_unaligned_be32(p + 6) != h->qn ||
		    get_unaligned_be32(p + 10) != h->msn || get_unaligned_be32(p + 14) != h->mo)
			return false;
	}
	h->last = ctl & KWARP_DDP_L;
	return true;
}

/**
 * kwarp_ddp_resembles() - is a segment of the same kind as the previous one?
 * @h:		header of the previous segment, parsed; on success that of the segment
 * @p:		as for kwarp_ddp_continues()
 * @ulpdu_len:	as for kwarp_ddp_continues()
 *
 * A sequence of messages has the same control bytes and queue. If the previous segment has passed
 * kwarp_ddp_parse() and kwarp_rdmap_check(), and is part of a message with payload, so does the
 * segment.
 *
 * Return: true if so; false, with @h unchanged, if the header must be parsed.
 */
static inline bool kwarp_ddp_resembles(struct kwarp_ddp_hdr *h, const u8 *p, u32 ulpdu_len)
{
	u32 ctl = get_unaligned_be16(p);

	if ((ctl & ~KWARP_DDP_L) != h->ctl || ulpdu_len < h->len)
		return false;
	if (h->tagged) {
		h->stag = get_unaligned_be32(p + 2);
		h->to = get_unaligned_be64(p + 6);
	} else {
		if (get_unaligned_be32(p + 6) != h->qn)
			return false;
		h->inv_stag = get_unaligned_be32(p + 2);
		h->msn = get_unaligned_be32(p + 10);
		h->mo = get_unaligned_be32(p + 14);
	}
	h->last = ctl & KWARP_DDP_L;
	return true;
}

/**
 * kwarp_ddp_encode() - write a header
 * @h:		header with the fields of its buffer model set; @h->len is ignored
 * @dst:	room for KWARP_DDP_HDR_MAX bytes
 *
 * Reserved bits are zero. @h->inv_stag is written unchanged: the caller leaves it zero in
 * messages that do not use the field (RFC 5040 4.1).
 *
 * Return: bytes written.
 */
static inline u32 kwarp_ddp_encode(const struct kwarp_ddp_hdr *h, u8 *dst)
{
	u32 ctl = (h->tagged ? KWARP_DDP_T : 0) | (h->last ? KWARP_DDP_L : 0) |
		  (h->dv & KWARP_DDP_DV_MASK) << KWARP_DDP_DV_SHIFT |
		  (u8)(h->rv << KWARP_DDP_RV_SHIFT) | (h->opcode & KWARP_DDP_OPCODE_MASK);

	put_unaligned_be16(ctl, dst);
	if (h->tagged) {
		put_unaligned_be32(h->stag, dst + 2);
		put_unaligned_be64(h->to, dst + 6);
		return KWARP_DDP_TAGGED_LEN;
	}
	put_unaligned_be32(h->inv_stag, dst + 2);
	put_unaligned_be32(h->qn, dst + 6);
	put_unaligned_be32(h->msn, dst + 10);
	put_unaligned_be32(h->mo, dst + 14);
	return KWARP_DDP_UNTAGGED_LEN;
}

/**
 * kwarp_ddp_encode_next() - write the header of the next segment of a message
 * @h:		header of the segment: that of the previous one, advanced
 * @prev:	header of the previous segment, from kwarp_ddp_encode(), and further bytes up to
 *		KWARP_DDP_HDR_MAX
 * @dst:	room for KWARP_DDP_HDR_MAX bytes, not overlapping @prev
 */
static inline void kwarp_ddp_encode_next(const struct kwarp_ddp_hdr *h, const u8 *prev, u8 *dst)
{
	memcpy(dst, prev, KWARP_DDP_HDR_MAX);
	if (h->tagged)
		put_unaligned_be64(h->to, dst + 6);
	else
		put_unaligned_be32(h->mo, dst + 14);
}

enum kwarp_err kwarp_ddp_parse(const u8 *p, u32 ulpdu_len,
			       struct kwarp_ddp_hdr *h);
enum kwarp_err kwarp_ddp_check_msn(u32 msn, u32 first, u32 count);
enum kwarp_err kwarp_ddp_check_mo(u32 mo, u32 len, u64 size);
enum kwarp_err kwarp_ddp_check_to(u64 to, u32 len, u64 base, u64 size);

#endif /* _KWARP_PROTO_DDP_H */
