/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The Start Key of draft-culley-iwarp-mpa-03, 8.1: the predecessor of RFC 5044's request
 * and reply. Each side sends one, after the streaming mode.
 *
 * The draft's figure has been lost; its text describes a key of 15 bytes followed by M,
 * C, Res and Rev. Here they share the 16th byte: M is bit 7, C bit 6, Rev the lower four.
 * Res and Rev are sent as zero, so only M and C depend on this.
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

/**
 * kwarp_start_key_encode() - write a Start Key
 * @k:		key
 * @dst:	room for KWARP_START_KEY_LEN bytes
 */
void kwarp_start_key_encode(const struct kwarp_start_key *k, u8 *dst);

/**
 * kwarp_start_key_decode() - read a possibly incomplete Start Key
 * @p:		bytes received
 * @len:	their number
 * @k:		result, valid if the key is complete
 *
 * An error is reported at the first wrong byte. Res is ignored.
 *
 * Return: KWARP_START_KEY_LEN if the key is complete, 0 if bytes are missing,
 * -KWARP_MPA_E_KEY, or -KWARP_MPA_E_REV: close the connection (8.1, 6).
 */
int kwarp_start_key_decode(const u8 *p, u32 len, struct kwarp_start_key *k);

/**
 * kwarp_start_key_agree() - parameters that result from two Start Keys
 * @mine:	key sent, or to be sent
 * @peers:	key received
 * @passive:	our side is "passive": it sent its key first and may send the first FPDU;
 *		the other side waits for that (8.1, 4 and 5)
 * @out:	sets crc, tx_markers, rx_markers and wait, and everything else to zero:
 *		the version of DDP and RDMAP is that of the draft's time
 */
void kwarp_start_key_agree(const struct kwarp_start_key *mine,
			   const struct kwarp_start_key *peers, bool passive,
			   struct kwarp_mpa_params *out);

#endif /* _KWARP_PROTO_MPA_START_KEY_H */
