/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rendezvous, an extension of ours: two queue pairs that were told of each other by
 * number and GID find each other. What each says of itself is the private data of
 * the MPA request or reply (Documentation/wire.rst).
 */
#ifndef _KWARP_PROTO_RENDEZVOUS_H
#define _KWARP_PROTO_RENDEZVOUS_H

#include "types.h"

enum kwarp_rdv_size {
	KWARP_RDV_LEN		= 56,
	KWARP_RDV_GID_LEN	= 16,
};

/* As InfiniBand has it: a PSN is a number of 24 bits. */
#define KWARP_RDV_PSN_MASK	0xffffff

/**
 * struct kwarp_rdv_id - one end of the pair, and what it was told of the other
 * @qpn:	its queue pair number
 * @peer_qpn:	the other's
 * @sends:	@sq_psn is known: the queue pair is in RTS
 * @sq_psn:	first PSN that it sends
 * @rq_psn:	first PSN that it expects
 * @gid:	its GID
 * @peer_gid:	the other's
 */
struct kwarp_rdv_id {
	u32 qpn;
	u32 peer_qpn;
	bool sends;
	u32 sq_psn;
	u32 rq_psn;
	u8 gid[KWARP_RDV_GID_LEN];
	u8 peer_gid[KWARP_RDV_GID_LEN];
};

/**
 * kwarp_rdv_encode() - write an identity
 * @id:		identity
 * @dst:	room for KWARP_RDV_LEN octets
 */
void kwarp_rdv_encode(const struct kwarp_rdv_id *id, u8 *dst);

/**
 * kwarp_rdv_decode() - read an identity
 * @p:		private data
 * @len:	their length
 * @id:		result
 *
 * Return: false if they are no identity of a version that is known.
 */
bool kwarp_rdv_decode(const u8 *p, u32 len, struct kwarp_rdv_id *id);

/**
 * kwarp_rdv_numbers_match() - does each end name the other's queue pair
 * @mine:	our identity
 * @theirs:	what the peer says
 *
 * GIDs are the caller's to compare, which knows which of them mean one device.
 *
 * Return: true if so.
 */
bool kwarp_rdv_numbers_match(const struct kwarp_rdv_id *mine,
			     const struct kwarp_rdv_id *theirs);

enum kwarp_rdv_psns {
	KWARP_RDV_PSNS_RIGHT,	/* all that are known, and one is */
	KWARP_RDV_PSNS_UNKNOWN,	/* neither end sends yet */
	KWARP_RDV_PSNS_WRONG,
};

/**
 * kwarp_rdv_check_psns() - does each end expect the PSN that the other sends from
 * @mine:	our identity
 * @theirs:	what the peer says, its numbers those of our partner
 *
 * The PSN of an end that is not in RTS is not known.
 */
enum kwarp_rdv_psns kwarp_rdv_check_psns(const struct kwarp_rdv_id *mine,
					 const struct kwarp_rdv_id *theirs);

/**
 * kwarp_rdv_psn_equal() - compare two PSNs
 *
 * Return: true if the 24 bits that count are the same.
 */
bool kwarp_rdv_psn_equal(u32 a, u32 b);

/**
 * kwarp_rdv_initiates() - which end makes the connection
 * @id:		our identity
 * @same:	both ends are one device: its GIDs do not count
 *
 * The lower GID and, with the same GID, the lower number. Both ends come to
 * opposite answers, unless a queue pair is its own partner: false.
 *
 * Return: true if it is ours.
 */
bool kwarp_rdv_initiates(const struct kwarp_rdv_id *id, bool same);

#endif /* _KWARP_PROTO_RENDEZVOUS_H */
