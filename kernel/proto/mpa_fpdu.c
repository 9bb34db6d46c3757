// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA framing: the receive side. */
#include "proto/mpa_fpdu.h"

/* Bytes that can hold the length field and a header, with at most one marker. */
#define HEAD_MAX (KWARP_MPA_HDR_LEN + KWARP_FPDU_HDR_MAX + KWARP_MARKER_LEN)

static_assert(HEAD_MAX < KWARP_MARKER_SPACING, "two markers in the head");

/**
 * kwarp_marker_room() - bytes other than markers that fit in a range of the stream
 * @room:	length of the range
 * @to_marker:	distance from its start to the next marker
 *
 * A marker is written only if a byte follows it in the range.
 *
 * Return: bytes.
 */
u32 kwarp_marker_room(u32 room, u32 to_marker)
{
	u32 rest;

	if (room <= to_marker)
		return room;
	room -= to_marker;
	rest = room % KWARP_MARKER_SPACING;
	return to_marker + room / KWARP_MARKER_SPACING * KWARP_MARKER_DATA +
	       (rest > KWARP_MARKER_LEN ? rest - KWARP_MARKER_LEN : 0);
}

/**
 * kwarp_marker_locate() - locate an FPDU by a marker (out-of-order reception)
 * @pos:	stream position of the marker's first byte
 * @marker:	its 4 bytes
 *
 * The caller must check that the result lies in the stream, and then the FPDU itself.
 * Return: stream position of the FPDU to which the marker belongs.
 */
u32 kwarp_marker_locate(u32 pos, const u8 *marker)
{
	u32 start;

	/* RFC 5044 4.2: the low two bits count as zero. */
	start = pos - (get_unaligned_be16(marker + 2) & ~3U);
	/* A marker before the ULPDU Length, to which FPDUPTR refers, is part of the FPDU. */
	if (start != pos && !kwarp_to_marker(start - KWARP_MARKER_LEN))
		start -= KWARP_MARKER_LEN;
	return start;
}

static void reader_advance(struct kwarp_reader *r, u32 n)
{
	r->p += n;
	r->n -= n;
}

static bool reader_copy(struct kwarp_reader *r, u8 *dst, u32 n)
{
	while (n) {
		u32 run;

		if (!kwarp_reader_more(r))
			return false;
		run = min(n, r->n);
		memcpy(dst, r->p, run);
		reader_advance(r, run);
		dst += run;
		n -= run;
	}
	return true;
}

/**
 * kwarp_reader_skip() - skip bytes
 * @r:		reader
 * @n:		bytes
 *
 * Return: false if there are fewer.
 */
bool kwarp_reader_skip(struct kwarp_reader *r, u32 n)
{
	while (n) {
		u32 run;

		if (!kwarp_reader_more(r))
			return false;
		run = min(n, r->n);
		reader_advance(r, run);
		n -= run;
	}
	return true;
}

/**
 * kwarp_fpdu_peek() - find the extent of the FPDU that starts here
 * @r:		reader at the first byte; its final position is undefined, so pass a copy
 * @avail:	total bytes that @r can deliver
 * @pos:	stream position of the FPDU
 * @markers:	markers are in use in this direction
 * @f:		result
 *
 * Return: KWARP_FPDU_OK if the whole FPDU is available, KWARP_FPDU_NEED_MORE (f->need
 * bytes from @pos are needed), or KWARP_FPDU_ERR_LENGTH.
 */
int kwarp_fpdu_peek(struct kwarp_reader *r, u32 avail, u32 pos, bool markers,
		    struct kwarp_fpdu *f)
{
	u32 skip = markers && !kwarp_to_marker(pos) ? KWARP_MARKER_LEN : 0;
	u8 len[KWARP_MPA_HDR_LEN];

	f->pos = pos;
	f->len = 0;
	f->ulpdu_len = 0;
	f->need = skip + KWARP_MPA_HDR_LEN;
	f->markers = markers;

	if (avail < f->need || !kwarp_reader_skip(r, skip) ||
	    !reader_copy(r, len, sizeof(len)))
		return KWARP_FPDU_NEED_MORE;

	f->ulpdu_len = get_unaligned_be16(len);
	/* With an invalid length there is nothing to wait for. */
	if (f->ulpdu_len > KWARP_ULPDU_MAX)
		return KWARP_FPDU_ERR_LENGTH;

	f->len = kwarp_fpdu_len(f->ulpdu_len, pos, markers);
	f->need = f->len;
	return avail < f->len ? KWARP_FPDU_NEED_MORE : KWARP_FPDU_OK;
}

