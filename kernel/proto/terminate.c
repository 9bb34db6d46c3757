// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The Terminate Message. */
#include "proto/terminate.h"

/* Header control bits in the third byte of Terminate Control */
#define TERM_M	0x80
#define TERM_D	0x40
#define TERM_R	0x20

/* Are the segment's length and DDP header returned? RFC 5040 figure 10, third column. */
static bool returns_segment(const struct kwarp_term_err *err)
{
	switch (err->layer) {
	case KWARP_LAYER_RDMAP:
		return err->etype != KWARP_RDMAP_LOCAL;
	case KWARP_LAYER_DDP:
		return err->etype != KWARP_DDP_LOCAL;
	default:
		return false;
	}
}

/*
 * Is the Read Request header returned? RFC 5040 figure 10, fourth column, and 4.8. Section
 * 7.1, item 3 asks for the header with other errors of a Read Request, too, but 4.8 refers
 * to the figure for the R bit.
 */
static bool returns_read(const struct kwarp_term_err *err,
			 const struct kwarp_ddp_hdr *h)
{
	return err->layer == KWARP_LAYER_RDMAP &&
	       err->etype == KWARP_RDMAP_PROTECTION &&
	       !h->tagged && h->opcode == RDMAP_READ_REQUEST;
}

/**
 * kwarp_term_encode() - write the ULPDU of a Terminate Message
 * @dst:	room for KWARP_TERM_MAX bytes
 * @version:	DDP and RDMAP version of the connection
 * @err:	error to report
 * @seg:	first bytes of the offending DDP segment, or NULL
 * @seg_len:	bytes at @seg
 * @ulpdu_len:	bytes of the whole offending segment
 *
 * The parts of the segment that are returned follow RFC 5040 figure 10: none for local
 * catastrophic and LLP errors; length and DDP header for all others; the Read Request
 * header for RDMAP protection errors of a Read Request. A part that @seg does not contain
 * completely is omitted, and its flag is not set.
 *
 * Return: bytes written.
 */
u32 kwarp_term_encode(u8 *dst, u8 version, const struct kwarp_term_err *err,
		      const u8 *seg, u32 seg_len, u32 ulpdu_len)
{
	const struct kwarp_ddp_hdr own = {
		.last = true,
		.dv = version,
		.rv = version,
		.opcode = RDMAP_TERMINATE,
		.qn = KWARP_QN_TERMINATE,
		.msn = KWARP_DDP_FIRST_MSN,
	};
	u32 n = kwarp_ddp_encode(&own, dst);
	struct kwarp_ddp_hdr h;
	u8 *ctrl = dst + n;

	ctrl[0] = (u8)(err->layer << 4) | (err->etype & 0xf);
	ctrl[1] = err->code;
	ctrl[2] = 0;
	ctrl[3] = 0;
	n += KWARP_RDMAP_TERM_LEN;

	if (!seg || !returns_segment(err))
		return n;
	ctrl[2] |= TERM_M;
	put_unaligned_be16((u16)ulpdu_len, dst + n);
	n += KWARP_TERM_SEG_LEN;

	if (kwarp_ddp_parse(seg, seg_len, &h))
		return n;
	ctrl[2] |= TERM_D;
	memcpy(dst + n, seg, h.len);
	n += h.len;

	if (!returns_read(err, &h) || seg_len - h.len < KWARP_RDMAP_READ_LEN)
		return n;
	ctrl[2] |= TERM_R;
	memcpy(dst + n, seg + h.len, KWARP_RDMAP_READ_LEN);
	return n + KWARP_RDMAP_READ_LEN;
}

/**
 * kwarp_term_parse() - read a Terminate header
 * @p:		payload of the segment, after its DDP header
 * @len:	bytes at @p; may be less than the whole message
 * @msg:	result
 *
 * Truncated fields count as absent.
 *
 * Return: KWARP_ERR_NONE, or KWARP_ERR_SEGMENT if layer, type and code are
 * missing.
 */
enum kwarp_err kwarp_term_parse(const u8 *p, u32 len,
				struct kwarp_term_msg *msg)
{
	u8 bits;

	memset(msg, 0, sizeof(*msg));
	if (len < KWARP_RDMAP_TERM_LEN)
		return KWARP_ERR_SEGMENT;
	msg->err.layer = p[0] >> 4;
	msg->err.etype = p[0] & 0xf;
	msg->err.code = p[1];
	bits = p[2];
	p += KWARP_RDMAP_TERM_LEN;
	len -= KWARP_RDMAP_TERM_LEN;

	/* RFC 5040 4.8: with D the length is present, even if it is invalid without M. */
	if (!(bits & (TERM_M | TERM_D)) || len < KWARP_TERM_SEG_LEN)
		return KWARP_ERR_NONE;
	msg->has_seg_len = bits & TERM_M;
	msg->seg_len = get_unaligned_be16(p);
	p += KWARP_TERM_SEG_LEN;
	len -= KWARP_TERM_SEG_LEN;

	if (!(bits & TERM_D) || kwarp_ddp_parse(p, len, &msg->ddp))
		return KWARP_ERR_NONE;
	msg->has_ddp = true;
	p += msg->ddp.len;
	len -= msg->ddp.len;

	if (!(bits & TERM_R) || len < KWARP_RDMAP_READ_LEN)
		return KWARP_ERR_NONE;
	msg->has_rdmap = true;
	kwarp_rdmap_read_parse(p, &msg->read);
	return KWARP_ERR_NONE;
}
