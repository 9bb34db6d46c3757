// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The states of a queue pair; see qp_state.h. */
#include "proto/qp_state.h"

const struct kwarp_qp_traits kwarp_qp_traits_of[KWARP_QP_STATES] = {
#define STATE(state, shows, ...) \
	[KWARP_QP_##state] = { .shown = KWARP_QP_SHOWN_##shows, ##__VA_ARGS__ }
	STATE(RESET, RESET, .sq_closed = true, .rq_closed = true),
	STATE(IDLE, INIT, .idle = true, .sq_closed = true),
	STATE(READY, RTR, .idle = true, .sq_closed = true),
	/* Sends may be posted: the consumer may already treat the QP as connected. */
	STATE(ACCEPTED, RTR, .idle = true),
	/*
	 * Sends may be posted in RTR, and wait: perftest's server posts its credits
	 * there, because it assumes that an iWARP QP is in RTS by then.
	 */
	STATE(SEEKING_RTR, RTR, .idle = true, .partner = true),
	STATE(SEEKING_RTS, RTS, .idle = true, .partner = true),
	STATE(SEEKING_SQD, SQD, .idle = true, .partner = true),
	STATE(OPEN, RTS, .sends = true),
	STATE(CLOSING, SQD, .sends = true),
	STATE(MET_RTR, RTR, .partner = true, .sends = true),
	STATE(MET_RTS, RTS, .partner = true, .sends = true),
	STATE(MET_SQD, SQD, .partner = true),
	STATE(LOST_RTR, RTR, .partner = true),
	STATE(LOST_RTS, RTS, .partner = true),
	STATE(LOST_SQD, SQD, .partner = true),
	/* Both queues accept requests, which are flushed. */
	STATE(ERROR, ERR),
	STATE(PARTNER_ERROR, ERR, .partner = true),
#undef STATE
};

/* Steps not listed are refused. */
static const u8 steps[KWARP_QP_STATES][KWARP_QP_STEPS] = {
#define FROM(state) \
	[KWARP_QP_##state]
#define GO(step, state) \
	[KWARP_QP_##step] = KWARP_QP_##state
	FROM(RESET) = {
		GO(TO_RESET, RESET), GO(TO_INIT, IDLE), GO(TO_ERR, ERROR),
	},
	FROM(IDLE) = {
		GO(TO_RESET, RESET), GO(TO_INIT, IDLE), GO(TO_RTR, READY),
		GO(TO_PARTNER, SEEKING_RTR), GO(TO_ERR, ERROR),
		GO(ACCEPT, ACCEPTED), GO(ATTACH, OPEN),
	},
	FROM(READY) = {
		GO(TO_RESET, RESET), GO(TO_INIT, IDLE), GO(TO_RTR, READY),
		GO(TO_PARTNER, SEEKING_RTR), GO(TO_ERR, ERROR),
		GO(ACCEPT, ACCEPTED), GO(ATTACH, OPEN),
	},
	FROM(ACCEPTED) = {
		GO(TO_RESET, RESET), GO(TO_INIT, ACCEPTED),
		GO(TO_RTR, ACCEPTED), GO(TO_ERR, ERROR),
		GO(ACCEPT, ACCEPTED), GO(ATTACH, OPEN),
	},
	/* The connection must end before RESET. */
	FROM(OPEN) = {
		GO(TO_RTS, OPEN), GO(TO_SQD, CLOSING), GO(TO_ERR, ERROR),
	},
	FROM(CLOSING) = {
		GO(TO_SQD, CLOSING), GO(TO_ERR, ERROR),
	},
	/*
	 * SQD comes from rdma_disconnect(), possibly after the peer has ended the
	 * connection. We accept the step, because on an error librdmacm would return
	 * without telling the kernel.
	 */
	FROM(ERROR) = {
		GO(TO_RESET, RESET), GO(TO_INIT, IDLE), GO(TO_SQD, ERROR),
		GO(TO_ERR, ERROR),
	},
	FROM(SEEKING_RTR) = {
		GO(TO_RESET, RESET), GO(TO_RTS, SEEKING_RTS),
		GO(TO_ERR, PARTNER_ERROR), GO(ATTACH, MET_RTR),
	},
	FROM(SEEKING_RTS) = {
		GO(TO_RESET, RESET), GO(TO_RTS, SEEKING_RTS),
		GO(TO_SQD, SEEKING_SQD), GO(TO_ERR, PARTNER_ERROR),
		GO(ATTACH, MET_RTS),
	},
	FROM(SEEKING_SQD) = {
		GO(TO_RESET, RESET), GO(TO_RTS, SEEKING_RTS),
		GO(TO_SQD, SEEKING_SQD), GO(TO_ERR, PARTNER_ERROR),
		GO(ATTACH, MET_SQD),
	},
	FROM(MET_RTR) = {
		GO(TO_RTS, MET_RTS), GO(TO_ERR, PARTNER_ERROR),
		GO(UNMEET, SEEKING_RTR), GO(LOSE, LOST_RTR),
	},
	FROM(MET_RTS) = {
		GO(TO_RTS, MET_RTS), GO(TO_SQD, MET_SQD),
		GO(TO_ERR, PARTNER_ERROR), GO(UNMEET, SEEKING_RTS),
		GO(LOSE, LOST_RTS),
	},
	FROM(MET_SQD) = {
		GO(TO_RTS, MET_RTS), GO(TO_SQD, MET_SQD),
		GO(TO_ERR, PARTNER_ERROR), GO(UNMEET, SEEKING_SQD),
		GO(LOSE, LOST_SQD),
	},
	FROM(LOST_RTR) = {
		GO(TO_RTS, LOST_RTS), GO(TO_ERR, PARTNER_ERROR),
		GO(LOSE, LOST_RTR),
	},
	FROM(LOST_RTS) = {
		GO(TO_RTS, LOST_RTS), GO(TO_SQD, LOST_SQD),
		GO(TO_ERR, PARTNER_ERROR), GO(LOSE, LOST_RTS),
	},
	FROM(LOST_SQD) = {
		GO(TO_RTS, LOST_RTS), GO(TO_SQD, LOST_SQD),
		GO(TO_ERR, PARTNER_ERROR), GO(LOSE, LOST_SQD),
	},
	FROM(PARTNER_ERROR) = {
		GO(TO_RESET, RESET), GO(TO_ERR, PARTNER_ERROR),
	},
#undef GO
#undef FROM
};

/**
 * kwarp_qp_next() - next state
 * @from:	state
 * @step:	step
 *
 * Return: the next state, @from itself if nothing changes, KWARP_QP_REFUSED if the step
 * is not allowed in this state.
 */
enum kwarp_qp_state kwarp_qp_next(enum kwarp_qp_state from,
				  enum kwarp_qp_step step)
{
	if ((unsigned int)from >= KWARP_QP_STATES ||
	    (unsigned int)step >= KWARP_QP_STEPS)
		return KWARP_QP_REFUSED;
	return steps[from][step];
}
