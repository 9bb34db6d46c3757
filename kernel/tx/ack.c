// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgment of what is sent, for connections that have it (qp->params.ack): a
 * fence, which is an RDMA Read of length zero, follows, and its answer says that
 * the peer has placed and delivered all that was before it.
 */
#include "tx.h"

#include "../core/qp.h"

/* Does somebody wait for the completion of the request in tx->wqe? */
static bool wanted(const struct kwarp_qp *qp)
{
	return qp->sq.sig_all ||
	       qp->tx.wqe->hdr.flags & KWARP_WQE_SIGNALED;
}

void kwarp_tx_sent(struct kwarp_qp *qp)
{
	kwarp_sq_mark_built(qp, qp->tx.msg.slot);
	if (!qp->params.ack)
		return;
	qp->tx.unacked = true;
	if (wanted(qp))
		qp->tx.unacked_sig = true;
}

void kwarp_tx_complete_sent(struct kwarp_qp *qp)
{
	if (!qp->tx.unacked && !qp->tx.fence_out)
		kwarp_sq_complete_built(qp);
}

bool kwarp_tx_fence_follows(const struct kwarp_qp *qp)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	return qp->params.ack && !qp->tx.fence_out && !msg->imm &&
	       msg->kind == KWARP_TX_SQ && msg->qn != KWARP_QN_READ &&
	       wanted(qp);
}

bool kwarp_tx_fence_due(struct kwarp_qp *qp, u32 reads)
{
	const struct kwarp_tx *tx = &qp->tx;

	if (!tx->unacked || tx->fence_out || reads >= qp->params.ord)
		return false;
	/* If nobody waits there is time until there is nothing else to send. */
	return tx->unacked_sig || !kwarp_qp_is(qp)->sends ||
	       !(tx->held || kwarp_sq_pending(qp));
}

u32 kwarp_tx_fenced(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	tx->fence_out = true;
	tx->unacked = false;
	tx->unacked_sig = false;
	return tx->held ? tx->held_slot : qp->sq.fetched;
}
