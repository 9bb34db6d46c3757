/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA framing (RFC 5044 section 4): lengths, markers, and the receiver's side.
 * The sender's side is in mpa_writer.h.
 *
 * A stream position ("pos") counts the octets of one direction since Full
 * Operation began, markers included, modulo 2^32. Markers stand where pos is a
 * multiple of 512; that survives the wrap because 512 divides 2^32. An FPDU
 * starts at a multiple of 4; a marker in front of its ULPDU Length field
 * belongs to it (RFC 5044 4.3), so "the FPDU at pos" begins with that marker.
 */
#ifndef _KWARP_PROTO_MPA_FPDU_H
#define _KWARP_PROTO_MPA_FPDU_H

#include "types.h"

#define KWARP_MPA_HDR_LEN	2	/* ULPDU Length field */
#define KWARP_MPA_CRC_LEN	4
#define KWARP_MARKER_LEN	4
#define KWARP_MARKER_SPACING	512	/* first octet of marker to next */
#define KWARP_MARKER_DATA	508	/* octets between two markers */
#define KWARP_ULPDU_MAX		64768U	/* RFC 5044 3 */
#define KWARP_MULPDU_MIN	128	/* RFC 5044 3, 4.5: never offer less */
#define KWARP_FPDU_PEEK_LEN	6	/* marker and ULPDU Length field */
#define KWARP_FPDU_HDR_MAX	72	/* most that kwarp_fpdu_verify() copies */

/**
 * enum kwarp_fpdu_verdict - what the receiver finds
 * @KWARP_FPDU_OK:	nothing wrong
 * @KWARP_FPDU_NEED_MORE:	octets are missing, see kwarp_fpdu.need
 * @KWARP_FPDU_ERR_LENGTH: ULPDU Length over 64768 (RFC 5044 3)
 * @KWARP_FPDU_ERR_CRC:	RFC 5044 8, error 2
 * @KWARP_FPDU_ERR_MARKER: RFC 5044 8, error 3: a marker points elsewhere
 */
enum kwarp_fpdu_verdict {
	KWARP_FPDU_OK = 0,
	KWARP_FPDU_NEED_MORE = 1,
	KWARP_FPDU_ERR_LENGTH = -1,
	KWARP_FPDU_ERR_CRC = -2,
	KWARP_FPDU_ERR_MARKER = -3,
};

/**
 * struct kwarp_reader - octets that lie in several pieces of memory
 * @p:		next octet
 * @n:		octets left at @p; may be 0
 * @next:	load the next piece into @p and @n; false if there is none
 *
 * Embed it in what walks the pieces (an skb walker, an array of spans). A
 * function here calls @next only when it needs an octet that is not there.
 * Copy the outer structure to read the same octets twice.
 */
struct kwarp_reader {
	const u8 *p;
	u32 n;
	bool (*next)(struct kwarp_reader *r);
};

/**
 * struct kwarp_fpdu - one FPDU of the stream, as its length field tells it
 * @pos:	stream position of its first octet
 * @len:	octets in all: markers, length field, ULPDU, pad, CRC
 * @ulpdu_len:	octets of the ULPDU
 * @need:	octets from @pos that must be there to go on: set in any case,
 *		more than available after KWARP_FPDU_NEED_MORE
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
 * struct kwarp_payload - iterator over the ULPDU octets of one FPDU
 * @r:		where they come from
 * @left:	ULPDU octets not returned yet
 * @to_marker:	octets up to the next marker; without markers out of reach
 */
struct kwarp_payload {
	struct kwarp_reader *r;
	u32 left;
	u32 to_marker;
};

/**
 * kwarp_to_marker() - distance to the next marker
 * @pos:	stream position
 *
 * Positions where a marker can matter are multiples of 4: low bits are ignored.
 * Return: 0 if a marker stands at @pos, else up to 508.
 */
static inline u32 kwarp_to_marker(u32 pos)
{
	return (0U - (pos & ~3U)) % KWARP_MARKER_SPACING;
}

/**
 * kwarp_markers_in() - how many markers stand in a stretch of stream
 * @pos:	stream position of its first octet
 * @len:	octets
 *
 * Return: number of markers that begin there.
 */
static inline u32 kwarp_markers_in(u32 pos, u32 len)
{
	u32 first = kwarp_to_marker(pos);

	return len > first ? 1 + (len - first - 1) / KWARP_MARKER_SPACING : 0;
}

/**
 * kwarp_fpdu_len() - length of an FPDU on the wire
 * @ulpdu_len:	octets of the ULPDU, at most KWARP_ULPDU_MAX
 * @pos:	stream position of the FPDU
 * @markers:	markers are in use
 *
 * Return: octets, with a marker in front, markers inside, pad and CRC.
 */
