/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Terminate Message (RFC 5040 4.8): encoder and parser. */
#ifndef _KWARP_PROTO_TERMINATE_H
#define _KWARP_PROTO_TERMINATE_H

#include "proto/errors.h"
#include "proto/rdmap.h"

#define KWARP_TERM_SEG_LEN	2	/* DDP Segment Length field */

/* Maximum ULPDU of a Terminate: its own headers, then those of the offending segment. */
#define KWARP_TERM_MAX (KWARP_DDP_UNTAGGED_LEN + KWARP_RDMAP_TERM_LEN + \
			KWARP_TERM_SEG_LEN + KWARP_DDP_HDR_MAX + \
			KWARP_RDMAP_READ_LEN)

/**
 * struct kwarp_term_msg - a received Terminate Message
 * @err:	error that the peer reports
 * @has_seg_len: M is set, and the DDP Segment Length is present
 * @has_ddp:	D is set, and a whole DDP header is present
 * @has_rdmap:	R is set, and a whole Read Request header is present
 * @seg_len:	length of the segment that caused the error
 * @ddp:	DDP header of that segment
 * @read:	Read Request header of that segment
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

u32 kwarp_term_encode(u8 *dst, u8 version, const struct kwarp_term_err *err,
		      const u8 *seg, u32 seg_len, u32 ulpdu_len);
enum kwarp_err kwarp_term_parse(const u8 *p, u32 len,
				struct kwarp_term_msg *msg);

#endif /* _KWARP_PROTO_TERMINATE_H */
