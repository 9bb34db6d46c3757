// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* RDMAP messages. */
#include "proto/rdmap.h"

#define TAGGED	KWARP_RDMAP_F_TAGGED
#define PAYLOAD	KWARP_RDMAP_F_PAYLOAD
#define INVAL	KWARP_RDMAP_F_INVAL
#define SE	KWARP_RDMAP_F_SE
#define EXT	KWARP_RDMAP_F_EXT
#define OWN	KWARP_RDMAP_F_OWN

/* RFC 5040 figures 4 and 5, RFC 7306 figures 2 and 3 */
static const struct kwarp_rdmap_op ops[RDMAP_OPCODES] = {
	[RDMAP_WRITE]		= { "write", TAGGED | PAYLOAD, 0, 0 },
	[RDMAP_READ_REQUEST]	= { "read_request", 0, KWARP_QN_READ,
				    KWARP_RDMAP_READ_LEN },
	[RDMAP_READ_RESPONSE]	= { "read_response", TAGGED | PAYLOAD, 0, 0 },
	[RDMAP_SEND]		= { "send", PAYLOAD, KWARP_QN_SEND, 0 },
	[RDMAP_SEND_INVAL]	= { "send_inval", PAYLOAD | INVAL,
				    KWARP_QN_SEND, 0 },
	[RDMAP_SEND_SE]		= { "send_se", PAYLOAD | SE, KWARP_QN_SEND, 0 },
	[RDMAP_SEND_SE_INVAL]	= { "send_se_inval", PAYLOAD | SE | INVAL,
				    KWARP_QN_SEND, 0 },
	[RDMAP_TERMINATE]	= { "terminate", 0, KWARP_QN_TERMINATE,
				    KWARP_RDMAP_TERM_LEN },
	[RDMAP_IMM]		= { "imm", EXT, KWARP_QN_SEND,
				    KWARP_RDMAP_IMM_LEN },
	[RDMAP_IMM_SE]		= { "imm_se", EXT | SE, KWARP_QN_SEND,
				    KWARP_RDMAP_IMM_LEN },
	[RDMAP_ATOMIC_REQUEST]	= { "atomic_request", EXT, KWARP_QN_READ,
				    KWARP_RDMAP_ATOMIC_REQ_LEN },
	[RDMAP_ATOMIC_RESPONSE]	= { "atomic_response", EXT, KWARP_QN_ATOMIC,
				    KWARP_RDMAP_ATOMIC_RESP_LEN },
	[RDMAP_SEND_IMM]	= { "send_imm", OWN | PAYLOAD,
				    KWARP_QN_SEND, 0 },
	[RDMAP_SEND_SE_IMM]	= { "send_se_imm", OWN | PAYLOAD | SE,
				    KWARP_QN_SEND, 0 },
};

/**
 * kwarp_rdmap_find_op() - look up an opcode
 * @opcode:	0 to 15
 *
 * Return: its description, NULL if reserved.
 */
const struct kwarp_rdmap_op *kwarp_rdmap_find_op(u8 opcode)
{
	return opcode < RDMAP_OPCODES ? &ops[opcode] : NULL;
}

static enum kwarp_err check_ddp(const struct kwarp_ddp_hdr *h, u8 version,
				u8 ext)
{
	u32 last_qn = ext & KWARP_RDMAP_EXT_7306 ? KWARP_QN_ATOMIC :
						   KWARP_QN_TERMINATE;

	if (h->dv != version)
		return h->tagged ? KWARP_ERR_TAGGED_VERSION :
				   KWARP_ERR_UNTAGGED_VERSION;
	if (!h->tagged && h->qn > last_qn)
		return KWARP_ERR_UNTAGGED_QN;
	return KWARP_ERR_NONE;
}

/*
 * Check a message that consists of an RDMAP header only, in one segment: the smallest
 * MULPDU of 128 bytes (RFC 5044 3) has room for any of them.
 */
static enum kwarp_err check_header_message(const struct kwarp_ddp_hdr *h,
					   u32 len, u32 want)
{
	if (h->mo)
		return KWARP_ERR_UNTAGGED_MO;
	/* Immediate Data: exactly 8 bytes (RFC 7306 6.3), though the receive may be longer. */
	if (h->qn == KWARP_QN_SEND)
		return h->last && len == want ? KWARP_ERR_NONE :
						KWARP_ERR_SEGMENT;
	/* Without the L flag the message continues after the end of the buffer. */
	if (len > want || !h->last)
		return KWARP_ERR_UNTAGGED_TOO_LONG;
	return len < want ? KWARP_ERR_SEGMENT : KWARP_ERR_NONE;
}

