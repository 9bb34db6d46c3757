/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA framing (RFC 5044 section 4): lengths, markers, and the receive side. mpa_writer.h
 * has the send side.
 *
 * A stream position ("pos") counts the bytes of one direction since Full Operation began,
 * markers included, modulo 2^32. Markers begin where pos is a multiple of 512, also after
 * a wrap, because 512 divides 2^32. An FPDU begins at a multiple of 4. A marker before the
 * ULPDU Length field belongs to the FPDU (RFC 5044 4.3), so "the FPDU at pos" begins with
 * that marker.
 */
#ifndef _KWARP_PROTO_MPA_FPDU_H
#define _KWARP_PROTO_MPA_FPDU_H

#include "proto/types.h"

#define KWARP_MPA_HDR_LEN	2	/* ULPDU Length field */
#define KWARP_MPA_CRC_LEN	4
#define KWARP_MARKER_LEN	4
#define KWARP_MARKER_SPACING	512	/* first byte of a marker to that of the next */
#define KWARP_MARKER_DATA	508	/* bytes between two markers */
#define KWARP_ULPDU_MAX		64768U	/* RFC 5044 3 */
#define KWARP_MULPDU_MIN	128	/* RFC 5044 3, 4.5: never offer less */
#define KWARP_FPDU_PEEK_LEN	6	/* marker and ULPDU Length field */
#define KWARP_FPDU_HDR_MAX	72	/* maximum of headers that are copied */

/**
 * enum kwarp_fpdu_verdict - result of the receiver's checks
 * @KWARP_FPDU_OK:	no error
 * @KWARP_FPDU_NEED_MORE:	bytes are missing, see kwarp_fpdu.need
 * @KWARP_FPDU_ERR_LENGTH: ULPDU Length over 64768 (RFC 5044 3)
 * @KWARP_FPDU_ERR_CRC:	RFC 5044 8, error 2
 * @KWARP_FPDU_ERR_MARKER: RFC 5044 8, error 3: a marker does not point to the ULPDU Length
 */
enum kwarp_fpdu_verdict {
	KWARP_FPDU_OK = 0,
	KWARP_FPDU_NEED_MORE = 1,
	KWARP_FPDU_ERR_LENGTH = -1,
	KWARP_FPDU_ERR_CRC = -2,
	KWARP_FPDU_ERR_MARKER = -3,
};

/**
 * struct kwarp_reader - reader of bytes in several pieces of memory
 * @p:		next byte
 * @n:		bytes left at @p; may be 0
 * @next:	load the next piece into @p and @n; false if there is none. NULL: there is no
 *		other piece, and the caller reads no more than the @n bytes at @p
 *
 * A reader is embedded in the structure that walks the pieces (an skb walker, an array of
 * spans). Functions here call @next only when they need a byte beyond the piece. To read
 * the same bytes twice, copy the outer structure.
 */
struct kwarp_reader {
	const u8 *p;
	u32 n;
	bool (*next)(struct kwarp_reader *r);
};

/**
 * struct kwarp_fpdu - one FPDU of the stream, according to its length field
 * @pos:	stream position of its first byte
 * @len:	total bytes: markers, length field, ULPDU, pad, CRC
 * @ulpdu_len:	bytes of the ULPDU
 * @need:	bytes from @pos that are required to continue; after KWARP_FPDU_NEED_MORE
 *		from kwarp_fpdu_peek() more than are available
 * @markers:	markers are in use in this direction
 */
struct kwarp_fpdu {
	u32 pos;
	u32 len;
	u32 ulpdu_len;
	u32 need;
	bool markers;
};

/**
 * struct kwarp_payload - iterator over the ULPDU bytes of one FPDU
 * @r:		source
 * @left:	ULPDU bytes not returned yet
 * @to_marker:	bytes up to the next marker; without markers larger than any FPDU
 */
struct kwarp_payload {
	struct kwarp_reader *r;
	u32 left;
	u32 to_marker;
};

