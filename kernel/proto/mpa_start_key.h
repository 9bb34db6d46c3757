/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The Start Key of draft-culley-iwarp-mpa-03, 8.1: the predecessor of RFC 5044's request
 * and reply. Each side sends one after the last streaming mode data.
 *
 * Available copies of the draft lack the figure of the format. The text describes a key of
 * 15 bytes followed by M, C, Res and Rev. We assume that these share the 16th byte: M is
 * bit 7, C bit 6, Rev the lower four. Res and Rev are sent as zero, so only the places of
 * M and C matter.
 */
#ifndef _KWARP_PROTO_MPA_START_KEY_H
#define _KWARP_PROTO_MPA_START_KEY_H

#include "proto/mpa_negotiate.h"

#define KWARP_START_KEY_LEN	16

/**
 * struct kwarp_start_key - a Start Key
 * @markers:	M: the sender wants to receive markers
 * @crc:	C: the sender wants CRCs
 */
struct kwarp_start_key {
	bool markers;
	bool crc;
};

void kwarp_start_key_encode(const struct kwarp_start_key *k, u8 *dst);
int kwarp_start_key_decode(const u8 *p, u32 len, struct kwarp_start_key *k);
void kwarp_start_key_agree(const struct kwarp_start_key *mine,
			   const struct kwarp_start_key *peers, enum kwarp_mpa_role role,
			   struct kwarp_mpa_params *out);

#endif /* _KWARP_PROTO_MPA_START_KEY_H */
