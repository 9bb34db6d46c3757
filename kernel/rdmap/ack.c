// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgment of sent messages, for connections that use it (qp->params.ack): a fence,
 * which is a zero-length RDMA Read, follows the messages, and its response shows that the
 * peer has placed and delivered everything before it.
 */
#include "rdmap/tx.h"

/* Does the consumer wait for the completion of the request in tx->wqe? */
static bool completion_wanted(const struct kwarp_qp *qp)
{
	return qp->sq.sig_all ||
	       qp->tx.wqe->hdr.flags & KWARP_WQE_SIGNALED;
}

/* The message of a work request, in tx->msg, has been sent. */
void kwarp_tx_sent(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	kwarp_sq_mark_built(&qp->sq, qp->tx.msg.slot);
	if (!qp->params.ack)
		return;
	qp->tx.unacked = max_t(u8, qp->tx.unacked, completion_wanted(qp) ?
			       KWARP_TX_AWAITED : KWARP_TX_UNACKED);
}

/* Complete requests that need not wait for the peer, or no longer. */
void kwarp_tx_complete_sent(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	if (!qp->tx.unacked && !qp->tx.fence_out)
		kwarp_sq_complete_built(&qp->sq);
}

bool kwarp_tx_fence_follows(const struct kwarp_qp *qp)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	kwarp_qp_assert_locked(qp);
	return qp->params.ack && !qp->tx.fence_out && !msg->imm &&
	       msg->kind == KWARP_TX_SQ && msg->qn != KWARP_QN_READ &&
	       completion_wanted(qp);
}

/**
 * kwarp_tx_fence_due() - is a fence the next message to send?
 * @qp:		queue pair
 * @reads:	reads outstanding
 *
 * One at a time: the next fence covers what is sent meanwhile.
 *
 * Return: true if so: send it and call kwarp_tx_fenced().
 */
bool kwarp_tx_fence_due(const struct kwarp_qp *qp, u32 reads)
{
	const struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	if (!tx->unacked || tx->fence_out || reads >= qp->params.ord)
		return false;
	/*
	 * If no completion is awaited, delay the fence until there is nothing else to
	 * send.
	 */
	return tx->unacked == KWARP_TX_AWAITED || !kwarp_qp_is(qp)->sends ||
	       !(tx->held || kwarp_sq_pending(&qp->sq));
}

u32 kwarp_tx_fenced(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	tx->fence_out = true;
	tx->unacked = KWARP_TX_ACKED;
	return tx->held ? tx->held_slot : qp->sq.fetched;
}
