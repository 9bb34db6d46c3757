// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Cutting messages into FPDUs, in memory that TCP gets by reference.
 *
 * A batch is a row of runs. Within a run every FPDU but the last is exactly one
 * EMSS long, or several short ones share a segment, so TCP's (or the NIC's)
 * segmentation cuts at FPDU boundaries; a run that does not end at a multiple
 * of the EMSS is closed with an end-of-record mark, and the next one starts a
 * segment of its own (RFC 5044 appendix A).
 */
#include "tx.h"

#include "../core/mem.h"
#include "../core/qp.h"
#include "../llp/llp.h"
#include "../proto/mpa_writer.h"
#include "../proto/rdmap.h"

/* Contiguous room for what may not be split: heads and tails of an FPDU. */
#define TX_MIN_ROOM	64

/* A point in the batch to return to if an FPDU cannot be finished. */
struct tx_mark {
	u32 len;
	u32 last_len;
	u16 nr;
};

static struct tx_mark buf_mark(const struct kwarp_tx_buf *b)
{
	struct tx_mark m = {
		.len = b->len,
		.nr = b->nr,
		.last_len = b->nr ? b->bv[b->nr - 1].bv_len : 0,
	};

	return m;
}

static void buf_rewind(struct kwarp_tx_buf *b, const struct tx_mark *m)
{
	while (b->nr > m->nr)
		put_page(b->bv[--b->nr].bv_page);
	if (b->nr)
		b->bv[b->nr - 1].bv_len = m->last_len;
	b->len = m->len;
}

/* Room for at least TX_MIN_ROOM octets, or NULL. */
static u8 *buf_room(struct kwarp_tx_buf *b, u32 *room)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;

	if (!skb_page_frag_refill(TX_MIN_ROOM, &b->frag, gfp))
		return NULL;
	*room = b->frag.size - b->frag.offset;
	return page_address(b->frag.page) + b->frag.offset;
}

/* @n octets were written where buf_room() said. */
static void buf_commit(struct kwarp_tx_buf *b, u32 n)
{
	u16 run_start = b->nr_runs ? b->runs[b->nr_runs - 1].bv_end : 0;
	struct bio_vec *last = b->nr > run_start ? &b->bv[b->nr - 1] : NULL;

	if (last && last->bv_page == b->frag.page &&
	    last->bv_offset + last->bv_len == b->frag.offset) {
		last->bv_len += n;
	} else {
		get_page(b->frag.page);
		bvec_set_page(&b->bv[b->nr++], b->frag.page, n, b->frag.offset);
	}
	b->frag.offset += n;
	b->len += n;
}

static void buf_close_run(struct kwarp_tx_buf *b, bool eor)
{
	u16 start = b->nr_runs ? b->runs[b->nr_runs - 1].bv_end : 0;

	if (b->nr == start)
		return;
	b->runs[b->nr_runs].bv_end = b->nr;
	b->runs[b->nr_runs++].eor = eor;
}

/* Enough pieces for one more FPDU, however its memory is split. */
static bool buf_full(const struct kwarp_tx_buf *b)
{
	/* 64 KiB in pages of 4 KiB, should nothing larger be had, and change. */
	return b->nr + 20 > KWARP_TX_BVECS;
}

static int put_octets(struct kwarp_tx_buf *b, struct kwarp_fpdu_writer *w,
		      const u8 *src, u32 len)
{
	while (len) {
		u32 room, n;
		u8 *dst = buf_room(b, &room);

		if (!dst)
			return -ENOMEM;
		n = min(len, kwarp_fpdu_fit(w, room));
		buf_commit(b, kwarp_fpdu_put(w, dst, src, n));
		src += n;
		len -= n;
	}
	return 0;
}

/* Copy @len octets of gather elements; -EACCES if one may not be read. */
static int put_gather(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		      struct kwarp_fpdu_writer *w, u32 len)
{
	struct kwarp_tx_msg *msg = &qp->tx.msg;

	while (len) {
		const struct kwarp_sge *sge = &qp->tx.wqe->sge[msg->cur_sge];
		u32 n = min(len, sge->length - msg->cur_off);
		u64 addr = sge->addr + msg->cur_off;
		struct kwarp_mr *mr;
		void *src;
		int ret;

		if (!n) {
			msg->cur_sge++;
			msg->cur_off = 0;
			continue;
		}
		if (kwarp_mr_access(qp->dev, cache, qp->ibqp.pd, sge->lkey,
				    addr, n, 0, &mr))
			return -EACCES;
		src = kwarp_mr_ptr(mr, addr, &n);
		ret = put_octets(qp->tx.buf, w, src, n);
		if (ret)
			return ret;
		msg->cur_off += n;
		len -= n;
	}
	return 0;
}