static inline u32 kwarp_fpdu_len(u32 ulpdu_len, u32 pos, bool markers)
{
	u32 len = ((KWARP_MPA_HDR_LEN + ulpdu_len + 3) & ~3U) +
		  KWARP_MPA_CRC_LEN;
	u32 first = kwarp_to_marker(pos);

	if (markers && len > first)
		len += KWARP_MARKER_LEN *
		       ((len - first + KWARP_MARKER_DATA - 1) /
			KWARP_MARKER_DATA);
	return len;
}

/**
 * kwarp_marker_room() - octets other than markers that fit in a stretch of stream
 * @room:	length of the stretch
 * @to_marker:	distance from its start to the next marker
 *
 * A marker is due before the octet that follows it, so none is counted at the
 * very end of the stretch.
 *
 * Return: octets.
 */
static inline u32 kwarp_marker_room(u32 room, u32 to_marker)
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
 * kwarp_mulpdu() - largest ULPDU whose FPDU fits
 * @emss:	octets of room, e.g. of a TCP segment
 * @pos:	stream position of the FPDU
 * @markers:	markers are in use
 *
 * Counts the markers that really fall into the FPDU, where RFC 5044 4.5 has a
 * formula for the worst case; the same section allows to adjust MULPDU to the
 * moment. The caller keeps to KWARP_MULPDU_MIN where RFC 5044 4.5 asks for it.
 *
 * Return: octets, at most KWARP_ULPDU_MAX; 0 if not one fits.
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

/**
 * kwarp_marker_locate() - find an FPDU by a marker (out-of-order reception)
 * @pos:	stream position of the marker's first octet
 * @marker:	its 4 octets
 *
 * The caller checks that the result lies in the stream and then the FPDU.
 * Return: stream position of the FPDU that contains the marker, or which the
 * marker precedes.
 */
u32 kwarp_marker_locate(u32 pos, const u8 *marker);

/**
 * kwarp_reader_more() - is there an octet at r->p?
 * @r:		reader; the next piece is loaded if this one is used up
 *
 * Return: false at the end of all.
 */
static inline bool kwarp_reader_more(struct kwarp_reader *r)
{
	while (!r->n)
		if (!r->next(r))
			return false;
	return true;
}

/**
 * kwarp_reader_skip() - go forward
 * @r:		reader
 * @n:		octets
 *
 * Return: false if there are fewer.
 */
bool kwarp_reader_skip(struct kwarp_reader *r, u32 n);

/**
 * kwarp_fpdu_peek() - find the extent of the FPDU that starts here
 * @r:		at its first octet. Where it stands afterwards is not defined:
 *		give a copy
 * @avail:	octets that @r can deliver in all
 * @pos:	stream position of the FPDU
 * @markers:	markers are in use in this direction
 * @f:		result
 *
 * Return: KWARP_FPDU_OK if the whole FPDU is there, KWARP_FPDU_NEED_MORE
 * (f->need octets from @pos are needed), or KWARP_FPDU_ERR_LENGTH.
 */
int kwarp_fpdu_peek(struct kwarp_reader *r, u32 avail, u32 pos, bool markers,
		    struct kwarp_fpdu *f);

/**
 * kwarp_fpdu_verify() - check a complete FPDU and get its first octets
 * @r:		at its first octet. Where it stands afterwards is not defined:
 *		give a copy
 * @f:		from kwarp_fpdu_peek(), which said KWARP_FPDU_OK
 * @crc:	CRCs are in use
 * @hdr:	gets the first ULPDU octets, markers removed
 * @hdr_len:	size of @hdr, at most KWARP_FPDU_HDR_MAX; of a shorter ULPDU
 *		all octets are copied
 *
 * Every marker is checked, but its reserved half and low bits are not
 * (RFC 5044 4.2). A wrong CRC is reported rather than a wrong marker, since a
 * marker error presupposes a valid CRC (RFC 5044 8, error 3). CRC32c is run
 * once per piece of @r. Without CRC and markers only @hdr is read.
 *
 * Return: KWARP_FPDU_OK, KWARP_FPDU_ERR_CRC, KWARP_FPDU_ERR_MARKER, or
 * KWARP_FPDU_NEED_MORE if @r ended early.
 */
int kwarp_fpdu_verify(struct kwarp_reader *r, const struct kwarp_fpdu *f,
		      bool crc, u8 *hdr, u32 hdr_len);

