/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Errors of the protocol layers and the (layer, type, code) triples that report them to a
 * peer: RFC 5040 4.8, RFC 5041 7.2, RFC 5044 8, RFC 6581 8. RFC 7306 adds messages but no
 * codes.
 */
#ifndef _KWARP_PROTO_ERRORS_H
#define _KWARP_PROTO_ERRORS_H

#include "proto/types.h"

/**
 * enum kwarp_err - errors in data from a peer
 * @KWARP_ERR_NONE:	no error
 * @KWARP_ERR_MPA_CLOSED: stream closed or lost; RFC 5044 8
 * @KWARP_ERR_MPA_CRC:	CRC wrong; RFC 5044 8
 * @KWARP_ERR_MPA_MARKER: marker and length disagree; RFC 5044 8
 * @KWARP_ERR_MPA_STARTUP: startup frame invalid; RFC 5044 8
 * @KWARP_ERR_MPA_LOCAL: local error in startup; RFC 6581 8
 * @KWARP_ERR_MPA_IRD:	insufficient IRD; RFC 6581 8
 * @KWARP_ERR_MPA_RTR:	no common ready-to-receive indication; RFC 6581 8
 * @KWARP_ERR_MPA_LENGTH: ULPDU over 64768 bytes: sent as @KWARP_ERR_MPA_MARKER, because
 *		such a length cannot match the start of the next FPDU
 * @KWARP_ERR_DDP_LOCAL: local catastrophic error; RFC 5041 7.2, like those below
 * @KWARP_ERR_TAGGED_STAG: invalid STag
 * @KWARP_ERR_TAGGED_ACCESS: no remote write permission; DDP has no code for it, sent as
 *		@KWARP_ERR_TAGGED_STAG
 * @KWARP_ERR_TAGGED_BOUNDS: base or bounds violation
 * @KWARP_ERR_TAGGED_STREAM: STag not associated with the stream
 * @KWARP_ERR_TAGGED_WRAP: tagged offset wraps
 * @KWARP_ERR_TAGGED_VERSION: DDP version of a tagged segment
 * @KWARP_ERR_UNTAGGED_QN: invalid queue number
 * @KWARP_ERR_UNTAGGED_NO_BUFFER: MSN without a buffer
 * @KWARP_ERR_UNTAGGED_MSN: MSN out of range
 * @KWARP_ERR_UNTAGGED_MO: invalid message offset
 * @KWARP_ERR_UNTAGGED_TOO_LONG: message longer than its buffer
 * @KWARP_ERR_UNTAGGED_VERSION: DDP version of an untagged segment
 * @KWARP_ERR_RDMAP_LOCAL: local catastrophic error; RFC 5040 4.8, like those below
 * @KWARP_ERR_RDMAP_STAG: invalid STag in a Read Request or Atomic Request
 * @KWARP_ERR_RDMAP_BOUNDS: base or bounds violation
 * @KWARP_ERR_RDMAP_ACCESS: access rights violation
 * @KWARP_ERR_RDMAP_ASSOC: STag not associated with the stream
 * @KWARP_ERR_RDMAP_WRAP: tagged offset wraps
 * @KWARP_ERR_RDMAP_INVALIDATE: STag cannot be invalidated. RFC 5040 figure 9 has a code
 *		for it as a protection error and as an operation error. We send the former,
 *		because figure 10 lists Send with Invalidate there
 * @KWARP_ERR_RDMAP_PROT: other protection error
 * @KWARP_ERR_RDMAP_VERSION: RDMAP version
 * @KWARP_ERR_RDMAP_OPCODE: opcode unknown, or not allowed in this segment
 * @KWARP_ERR_RDMAP_STREAM: catastrophic, localized to the stream
 * @KWARP_ERR_RDMAP_GLOBAL: catastrophic, global
 * @KWARP_ERR_RDMAP_OP:	other operation error
 * @KWARP_ERR_SEGMENT:	segment too short for its header, or RDMAP header of the wrong
 *		size. No RFC defines a code; sent as @KWARP_ERR_RDMAP_STREAM, like the
 *		unusable request of RFC 7306 8.2
 * @KWARP_ERR_CHUNK:	SCTP message with a wrong PPID, sent as ordered, on another stream,
 *		too short, too long, or beyond the memory for held messages. RFC 5043
 *		defines no codes: like those below, sent as @KWARP_ERR_RDMAP_STREAM
 * @KWARP_ERR_SSN:	DDP-SSN repeated or too far ahead; RFC 5043 10
 * @KWARP_ERR_SESSION:	session control out of sequence; RFC 5043 6.1
 * @KWARP_ERR_MAX:	number of errors
 */