/**
 * struct scan - progress of kwarp_fpdu_verify() through an FPDU
 * @off:	bytes processed
 * @head_len:	bytes to copy to @head
 * @marker_off:	offset of the next marker
 * @length_off:	offset of the ULPDU Length field
 * @bad_marker:	a marker did not point to the ULPDU Length field
 * @marker:	bytes of a marker, which may be split between pieces
 * @head:	first bytes of the FPDU
 */
struct scan {
	u32 off;
	u32 head_len;
	u32 marker_off;
	u32 length_off;
	bool bad_marker;
	u8 marker[KWARP_MARKER_LEN];
	u8 head[HEAD_MAX];
};

/* Check the markers in the run bytes at p, which begin at s->off. */
static void scan_markers(struct scan *s, const u8 *p, u32 run)
{
	u32 end = s->off + run;

	while (s->marker_off < end) {
		u32 from = s->off > s->marker_off ? s->off - s->marker_off : 0;
		u32 at = s->marker_off + from - s->off;
		u32 n = min(KWARP_MARKER_LEN - from, run - at);
		u32 ptr = s->marker_off < s->length_off ? 0 :
			  s->marker_off - s->length_off;

		memcpy(s->marker + from, p + at, n);
		if (from + n < KWARP_MARKER_LEN)
			break;	/* the rest is in the next piece */
		/* RFC 5044 4.2: ignore the reserved half and the low two bits. */
		if ((get_unaligned_be16(s->marker + 2) & ~3U) != ptr)
			s->bad_marker = true;
		s->marker_off += KWARP_MARKER_SPACING;
	}
}

/* Copy the first n ULPDU bytes out of @head, without the marker that may be among them. */
static void copy_hdr(u8 *hdr, u32 n, const u8 *head, u32 to_marker)
{
	const u8 *ulpdu = head + KWARP_MPA_HDR_LEN;
	u32 before;

	if (to_marker >= KWARP_MPA_HDR_LEN + n) {
		memcpy(hdr, ulpdu, n);
		return;
	}

	if (!to_marker) {
		memcpy(hdr, ulpdu + KWARP_MARKER_LEN, n);
		return;
	}
	before = to_marker - KWARP_MPA_HDR_LEN;
	memcpy(hdr, ulpdu, before);
	memcpy(hdr + before, ulpdu + before + KWARP_MARKER_LEN, n - before);
}

/* One pass over all bytes before the CRC; without CRC and markers only over s->head. */
static bool scan_body(struct kwarp_reader *r, const struct kwarp_fpdu *f,
		      struct scan *s, u32 *crc)
{
	u32 end = f->len - KWARP_MPA_CRC_LEN;

	if (!crc && !f->markers)
		end = s->head_len;
	while (s->off < end) {
		u32 run;

		if (!kwarp_reader_more(r))
			return false;
		run = min(r->n, end - s->off);
		if (s->off < s->head_len)
			memcpy(s->head + s->off, r->p,
			       min(run, s->head_len - s->off));
		if (f->markers)
			scan_markers(s, r->p, run);
		if (crc)
			*crc = crc32c(*crc, r->p, run);
		reader_advance(r, run);
		s->off += run;
	}
	return true;
}

/* Read the CRC field: least significant byte first, as in RFC 5044 figures 5, 6. */
static bool crc_field(struct kwarp_reader *r, u32 *crc)
{
	u8 field[KWARP_MPA_CRC_LEN];

	if (!reader_copy(r, field, sizeof(field)))
		return false;
	*crc = get_unaligned_le32(field);
	return true;
}

/**
 * kwarp_fpdu_crc() - read the CRC field of a complete FPDU
 * @r:		reader at the first byte; its final position is undefined, so pass a copy
 * @f:		from kwarp_fpdu_peek(), which returned KWARP_FPDU_OK
 * @crc:	result: the field, not compared with anything
 *
 * Return: false if @r ended early.
 */
bool kwarp_fpdu_crc(struct kwarp_reader *r, const struct kwarp_fpdu *f,
		    u32 *crc)
{
	return kwarp_reader_skip(r, f->len - KWARP_MPA_CRC_LEN) &&
	       crc_field(r, crc);
}

