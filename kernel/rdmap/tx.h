/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The send engine: send queue and inbound reads -> ULPDUs -> lower layer. Functions whose
 * context is not noted need the socket lock if a connection is attached.
 */
#ifndef _KWARP_RDMAP_TX_H
#define _KWARP_RDMAP_TX_H

#include "rdmap/qp.h"

/* Memory and reset of the engine, as in rx.h */
int kwarp_tx_alloc(struct kwarp_qp *qp);
void kwarp_tx_begin(struct kwarp_qp *qp);
void kwarp_tx_free(struct kwarp_qp *qp);
bool kwarp_tx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, int *budget);
int kwarp_tx_build(struct kwarp_qp *qp, struct kwarp_llp *llp, enum kwarp_tx_kind *due);
enum kwarp_tx_kind kwarp_tx_due(const struct kwarp_qp *qp,
				const struct kwarp_llp *llp);
bool kwarp_tx_next(struct kwarp_qp *qp, enum kwarp_tx_kind due,
		   struct kwarp_mr_cache *cache);
void kwarp_tx_immediate(struct kwarp_qp *qp);

/* ack.c; socket lock held */

void kwarp_tx_mark_sent(struct kwarp_qp *qp);
void kwarp_tx_complete_sent(struct kwarp_qp *qp);

/* Will an acknowledging read follow the message in tx->msg? */
bool kwarp_tx_ack_read_follows(const struct kwarp_qp *qp);
bool kwarp_tx_ack_read_due(const struct kwarp_qp *qp, u32 reads);

/* Start an acknowledging read. Return: the SQ slot after the last one that it covers. */
u32 kwarp_tx_ack_read_sent(struct kwarp_qp *qp);
void kwarp_tx_local_error(struct kwarp_qp *qp, u32 slot, u8 status);
bool kwarp_tx_can_fetch(const struct kwarp_qp *qp);
void kwarp_tx_kick(struct kwarp_qp *qp);
bool kwarp_post_may_run(void);
void kwarp_tx_wake(struct kwarp_qp *qp);
void kwarp_tx_defer(struct kwarp_qp *qp);

/* coalesce.c */

void kwarp_pause_init(struct kwarp_pause *p);
void kwarp_pause_exit(struct kwarp_pause *p);
void kwarp_tx_coalesce_exit(struct kwarp_qp *qp);

/* A pass of the engine begins. Context: socket lock held. */
void kwarp_tx_woken(struct kwarp_qp *qp);
bool kwarp_tx_coalesce(struct kwarp_qp *qp);

/*
 * The peer has sent an RDMA Write, a Send, or Immediate Data: requests that answer it are not a
 * burst. Context: socket lock held.
 */
static inline void kwarp_tx_peer_sent(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;
	u32 fetched = qp->sq.window.fetched;

	if (fetched == c->peer_at)
		return;
	c->stream = fetched - c->peer_at >= KWARP_TX_BURST_LONG;
	WRITE_ONCE(c->peer_at, fetched);
}

void kwarp_tx_rtr(struct kwarp_qp *qp, u8 opcode);
void kwarp_tx_terminate(struct kwarp_qp *qp, const struct kwarp_term_err *err,
			const u8 *seg, u32 seg_len, u32 ulpdu_len);
void kwarp_tx_answer_only(struct kwarp_qp *qp);
void kwarp_tx_complete_failed(struct kwarp_qp *qp);
void kwarp_tx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_TX_H */
