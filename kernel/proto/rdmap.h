/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RDMAP messages (RFC 5040, RFC 7306): opcodes, headers, checks. */
#ifndef _KWARP_PROTO_RDMAP_H
#define _KWARP_PROTO_RDMAP_H

#include "proto/ddp.h"

/* RFC 5040 figure 4, RFC 7306 figure 2 */
enum kwarp_rdmap_opcode {
	RDMAP_WRITE		= 0x0,
	RDMAP_READ_REQUEST	= 0x1,
	RDMAP_READ_RESPONSE	= 0x2,
	RDMAP_SEND		= 0x3,
	RDMAP_SEND_INVAL	= 0x4,
	RDMAP_SEND_SE		= 0x5,
	RDMAP_SEND_SE_INVAL	= 0x6,
	RDMAP_TERMINATE		= 0x7,
	RDMAP_IMM		= 0x8,
	RDMAP_IMM_SE		= 0x9,
	RDMAP_ATOMIC_REQUEST	= 0xa,
	RDMAP_ATOMIC_RESPONSE	= 0xb,
	/* kwarp's own (Documentation/wire.rst); reserved unless enabled. */
	RDMAP_SEND_IMM		= 0xc,
	RDMAP_SEND_SE_IMM	= 0xd,
	RDMAP_OPCODES		= 0xe,	/* reserved from here on */
};

#define KWARP_RDMAP_READ_LEN		28	/* RDMA Read Request header */
#define KWARP_RDMAP_TERM_LEN		4	/* Terminate header, shortest */
#define KWARP_RDMAP_IMM_LEN		8
#define KWARP_RDMAP_ATOMIC_REQ_LEN	52
#define KWARP_RDMAP_ATOMIC_RESP_LEN	12	/* RFC 7306 figure 6 */

/* Properties of a message */
#define KWARP_RDMAP_F_TAGGED	0x01	/* tagged buffer model */
#define KWARP_RDMAP_F_PAYLOAD	0x02	/* ULP payload of any length */
#define KWARP_RDMAP_F_INVAL	0x04	/* Invalidate STag is valid */
#define KWARP_RDMAP_F_SE	0x08	/* solicited event */
#define KWARP_RDMAP_F_EXT	0x10	/* defined by RFC 7306 */
#define KWARP_RDMAP_F_OWN	0x20	/* defined by kwarp: Send with Immediate */

/* Extensions of RFC 5040 that a connection supports; a bit mask */
#define KWARP_RDMAP_EXT_7306	0x01
#define KWARP_RDMAP_EXT_OWN	0x02

/**
 * struct kwarp_rdmap_op - fixed properties of an opcode
 * @name:	name for traces
 * @flags:	KWARP_RDMAP_F_*
 * @qn:		queue number of an untagged message
 * @hdr_len:	bytes of its RDMAP header
 */
struct kwarp_rdmap_op {
	const char *name;
	u8 flags;
	u8 qn;
	u8 hdr_len;
};

/**
 * kwarp_rdmap_op() - look up an opcode
 * @opcode:	0 to 15
 *
 * Return: its description, NULL if reserved.
 */
const struct kwarp_rdmap_op *kwarp_rdmap_op(u8 opcode);

/**
 * kwarp_rdmap_check() - check a segment as far as its header permits
 * @h:		parsed header
 * @ulpdu_len:	bytes of the whole segment
 * @version:	DDP and RDMAP version of the connection
 * @ext:	KWARP_RDMAP_EXT_* supported
 *
 * DDP's checks precede RDMAP's, in the order of the layers: DDP version, queue number;
 * RDMAP version, opcode, opcode allowed in this segment, length of a message that is only
 * a header. The buffers of queues 1 and 3 are assumed to be as long as that header, so a
 * longer message, or one that continues after this segment, is DDP's "message too long".
 * The length of a Terminate is not checked.
 * STag, TO, MSN and MO of other messages need buffers: the caller checks them.
 *
 * Return: KWARP_ERR_NONE or the error.
 */
enum kwarp_err kwarp_rdmap_check(const struct kwarp_ddp_hdr *h, u32 ulpdu_len,
				 u8 version, u8 ext);