static bool opcode_known(const struct kwarp_rdmap_op *op, u8 ext)
{
	if (!op)
		return false;
	if (op->flags & KWARP_RDMAP_F_EXT)
		return ext & KWARP_RDMAP_EXT_7306;
	return !(op->flags & KWARP_RDMAP_F_OWN) || ext & KWARP_RDMAP_EXT_OWN;
}

/**
 * kwarp_rdmap_check() - check a segment as far as its header permits
 * @h:		parsed header
 * @ulpdu_len:	bytes of the whole segment
 * @version:	DDP and RDMAP version of the connection
 * @ext:	KWARP_RDMAP_EXT_* supported
 *
 * DDP is checked before RDMAP: DDP version, queue number; RDMAP version, opcode, opcode
 * allowed in this segment, length of a message that is only a header, except a Terminate.
 * The buffers of queues 1 and 3 count as long as that header, so a longer message, or one
 * that continues after this segment, is DDP's "message too long". The caller checks STag,
 * TO, MSN and MO of other messages, because these checks need the buffers.
 *
 * Return: KWARP_ERR_NONE or the error.
 */
enum kwarp_err kwarp_rdmap_check(const struct kwarp_ddp_hdr *h, u32 ulpdu_len,
				 u8 version, u8 ext)
{
	const struct kwarp_rdmap_op *op = kwarp_rdmap_find_op(h->opcode);
	enum kwarp_err err = check_ddp(h, version, ext);

	if (err)
		return err;
	if (h->rv != version)
		return KWARP_ERR_RDMAP_VERSION;
	if (!opcode_known(op, ext))
		return KWARP_ERR_RDMAP_OPCODE;
	if (h->tagged != !!(op->flags & KWARP_RDMAP_F_TAGGED))
		return KWARP_ERR_RDMAP_OPCODE;
	if (!h->tagged && h->qn != op->qn)
		return KWARP_ERR_RDMAP_OPCODE;
	if (op->flags & KWARP_RDMAP_F_PAYLOAD)
		return KWARP_ERR_NONE;
	/* A Terminate has several valid lengths: kwarp_term_parse() handles all. */
	if (h->opcode == RDMAP_TERMINATE)
		return h->mo ? KWARP_ERR_UNTAGGED_MO : KWARP_ERR_NONE;
	return check_header_message(h, ulpdu_len - h->len, op->hdr_len);
}

/**
 * kwarp_rdmap_read_encode() - write a Read Request header
 * @rd:		request
 * @dst:	room for KWARP_RDMAP_READ_LEN bytes
 *
 * Return: bytes written.
 */
u32 kwarp_rdmap_read_encode(const struct kwarp_rdmap_read *rd, u8 *dst)
{
	put_unaligned_be32(rd->sink_stag, dst);
	put_unaligned_be64(rd->sink_to, dst + 4);
	put_unaligned_be32(rd->len, dst + 12);
	put_unaligned_be32(rd->src_stag, dst + 16);
	put_unaligned_be64(rd->src_to, dst + 20);
	return KWARP_RDMAP_READ_LEN;
}

/**
 * kwarp_rdmap_read_parse() - read a Read Request header
 * @p:		KWARP_RDMAP_READ_LEN bytes
 * @rd:		result
 */
void kwarp_rdmap_read_parse(const u8 *p, struct kwarp_rdmap_read *rd)
{
	rd->sink_stag = get_unaligned_be32(p);
	rd->sink_to = get_unaligned_be64(p + 4);
	rd->len = get_unaligned_be32(p + 12);
	rd->src_stag = get_unaligned_be32(p + 16);
	rd->src_to = get_unaligned_be64(p + 20);
}

/**
 * kwarp_rdmap_check_src() - is the source of a Read Request within its region?
 * @to:		tagged offset
 * @len:	bytes; 0 disables the checks (RFC 5040 7.2, 4)
 * @base:	tagged offset of the region's first byte
 * @size:	bytes of the region
 *
 * As kwarp_ddp_check_to(), but returns errors of RDMAP.
 *
 * Return: KWARP_ERR_NONE, KWARP_ERR_RDMAP_WRAP, KWARP_ERR_RDMAP_BOUNDS.
 */