/**
 * kwarp_to_marker() - distance to the next marker
 * @pos:	stream position; the low two bits are ignored, since markers are aligned
 *
 * Return: 0 if there is a marker at @pos, otherwise up to 508.
 */
static inline u32 kwarp_to_marker(u32 pos)
{
	return (0U - (pos & ~3U)) % KWARP_MARKER_SPACING;
}

u32 kwarp_markers_in(u32 pos, u32 len);
/**
 * kwarp_fpdu_len() - length of an FPDU on the wire
 * @ulpdu_len:	bytes of the ULPDU, at most KWARP_ULPDU_MAX
 * @pos:	stream position of the FPDU
 * @markers:	markers are in use
 *
 * Return: bytes, including a marker in front, markers inside, pad and CRC.
 */
static inline u32 kwarp_fpdu_len(u32 ulpdu_len, u32 pos, bool markers)
{
	u32 len = ((KWARP_MPA_HDR_LEN + ulpdu_len + 3) & ~3U) +
		  KWARP_MPA_CRC_LEN;
	u32 first;

	if (!markers)
		return len;
	first = kwarp_to_marker(pos);
	if (len > first)
		len += KWARP_MARKER_LEN *
		       ((len - first + KWARP_MARKER_DATA - 1) /
			KWARP_MARKER_DATA);
	return len;
}

u32 kwarp_marker_room(u32 room, u32 to_marker);

/**
 * kwarp_mulpdu() - largest ULPDU whose FPDU fits
 * @emss:	bytes available, e.g. in a TCP segment
 * @pos:	stream position of the FPDU
 * @markers:	markers are in use
 *
 * The result accounts for the markers that fall into this FPDU. RFC 5044 4.5 has a formula
 * for the worst case, but allows adjusting MULPDU dynamically. The caller ensures
 * KWARP_MULPDU_MIN where RFC 5044 4.5 requires it.
 *
 * Return: bytes, at most KWARP_ULPDU_MAX; 0 if not even one fits.
 */
static inline u32 kwarp_mulpdu(u32 emss, u32 pos, bool markers)
{
	const u32 overhead = KWARP_MPA_HDR_LEN + KWARP_MPA_CRC_LEN;
	u32 len = emss;

	if (markers)
		len = kwarp_marker_room(emss, kwarp_to_marker(pos));
	len &= ~3U;
	if (len <= overhead)
		return 0;
	len -= overhead;
	return len < KWARP_ULPDU_MAX ? len : KWARP_ULPDU_MAX;
}

u32 kwarp_marker_locate(u32 pos, const u8 *marker);

/**
 * kwarp_reader_more() - is there a byte at r->p?
 * @r:		reader; loads the next piece if the current one is used up
 *
 * Return: false at the end of the last piece.
 */
static inline bool kwarp_reader_more(struct kwarp_reader *r)
{
	while (!r->n)
		if (!r->next(r))
			return false;
	return true;
}

bool kwarp_reader_skip(struct kwarp_reader *r, u32 n);
int kwarp_fpdu_peek(struct kwarp_reader *r, u32 avail, u32 pos, bool markers,
		    struct kwarp_fpdu *f);
int kwarp_fpdu_verify(struct kwarp_reader *r, const struct kwarp_fpdu *f,
		      bool crc, u8 *hdr, u32 hdr_len);
bool kwarp_fpdu_crc(struct kwarp_reader *r, const struct kwarp_fpdu *f,
		    u32 *crc);

/**
 * kwarp_fpdu_crc_ok() - check the CRC of a contiguous FPDU
 * @p:		first byte of the FPDU
 * @len:	its bytes, from kwarp_fpdu_len()
 *
 * Return: true if the CRC is that of the bytes before it.
 */
static inline bool kwarp_fpdu_crc_ok(const u8 *p, u32 len)
{
	u32 end = len - KWARP_MPA_CRC_LEN;

	/* Least significant byte first, as in RFC 5044 figures 5, 6. */
	return get_unaligned_le32(p + end) == ~crc32c(~0U, p, end);
}

