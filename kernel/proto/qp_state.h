/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The states of a queue pair and the transitions between them: one table, qp_state.c.
 *
 * A state stands for the state that verbs shows and for that of the connection. iWARP's
 * verbs have Idle, RTS, Closing and Error (RFC 5040 defines no states): IDLE to CLOSING
 * and ERROR here. A queue pair with a partner (RTR named its number and GID) has
 * InfiniBand's states, and modify_qp sets RTR, RTS and SQD before, during and after the
 * connection: SEEKING, MET and LOST exist once for each of these.
 */
#ifndef _KWARP_PROTO_QP_STATE_H
#define _KWARP_PROTO_QP_STATE_H

#include "proto/types.h"

enum kwarp_qp_state {
	KWARP_QP_REFUSED,	/* not a state: the step is not allowed */
	KWARP_QP_RESET,
	KWARP_QP_IDLE,
	KWARP_QP_READY,		/* as IDLE: rdma_cm has set RTR, which iWARP does not need */
	KWARP_QP_ACCEPTED,	/* waiting for the initiator's last startup frame */
	KWARP_QP_SEEKING_RTR,	/* no connection to the partner yet */
	KWARP_QP_SEEKING_RTS,
	KWARP_QP_SEEKING_SQD,
	KWARP_QP_OPEN,
	KWARP_QP_CLOSING,	/* posted sends are processed, then FIN is sent */
	KWARP_QP_MET_RTR,	/* connected to the partner */
	KWARP_QP_MET_RTS,
	KWARP_QP_MET_SQD,
	KWARP_QP_LOST_RTR,	/* the partner has closed; receives are not flushed */
	KWARP_QP_LOST_RTS,
	KWARP_QP_LOST_SQD,
	KWARP_QP_ERROR,		/* the last two: kwarp_qp_is_failed() */
	KWARP_QP_PARTNER_ERROR,
	KWARP_QP_STATES
};

enum kwarp_qp_step {
	/* modify_qp */
	KWARP_QP_TO_RESET,
	KWARP_QP_TO_INIT,
	KWARP_QP_TO_RTR,
	KWARP_QP_TO_PARTNER,	/* RTR that names a partner */
	KWARP_QP_TO_RTS,
	KWARP_QP_TO_SQD,
	KWARP_QP_TO_ERR,	/* also any error */
	/* steps of the connection */
	KWARP_QP_ACCEPT,
	KWARP_QP_ATTACH,
	KWARP_QP_UNMEET,	/* responder: detached before the partner's first FPDU */
	KWARP_QP_LOSE,		/* the partner ended the connection */
	KWARP_QP_STEPS
};

/* What verbs shows; the values are those of enum ib_qp_state. */
enum kwarp_qp_shown {
	KWARP_QP_SHOWN_RESET	= 0,
	KWARP_QP_SHOWN_INIT	= 1,
	KWARP_QP_SHOWN_RTR	= 2,
	KWARP_QP_SHOWN_RTS	= 3,
	KWARP_QP_SHOWN_SQD	= 4,
	KWARP_QP_SHOWN_ERR	= 6,
};

/**
 * struct kwarp_qp_traits - properties of a state
 * @shown:	enum kwarp_qp_shown
 * @idle:	a connection can be attached
 * @partner:	RTR named a partner: InfiniBand's rules apply
 * @sends:	the send queue is processed
 * @sq_closed:	no sends may be posted
 * @rq_closed:	no receives may be posted
 */
struct kwarp_qp_traits {
	u8 shown;
	bool idle;
	bool partner;
	bool sends;
	bool sq_closed;
	bool rq_closed;
};

/* Indexed by state; the entry of KWARP_QP_REFUSED is zero. */
extern const struct kwarp_qp_traits kwarp_qp_traits_of[KWARP_QP_STATES];

enum kwarp_qp_state kwarp_qp_next(enum kwarp_qp_state from,
				  enum kwarp_qp_step step);

static inline bool kwarp_qp_is_failed(enum kwarp_qp_state state)
{
	return state >= KWARP_QP_ERROR;
}

static inline bool kwarp_qp_is_met(enum kwarp_qp_state state)
{
	return state >= KWARP_QP_MET_RTR && state <= KWARP_QP_MET_SQD;
}

static inline bool kwarp_qp_is_lost(enum kwarp_qp_state state)
{
	return state >= KWARP_QP_LOST_RTR && state <= KWARP_QP_LOST_SQD;
}

#endif /* _KWARP_PROTO_QP_STATE_H */
