/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finding FPDUs in the middle of a stream by its markers (RFC 5044 4.3). */
#ifndef _KWARP_PROTO_MPA_FIND_H
#define _KWARP_PROTO_MPA_FIND_H

#include "proto/mpa_fpdu.h"

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
		     u32 *marker);

/**
 * kwarp_fpdu_agrees() - do marker and length refer to the same FPDU?
 * @f:		FPDU at the position found
 * @marker:	position of the marker
 *
 * Return: true if the marker lies in it.
 */
static inline bool kwarp_fpdu_agrees(const struct kwarp_fpdu *f, u32 marker)
{
	return marker - f->pos < f->len;
}

#endif /* _KWARP_PROTO_MPA_FIND_H */
