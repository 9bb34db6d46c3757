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
	/* Reserved without KWARP_RDMAP_EXT_OWN; see Documentation/wire.rst. */
	RDMAP_SEND_IMM		= 0xc,
	RDMAP_SEND_SE_IMM	= 0xd,
	RDMAP_OPCODES		= 0xe,	/* reserved from here on */
};

#define KWARP_RDMAP_READ_LEN		28	/* RDMA Read Request header */
#define KWARP_RDMAP_TERM_LEN		4	/* shortest Terminate header */
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
 * @hdr_len:	bytes of the RDMAP header in the payload of DDP; 0: none
 */
struct kwarp_rdmap_op {
	const char *name;
	u8 flags;
	u8 qn;
	u8 hdr_len;
};

const struct kwarp_rdmap_op *kwarp_rdmap_find_op(u8 opcode);
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

u32 kwarp_rdmap_read_encode(const struct kwarp_rdmap_read *rd, u8 *dst);
void kwarp_rdmap_read_parse(const u8 *p, struct kwarp_rdmap_read *rd);
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

u32 kwarp_rdmap_atomic_encode(const struct kwarp_rdmap_atomic *a, u8 *dst);
bool kwarp_rdmap_atomic_parse(const u8 *p, struct kwarp_rdmap_atomic *a);
u64 kwarp_rdmap_atomic_value(const struct kwarp_rdmap_atomic *a, u64 old);
u32 kwarp_rdmap_atomic_reply_encode(u32 req_id, u64 value, u8 *dst);
void kwarp_rdmap_atomic_reply_parse(const u8 *p, u32 *req_id, u64 *value);

#endif /* _KWARP_PROTO_RDMAP_H */