/**
 * kwarp_fpdu_verify() - check a complete FPDU and get its first bytes
 * @r:		reader at the first byte; its final position is undefined, so pass a copy
 * @f:		from kwarp_fpdu_peek(), which returned KWARP_FPDU_OK
 * @crc:	CRCs are in use
 * @hdr:	receives the first ULPDU bytes, without markers
 * @hdr_len:	size of @hdr, at most KWARP_FPDU_HDR_MAX; a shorter ULPDU is copied
 *		completely
 *
 * Every marker is checked, except its reserved half and low bits (RFC 5044 4.2). If both
 * CRC and marker are wrong, the CRC is reported, because a marker error presupposes a
 * valid CRC (RFC 5044 8, error 3). Without CRC and markers only @hdr is read.
 *
 * Return: KWARP_FPDU_OK, KWARP_FPDU_ERR_CRC, KWARP_FPDU_ERR_MARKER, or
 * KWARP_FPDU_NEED_MORE if @r ended early.
 */
int kwarp_fpdu_verify(struct kwarp_reader *r, const struct kwarp_fpdu *f,
		      bool crc, u8 *hdr, u32 hdr_len)
{
	u32 to_marker = f->markers ? kwarp_to_marker(f->pos) : U32_MAX;
	u32 sum = ~0U;
	struct scan s;

	hdr_len = min(hdr_len, f->ulpdu_len);
	s.off = 0;
	s.head_len = min(KWARP_MPA_HDR_LEN + hdr_len + KWARP_MARKER_LEN,
			 f->len - KWARP_MPA_CRC_LEN);
	s.marker_off = to_marker;
	s.length_off = to_marker ? 0 : KWARP_MARKER_LEN;
	s.bad_marker = false;

	if (!scan_body(r, f, &s, crc ? &sum : NULL))
		return KWARP_FPDU_NEED_MORE;
	if (crc) {
		u32 field;

		if (!crc_field(r, &field))
			return KWARP_FPDU_NEED_MORE;
		if (field != ~sum)
			return KWARP_FPDU_ERR_CRC;
	}
	if (s.bad_marker)
		return KWARP_FPDU_ERR_MARKER;
	if (hdr_len)
		copy_hdr(hdr, hdr_len, s.head, to_marker);
	return KWARP_FPDU_OK;
}

/**
 * kwarp_fpdu_flat_marked() - kwarp_fpdu_flat() for streams with markers
 * @p:		first byte of an FPDU
 * @n:		contiguous bytes at @p
 * @crc:	CRCs are in use
 * @f:		result; the caller has set its @pos
 *
 * The checks are those of kwarp_fpdu_verify().
 *
 * Return: as kwarp_fpdu_flat(), or KWARP_FPDU_ERR_MARKER.
 */
int kwarp_fpdu_flat_marked(const u8 *p, u32 n, bool crc, struct kwarp_fpdu *f)
{
	u32 first = kwarp_to_marker(f->pos);
	u32 length_off = first ? 0 : KWARP_MARKER_LEN;
	u32 end, at;

	if (n < length_off + KWARP_MPA_HDR_LEN)
		return KWARP_FPDU_NEED_MORE;
	f->markers = true;
	f->ulpdu_len = get_unaligned_be16(p + length_off);
	f->len = kwarp_fpdu_len(f->ulpdu_len, f->pos, true);
	f->need = f->len;
	if (f->len > n || f->ulpdu_len > KWARP_ULPDU_MAX)
		return KWARP_FPDU_NEED_MORE;
	end = f->len - KWARP_MPA_CRC_LEN;
	if (crc && !kwarp_fpdu_crc_ok(p, f->len))
		return KWARP_FPDU_ERR_CRC;
	for (at = first; at < end; at += KWARP_MARKER_SPACING) {
		u32 ptr = at ? at - length_off : 0;

		/* RFC 5044 4.2: ignore the reserved half and the low two bits. */
		if ((get_unaligned_be16(p + at + 2) & ~3U) != ptr)
			return KWARP_FPDU_ERR_MARKER;
	}
	return KWARP_FPDU_OK;
}

/**
 * kwarp_fpdu_flat_hdr() - get the first bytes of the ULPDU of a contiguous FPDU
 * @p:		first byte of the FPDU
 * @f:		the FPDU, verified
 * @hdr:	receives the first ULPDU bytes, without markers
 * @hdr_len:	size of @hdr, at most KWARP_FPDU_HDR_MAX; a shorter ULPDU is copied
 *		completely
 */
void kwarp_fpdu_flat_hdr(const u8 *p, const struct kwarp_fpdu *f, u8 *hdr, u32 hdr_len)
{
	hdr_len = min(hdr_len, f->ulpdu_len);
	if (hdr_len)
		copy_hdr(hdr, hdr_len, p, f->markers ? kwarp_to_marker(f->pos) : U32_MAX);
}

/**
 * kwarp_payload_init() - start iterating over the ULPDU of an FPDU
 * @pl:		iterator
 * @r:		at the first byte of the FPDU; from now on owned by the iterator
 * @f:		the FPDU, verified
 * @off:	ULPDU bytes to skip: the headers
 */