/**
 * kwarp_fpdu_flat() - peek and verify in one step, for the common case
 * @p:		first octet of an FPDU
 * @n:		octets that lie contiguous there
 * @crc:	CRCs are in use; markers are not
 * @f:		result; f->pos is not set
 *
 * The length field is read once: nobody can change what was judged.
 *
 * Return: KWARP_FPDU_OK, KWARP_FPDU_ERR_CRC, or KWARP_FPDU_NEED_MORE, also for
 * what is not usual: then it is for kwarp_fpdu_peek().
 */
static inline int kwarp_fpdu_flat(const u8 *p, u32 n, bool crc,
				  struct kwarp_fpdu *f)
{
	u32 end;

	if (n < KWARP_MPA_HDR_LEN)
		return KWARP_FPDU_NEED_MORE;
	f->ulpdu_len = get_unaligned_be16(p);
	f->len = kwarp_fpdu_len(f->ulpdu_len, 0, false);
	f->markers = false;
	if (f->len > n || f->ulpdu_len > KWARP_ULPDU_MAX)
		return KWARP_FPDU_NEED_MORE;
	end = f->len - KWARP_MPA_CRC_LEN;
	/* Least significant octet first, as RFC 5044 figures 5, 6. */
	if (crc && get_unaligned_le32(p + end) != ~crc32c(~0U, p, end))
		return KWARP_FPDU_ERR_CRC;
	return KWARP_FPDU_OK;
}

/**
 * kwarp_fpdu_flat_marked() - the same where markers are in use
 * @p:		first octet of an FPDU
 * @n:		octets that lie contiguous there
 * @pos:	stream position of the FPDU
 * @crc:	CRCs are in use
 * @hdr:	gets the first ULPDU octets, markers removed
 * @hdr_len:	size of @hdr, at most KWARP_FPDU_HDR_MAX; of a shorter ULPDU
 *		all octets are copied
 * @f:		result
 *
 * Checks what kwarp_fpdu_verify() checks, by going from marker to marker.
 *
 * Return: KWARP_FPDU_OK; KWARP_FPDU_NEED_MORE, also for what is not usual: then
 * it is for kwarp_fpdu_peek(); KWARP_FPDU_ERR_CRC or KWARP_FPDU_ERR_MARKER.
 */
int kwarp_fpdu_flat_marked(const u8 *p, u32 n, u32 pos, bool crc, u8 *hdr,
			   u32 hdr_len, struct kwarp_fpdu *f);

/**
 * kwarp_payload_init() - start to iterate over the ULPDU of an FPDU
 * @pl:		iterator
 * @r:		at the first octet of the FPDU; belongs to the iterator from now
 *		on
 * @f:		the FPDU, verified
 * @off:	ULPDU octets to skip: the headers
 */
void kwarp_payload_init(struct kwarp_payload *pl, struct kwarp_reader *r,
			const struct kwarp_fpdu *f, u32 off);

/**
 * kwarp_payload_mem() - iterate over octets that are in memory already
 * @pl:		iterator
 * @r:		belongs to the iterator from now on
 * @p:		first octet
 * @len:	how many
 */
static inline void kwarp_payload_mem(struct kwarp_payload *pl,
				     struct kwarp_reader *r, const u8 *p,
				     u32 len)
{
	memset(r, 0, sizeof(*r));
	r->p = p;
	r->n = len;
	pl->r = r;
	pl->left = len;
	pl->to_marker = ~0U;
}

/**
 * kwarp_payload_flat() - start to iterate over the ULPDU of a contiguous FPDU
 * @pl:		iterator
 * @r:		belongs to the iterator from now on
 * @p:		first octet of the FPDU
 * @f:		the FPDU, verified
 * @off:	ULPDU octets to skip: the headers, at most KWARP_FPDU_HDR_MAX and not
 *		more than the ULPDU has
 *
 * As kwarp_payload_init(), where nothing has to be looked for.
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
	r->next = NULL;	/* behind the ULPDU there is always a CRC field */
}

/**
 * kwarp_payload_next() - next run of contiguous ULPDU octets
 * @pl:		iterator
 * @p:		gets the address of the run
 * @max:	most octets wanted
 *
 * Return: length of the run; 0 at the end of the ULPDU.
 */
u32 kwarp_payload_next(struct kwarp_payload *pl, const u8 **p, u32 max);

/**
 * kwarp_payload_copy() - copy the next ULPDU octets
 * @pl:		iterator
 * @dst:	room for @len octets
 * @len:	how many
 *
 * Return: octets copied; fewer than @len at the end of the ULPDU.
 */
u32 kwarp_payload_copy(struct kwarp_payload *pl, u8 *dst, u32 len);

#endif /* _KWARP_PROTO_MPA_FPDU_H */
