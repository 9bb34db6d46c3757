/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA framing (RFC 5044 section 4): the sender's side.
 *
 * One FPDU is begin, any number of put, end. The destination may be another
 * piece of memory for each call, but what one call writes is contiguous.
 *
 *	n = kwarp_fpdu_begin(&w, dst, pos, ulpdu_len);
 *	n += kwarp_fpdu_put(&w, dst + n, hdr, hdr_len);
 *	n += kwarp_fpdu_put(&w, dst + n, payload, len);
 *	n += kwarp_fpdu_end(&w, dst + n);	n is kwarp_fpdu_len() by now
 */
#ifndef _KWARP_PROTO_MPA_WRITER_H
#define _KWARP_PROTO_MPA_WRITER_H

#include "mpa_fpdu.h"

#define KWARP_FPDU_HEAD_MAX	6	/* most that begin writes: marker, length */
#define KWARP_FPDU_TAIL_MAX	11	/* most that end writes: pad, marker, CRC */

/**
 * struct kwarp_fpdu_writer - an FPDU being written
 * @markers:	the peer asked for markers
 * @crc_on:	CRCs are in use
 * @ulpdu_len:	octets of the ULPDU
 * @to_marker:	octets up to the next marker; without markers out of reach
 * @off:	octets written from the ULPDU Length field on: the next FPDUPTR
 * @crc:	CRC32c of all octets of the FPDU so far
 */
struct kwarp_fpdu_writer {
	bool markers;
	bool crc_on;
	u32 ulpdu_len;
	u32 to_marker;
	u32 off;
	u32 crc;
};

/**
 * kwarp_fpdu_writer_init() - set what holds for the whole connection
 * @w:		writer
 * @markers:	the peer asked for markers
 * @crc_on:	CRCs are in use
 */
static inline void kwarp_fpdu_writer_init(struct kwarp_fpdu_writer *w,
					  bool markers, bool crc_on)
{
	memset(w, 0, sizeof(*w));
	w->markers = markers;
	w->crc_on = crc_on;
}

/**
 * kwarp_fpdu_begin() - write the marker in front, if one is due, and the length
 * @w:		initialised writer
 * @dst:	room for KWARP_FPDU_HEAD_MAX octets
 * @pos:	stream position of the FPDU
 * @ulpdu_len:	octets of the ULPDU: exactly these must follow
 *
 * Return: octets written.
 */
u32 kwarp_fpdu_begin(struct kwarp_fpdu_writer *w, u8 *dst, u32 pos,
		     u32 ulpdu_len);

/**
 * kwarp_fpdu_fit() - how many ULPDU octets fit into a destination
 * @w:		writer between begin and end
 * @room:	octets free
 *
 * Return: largest @len for which kwarp_fpdu_put() writes no more than @room.
 */
static inline u32 kwarp_fpdu_fit(const struct kwarp_fpdu_writer *w, u32 room)
{
	return w->markers ? kwarp_marker_room(room, w->to_marker) : room;
}

/**
 * kwarp_fpdu_put() - copy ULPDU octets, with the markers due among them
 * @w:		writer between begin and end
 * @dst:	destination
 * @src:	ULPDU octets
 * @len:	how many
 *
 * The CRC is taken from @dst, so it is right for the octets that go out even if
 * somebody changes @src meanwhile. Without markers: one memcpy(), one crc32c().
 *
 * Return: octets written.
 */
u32 kwarp_fpdu_put(struct kwarp_fpdu_writer *w, u8 *dst, const void *src,
		   u32 len);

/**
 * kwarp_fpdu_room() - octets that may follow before a marker is due
 * @w:		writer between begin and end
 *
 * For kwarp_fpdu_ref().
 *
 * Return: octets; 0 if the next thing must be a marker.
 */
static inline u32 kwarp_fpdu_room(const struct kwarp_fpdu_writer *w)
{
	return w->to_marker;
}

/**
 * kwarp_fpdu_put_marker() - write the marker that is due
 * @w:		writer; kwarp_fpdu_room() says 0
 * @dst:	room for KWARP_MARKER_LEN octets
 *
 * Return: octets written.
 */
u32 kwarp_fpdu_put_marker(struct kwarp_fpdu_writer *w, u8 *dst);

/**
 * kwarp_fpdu_ref() - account for ULPDU octets that go out by reference
 * @w:		writer between begin and end
 * @src:	the octets; they must not change until the peer has them
 * @len:	how many, at most kwarp_fpdu_room()
 */
void kwarp_fpdu_ref(struct kwarp_fpdu_writer *w, const void *src, u32 len);

/**
 * kwarp_fpdu_end() - write pad, a marker if one is due, and the CRC field
 * @w:		writer; the whole ULPDU was put
 * @dst:	room for KWARP_FPDU_TAIL_MAX octets
 *
 * A marker behind the pad is covered by this FPDU's CRC (RFC 5044 4.4, 1). One
 * behind the CRC belongs to the next FPDU. Without CRCs the field is zero.
 *
 * Return: octets written.
 */
u32 kwarp_fpdu_end(struct kwarp_fpdu_writer *w, u8 *dst);

#endif /* _KWARP_PROTO_MPA_WRITER_H */
