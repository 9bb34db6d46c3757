// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One FPDU before its turn: verified like any other, placed if its place is known
 * by now. Nothing is delivered, and no error raised: in its turn all is looked at
 * again.
 */
#include "ooo.h"

#include "../core/qp.h"
#include "place.h"

/**
 * struct target - where a payload goes
 * @mr:		region, held by the pass' cache
 * @addr:	address in it
 */
struct target {
	struct kwarp_mr *mr;
	u64 addr;
};

static enum kwarp_early_kind to_memory(struct kwarp_rx_pass *pass, u32 stag,
				       u64 addr, u32 len, int access,
				       struct target *t)
{
	struct kwarp_qp *qp = pass->qp;

	t->addr = addr;
	return kwarp_mr_access(qp->dev, &pass->cache, qp->ibqp.pd, stag, addr,
			       len, access, &t->mr) ?
	       KWARP_EARLY_BAD : KWARP_EARLY_PLACED;
}

/* @off octets behind the beginning of a scatter list; within one element only. */
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
	return KWARP_EARLY_LEFT;
}

static enum kwarp_early_kind early_write(struct kwarp_rx_pass *pass, u32 len,
					 struct target *t)
{
	if (!(pass->qp->access & IB_ACCESS_REMOTE_WRITE))
		return KWARP_EARLY_BAD;
	return to_memory(pass, pass->hdr.stag, pass->hdr.to, len,
			 IB_ACCESS_REMOTE_WRITE, t);
}

/* Any of our reads: each has a sink STag of its own. */
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
 * MSNs and the elements of a QP's own receive queue go in step. Which element of a
 * shared queue it will be is not known before its turn.
 */
static enum kwarp_early_kind early_send(struct kwarp_rx_pass *pass, u32 len,
					struct target *t)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	const struct kwarp_rx *rx = &qp->rx;
	u32 ahead = h->msn - rx->send_msn;
	const struct kwarp_rqe_copy *wqe = &pass->ooo->wqe;

	if (qp->srq)
		return KWARP_EARLY_LEFT;
	if (rx->recv.active && !ahead)
		wqe = rx->recv.wqe;
	else if (!kwarp_rq_peek(qp, ahead - rx->recv.active, &pass->ooo->wqe))
		return KWARP_EARLY_LEFT;
	return to_list(pass, wqe->sge, wqe->hdr.num_sge, h->mo, len, t);
}

static enum kwarp_early_kind find_target(struct kwarp_rx_pass *pass, u32 len,
					 struct target *t)
{
	if (!len)
		return KWARP_EARLY_LEFT;
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
		return KWARP_EARLY_LEFT;
	}
}

/* A verified FPDU. */
static void place(struct kwarp_rx_pass *pass, const struct kwarp_stream *st,
		  struct kwarp_early *e)
{
	struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_payload pl;
	struct target t;
	u32 len;

	e->kind = KWARP_EARLY_BAD;
	if (kwarp_ddp_parse(pass->seg, pass->fpdu->ulpdu_len, h) ||
	    kwarp_rdmap_check(h, pass->fpdu->ulpdu_len, kwarp_qp_version(qp),
			      kwarp_qp_ext(qp)))
		return;
	len = pass->fpdu->ulpdu_len - h->len;
	e->kind = find_target(pass, len, &t);
	if (e->kind != KWARP_EARLY_PLACED)
		return;

	kwarp_ooo_written(pass, t.mr, t.addr, len);
	pass->stream = *st;
	kwarp_payload_init(&pl, &pass->stream.r, pass->fpdu, h->len);
	kwarp_rx_copy(&pl, t.mr, t.addr, len);
	e->payload = len;
	e->gen = t.mr->gen;
	e->addr = t.addr;
	kwarp_ooo_extent(t.mr, t.addr, len, &e->mem);
	kwarp_qp_count(qp, KWARP_STAT_OOO_PLACED);
	kwarp_qp_count_n(qp, KWARP_STAT_OOO_PLACED_OCTETS, len);
}

bool kwarp_ooo_place(struct kwarp_rx_pass *pass, const struct kwarp_stream *st,
		     const struct kwarp_fpdu *f, struct kwarp_early *e)
{
	struct kwarp_stream tmp = *st;
	int ret;

	ret = kwarp_fpdu_verify(&tmp.r, f, true, pass->seg, sizeof(pass->seg));
	if (ret == KWARP_FPDU_NEED_MORE)
		return false;
	e->kind = KWARP_EARLY_BAD;
	if (ret)
		return true;
	pass->fpdu = f;
	place(pass, st, e);
	return true;
}
