// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* DDP headers and checks. */
#include "proto/ddp.h"

/**
 * kwarp_ddp_parse() - read a header
 * @p:		first bytes of the ULPDU: at least KWARP_DDP_HDR_MAX, or the whole ULPDU
 *		if it is shorter
 * @ulpdu_len:	bytes of the whole ULPDU
 * @h:		result; the fields of the other buffer model are zero
 *
 * Reserved bits are ignored (RFC 5041 4.1, RFC 5040 4.1). Only the length is checked here;
 * kwarp_rdmap_check() checks the rest.
 *
 * Return: KWARP_ERR_NONE, or KWARP_ERR_SEGMENT with @h all zero.
 */
enum kwarp_err kwarp_ddp_parse(const u8 *p, u32 ulpdu_len,
			       struct kwarp_ddp_hdr *h)
{
	u32 ctl;

	memset(h, 0, sizeof(*h));
	if (ulpdu_len < KWARP_DDP_TAGGED_LEN)
		return KWARP_ERR_SEGMENT;
	ctl = get_unaligned_be16(p);
	if (!(ctl & KWARP_DDP_T) && ulpdu_len < KWARP_DDP_UNTAGGED_LEN)
		return KWARP_ERR_SEGMENT;

	h->ctl = ctl & ~KWARP_DDP_L;
	h->tagged = ctl & KWARP_DDP_T;
	h->last = ctl & KWARP_DDP_L;
	h->dv = ctl >> KWARP_DDP_DV_SHIFT & KWARP_DDP_DV_MASK;
	h->rv = (ctl & 0xff) >> KWARP_DDP_RV_SHIFT;
	h->opcode = ctl & KWARP_DDP_OPCODE_MASK;
	h->len = kwarp_ddp_hdr_len(h->tagged);
	if (h->tagged) {
		h->stag = get_unaligned_be32(p + 2);
		h->to = get_unaligned_be64(p + 6);
	} else {
		h->inv_stag = get_unaligned_be32(p + 2);
		h->qn = get_unaligned_be32(p + 6);
		h->msn = get_unaligned_be32(p + 10);
		h->mo = get_unaligned_be32(p + 14);
	}
	return KWARP_ERR_NONE;
}

/**
 * kwarp_ddp_check_msn() - does an MSN have a buffer?
 * @msn:	MSN of the segment
 * @first:	MSN of the first incomplete buffer
 * @count:	number of buffers available from @first on
 *
 * RFC 5041 7.1, untagged checks 2 and 5. The MSN immediately after the last buffer is in
 * order but has no buffer; any other MSN outside the window is out of range. MSNs are
 * compared modulo 2^32.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_UNTAGGED_NO_BUFFER, KWARP_ERR_UNTAGGED_MSN.
 */
enum kwarp_err kwarp_ddp_check_msn(u32 msn, u32 first, u32 count)
{
	u32 ahead = msn - first;

	if (ahead < count)
		return KWARP_ERR_NONE;
	return ahead == count ? KWARP_ERR_UNTAGGED_NO_BUFFER :
				KWARP_ERR_UNTAGGED_MSN;
}

/**
 * kwarp_ddp_check_mo() - does an untagged payload fit into its buffer?
 * @mo:		message offset
 * @len:	bytes of payload
 * @size:	bytes of the buffer
 *
 * RFC 5041 7.1, untagged checks 3 and 4. An MO equal to @size is a legal offset, since
 * check 4 allows the sum of MO and length to reach @size: payload there is an error of the
 * message's length, not of the MO.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_UNTAGGED_MO, KWARP_ERR_UNTAGGED_TOO_LONG.
 */
enum kwarp_err kwarp_ddp_check_mo(u32 mo, u32 len, u64 size)
{
	if (mo > size)
		return KWARP_ERR_UNTAGGED_MO;
	if (len > size - mo)
		return KWARP_ERR_UNTAGGED_TOO_LONG;
	return KWARP_ERR_NONE;
}

/**
 * kwarp_ddp_check_to() - is a tagged payload within its buffer?
 * @to:		tagged offset
 * @len:	bytes of payload; 0 disables the checks (RFC 5041 5.2)
 * @base:	tagged offset of the buffer's first byte
 * @size:	bytes of the buffer
 *
 * RFC 5041 7.1, tagged checks 3 to 5. A wrap is checked first, because it is the more
 * precise error: almost every wrap also violates the bounds.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_TAGGED_WRAP, KWARP_ERR_TAGGED_BOUNDS.
 */
enum kwarp_err kwarp_ddp_check_to(u64 to, u32 len, u64 base, u64 size)
{
	if (!len)
		return KWARP_ERR_NONE;
	if (to + len < to)
		return KWARP_ERR_TAGGED_WRAP;
	if (to < base || to - base > size || len > size - (to - base))
		return KWARP_ERR_TAGGED_BOUNDS;
	return KWARP_ERR_NONE;
}
