// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Counters and events of protocol errors. What the functions promise: error.h. */
#include "error.h"

#include "qp.h"

/* Counted by its class only. */
#define NO_DETAIL	KWARP_STAT_COUNT

static enum kwarp_counter class_of(enum kwarp_err err)
{
	switch (err) {
	case KWARP_ERR_MPA_CLOSED ... KWARP_ERR_MPA_LENGTH:
		return KWARP_STAT_MPA_ERR;
	case KWARP_ERR_TAGGED_STAG ... KWARP_ERR_TAGGED_VERSION:
		return KWARP_STAT_DDP_TAGGED_ERR;
	case KWARP_ERR_UNTAGGED_QN ... KWARP_ERR_UNTAGGED_VERSION:
		return KWARP_STAT_DDP_UNTAGGED_ERR;
	case KWARP_ERR_RDMAP_STAG ... KWARP_ERR_RDMAP_PROT:
		return KWARP_STAT_RDMAP_PROT_ERR;
	case KWARP_ERR_DDP_LOCAL:
	case KWARP_ERR_RDMAP_LOCAL:
		return KWARP_STAT_LOCAL_ERR;
	default:
		return KWARP_STAT_RDMAP_OP_ERR;
	}
}

/*
 * MPA_CLOSED and what belongs to startup has been counted where it was found, by
 * reasons that only those places know.
 */
static enum kwarp_counter detail_of(enum kwarp_err err)
{
	switch (err) {
	case KWARP_ERR_MPA_CRC:
		return KWARP_STAT_CRC_ERR;
	case KWARP_ERR_MPA_MARKER:
		return KWARP_STAT_MARKER_ERR;
	case KWARP_ERR_MPA_LENGTH:
	case KWARP_ERR_SEGMENT:
		return KWARP_STAT_LENGTH_ERR;
	case KWARP_ERR_TAGGED_STAG:
	case KWARP_ERR_TAGGED_STREAM:
	case KWARP_ERR_RDMAP_STAG:
	case KWARP_ERR_RDMAP_ASSOC:
	case KWARP_ERR_RDMAP_INVALIDATE:
		return KWARP_STAT_STAG_ERR;
	case KWARP_ERR_TAGGED_BOUNDS:
	case KWARP_ERR_TAGGED_WRAP:
	case KWARP_ERR_RDMAP_BOUNDS:
	case KWARP_ERR_RDMAP_WRAP:
		return KWARP_STAT_BOUNDS_ERR;
	case KWARP_ERR_TAGGED_ACCESS:
	case KWARP_ERR_RDMAP_ACCESS:
		return KWARP_STAT_ACCESS_ERR;
	case KWARP_ERR_UNTAGGED_MSN:
	case KWARP_ERR_UNTAGGED_MO:
		return KWARP_STAT_SEQUENCE_ERR;
	case KWARP_ERR_UNTAGGED_NO_BUFFER:
		return KWARP_STAT_NO_BUFFER_ERR;
	case KWARP_ERR_UNTAGGED_TOO_LONG:
		return KWARP_STAT_TOO_LONG_ERR;
	case KWARP_ERR_TAGGED_VERSION:
	case KWARP_ERR_UNTAGGED_VERSION:
	case KWARP_ERR_RDMAP_VERSION:
		return KWARP_STAT_VERSION_ERR;
	case KWARP_ERR_UNTAGGED_QN:
	case KWARP_ERR_RDMAP_OPCODE:
		return KWARP_STAT_OPCODE_ERR;
	default:
		return NO_DETAIL;
	}
}

void kwarp_error_count(struct kwarp_qp *qp, enum kwarp_err err)
{
	enum kwarp_counter detail = detail_of(err);

	kwarp_qp_count(qp, class_of(err));
	if (detail != NO_DETAIL)
		kwarp_qp_count(qp, detail);
}

enum ib_event_type kwarp_error_event(enum kwarp_err err)
{
	switch (err) {
	case KWARP_ERR_TAGGED_STAG ... KWARP_ERR_TAGGED_WRAP:
	case KWARP_ERR_RDMAP_STAG ... KWARP_ERR_RDMAP_PROT:
		return IB_EVENT_QP_ACCESS_ERR;
	case KWARP_ERR_UNTAGGED_QN ... KWARP_ERR_UNTAGGED_VERSION:
	case KWARP_ERR_RDMAP_VERSION ... KWARP_ERR_RDMAP_OP:
	case KWARP_ERR_SEGMENT:
		return IB_EVENT_QP_REQ_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}