/**
 * kwarp_fpdu_flat() - peek and verify in one step, for the common case
 * @p:		first byte of an FPDU
 * @n:		contiguous bytes at @p
 * @crc:	CRCs are in use; markers are not
 * @f:		result; f->pos is not set
 *
 * The length field is read once, so a concurrent change of it has no effect on @f.
 *
 * Return: KWARP_FPDU_OK, KWARP_FPDU_ERR_CRC, or KWARP_FPDU_NEED_MORE: the @n bytes
 * do not hold the whole FPDU or its length is invalid, so call kwarp_fpdu_peek().
 */
static inline int kwarp_fpdu_flat(const u8 *p, u32 n, bool crc,
				  struct kwarp_fpdu *f)
{
	if (n < KWARP_MPA_HDR_LEN)
		return KWARP_FPDU_NEED_MORE;
	f->ulpdu_len = get_unaligned_be16(p);
	f->len = kwarp_fpdu_len(f->ulpdu_len, 0, false);
	f->markers = false;
	if (f->len > n || f->ulpdu_len > KWARP_ULPDU_MAX)
		return KWARP_FPDU_NEED_MORE;
	if (crc && !kwarp_fpdu_crc_ok(p, f->len))
		return KWARP_FPDU_ERR_CRC;
	return KWARP_FPDU_OK;
}

int kwarp_fpdu_flat_marked(const u8 *p, u32 n, bool crc, struct kwarp_fpdu *f);
void kwarp_fpdu_flat_hdr(const u8 *p, const struct kwarp_fpdu *f, u8 *hdr, u32 hdr_len);
void kwarp_fpdu_flat_copy(const u8 *p, const struct kwarp_fpdu *f, u32 off, u8 *dst);
void kwarp_payload_init(struct kwarp_payload *pl, struct kwarp_reader *r,
			const struct kwarp_fpdu *f, u32 off);

/**
 * kwarp_payload_flat() - start iterating over the ULPDU of a contiguous FPDU
 * @pl:		iterator
 * @r:		from now on owned by the iterator
 * @p:		first byte of the FPDU
 * @f:		the FPDU, verified
 * @off:	ULPDU bytes to skip: the headers, at most KWARP_FPDU_HDR_MAX and not more
 *		than the ULPDU has
 *
 * Like kwarp_payload_init(), but computes the position instead of walking the pieces.
 */
static inline void kwarp_payload_flat(struct kwarp_payload *pl,
				      struct kwarp_reader *r, const u8 *p,
				      const struct kwarp_fpdu *f, u32 off)
{
	u32 first = f->markers ? kwarp_to_marker(f->pos) : U32_MAX;
	u32 at = KWARP_MPA_HDR_LEN + off;

	pl->r = r;
	pl->left = f->ulpdu_len - off;
	pl->to_marker = first - at;
	if (first < at) {
		pl->to_marker += KWARP_MARKER_DATA;
		at += KWARP_MARKER_LEN;
	}
	r->p = p + at;
	r->n = f->len - at;
	r->next = NULL;	/* a CRC field always follows the ULPDU */
}

u32 kwarp_payload_next(struct kwarp_payload *pl, const u8 **p, u32 max);
u32 kwarp_payload_copy_pieces(struct kwarp_payload *pl, u8 *dst, u32 len);

/**
 * kwarp_payload_copy() - copy the next ULPDU bytes
 * @pl:		iterator
 * @dst:	room for @len bytes
 * @len:	number of bytes
 *
 * Return: bytes copied; fewer than @len at the end of the ULPDU.
 */
static inline u32 kwarp_payload_copy(struct kwarp_payload *pl, u8 *dst, u32 len)
{
	struct kwarp_reader *r = pl->r;

	if (len > pl->left || len > pl->to_marker || len > r->n)
		return kwarp_payload_copy_pieces(pl, dst, len);
	memcpy(dst, r->p, len);
	r->p += len;
	r->n -= len;
	pl->left -= len;
	pl->to_marker -= len;
	return len;
}

#endif /* _KWARP_PROTO_MPA_FPDU_H */
