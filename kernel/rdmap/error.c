// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Counters and events of protocol errors. */
#include "rdmap/error.h"

#include "rdmap/qp.h"

/* The error is counted by its class only. */
#define NO_DETAIL	KWARP_STAT_COUNT

/**
 * struct consequence - counters and event of an error; proto/errors.c has its Terminate
 * @class:	counter of its class: layer and type of the Terminate
 * @detail:	counter of its kind, or NO_DETAIL
 * @event:	asynchronous event of the queue pair
 */
struct consequence {
	enum kwarp_counter class;
	enum kwarp_counter detail;
	enum ib_event_type event;
};

#define ROW(class, detail, event) \
	{ KWARP_STAT_##class##_ERR, KWARP_STAT_##detail##_ERR, IB_EVENT_QP_##event }
#define ROW_OF_CLASS(class, event) \
	{ KWARP_STAT_##class##_ERR, NO_DETAIL, IB_EVENT_QP_##event }

/*
 * MPA_CLOSED and startup errors have no detail here: their kind is known, and counted,
 * only where they are detected.
 */
static const struct consequence table[KWARP_ERR_MAX] = {
	[KWARP_ERR_NONE]		= ROW_OF_CLASS(RDMAP_OP, FATAL),
	[KWARP_ERR_MPA_CLOSED]		= ROW_OF_CLASS(MPA, FATAL),
	[KWARP_ERR_MPA_CRC]		= ROW(MPA, CRC, FATAL),
	[KWARP_ERR_MPA_MARKER]		= ROW(MPA, MARKER, FATAL),
	[KWARP_ERR_MPA_STARTUP]		= ROW_OF_CLASS(MPA, FATAL),
	[KWARP_ERR_MPA_LOCAL]		= ROW_OF_CLASS(MPA, FATAL),
	[KWARP_ERR_MPA_IRD]		= ROW_OF_CLASS(MPA, FATAL),
	[KWARP_ERR_MPA_RTR]		= ROW_OF_CLASS(MPA, FATAL),
	[KWARP_ERR_MPA_LENGTH]		= ROW(MPA, LENGTH, FATAL),
	[KWARP_ERR_DDP_LOCAL]		= ROW_OF_CLASS(LOCAL, FATAL),
	[KWARP_ERR_TAGGED_STAG]		= ROW(DDP_TAGGED, STAG, ACCESS_ERR),
	[KWARP_ERR_TAGGED_ACCESS]	= ROW(DDP_TAGGED, ACCESS, ACCESS_ERR),
	[KWARP_ERR_TAGGED_BOUNDS]	= ROW(DDP_TAGGED, BOUNDS, ACCESS_ERR),
	[KWARP_ERR_TAGGED_STREAM]	= ROW(DDP_TAGGED, STAG, ACCESS_ERR),
	[KWARP_ERR_TAGGED_WRAP]		= ROW(DDP_TAGGED, BOUNDS, ACCESS_ERR),
	[KWARP_ERR_TAGGED_VERSION]	= ROW(DDP_TAGGED, VERSION, FATAL),
	[KWARP_ERR_UNTAGGED_QN]		= ROW(DDP_UNTAGGED, OPCODE, REQ_ERR),
	[KWARP_ERR_UNTAGGED_NO_BUFFER]	= ROW(DDP_UNTAGGED, NO_BUFFER, REQ_ERR),
	[KWARP_ERR_UNTAGGED_MSN]	= ROW(DDP_UNTAGGED, SEQUENCE, REQ_ERR),
	[KWARP_ERR_UNTAGGED_MO]		= ROW(DDP_UNTAGGED, SEQUENCE, REQ_ERR),
	[KWARP_ERR_UNTAGGED_TOO_LONG]	= ROW(DDP_UNTAGGED, TOO_LONG, REQ_ERR),
	[KWARP_ERR_UNTAGGED_VERSION]	= ROW(DDP_UNTAGGED, VERSION, REQ_ERR),
	[KWARP_ERR_RDMAP_LOCAL]		= ROW_OF_CLASS(LOCAL, FATAL),
	[KWARP_ERR_RDMAP_STAG]		= ROW(RDMAP_PROT, STAG, ACCESS_ERR),
	[KWARP_ERR_RDMAP_BOUNDS]	= ROW(RDMAP_PROT, BOUNDS, ACCESS_ERR),
	[KWARP_ERR_RDMAP_ACCESS]	= ROW(RDMAP_PROT, ACCESS, ACCESS_ERR),
	[KWARP_ERR_RDMAP_ASSOC]		= ROW(RDMAP_PROT, STAG, ACCESS_ERR),
	[KWARP_ERR_RDMAP_WRAP]		= ROW(RDMAP_PROT, BOUNDS, ACCESS_ERR),
	[KWARP_ERR_RDMAP_INVALIDATE]	= ROW(RDMAP_PROT, STAG, ACCESS_ERR),
	[KWARP_ERR_RDMAP_PROT]		= ROW_OF_CLASS(RDMAP_PROT, ACCESS_ERR),
	[KWARP_ERR_RDMAP_VERSION]	= ROW(RDMAP_OP, VERSION, REQ_ERR),
	[KWARP_ERR_RDMAP_OPCODE]	= ROW(RDMAP_OP, OPCODE, REQ_ERR),
	[KWARP_ERR_RDMAP_STREAM]	= ROW_OF_CLASS(RDMAP_OP, REQ_ERR),
	[KWARP_ERR_RDMAP_GLOBAL]	= ROW_OF_CLASS(RDMAP_OP, REQ_ERR),
	[KWARP_ERR_RDMAP_OP]		= ROW_OF_CLASS(RDMAP_OP, REQ_ERR),
	[KWARP_ERR_SEGMENT]		= ROW(RDMAP_OP, LENGTH, REQ_ERR),
	[KWARP_ERR_CHUNK]		= ROW(RDMAP_OP, CHUNK, FATAL),
	[KWARP_ERR_SSN]			= ROW(RDMAP_OP, SSN, FATAL),
	[KWARP_ERR_SESSION]		= ROW(RDMAP_OP, SESSION, FATAL),
};

/**
 * kwarp_error_count() - count an error that ends a connection
 * @qp:		queue pair
 * @err:	error to be raised
 *
 * Counts the error by its class and, if there is a counter, by its kind. Context: socket
 * lock held.
 */
void kwarp_error_count(struct kwarp_qp *qp, enum kwarp_err err)
{
	const struct consequence *c = &table[err];

	kwarp_qp_assert_locked(qp);
	kwarp_qp_count(qp, c->class);
	if (c->detail != NO_DETAIL)
		kwarp_qp_count(qp, c->detail);
}

/**
 * kwarp_error_event() - the asynchronous event of an error
 * @err:	error to be raised
 *
 * Return: the type of the QP's asynchronous event.
 */
enum ib_event_type kwarp_error_event(enum kwarp_err err)
{
	return table[err].event;
}
