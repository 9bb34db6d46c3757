/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Terminate Message (RFC 5040 4.8): written and read. */
#ifndef _KWARP_PROTO_TERMINATE_H
#define _KWARP_PROTO_TERMINATE_H

#include "errors.h"
#include "rdmap.h"

#define KWARP_TERM_SEG_LEN	2	/* DDP Segment Length field */

/* Longest ULPDU of a Terminate: its own headers, then those it returns. */
#define KWARP_TERM_MAX (KWARP_DDP_UNTAGGED_LEN + KWARP_RDMAP_TERM_LEN + \
			KWARP_TERM_SEG_LEN + KWARP_DDP_HDR_MAX + \
			KWARP_RDMAP_READ_LEN)

/**
 * struct kwarp_term_msg - a Terminate Message received
 * @err:	what the peer says is wrong
 * @has_seg_len: M flag, and the field is there
 * @has_ddp:	D flag, and a whole DDP header is there
 * @has_rdmap:	R flag, and a whole Read Request header is there
 * @seg_len:	length of our segment that caused it
 * @ddp:	its DDP header
 * @read:	its Read Request header
 */
struct kwarp_term_msg {
	struct kwarp_term_err err;
	bool has_seg_len;
	bool has_ddp;
	bool has_rdmap;
	u16 seg_len;
	struct kwarp_ddp_hdr ddp;
	struct kwarp_rdmap_read read;
};

/**
 * kwarp_term_encode() - write the ULPDU of a Terminate Message
 * @dst:	room for KWARP_TERM_MAX octets
 * @version:	DDP and RDMAP version of the connection
 * @err:	what is wrong
 * @seg:	first octets of the offending DDP segment, or NULL
 * @seg_len:	octets at @seg
 * @ulpdu_len:	octets of the whole offending segment
 *
 * What is returned of the segment follows RFC 5040 figure 10: nothing for local
 * catastrophic and LLP errors; length and DDP header for all others; the Read
 * Request header for RDMAP protection errors of a Read Request. What @seg does
 * not hold in full is left out with its flag.
 *
 * Return: octets written.
 */
u32 kwarp_term_encode(u8 *dst, u8 version, const struct kwarp_term_err *err,
		      const u8 *seg, u32 seg_len, u32 ulpdu_len);

/**
 * kwarp_term_parse() - read a Terminate header
 * @p:		payload of the segment: what follows its DDP header
 * @len:	octets at @p; less than the message may have
 * @msg:	result
 *
 * Fields that are cut off count as absent.
 *
 * Return: KWARP_ERR_NONE, or KWARP_ERR_SEGMENT if not even layer, type and code
 * are there.
 */
enum kwarp_err kwarp_term_parse(const u8 *p, u32 len,
				struct kwarp_term_msg *msg);

#endif /* _KWARP_PROTO_TERMINATE_H */
