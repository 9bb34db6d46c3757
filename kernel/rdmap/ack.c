// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgment of sent messages (qp->params.ack). The send engine sends a zero-length
 * RDMA Read after the messages, the acknowledging read. Its response shows that the peer has
 * placed and delivered all messages before it.
 */
#include "rdmap/tx.h"

/* Does the work request in tx->wqe ask for a completion on success? */
static bool completion_wanted(const struct kwarp_qp *qp)
{
	return qp->sq.sig_all ||
	       qp->tx.wqe->hdr.flags & KWARP_WQE_SIGNALED;
}

/* The batch now contains the last ULPDU of the work request in tx->msg. */
void kwarp_tx_mark_sent(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	kwarp_sq_mark_built(&qp->sq, qp->tx.msg.slot);
	if (!qp->params.ack)
		return;
	qp->tx.unacked = max_t(u8, qp->tx.unacked, completion_wanted(qp) ?
			       KWARP_TX_AWAITED : KWARP_TX_UNACKED);
}

/* Complete built requests, unless an acknowledgment is needed or outstanding. */
void kwarp_tx_complete_sent(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	if (!qp->tx.unacked && !qp->tx.ack_read_out)
		kwarp_sq_complete_built(&qp->sq);
}

bool kwarp_tx_ack_read_follows(const struct kwarp_qp *qp)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	kwarp_qp_assert_locked(qp);
	return qp->params.ack && !qp->tx.ack_read_out && !msg->imm &&
	       msg->kind == KWARP_TX_SQ && msg->qn != KWARP_QN_READ &&
	       qp->rx.read_tail - qp->rx.read_head < qp->params.ord &&
	       completion_wanted(qp);
}

/**
 * kwarp_tx_ack_read_due() - is an acknowledging read the next message to send?
 * @qp:		queue pair
 * @reads:	reads outstanding
 *
 * Only one is outstanding at a time; the next one covers messages sent meanwhile.
 *
 * Return: true if so; the caller starts the read and calls kwarp_tx_ack_read_sent().
 */
bool kwarp_tx_ack_read_due(const struct kwarp_qp *qp, u32 reads)
{
	const struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	if (!tx->unacked || tx->ack_read_out || reads >= qp->params.ord)
		return false;
	/* If no completion depends on the read, delay it until the SQ supplies nothing. */
	return tx->unacked == KWARP_TX_AWAITED || !kwarp_qp_traits_now(qp)->sends ||
	       !(tx->held || kwarp_sq_pending(&qp->sq));
}

u32 kwarp_tx_ack_read_sent(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	tx->ack_read_out = true;
	tx->unacked = KWARP_TX_ACKED;
	return tx->held ? tx->held_slot : qp->sq.window.fetched;
}
