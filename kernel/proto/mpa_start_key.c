// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Start Keys. */
#include "proto/ddp.h"
#include "proto/mpa_start_key.h"

#define KEY_TEXT	"MPA ident frame"
#define KEY_TEXT_LEN	15

#define KEY_M		0x80
#define KEY_C		0x40
#define KEY_REV		0x0f

/**
 * kwarp_start_key_encode() - write a Start Key
 * @k:		key
 * @dst:	room for KWARP_START_KEY_LEN bytes
 */
void kwarp_start_key_encode(const struct kwarp_start_key *k, u8 *dst)
{
	memcpy(dst, KEY_TEXT, KEY_TEXT_LEN);
	dst[KEY_TEXT_LEN] = (k->markers ? KEY_M : 0) | (k->crc ? KEY_C : 0);
}

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
int kwarp_start_key_decode(const u8 *p, u32 len, struct kwarp_start_key *k)
{
	u8 flags;

	memset(k, 0, sizeof(*k));
	if (len && memcmp(p, KEY_TEXT, min_t(u32, len, KEY_TEXT_LEN)))
		return -KWARP_MPA_E_KEY;
	if (len < KWARP_START_KEY_LEN)
		return 0;
	flags = p[KEY_TEXT_LEN];
	if (flags & KEY_REV)
		return -KWARP_MPA_E_REV;
	k->markers = flags & KEY_M;
	k->crc = flags & KEY_C;
	return KWARP_START_KEY_LEN;
}

/**
 * kwarp_start_key_agree() - parameters that result from two Start Keys
 * @mine:	key sent, or to be sent
 * @peers:	key received
 * @role:	of this side. The initiator, "passive" in 8.1, sends its key first, and may send
 *		the first FPDU, for which the other side waits (4 and 5 there)
 * @out:	result; revision and version of DDP and RDMAP are those of the RDMA
 *		Consortium, fields that Start Keys do not negotiate are zero
 */
void kwarp_start_key_agree(const struct kwarp_start_key *mine,
			   const struct kwarp_start_key *peers, enum kwarp_mpa_role role,
			   struct kwarp_mpa_params *out)
{
	memset(out, 0, sizeof(*out));
	out->rev = KWARP_MPA_REV_RDMAC;
	out->ddp_version = KWARP_DDP_V_RDMAC;
	out->crc = mine->crc || peers->crc;
	out->tx_markers = peers->markers;
	out->rx_markers = mine->markers;
	out->wait = role == KWARP_MPA_INITIATOR ? KWARP_MPA_WAIT_NONE : KWARP_MPA_WAIT_FPDU;
}