void kwarp_payload_init(struct kwarp_payload *pl, struct kwarp_reader *r,
			const struct kwarp_fpdu *f, u32 off)
{
	const u8 *p;
	u32 run;

	pl->r = r;
	pl->left = KWARP_MPA_HDR_LEN + f->ulpdu_len;
	pl->to_marker = f->markers ? kwarp_to_marker(f->pos) : U32_MAX;

	off += KWARP_MPA_HDR_LEN;
	do {
		run = kwarp_payload_next(pl, &p, off);
		off -= run;
	} while (run);
}

/* Skip a marker. */
static bool pass_marker(struct kwarp_payload *pl)
{
	struct kwarp_reader *r = pl->r;

	if (r->n >= KWARP_MARKER_LEN)
		reader_advance(r, KWARP_MARKER_LEN);
	else if (!kwarp_reader_skip(r, KWARP_MARKER_LEN))
		return false;
	pl->to_marker = KWARP_MARKER_DATA;
	return true;
}

/**
 * kwarp_payload_next() - get the next run of contiguous ULPDU bytes
 * @pl:		iterator
 * @p:		receives the address of the run
 * @max:	maximum number of bytes
 *
 * Return: length of the run; 0 at the end of the ULPDU.
 */
u32 kwarp_payload_next(struct kwarp_payload *pl, const u8 **p, u32 max)
{
	struct kwarp_reader *r = pl->r;
	u32 run = min(max, pl->left);

	if (!run || (!pl->to_marker && !pass_marker(pl)) ||
	    !kwarp_reader_more(r))
		return 0;
	run = min(run, r->n);
	run = min(run, pl->to_marker);
	*p = r->p;
	reader_advance(r, run);
	pl->left -= run;
	pl->to_marker -= run;
	return run;
}

/* Copy the next len ULPDU bytes, at most pl->left, from contiguous memory. */
static void copy_flat(struct kwarp_payload *pl, u8 *dst, u32 len)
{
	struct kwarp_reader *r = pl->r;
	u32 run = min(len, pl->to_marker);
	u32 to_marker = pl->to_marker;
	const u8 *p = r->p;

	pl->left -= len;
	memcpy(dst, p, run);
	while (len -= run) {
		dst += run;
		p += run + KWARP_MARKER_LEN;
		to_marker = KWARP_MARKER_DATA;
		run = min(len, to_marker);
		memcpy(dst, p, run);
	}
	pl->to_marker = to_marker - run;
	p += run;
	r->n -= p - r->p;
	r->p = p;
}

/**
 * kwarp_fpdu_flat_copy() - copy the ULPDU of a contiguous FPDU from some byte on
 * @p:		first byte of the FPDU
 * @f:		the FPDU, verified
 * @off:	ULPDU bytes to skip: the headers, at most KWARP_FPDU_HDR_MAX and not more than the
 *		ULPDU has
 * @dst:	receives the other bytes, without markers
 */
void kwarp_fpdu_flat_copy(const u8 *p, const struct kwarp_fpdu *f, u32 off, u8 *dst)
{
	struct kwarp_payload pl;
	struct kwarp_reader r;

	kwarp_payload_flat(&pl, &r, p, f, off);
	copy_flat(&pl, dst, pl.left);
}

/*
 * As kwarp_payload_copy(), in all cases: markers among the bytes, several pieces of memory, fewer
 * than len bytes.
 */
u32 kwarp_payload_copy_pieces(struct kwarp_payload *pl, u8 *dst, u32 len)
{
	struct kwarp_reader *r = pl->r;
	u32 left = min(len, pl->left);
	u8 *to = dst;

	if (!r->next) {
		copy_flat(pl, dst, left);
		return left;
	}
	pl->left -= left;
	while (left) {
		u32 run;

		if ((!pl->to_marker && !pass_marker(pl)) ||
		    !kwarp_reader_more(r))
			break;
		run = min(left, r->n);
		run = min(run, pl->to_marker);
		memcpy(to, r->p, run);
		reader_advance(r, run);
		pl->to_marker -= run;
		to += run;
		left -= run;
	}
	pl->left += left;
	return to - dst;
}

/**
 * kwarp_markers_in() - count the markers in a range of the stream
 * @pos:	stream position of its first byte
 * @len:	bytes
 *
 * Return: number of markers that begin in the range.
 */
u32 kwarp_markers_in(u32 pos, u32 len)
{
	u32 first = kwarp_to_marker(pos);

	return len > first ? 1 + (len - first - 1) / KWARP_MARKER_SPACING : 0;
}