/* Copy @len octets for a Read Response. */
static int put_response(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
			struct kwarp_fpdu_writer *w, u32 len)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;
	const struct kwarp_inread *in = kwarp_rx_inread(&qp->rx, qp->rx.in_head);
	u64 addr = in->src_to + msg->done;

	while (len) {
		struct kwarp_mr *mr;
		u32 n = len;
		void *src;
		int ret;

		if (kwarp_mr_access(qp->dev, cache, qp->ibqp.pd, in->src_stag,
				    addr, n, IB_ACCESS_REMOTE_READ, &mr))
			return -EACCES;
		src = kwarp_mr_ptr(mr, addr, &n);
		ret = put_octets(qp->tx.buf, w, src, n);
		if (ret)
			return ret;
		addr += n;
		len -= n;
	}
	return 0;
}

static void encode_header(const struct kwarp_qp *qp, u8 *hdr, bool last)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;
	struct kwarp_ddp_hdr h = {
		.tagged = msg->tagged,
		.last = last,
		.dv = kwarp_qp_version(qp),
		.rv = kwarp_qp_version(qp),
		.opcode = msg->opcode,
	};

	if (msg->tagged) {
		h.stag = msg->stag;
		h.to = msg->to + msg->done;
	} else {
		h.inv_stag = msg->inv_stag;
		h.qn = msg->qn;
		h.msn = msg->msn;
		h.mo = msg->done;
	}
	kwarp_ddp_encode(&h, hdr);
}

/* One FPDU with @payload octets of the message in work. */
static int put_fpdu(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		    u32 hdr_len, u32 payload)
{
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_tx_msg *msg = &tx->msg;
	struct kwarp_tx_buf *b = tx->buf;
	bool last = msg->done + payload == msg->len;
	struct kwarp_fpdu_writer w;
	u8 hdr[KWARP_DDP_HDR_MAX];
	u32 room, n;
	u8 *dst;
	int ret;

	dst = buf_room(b, &room);
	if (!dst)
		return -ENOMEM;
	kwarp_fpdu_writer_init(&w, qp->params.tx_markers, qp->params.crc);
	n = kwarp_fpdu_begin(&w, dst, tx->pos, hdr_len + payload);
	if (hdr_len) {
		encode_header(qp, hdr, last);
		n += kwarp_fpdu_put(&w, dst + n, hdr, hdr_len);
	}
	buf_commit(b, n);

	if (msg->data)
		ret = put_octets(b, &w, msg->data + msg->done, payload);
	else if (msg->kind == KWARP_TX_RESPONSE)
		ret = put_response(qp, cache, &w, payload);
	else
		ret = put_gather(qp, cache, &w, payload);
	if (ret)
		return ret;

	dst = buf_room(b, &room);
	if (!dst)
		return -ENOMEM;
	buf_commit(b, kwarp_fpdu_end(&w, dst));
	msg->done += payload;
	return 0;
}

static void message_sent(struct kwarp_qp *qp)
{
	struct kwarp_tx_msg *msg = &qp->tx.msg;

	if (msg->imm) {
		kwarp_tx_immediate(qp);
		return;
	}
	if (msg->kind == KWARP_TX_RESPONSE)
		qp->rx.in_head++;
	else if (msg->kind == KWARP_TX_SQ &&
		 msg->qn != KWARP_QN_READ)
		kwarp_sq_mark_built(qp, msg->slot);
	msg->kind = KWARP_TX_IDLE;
}

/*
 * The source of a read was valid when the request came, so its STag has been
 * revoked since. The request is not kept as it came; made again, it says what is
 * left to transfer (RFC 5040 4.8).
 */
static void response_error(struct kwarp_qp *qp, u32 done)
{
	const struct kwarp_rx *rx = &qp->rx;
	const struct kwarp_inread *in = kwarp_rx_inread(&qp->rx, rx->in_head);
	const struct kwarp_ddp_hdr h = {
		.last = true,
		.dv = kwarp_qp_version(qp),
		.rv = kwarp_qp_version(qp),
		.opcode = RDMAP_READ_REQUEST,
		.qn = KWARP_QN_READ,
		.msn = rx->read_msn - (rx->in_tail - rx->in_head),
	};
	const struct kwarp_rdmap_read left = {
		.sink_stag = in->sink_stag,
		.sink_to = in->sink_to + done,
		.len = in->len - done,
		.src_stag = in->src_stag,
		.src_to = in->src_to + done,
	};
	u8 seg[KWARP_DDP_UNTAGGED_LEN + KWARP_RDMAP_READ_LEN];
	u32 n = kwarp_ddp_encode(&h, seg);

	n += kwarp_rdmap_read_encode(&left, seg + n);
	kwarp_sq_complete_built(qp);
	kwarp_qp_raise(qp, KWARP_ERR_RDMAP_STAG, seg, n, n);
}

