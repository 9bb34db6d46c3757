/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rendezvous, an extension of kwarp: two queue pairs that know each other's number and
 * GID connect to each other. Each describes itself in the private data of the MPA request
 * or reply (Documentation/wire.rst).
 */
#ifndef _KWARP_PROTO_RENDEZVOUS_H
#define _KWARP_PROTO_RENDEZVOUS_H

#include "proto/types.h"

enum kwarp_rdv_size {
	KWARP_RDV_LEN		= 56,
	KWARP_RDV_GID_LEN	= 16,
};

/* As in InfiniBand, a PSN has 24 bits. */
#define KWARP_RDV_PSN_MASK	0xffffff

/**
 * struct kwarp_rdv_id - identity of one end, and the one that it expects of its partner
 * @qpn:	queue pair number
 * @peer_qpn:	queue pair number of the partner
 * @sends:	the queue pair is in RTS: @sq_psn is known
 * @sq_psn:	first PSN that this end sends
 * @rq_psn:	first PSN that this end expects
 * @gid:	GID of this end
 * @peer_gid:	GID of the partner
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

void kwarp_rdv_encode(const struct kwarp_rdv_id *id, u8 *dst);
bool kwarp_rdv_decode(const u8 *p, u32 len, struct kwarp_rdv_id *id);
bool kwarp_rdv_numbers_match(const struct kwarp_rdv_id *mine,
			     const struct kwarp_rdv_id *theirs);

enum kwarp_rdv_psns {
	KWARP_RDV_PSNS_RIGHT,	/* one or both PSNs are known, and right */
	KWARP_RDV_PSNS_UNKNOWN,	/* neither end is in RTS yet */
	KWARP_RDV_PSNS_WRONG,
};

enum kwarp_rdv_psns kwarp_rdv_check_psns(const struct kwarp_rdv_id *mine,
					 const struct kwarp_rdv_id *theirs);
bool kwarp_rdv_psn_equal(u32 a, u32 b);

/* Where the two ends are. */
enum kwarp_rdv_devices {
	KWARP_RDV_TWO_DEVICES,
	KWARP_RDV_ONE_DEVICE,
};

bool kwarp_rdv_initiates(const struct kwarp_rdv_id *id, enum kwarp_rdv_devices devices);

#endif /* _KWARP_PROTO_RENDEZVOUS_H */
