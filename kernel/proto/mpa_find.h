/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Locating FPDUs in the middle of a stream by markers (RFC 5044 4.3). */
#ifndef _KWARP_PROTO_MPA_FIND_H
#define _KWARP_PROTO_MPA_FIND_H

#include "proto/mpa_fpdu.h"

bool kwarp_fpdu_find(struct kwarp_reader *r, u32 pos, u32 len, u32 *start,
		     u32 *marker);

bool kwarp_fpdu_contains(const struct kwarp_fpdu *f, u32 marker);
#endif /* _KWARP_PROTO_MPA_FIND_H */
