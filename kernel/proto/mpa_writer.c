// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA framing, the sender's side. mpa_writer.h documents the functions. */
#include "proto/mpa_writer.h"

/* Write a marker, without adding it to the CRC. */
static u32 put_marker(struct kwarp_fpdu_writer *w, u8 *dst)
{
	put_unaligned_be16(0, dst);
	put_unaligned_be16((u16)w->off, dst + 2);
	return KWARP_MARKER_LEN;
}

static void writer_checksum(struct kwarp_fpdu_writer *w, const void *p, u32 len)
{
	if (w->crc_on)
		w->crc = crc32c(w->crc, p, len);
}

/* Account for n bytes with no marker due among them. */
static void writer_advance(struct kwarp_fpdu_writer *w, u32 n)
{
	w->off += n;
	w->to_marker -= n;
}

u32 kwarp_fpdu_begin(struct kwarp_fpdu_writer *w, u8 *dst, u32 pos,
		     u32 ulpdu_len)
{
	u32 n = 0;

	w->ulpdu_len = ulpdu_len;
	w->to_marker = w->markers ? kwarp_to_marker(pos) : U32_MAX;
	w->off = 0;
	w->crc = ~0U;

	if (!w->to_marker) {
		/* RFC 5044 4.3: the pointer is zero between FPDUs. */
		n = put_marker(w, dst);
		w->to_marker = KWARP_MARKER_DATA;
	}
	put_unaligned_be16((u16)ulpdu_len, dst + n);
	writer_advance(w, KWARP_MPA_HDR_LEN);
	n += KWARP_MPA_HDR_LEN;
	writer_checksum(w, dst, n);
	return n;
}

u32 kwarp_fpdu_put(struct kwarp_fpdu_writer *w, u8 *dst, const void *src,
		   u32 len)
{
	const u8 *from = src;
	u8 *to = dst;

	while (len) {
		u32 run;

		if (!w->to_marker) {
			to += put_marker(w, to);
			w->off += KWARP_MARKER_LEN;
			w->to_marker = KWARP_MARKER_DATA;
		}
		run = min(len, w->to_marker);
		memcpy(to, from, run);
		writer_advance(w, run);
		to += run;
		from += run;
		len -= run;
	}
	writer_checksum(w, dst, to - dst);
	return to - dst;
}

u32 kwarp_fpdu_put_marker(struct kwarp_fpdu_writer *w, u8 *dst)
{
	put_marker(w, dst);
	writer_checksum(w, dst, KWARP_MARKER_LEN);
	w->off += KWARP_MARKER_LEN;
	w->to_marker = KWARP_MARKER_DATA;
	return KWARP_MARKER_LEN;
}

void kwarp_fpdu_ref(struct kwarp_fpdu_writer *w, const void *src, u32 len)
{
	writer_checksum(w, src, len);
	writer_advance(w, len);
}

u32 kwarp_fpdu_end(struct kwarp_fpdu_writer *w, u8 *dst)
{
	u32 pad = (0U - KWARP_MPA_HDR_LEN - w->ulpdu_len) & 3;
	u32 n = pad;

	/*
	 * FPDU and markers are aligned to 4: no marker can fall into the pad.
	 */
	memset(dst, 0, pad);
	writer_checksum(w, dst, pad);
	writer_advance(w, pad);
	if (!w->to_marker)
		n += kwarp_fpdu_put_marker(w, dst + n);
	put_unaligned_le32(w->crc_on ? ~w->crc : 0, dst + n);
	return n + KWARP_MPA_CRC_LEN;
}
