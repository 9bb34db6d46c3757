// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA framing: the send side. */
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

/* Count n bytes that contain no marker. */
static void writer_advance(struct kwarp_fpdu_writer *w, u32 n)
{
	w->off += n;
	w->to_marker -= n;
}

/**
 * kwarp_fpdu_begin() - write the marker in front, if one is due, and the length
 * @w:		initialised writer
 * @dst:	room for KWARP_FPDU_HEAD_MAX bytes
 * @pos:	stream position of the FPDU
 * @ulpdu_len:	bytes of the ULPDU: exactly this number must follow
 *
 * Return: bytes written.
 */
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

/**
 * kwarp_fpdu_put() - copy ULPDU bytes, inserting markers where they are due
 * @w:		writer between begin and end
 * @dst:	destination
 * @src:	ULPDU bytes
 * @len:	number of bytes
 *
 * The CRC is computed from @dst, so it matches the bytes sent even if @src changes
 * concurrently.
 *
 * Return: bytes written.
 */
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

/**
 * kwarp_fpdu_put_marker() - write the marker that is due
 * @w:		writer; kwarp_fpdu_room() returned 0
 * @dst:	room for KWARP_MARKER_LEN bytes
 *
 * Return: bytes written.
 */
u32 kwarp_fpdu_put_marker(struct kwarp_fpdu_writer *w, u8 *dst)
{
	put_marker(w, dst);
	writer_checksum(w, dst, KWARP_MARKER_LEN);
	w->off += KWARP_MARKER_LEN;
	w->to_marker = KWARP_MARKER_DATA;
	return KWARP_MARKER_LEN;
}

/**
 * kwarp_fpdu_ref() - add ULPDU bytes that are sent from where they are, without a copy
 * @w:		writer between begin and end
 * @src:	the bytes; they must not change until the peer has received them
 * @len:	number of bytes, at most kwarp_fpdu_room()
 */
void kwarp_fpdu_ref(struct kwarp_fpdu_writer *w, const void *src, u32 len)
{
	writer_checksum(w, src, len);
	writer_advance(w, len);
}

/**
 * kwarp_fpdu_end() - write pad, a marker if one is due, and the CRC field
 * @w:		writer; the whole ULPDU was put
 * @dst:	room for KWARP_FPDU_TAIL_MAX bytes
 *
 * A marker after the pad is covered by this FPDU's CRC (RFC 5044 4.4, 1). A marker after
 * the CRC belongs to the next FPDU. Without CRCs the field is zero.
 *
 * Return: bytes written.
 */
u32 kwarp_fpdu_end(struct kwarp_fpdu_writer *w, u8 *dst)
{
	u32 pad = (0U - KWARP_MPA_HDR_LEN - w->ulpdu_len) & 3;
	u32 n = pad;

	/* No marker falls into the pad: markers and the end of the pad are aligned to 4. */
	memset(dst, 0, pad);
	writer_checksum(w, dst, pad);
	writer_advance(w, pad);
	if (!w->to_marker)
		n += kwarp_fpdu_put_marker(w, dst + n);
	put_unaligned_le32(w->crc_on ? ~w->crc : 0, dst + n);
	return n + KWARP_MPA_CRC_LEN;
}

/**
 * kwarp_fpdu_flat_put() - copy ULPDU bytes into a contiguous FPDU, and insert markers
 * @fpdu:	the ULPDU Length field of the FPDU, which has no marker in front
 * @to:		destination
 * @to_marker:	bytes from @to to the next marker; 0 if one is due
 * @src:	ULPDU bytes
 * @len:	number of bytes
 *
 * Return: the address after the last byte.
 */
u8 *kwarp_fpdu_flat_put(const u8 *fpdu, u8 *to, u32 to_marker, const u8 *src, u32 len)
{
	u32 run = min(len, to_marker);

	memcpy(to, src, run);
	while (len -= run) {
		to = kwarp_fpdu_flat_marker(fpdu, to + run);
		src += run;
		run = min_t(u32, len, KWARP_MARKER_DATA);
		memcpy(to, src, run);
	}
	return to + run;
}

/**
 * kwarp_fpdu_writer_init() - set the parameters of the whole connection
 * @w:		writer
 * @markers:	the peer requested markers
 * @crc_on:	CRCs are in use
 */
void kwarp_fpdu_writer_init(struct kwarp_fpdu_writer *w, bool markers, bool crc_on)
{
	memset(w, 0, sizeof(*w));
	w->markers = markers;
	w->crc_on = crc_on;
}

/**
 * kwarp_fpdu_fit() - number of ULPDU bytes that fit into a destination
 * @w:		writer between begin and end
 * @room:	free bytes
 *
 * Return: largest @len for which kwarp_fpdu_put() writes no more than @room.
 */
u32 kwarp_fpdu_fit(const struct kwarp_fpdu_writer *w, u32 room)
{
	return w->markers ? kwarp_marker_room(room, w->to_marker) : room;
}