static void source_error(struct kwarp_qp *qp)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	/* What of the message went out stays a fragment: the Terminate follows. */
	if (msg->kind == KWARP_TX_RESPONSE)
		response_error(qp, msg->done);
	else
		kwarp_tx_local_error(qp, msg->slot, KWARP_WC_LOC_PROT_ERR,
				     KWARP_ERR_RDMAP_LOCAL);
}

/**
 * struct tx_segment - where the next FPDU stands in its TCP segment
 * @max:	longest FPDU: the EMSS, rounded down to 4
 * @exact:	a row of FPDUs of @max ends at segment boundaries by itself
 * @off:	octets of the segment that are used
 */
struct tx_segment {
	u32 max;
	bool exact;
	u32 off;
};

/* Decide on the next FPDU's payload and build it. 0, or -errno and nothing built. */
static int build_one(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		     struct tx_segment *seg)
{
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_tx_msg *msg = &tx->msg;
	u32 hdr_len = msg->raw ? 0 : kwarp_ddp_hdr_len(msg->tagged);
	bool markers = qp->params.tx_markers;
	u32 left = msg->len - msg->done;
	struct kwarp_tx_msg saved = *msg;
	struct tx_mark mark;
	u32 ulpdu, flen;
	int ret;

	ulpdu = min(hdr_len + left, kwarp_mulpdu(seg->max, tx->pos, markers));
	flen = kwarp_fpdu_len(ulpdu, tx->pos, markers);
	/* Share a segment only with a whole message: otherwise start a new one. */
	if (seg->off && (seg->off + flen > seg->max || ulpdu < hdr_len + left)) {
		buf_close_run(tx->buf, true);
		seg->off = 0;
	}

	mark = buf_mark(tx->buf);
	ret = put_fpdu(qp, cache, hdr_len, ulpdu - hdr_len);
	if (ret) {
		buf_rewind(tx->buf, &mark);
		*msg = saved;
		return ret;
	}
	tx->pos += flen;
	seg->off += flen;
	if (seg->off == seg->max) {
		if (!seg->exact)
			buf_close_run(tx->buf, true);
		seg->off = 0;
	}
	if (markers)
		kwarp_count_n(qp->dev, KWARP_STAT_TX_MARKERS,
			      (flen - kwarp_fpdu_len(ulpdu, 0, false)) /
			      KWARP_MARKER_LEN);
	if (msg->done == msg->len)
		message_sent(qp);
	return 0;
}

static void segment_init(const struct kwarp_qp *qp, struct kwarp_llp *llp,
			 struct tx_segment *seg)
{
	u32 emss = kwarp_llp_emss(llp);

	/* RFC 5044 4.5: a MULPDU of 128 is always offered, however small EMSS. */
	emss = max(emss, 128U + 32U);
	seg->max = emss & ~3U;
	seg->exact = seg->max == emss;
	seg->off = 0;
	if (qp->params.fpdu_large) {
		seg->max = KWARP_ULPDU_MAX & ~3U;
		seg->exact = false;
	}
}

int kwarp_tx_build(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_tx_buf *b = tx->buf;
	struct kwarp_mr_cache cache = { .qp = qp };
	struct tx_segment seg;
	u32 fpdus = 0, limit;
	int ret = 0;

	kwarp_llp_assert_locked(llp);
	segment_init(qp, llp, &seg);
	limit = clamp(kwarp_llp_wspace(llp), 4096, (int)KWARP_TX_BATCH);

	/* Regions are held in the cache: no sleep, no preemption by softirq. */
	local_bh_disable();
	while (b->len < limit && !buf_full(b)) {
		if (tx->msg.kind == KWARP_TX_IDLE &&
		    !kwarp_tx_next(qp, &cache))
			break;
		ret = build_one(qp, &cache, &seg);
		if (ret == -EACCES) {
			source_error(qp);
			ret = 0;
			continue;
		}
		if (ret)
			break;
		fpdus++;
	}
	buf_close_run(b, seg.off != 0);
	kwarp_mr_cache_put(&cache);
	local_bh_enable();

	kwarp_count_n(qp->dev, KWARP_STAT_TX_FPDUS, fpdus);
	kwarp_count_n(qp->dev, KWARP_STAT_TX_OCTETS, b->len);
	return b->len ? b->len : ret;
}