enum kwarp_err {
	KWARP_ERR_NONE,
	KWARP_ERR_MPA_CLOSED,
	KWARP_ERR_MPA_CRC,
	KWARP_ERR_MPA_MARKER,
	KWARP_ERR_MPA_STARTUP,
	KWARP_ERR_MPA_LOCAL,
	KWARP_ERR_MPA_IRD,
	KWARP_ERR_MPA_RTR,
	KWARP_ERR_MPA_LENGTH,
	KWARP_ERR_DDP_LOCAL,
	KWARP_ERR_TAGGED_STAG,
	KWARP_ERR_TAGGED_ACCESS,
	KWARP_ERR_TAGGED_BOUNDS,
	KWARP_ERR_TAGGED_STREAM,
	KWARP_ERR_TAGGED_WRAP,
	KWARP_ERR_TAGGED_VERSION,
	KWARP_ERR_UNTAGGED_QN,
	KWARP_ERR_UNTAGGED_NO_BUFFER,
	KWARP_ERR_UNTAGGED_MSN,
	KWARP_ERR_UNTAGGED_MO,
	KWARP_ERR_UNTAGGED_TOO_LONG,
	KWARP_ERR_UNTAGGED_VERSION,
	KWARP_ERR_RDMAP_LOCAL,
	KWARP_ERR_RDMAP_STAG,
	KWARP_ERR_RDMAP_BOUNDS,
	KWARP_ERR_RDMAP_ACCESS,
	KWARP_ERR_RDMAP_ASSOC,
	KWARP_ERR_RDMAP_WRAP,
	KWARP_ERR_RDMAP_INVALIDATE,
	KWARP_ERR_RDMAP_PROT,
	KWARP_ERR_RDMAP_VERSION,
	KWARP_ERR_RDMAP_OPCODE,
	KWARP_ERR_RDMAP_STREAM,
	KWARP_ERR_RDMAP_GLOBAL,
	KWARP_ERR_RDMAP_OP,
	KWARP_ERR_SEGMENT,
	KWARP_ERR_CHUNK,
	KWARP_ERR_SSN,
	KWARP_ERR_SESSION,
	KWARP_ERR_MAX,
};

enum kwarp_term_layer {
	KWARP_LAYER_RDMAP	= 0x0,
	KWARP_LAYER_DDP		= 0x1,
	KWARP_LAYER_LLP		= 0x2,
};

enum kwarp_term_etype {
	KWARP_RDMAP_LOCAL	= 0x0,	/* no code */
	KWARP_RDMAP_PROTECTION	= 0x1,
	KWARP_RDMAP_OPERATION	= 0x2,
	KWARP_DDP_LOCAL		= 0x0,
	KWARP_DDP_TAGGED	= 0x1,
	KWARP_DDP_UNTAGGED	= 0x2,
	KWARP_DDP_LLP		= 0x3,	/* reserved for use by the LLP */
	KWARP_LLP_MPA		= 0x0,
};

/* RFC 5040 figure 9: protection (0 to 4, 9) and operation errors (5 to 9) */
enum kwarp_term_rdmap_code {
	KWARP_RDMAP_STAG	= 0x00,
	KWARP_RDMAP_BOUNDS	= 0x01,
	KWARP_RDMAP_ACCESS	= 0x02,
	KWARP_RDMAP_ASSOC	= 0x03,
	KWARP_RDMAP_WRAP	= 0x04,
	KWARP_RDMAP_VERSION	= 0x05,
	KWARP_RDMAP_OPCODE	= 0x06,
	KWARP_RDMAP_STREAM	= 0x07,
	KWARP_RDMAP_GLOBAL	= 0x08,
	KWARP_RDMAP_INVALIDATE	= 0x09,
	KWARP_RDMAP_UNSPECIFIED	= 0xff,
};

/* RFC 5041 7.2 */
enum kwarp_term_ddp_code {
	KWARP_DDP_T_STAG	= 0x00,
	KWARP_DDP_T_BOUNDS	= 0x01,
	KWARP_DDP_T_STREAM	= 0x02,
	KWARP_DDP_T_WRAP	= 0x03,
	KWARP_DDP_T_VERSION	= 0x04,
	KWARP_DDP_U_QN		= 0x01,
	KWARP_DDP_U_NO_BUFFER	= 0x02,
	KWARP_DDP_U_MSN		= 0x03,
	KWARP_DDP_U_MO		= 0x04,
	KWARP_DDP_U_TOO_LONG	= 0x05,
	KWARP_DDP_U_VERSION	= 0x06,
};

/* RFC 5044 8 (1 to 4), RFC 6581 8 (5 to 7) */
enum kwarp_term_mpa_code {
	KWARP_MPA_CLOSED	= 0x01,
	KWARP_MPA_CRC		= 0x02,
	KWARP_MPA_MARKER	= 0x03,
	KWARP_MPA_STARTUP	= 0x04,
	KWARP_MPA_LOCAL		= 0x05,
	KWARP_MPA_IRD		= 0x06,
	KWARP_MPA_RTR		= 0x07,
};

/**
 * struct kwarp_term_err - an error in terms of the Terminate Message
 * @layer:	layer that detected it: enum kwarp_term_layer
 * @etype:	error type of that layer: enum kwarp_term_etype
 * @code:	error code of that layer and type
 */
struct kwarp_term_err {
	u8 layer;
	u8 etype;
	u8 code;
};

const struct kwarp_term_err *kwarp_err_term(enum kwarp_err err);
const char *kwarp_term_text(const struct kwarp_term_err *term);

#endif /* _KWARP_PROTO_ERRORS_H */
