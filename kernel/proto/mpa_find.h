/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Locating FPDUs in the middle of a stream by markers (RFC 5044 4.3). */
#ifndef _KWARP_PROTO_MPA_FIND_H
#define _KWARP_PROTO_MPA_FIND_H

#include "proto/mpa_fpdu.h"

bool kwarp_fpdu_find(struct kwarp_reader *r, u32 pos, u32 len, u32 *start,
		     u32 *marker);

/**
 * kwarp_fpdu_contains() - do marker and length refer to the same FPDU?
 * @f:		FPDU at the position found
 * @marker:	position of the marker
 *
 * Return: true if the marker lies in the FPDU.
 */
static inline bool kwarp_fpdu_contains(const struct kwarp_fpdu *f, u32 marker)
{
	return marker - f->pos < f->len;
}

#endif /* _KWARP_PROTO_MPA_FIND_H */