/**
 * struct kwarp_rdmap_read - RDMA Read Request header, RFC 5040 4.4
 * @sink_stag:	STag of the response's destination
 * @sink_to:	tagged offset of the destination
 * @len:	bytes to read
 * @src_stag:	STag of the data
 * @src_to:	tagged offset of the data
 */
struct kwarp_rdmap_read {
	u32 sink_stag;
	u64 sink_to;
	u32 len;
	u32 src_stag;
	u64 src_to;
};

/**
 * kwarp_rdmap_read_encode() - write a Read Request header
 * @rd:		request
 * @dst:	room for KWARP_RDMAP_READ_LEN bytes
 *
 * Return: bytes written.
 */
u32 kwarp_rdmap_read_encode(const struct kwarp_rdmap_read *rd, u8 *dst);

/**
 * kwarp_rdmap_read_parse() - read a Read Request header
 * @p:		KWARP_RDMAP_READ_LEN bytes
 * @rd:		result
 */
void kwarp_rdmap_read_parse(const u8 *p, struct kwarp_rdmap_read *rd);

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
enum kwarp_err kwarp_rdmap_check_src(u64 to, u32 len, u64 base, u64 size);

/* RFC 7306 figure 5 */
enum kwarp_rdmap_aop {
	KWARP_AOP_FETCH_ADD	= 0x0,
	KWARP_AOP_CMP_SWAP	= 0x2,
};

/**
 * struct kwarp_rdmap_atomic - Atomic Operation Request header, RFC 7306 5.2.1
 * @aop:	enum kwarp_rdmap_aop; 4 bits
 * @req_id:	chosen by the requester, returned in the response
 * @stag:	target region
 * @to:		tagged offset of the target
 * @data:	value to add or to store
 * @mask:	FetchAdd: most significant bit of each field; CmpSwap: bits to change
 * @compare:	CmpSwap: expected value
 * @compare_mask: CmpSwap: bits to compare
 */
struct kwarp_rdmap_atomic {
	u8 aop;
	u32 req_id;
	u32 stag;
	u64 to;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
};

/**
 * kwarp_rdmap_atomic_encode() - write an Atomic Operation Request header
 * @a:		request
 * @dst:	room for KWARP_RDMAP_ATOMIC_REQ_LEN bytes
 *
 * Fields that FetchAdd does not use are written as RFC 7306 requires.
 *
 * Return: bytes written.
 */
u32 kwarp_rdmap_atomic_encode(const struct kwarp_rdmap_atomic *a, u8 *dst);

/**
 * kwarp_rdmap_atomic_parse() - read an Atomic Operation Request header
 * @p:		KWARP_RDMAP_ATOMIC_REQ_LEN bytes
 * @a:		result
 *
 * Return: true if the operation is one of the two defined ones.
 */
bool kwarp_rdmap_atomic_parse(const u8 *p, struct kwarp_rdmap_atomic *a);

/**
 * kwarp_rdmap_atomic_value() - result of an operation
 * @a:		request
 * @old:	original value
 *
 * Return: value to store (RFC 7306 5.1.1, 5.1.2).
 */
u64 kwarp_rdmap_atomic_value(const struct kwarp_rdmap_atomic *a, u64 old);

/**
 * kwarp_rdmap_atomic_reply_encode() - write an Atomic Operation Response header
 * @req_id:	request identifier
 * @value:	original value
 * @dst:	room for KWARP_RDMAP_ATOMIC_RESP_LEN bytes
 *
 * Return: bytes written.
 */
u32 kwarp_rdmap_atomic_reply_encode(u32 req_id, u64 value, u8 *dst);

/**
 * kwarp_rdmap_atomic_reply_parse() - read an Atomic Operation Response header
 * @p:		KWARP_RDMAP_ATOMIC_RESP_LEN bytes
 * @req_id:	result
 * @value:	result
 */
void kwarp_rdmap_atomic_reply_parse(const u8 *p, u32 *req_id, u64 *value);

#endif /* _KWARP_PROTO_RDMAP_H */
