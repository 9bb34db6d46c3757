/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA framing (RFC 5044 section 4): the send side.
 *
 * An FPDU is written by one call of begin, any number of put, and one of end. Each call
 * writes contiguous memory; the calls may have different destinations.
 *
 *	n = kwarp_fpdu_begin(&w, dst, pos, ulpdu_len);
 *	n += kwarp_fpdu_put(&w, dst + n, hdr, hdr_len);
 *	n += kwarp_fpdu_put(&w, dst + n, payload, len);
 *	n += kwarp_fpdu_end(&w, dst + n);	n is kwarp_fpdu_len() by now
 *
 * Functions with flat in their names are for the common case: the FPDU is contiguous, and
 * its first marker, if any, follows the headers.
 */
#ifndef _KWARP_PROTO_MPA_WRITER_H
#define _KWARP_PROTO_MPA_WRITER_H

#include "proto/mpa_fpdu.h"

#define KWARP_FPDU_HEAD_MAX	6	/* maximum written by begin: marker, length */
#define KWARP_FPDU_TAIL_MAX	11	/* maximum written by end: pad, marker, CRC */

/**
 * struct kwarp_fpdu_writer - an FPDU being written
 * @markers:	the peer requested markers
 * @crc_on:	CRCs are in use
 * @ulpdu_len:	bytes of the ULPDU
 * @to_marker:	bytes up to the next marker; without markers larger than any FPDU
 * @off:	bytes written since the beginning of the ULPDU Length field: the FPDUPTR of
 *		the next marker
 * @crc:	CRC32c of all bytes of the FPDU so far
 */
struct kwarp_fpdu_writer {
	bool markers;
	bool crc_on;
	u32 ulpdu_len;
	u32 to_marker;
	u32 off;
	u32 crc;
};

void kwarp_fpdu_writer_init(struct kwarp_fpdu_writer *w, bool markers, bool crc_on);
u32 kwarp_fpdu_begin(struct kwarp_fpdu_writer *w, u8 *dst, u32 pos,
		     u32 ulpdu_len);

u32 kwarp_fpdu_fit(const struct kwarp_fpdu_writer *w, u32 room);
u32 kwarp_fpdu_put(struct kwarp_fpdu_writer *w, u8 *dst, const void *src,
		   u32 len);

/**
 * kwarp_fpdu_room() - bytes that may follow before a marker is due
 * @w:		writer between begin and end
 *
 * For kwarp_fpdu_ref().
 *
 * Return: bytes; 0 if a marker is due.
 */
static inline u32 kwarp_fpdu_room(const struct kwarp_fpdu_writer *w)
{
	return w->to_marker;
}

u32 kwarp_fpdu_put_marker(struct kwarp_fpdu_writer *w, u8 *dst);
void kwarp_fpdu_ref(struct kwarp_fpdu_writer *w, const void *src, u32 len);
u32 kwarp_fpdu_end(struct kwarp_fpdu_writer *w, u8 *dst);

/**
 * kwarp_fpdu_flat_marker() - write a marker into a contiguous FPDU
 * @fpdu:	the ULPDU Length field of the FPDU, which has no marker in front
 * @to:		address of the marker
 *
 * Return: the address after the marker.
 */
static inline u8 *kwarp_fpdu_flat_marker(const u8 *fpdu, u8 *to)
{
	put_unaligned_be16(0, to);
	put_unaligned_be16((u16)(to - fpdu), to + 2);
	return to + KWARP_MARKER_LEN;
}

u8 *kwarp_fpdu_flat_put(const u8 *fpdu, u8 *to, u32 to_marker, const u8 *src, u32 len);

/**
 * kwarp_fpdu_flat_end() - write what follows the ULPDU of a contiguous FPDU
 * @fpdu:	the ULPDU Length field of the FPDU, which has no marker in front
 * @to:		address after the last ULPDU byte
 * @len:	bytes of the FPDU: kwarp_fpdu_len()
 * @crc:	CRCs are in use
 *
 * Writes the same bytes as kwarp_fpdu_end(), but computes the CRC of the FPDU at once.
 */
static inline void kwarp_fpdu_flat_end(u8 *fpdu, u8 *to, u32 len, bool crc)
{
	u8 *end = fpdu + len - KWARP_MPA_CRC_LEN;

	/* Zero the pad; the other bytes are overwritten below. */
	put_unaligned_le32(0, to);
	if (end - to >= KWARP_MARKER_LEN)
		kwarp_fpdu_flat_marker(fpdu, end - KWARP_MARKER_LEN);
	put_unaligned_le32(crc ? ~crc32c(~0U, fpdu, end - fpdu) : 0, end);
}

#endif /* _KWARP_PROTO_MPA_WRITER_H */
