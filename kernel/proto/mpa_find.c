// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Locating FPDUs by markers. */
#include "proto/mpa_find.h"

static bool read_marker(struct kwarp_reader *r, u8 *marker)
{
	u32 i;

	for (i = 0; i < KWARP_MARKER_LEN; i++) {
		if (!kwarp_reader_more(r))
			return false;
		marker[i] = *r->p++;
		r->n--;
	}
	return true;
}

/**
 * kwarp_fpdu_find() - find the first FPDU that a marker points to
 * @r:		reader at the first byte of the range; its final position is undefined
 * @pos:	stream position of that byte, which may be inside a marker
 * @len:	bytes of the range
 * @start:	result: position of the FPDU, within the range
 * @marker:	result: position of the marker, also within the range
 *
 * FPDUs that began before the range, and those without a marker in the range, are not
 * found. The marker is not verified; see kwarp_fpdu_contains().
 *
 * Return: false if there is none.
 */
bool kwarp_fpdu_find(struct kwarp_reader *r, u32 pos, u32 len, u32 *start,
		     u32 *marker)
{
	u32 at = (0U - pos) % KWARP_MARKER_SPACING;
	u8 bytes[KWARP_MARKER_LEN];

	if (!kwarp_reader_skip(r, at))
		return false;
	while (at + KWARP_MARKER_LEN <= len && read_marker(r, bytes)) {
		*marker = pos + at;
		*start = kwarp_marker_locate(*marker, bytes);
		/* The FPDU begins inside the range. */
		if (*marker - *start <= at)
			return true;
		if (!kwarp_reader_skip(r, KWARP_MARKER_DATA))
			return false;
		at += KWARP_MARKER_SPACING;
	}
	return false;
}

/**
 * kwarp_fpdu_contains() - do marker and length refer to the same FPDU?
 * @f:		FPDU at the position found
 * @marker:	position of the marker
 *
 * Return: true if the marker lies in the FPDU.
 */
bool kwarp_fpdu_contains(const struct kwarp_fpdu *f, u32 marker)
{
	return marker - f->pos < f->len;
}
