// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Identities of a rendezvous. */
#include "proto/rendezvous.h"

#define RDV_MAGIC	0x6b575276	/* "kWRv" */
#define RDV_VERSION	1

#define RDV_SENDS	0x80

enum rdv_offsets {
	RDV_OFF_MAGIC		= 0,
	RDV_OFF_VERSION		= 4,
	RDV_OFF_FLAGS		= 5,
	RDV_OFF_RESERVED	= 6,
	RDV_OFF_QPN		= 8,
	RDV_OFF_PEER_QPN	= 12,
	RDV_OFF_SQ_PSN		= 16,
	RDV_OFF_RQ_PSN		= 20,
	RDV_OFF_GID		= 24,
	RDV_OFF_PEER_GID	= 40,
};

/**
 * kwarp_rdv_encode() - write an identity
 * @id:		identity
 * @dst:	room for KWARP_RDV_LEN bytes
 */
void kwarp_rdv_encode(const struct kwarp_rdv_id *id, u8 *dst)
{
	memset(dst, 0, KWARP_RDV_LEN);
	put_unaligned_be32(RDV_MAGIC, dst + RDV_OFF_MAGIC);
	dst[RDV_OFF_VERSION] = RDV_VERSION;
	dst[RDV_OFF_FLAGS] = id->sends ? RDV_SENDS : 0;
	put_unaligned_be32(id->qpn, dst + RDV_OFF_QPN);
	put_unaligned_be32(id->peer_qpn, dst + RDV_OFF_PEER_QPN);
	if (id->sends)
		put_unaligned_be32(id->sq_psn & KWARP_RDV_PSN_MASK,
				   dst + RDV_OFF_SQ_PSN);
	put_unaligned_be32(id->rq_psn & KWARP_RDV_PSN_MASK,
			   dst + RDV_OFF_RQ_PSN);
	memcpy(dst + RDV_OFF_GID, id->gid, sizeof(id->gid));
	memcpy(dst + RDV_OFF_PEER_GID, id->peer_gid, sizeof(id->peer_gid));
}

/**
 * kwarp_rdv_decode() - read an identity
 * @p:		private data
 * @len:	bytes of @p
 * @id:		result
 *
 * Return: false if @p is not an identity of a known version.
 */
bool kwarp_rdv_decode(const u8 *p, u32 len, struct kwarp_rdv_id *id)
{
	memset(id, 0, sizeof(*id));
	if (len != KWARP_RDV_LEN ||
	    get_unaligned_be32(p + RDV_OFF_MAGIC) != RDV_MAGIC ||
	    p[RDV_OFF_VERSION] != RDV_VERSION)
		return false;
	id->sends = p[RDV_OFF_FLAGS] & RDV_SENDS;
	id->qpn = get_unaligned_be32(p + RDV_OFF_QPN);
	id->peer_qpn = get_unaligned_be32(p + RDV_OFF_PEER_QPN);
	id->sq_psn = get_unaligned_be32(p + RDV_OFF_SQ_PSN);
	id->rq_psn = get_unaligned_be32(p + RDV_OFF_RQ_PSN);
	memcpy(id->gid, p + RDV_OFF_GID, sizeof(id->gid));
	memcpy(id->peer_gid, p + RDV_OFF_PEER_GID, sizeof(id->peer_gid));
	return true;
}

/**
 * kwarp_rdv_numbers_match() - does each end name the other's queue pair?
 * @mine:	our identity
 * @theirs:	the peer's identity
 *
 * The caller compares the GIDs, because it knows which GIDs denote one device.
 *
 * Return: true if so.
 */
bool kwarp_rdv_numbers_match(const struct kwarp_rdv_id *mine,
			     const struct kwarp_rdv_id *theirs)
{
	return theirs->qpn == mine->peer_qpn && theirs->peer_qpn == mine->qpn;
}

/**
 * kwarp_rdv_psn_equal() - compare two PSNs
 * @a:		first PSN
 * @b:		second PSN
 *
 * Return: true if the 24 significant bits are equal.
 */
bool kwarp_rdv_psn_equal(u32 a, u32 b)
{
	return !((a ^ b) & KWARP_RDV_PSN_MASK);
}

/**
 * kwarp_rdv_check_psns() - does each end expect the PSN that the other starts with?
 * @mine:	our identity
 * @theirs:	the peer's identity, with numbers that match
 *
 * The send PSN of an end that is not in RTS is unknown.
 * Return: right, unknown or wrong.
 */
enum kwarp_rdv_psns kwarp_rdv_check_psns(const struct kwarp_rdv_id *mine,
					 const struct kwarp_rdv_id *theirs)
{
	/* One PSN must be known, because QP numbers and GIDs alone can be guessed. */
	if (!mine->sends && !theirs->sends)
		return KWARP_RDV_PSNS_UNKNOWN;
	if (mine->sends && !kwarp_rdv_psn_equal(theirs->rq_psn, mine->sq_psn))
		return KWARP_RDV_PSNS_WRONG;
	if (theirs->sends && !kwarp_rdv_psn_equal(theirs->sq_psn, mine->rq_psn))
		return KWARP_RDV_PSNS_WRONG;
	return KWARP_RDV_PSNS_RIGHT;
}

/**
 * kwarp_rdv_initiates() - which end opens the connection?
 * @id:		our identity
 * @devices:	if both ends are on one device, only numbers are compared
 *
 * The initiator is the end with the lower GID or, with equal GIDs, the lower number. A
 * queue pair that is its own partner does not initiate.
 *
 * Return: true if our end is the initiator.
 */
bool kwarp_rdv_initiates(const struct kwarp_rdv_id *id, enum kwarp_rdv_devices devices)
{
	int order = devices == KWARP_RDV_ONE_DEVICE ?
			    0 : memcmp(id->gid, id->peer_gid, sizeof(id->gid));

	return order ? order < 0 : id->qpn < id->peer_qpn;
}
