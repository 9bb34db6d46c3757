// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Placement of out-of-order ULPDUs, which the lower layer has verified like any other, if
 * their destination is known already. Nothing is delivered and no error is raised: each
 * ULPDU is checked again when it is processed in order.
 */
#include "llp/llp.h"
#include "rdmap/early.h"
#include "rdmap/place.h"

/**
 * struct target - destination of a payload
 * @mr:		region, held by the cache of the pass
 * @addr:	address in @mr
 */
struct target {
	struct kwarp_mr *mr;
	u64 addr;
};

static enum kwarp_early_kind to_memory(struct kwarp_rx_pass *pass, u32 stag,
				       u64 addr, u32 len, int access,
				       struct target *t)
{
	const struct kwarp_mr_range range = {
		.pd = pass->qp->ibqp.pd,
		.stag = stag,
		.access = access,
		.addr = addr,
		.len = len,
	};

	t->addr = addr;
	if (kwarp_mr_access(&pass->cache, &range))
		return KWARP_EARLY_BAD;
	t->mr = pass->cache.mr;
	return KWARP_EARLY_PLACED;
}

/* Payload at offset @off of a scatter list: it must lie within one element. */
static enum kwarp_early_kind to_list(struct kwarp_rx_pass *pass,
				     const struct kwarp_sge *sge, u32 n,
				     u64 off, u32 len, struct target *t)
{
	for (; n; n--, sge++) {
		if (off < sge->length) {
			if (len > sge->length - off)
				break;
			return to_memory(pass, sge->lkey, sge->addr + off, len,
					 IB_ACCESS_LOCAL_WRITE, t);
		}
		off -= sge->length;
	}
	return KWARP_EARLY_UNPLACED;
}

static enum kwarp_early_kind early_write(struct kwarp_rx_pass *pass, u32 len,
					 struct target *t)
{
	if (!(READ_ONCE(pass->qp->access) & IB_ACCESS_REMOTE_WRITE))
		return KWARP_EARLY_BAD;
	return to_memory(pass, pass->hdr.stag, pass->hdr.to, len,
			 IB_ACCESS_REMOTE_WRITE, t);
}

/* Find the outstanding read by its sink STag: each read has one of its own. */
static enum kwarp_early_kind early_response(struct kwarp_rx_pass *pass,
					    u32 len, struct target *t)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_rx *rx = &pass->qp->rx;
	u32 i;

	for (i = rx->read_head; i != rx->read_tail; i++) {
		const struct kwarp_read *rd = kwarp_rx_read(rx, i);
		u64 off = h->to - rd->sink_to;

		if (rd->atomic || rd->sink_stag != h->stag)
			continue;
		if (off > rd->len || len > rd->len - off)
			break;
		return to_list(pass, rd->sge, rd->num_sge, off, len, t);
	}
	return KWARP_EARLY_BAD;
}

/*
 * MSNs map one-to-one to the elements of a QP's own receive queue. The element that a
 * shared receive queue will supply is unknown until the message is in order.
 */
static enum kwarp_early_kind early_send(struct kwarp_rx_pass *pass, u32 len,
					struct target *t)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	const struct kwarp_rx *rx = &qp->rx;
	u32 ahead = h->msn - rx->send_msn;
	const struct kwarp_rqe_copy *wqe = &pass->early->wqe;

	if (qp->srq)
		return KWARP_EARLY_UNPLACED;
	if (rx->recv.active && !ahead)
		wqe = rx->recv.wqe;
	else if (!kwarp_rq_peek(&qp->rq, ahead - rx->recv.active, &pass->early->wqe))
		return KWARP_EARLY_UNPLACED;
	return to_list(pass, wqe->sge, wqe->hdr.num_sge, h->mo, len, t);
}

static enum kwarp_early_kind find_target(struct kwarp_rx_pass *pass, u32 len,
					 struct target *t)
{
	if (!len)
		return KWARP_EARLY_UNPLACED;
	switch (pass->hdr.opcode) {
	case RDMAP_WRITE:
		return early_write(pass, len, t);
	case RDMAP_READ_RESPONSE:
		return early_response(pass, len, t);
	case RDMAP_SEND:
	case RDMAP_SEND_INVAL:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INVAL:
	case RDMAP_SEND_IMM:
	case RDMAP_SEND_SE_IMM:
		return early_send(pass, len, t);
	default:
		return KWARP_EARLY_UNPLACED;
	}
}

/* Place a verified ULPDU if possible; e->kind says what was done. */
static void place_early(struct kwarp_rx_pass *pass, struct kwarp_early *e)
{
	struct kwarp_ulpdu *u = &pass->u;
	struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	struct target t;
	u32 len;

	e->kind = KWARP_EARLY_BAD;
	if (kwarp_ddp_parse(u->seg, u->len, h) ||
	    kwarp_rdmap_check(h, u->len, kwarp_qp_version(qp), qp->params.ext))
		return;
	len = u->len - h->len;
	e->kind = find_target(pass, len, &t);
	if (e->kind != KWARP_EARLY_PLACED)
		return;

	kwarp_early_withdraw(pass, t.mr, t.addr, len);
	kwarp_rx_begin_payload(pass, h->len);
	kwarp_rx_copy(pass, t.mr, t.addr, len);
	static_assert(sizeof(e->hdr) >= KWARP_DDP_UNTAGGED_LEN);
	memcpy(e->hdr, u->seg, h->len);
	e->hdr_len = h->len;
	e->payload = len;
	e->gen = t.mr->gen;
	e->addr = t.addr;
	kwarp_early_extent(t.mr, t.addr, len, &e->mem);
	kwarp_qp_count(qp, KWARP_STAT_OOO_PLACED);
	kwarp_qp_count_n(qp, KWARP_STAT_OOO_PLACED_OCTETS, len);
}

/* Return: true if nothing is left that could be placed now. */
static bool run_early(struct kwarp_rx_pass *pass, struct kwarp_llp *llp)
{
	struct kwarp_ledger *ledger = &pass->early->ledger;
	struct kwarp_early e;
	enum kwarp_pull pull;

	for (;;) {
		if (pass->cost++ >= KWARP_RX_ULPDUS)
			return false;
		pull = llp->ops->early_pull(llp, &pass->u, &e);
		if (pull != KWARP_PULL_ULPDU)
			return pull == KWARP_PULL_NONE;
		if (e.kind != KWARP_EARLY_BAD)
			place_early(pass, &e);
		if (!kwarp_ledger_add(ledger, &e) || e.kind == KWARP_EARLY_BAD)
			return true;
	}
}

/**
 * kwarp_rx_early() - place ULPDUs after a gap of the stream, if their destination is known
 * @qp:		attached queue pair with out-of-order placement
 * @llp:	its connection
 *
 * Delivers nothing. Context: socket lock held; softirq or process.
 */
void kwarp_rx_early(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	struct kwarp_rx_pass pass = {
		.qp = qp, .cache.user = &qp->memory, .early = qp->rx.early,
	};

	kwarp_llp_assert_locked(llp);
	if (!pass.early || qp->rx.state == KWARP_RX_STOPPED || kwarp_rx_rtr_due(qp))
		return;
	/* For the same reason as in an in-order pass. */
	local_bh_disable();
	if (llp->ops->early_begin(llp) && run_early(&pass, llp) && llp->ops->early_end)
		llp->ops->early_end(llp);
	kwarp_mr_cache_put(&pass.cache);
	local_bh_enable();
}
