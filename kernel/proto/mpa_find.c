// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Finding FPDUs by markers. */
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
 * @r:		at the first byte of the range. Its final position is undefined: pass a
 *		copy
 * @pos:	stream position there; any value, also inside a marker
 * @len:	bytes of the range
 * @start:	result: position of the FPDU, within the range
 * @marker:	result: position of the marker, also within the range
 *
 * FPDUs that began before the range, and those with no marker after their start, cannot
 * be found and are skipped. The result is based on the marker only; see
 * kwarp_fpdu_agrees().
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
		/*
		 * The distance back to the FPDU is within the searched range.
		 */
		if (*marker - *start <= at)
			return true;
		if (!kwarp_reader_skip(r, KWARP_MARKER_DATA))
			return false;
		at += KWARP_MARKER_SPACING;
	}
	return false;
}