enum kwarp_err kwarp_rdmap_check_src(u64 to, u32 len, u64 base, u64 size)
{
	switch (kwarp_ddp_check_to(to, len, base, size)) {
	case KWARP_ERR_NONE:
		return KWARP_ERR_NONE;
	case KWARP_ERR_TAGGED_WRAP:
		return KWARP_ERR_RDMAP_WRAP;
	default:
		return KWARP_ERR_RDMAP_BOUNDS;
	}
}

/**
 * kwarp_rdmap_atomic_encode() - write an Atomic Operation Request header
 * @a:		request
 * @dst:	room for KWARP_RDMAP_ATOMIC_REQ_LEN bytes
 *
 * In a FetchAdd, compare data are zero and the compare mask is all ones (RFC 7306 5.2.1).
 *
 * Return: bytes written.
 */
u32 kwarp_rdmap_atomic_encode(const struct kwarp_rdmap_atomic *a, u8 *dst)
{
	bool swap = a->aop == KWARP_AOP_CMP_SWAP;

	put_unaligned_be32(a->aop & 0xf, dst);
	put_unaligned_be32(a->req_id, dst + 4);
	put_unaligned_be32(a->stag, dst + 8);
	put_unaligned_be64(a->to, dst + 12);
	put_unaligned_be64(a->data, dst + 20);
	put_unaligned_be64(a->mask, dst + 28);
	put_unaligned_be64(swap ? a->compare : 0, dst + 36);
	put_unaligned_be64(swap ? a->compare_mask : ~0ULL, dst + 44);
	return KWARP_RDMAP_ATOMIC_REQ_LEN;
}

/**
 * kwarp_rdmap_atomic_parse() - read an Atomic Operation Request header
 * @p:		KWARP_RDMAP_ATOMIC_REQ_LEN bytes
 * @a:		result
 *
 * Return: false if the operation is not defined.
 */
bool kwarp_rdmap_atomic_parse(const u8 *p, struct kwarp_rdmap_atomic *a)
{
	a->aop = p[3] & 0xf;
	a->req_id = get_unaligned_be32(p + 4);
	a->stag = get_unaligned_be32(p + 8);
	a->to = get_unaligned_be64(p + 12);
	a->data = get_unaligned_be64(p + 20);
	a->mask = get_unaligned_be64(p + 28);
	a->compare = get_unaligned_be64(p + 36);
	a->compare_mask = get_unaligned_be64(p + 44);
	return a->aop == KWARP_AOP_FETCH_ADD || a->aop == KWARP_AOP_CMP_SWAP;
}

/**
 * kwarp_rdmap_atomic_value() - result of an atomic operation
 * @a:		request
 * @old:	original value
 *
 * Return: value to store (RFC 7306 5.1.1, 5.1.2).
 */
u64 kwarp_rdmap_atomic_value(const struct kwarp_rdmap_atomic *a, u64 old)
{
	if (a->aop == KWARP_AOP_CMP_SWAP) {
		if ((a->compare ^ old) & a->compare_mask)
			return old;
		return (old & ~a->mask) | (a->data & a->mask);
	}
	/* The top bit of each field is added without carry, so no carry leaves a field. */
	return ((old & ~a->mask) + (a->data & ~a->mask)) ^
	       ((old ^ a->data) & a->mask);
}

/**
 * kwarp_rdmap_atomic_reply_encode() - write an Atomic Operation Response header
 * @req_id:	request identifier
 * @value:	original value
 * @dst:	room for KWARP_RDMAP_ATOMIC_RESP_LEN bytes
 *
 * Return: bytes written.
 */
u32 kwarp_rdmap_atomic_reply_encode(u32 req_id, u64 value, u8 *dst)
{
	put_unaligned_be32(req_id, dst);
	put_unaligned_be64(value, dst + 4);
	return KWARP_RDMAP_ATOMIC_RESP_LEN;
}

/**
 * kwarp_rdmap_atomic_reply_parse() - read an Atomic Operation Response header
 * @p:		KWARP_RDMAP_ATOMIC_RESP_LEN bytes
 * @req_id:	result
 * @value:	result
 */
void kwarp_rdmap_atomic_reply_parse(const u8 *p, u32 *req_id, u64 *value)
{
	*req_id = get_unaligned_be32(p);
	*value = get_unaligned_be64(p + 4);
}
