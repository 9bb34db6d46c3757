/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finding FPDUs in the middle of a stream by its markers (RFC 5044 4.3). */
#ifndef _KWARP_PROTO_MPA_FIND_H
#define _KWARP_PROTO_MPA_FIND_H

#include "mpa_fpdu.h"

/**
 * kwarp_fpdu_find() - the first FPDU whose beginning a marker tells
 * @r:		at the first octet of the stretch. Where it stands afterwards is not
 *		defined: give a copy
 * @pos:	stream position there; any, also inside of a marker
 * @len:	octets of the stretch
 * @start:	position of the FPDU, within the stretch
 * @marker:	position of the marker, which lies within the stretch, too
 *
 * An FPDU that began before the stretch is passed over, and so are those without
 * any marker behind it: they cannot be told. What was found is only what a marker
 * says; see kwarp_fpdu_agrees().
 *
 * Return: false if there is none.
 */
bool kwarp_fpdu_find(struct kwarp_reader *r, u32 pos, u32 len, u32 *start,
		     u32 *marker);

/**
 * kwarp_fpdu_agrees() - do marker and length mean the same FPDU?
 * @f:		FPDU at the position that was found
 * @marker:	position of the marker
 *
 * Return: true if the marker lies in it.
 */
static inline bool kwarp_fpdu_agrees(const struct kwarp_fpdu *f, u32 marker)
{
	return marker - f->pos < f->len;
}

#endif /* _KWARP_PROTO_MPA_FIND_H */
