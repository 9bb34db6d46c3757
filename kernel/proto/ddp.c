// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* DDP headers and checks. ddp.h documents the functions. */
#include "proto/ddp.h"

/* DDP control byte, RFC 5041 4.1 */
#define DDP_T		0x80
#define DDP_L		0x40
#define DDP_DV		0x03

/* RDMAP control byte, RFC 5040 4.1 */
#define RDMAP_RV_SHIFT	6
#define RDMAP_OPCODE	0x0f

u32 kwarp_ddp_encode(const struct kwarp_ddp_hdr *h, u8 *dst)
{
	dst[0] = (h->tagged ? DDP_T : 0) | (h->last ? DDP_L : 0) |
		 (h->dv & DDP_DV);
	dst[1] = (u8)(h->rv << RDMAP_RV_SHIFT) | (h->opcode & RDMAP_OPCODE);
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

enum kwarp_err kwarp_ddp_parse(const u8 *p, u32 ulpdu_len,
			       struct kwarp_ddp_hdr *h)
{
	memset(h, 0, sizeof(*h));
	if (ulpdu_len < KWARP_DDP_TAGGED_LEN)
		return KWARP_ERR_SEGMENT;
	if (!(p[0] & DDP_T) && ulpdu_len < KWARP_DDP_UNTAGGED_LEN)
		return KWARP_ERR_SEGMENT;

	h->tagged = p[0] & DDP_T;
	h->last = p[0] & DDP_L;
	h->dv = p[0] & DDP_DV;
	h->rv = p[1] >> RDMAP_RV_SHIFT;
	h->opcode = p[1] & RDMAP_OPCODE;
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

enum kwarp_err kwarp_ddp_check_msn(u32 msn, u32 first, u32 count)
{
	u32 ahead = msn - first;

	if (ahead < count)
		return KWARP_ERR_NONE;
	return ahead == count ? KWARP_ERR_UNTAGGED_NO_BUFFER :
				KWARP_ERR_UNTAGGED_MSN;
}

enum kwarp_err kwarp_ddp_check_mo(u32 mo, u32 len, u64 size)
{
	if (mo > size)
		return KWARP_ERR_UNTAGGED_MO;
	if (len > size - mo)
		return KWARP_ERR_UNTAGGED_TOO_LONG;
	return KWARP_ERR_NONE;
}

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
