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

#include "buf.h"
#include "../core/mem.h"
#include "../core/qp.h"
#include "../ctl/trace.h"
#include "../llp/llp.h"
#include "../proto/mpa_writer.h"
#include "../proto/rdmap.h"

enum tx_build_limits {
	TX_FILL_MIN	= 128,		/* shortest ULPDU to which one is cut: RFC 5044 4.5 */
	TX_FILL_LEN	= 16 * 1024,	/* longest message that fills it */
};

/**
 * struct tx_source - payload octets that lie contiguous in memory
 * @p:		next octet
 * @n:		how many
 *
 * Valid within one pass: the cache holds their region, so an invalidation waits.
 */
struct tx_source {
	const u8 *p;
	u32 n;
};

static int source_region(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
			 struct tx_source *src, u32 stag, u64 addr, u32 len,
			 int access)
{
	struct kwarp_mr *mr;

	if (kwarp_mr_access(qp->dev, cache, qp->ibqp.pd, stag, addr, len,
			    access, &mr))
		return -EACCES;
	src->n = len;
	src->p = kwarp_mr_ptr(mr, addr, &src->n);
	return 0;
}

/* What follows in the message; -EACCES if it may not be read. */
static int source_next(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		       struct tx_source *src)
{
	struct kwarp_tx_msg *msg = &qp->tx.msg;
	const struct kwarp_inread *in;
	const struct kwarp_sge *sge;

	if (msg->data) {
		src->p = msg->data + msg->done;
		src->n = msg->len - msg->done;
		return 0;
	}
	if (msg->kind == KWARP_TX_RESPONSE) {
		in = kwarp_rx_inread(&qp->rx, qp->rx.in_head);
		return source_region(qp, cache, src, in->src_stag,
				     in->src_to + msg->done,
				     msg->len - msg->done,
				     IB_ACCESS_REMOTE_READ);
	}
	for (;; msg->cur_sge++, msg->cur_off = 0) {
		sge = &qp->tx.wqe->sge[msg->cur_sge];
		if (msg->cur_off != sge->length)
			break;
	}
	return source_region(qp, cache, src, sge->lkey,
			     sge->addr + msg->cur_off,
			     sge->length - msg->cur_off, 0);
}

/*
 * Copy @len octets of payload to @dst, where there is @room; @all: for all of them,
 * with markers. Return: octets written.
 */
static int put_payload(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		       struct tx_source *src, struct kwarp_fpdu_writer *w,
		       u8 *dst, u32 room, bool all, u32 *len)
{
	struct kwarp_tx_msg *msg = &qp->tx.msg;
	u32 written = 0;

	while (*len) {
		u32 n = *len;
		int ret;

		if (!all)
			n = min(n, kwarp_fpdu_fit(w, room - written));
		if (!n)
			break;
		if (!src->n) {
			ret = source_next(qp, cache, src);
			if (ret)
				return ret;
		}
		n = min(n, src->n);
		written += kwarp_fpdu_put(w, dst + written, src->p, n);
		src->p += n;
		src->n -= n;
		msg->done += n;
		msg->cur_off += n;
		*len -= n;
	}
	return written;
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

static u32 put_header(const struct kwarp_qp *qp, struct kwarp_fpdu_writer *w,
		      u8 *dst, u32 len, bool last)
{
	u8 hdr[KWARP_DDP_HDR_MAX];

	/* Nearly always no marker falls into it. */
	if (kwarp_fpdu_room(w) < len) {
		encode_header(qp, hdr, last);
		return kwarp_fpdu_put(w, dst, hdr, len);
	}
	encode_header(qp, dst, last);
	kwarp_fpdu_ref(w, dst, len);
	return len;
}

/* One FPDU of @flen octets with @payload octets of the message in work. */
static int put_fpdu(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		    struct tx_source *src, struct kwarp_tx_out *out, u32 flen,
		    u32 hdr_len, u32 payload)
{
	struct kwarp_tx *tx = &qp->tx;
	const struct kwarp_tx_msg *msg = &tx->msg;
	struct kwarp_fpdu_writer w;
	bool all;
	u8 *dst;
	u32 n;
	int ret;

	dst = kwarp_tx_room(out, flen);
	if (!dst)
		return -ENOMEM;
	kwarp_fpdu_writer_init(&w, qp->params.tx_markers, qp->params.crc);
	n = kwarp_fpdu_begin(&w, dst, tx->pos, hdr_len + payload);
	if (hdr_len)
		n += put_header(qp, &w, dst + n, hdr_len,
				msg->done + payload == msg->len);
	all = kwarp_tx_left(out) >= flen;
	for (;;) {
		ret = put_payload(qp, cache, src, &w, dst + n,
				  kwarp_tx_left(out) - n, all, &payload);
		if (ret < 0)
			return ret;
		n += ret;
		/* Nearly always all of it fits. */
		if (all ||
		    (!payload && kwarp_tx_left(out) - n >= KWARP_FPDU_TAIL_MAX))
			break;
		kwarp_tx_commit(out, n);
		n = 0;
		dst = kwarp_tx_room(out, KWARP_TX_MIN_ROOM);
		if (!dst)
			return -ENOMEM;
	}
	n += kwarp_fpdu_end(&w, dst + n);
	kwarp_tx_commit(out, n);
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
		kwarp_tx_sent(qp);
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
	kwarp_tx_complete_sent(qp);
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

/* The next FPDU starts a segment, whatever room this one has. */
static void new_segment(struct kwarp_tx_buf *buf, struct tx_segment *seg)
{
	if (seg->off)
		kwarp_tx_close_run(buf, true);
	seg->off = 0;
}

/*
 * The end of a message and the fence behind it share a segment, so that the peer
 * answers the one before its consumer can act on the other, and close. If they do
 * not fit into one, half of the end goes into a segment before.
 * Return: true if the segment ends behind the next FPDU.
 */
static bool leave_room(const struct kwarp_qp *qp, struct tx_segment *seg,
		       u32 hdr_len, u32 *ulpdu)
{
	const u32 fence = KWARP_DDP_UNTAGGED_LEN + KWARP_RDMAP_READ_LEN;
	const struct kwarp_tx_msg *msg = &qp->tx.msg;
	bool markers = qp->params.tx_markers;
	u32 left = msg->len - msg->done;
	u32 need;

	if (*ulpdu < hdr_len + left || !kwarp_tx_fence_follows(qp))
		return false;
	need = kwarp_fpdu_len(*ulpdu, qp->tx.pos, markers);
	need += kwarp_fpdu_len(fence, qp->tx.pos + need, markers);
	if (seg->off + need <= seg->max)
		return false;
	new_segment(qp->tx.buf, seg);
	if (need <= seg->max || left < 2)
		return false;
	*ulpdu = hdr_len + left / 2;
	return true;
}

/*
 * A message that does not fit into the rest of a segment may begin there, so that
 * rows of messages make rows of full segments, for one call to TCP. Not a long one,
 * nor what RDMAP does not segment.
 * Return: octets of the ULPDU that fills the segment, or 0.
 */
static u32 fill_segment(const struct kwarp_qp *qp, const struct tx_segment *seg)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;
	u32 room = seg->max - seg->off;
	u32 ulpdu;

	if (!seg->off || !seg->exact || room < TX_FILL_MIN || msg->done ||
	    msg->data || msg->len > TX_FILL_LEN || qp->params.ack)
		return 0;
	ulpdu = kwarp_mulpdu(room, qp->tx.pos, qp->params.tx_markers);
	return ulpdu < TX_FILL_MIN ? 0 : ulpdu;
}

/* Decide on the next FPDU's payload and build it. 0, or -errno and nothing built. */
static int build_one(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
		     struct tx_source *src, struct kwarp_tx_out *out,
		     struct tx_segment *seg)
{
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_tx_msg *msg = &tx->msg;
	u32 hdr_len = msg->raw ? 0 : kwarp_ddp_hdr_len(msg->tagged);
	bool markers = qp->params.tx_markers;
	u32 left = msg->len - msg->done;
	u32 done = msg->done, cur_off = msg->cur_off;
	u16 cur_sge = msg->cur_sge;
	struct kwarp_tx_mark mark;
	u32 ulpdu, flen;
	bool ends;
	int ret;

	ulpdu = min(hdr_len + left, kwarp_mulpdu(seg->max, tx->pos, markers));
	ends = leave_room(qp, seg, hdr_len, &ulpdu);
	flen = kwarp_fpdu_len(ulpdu, tx->pos, markers);
	if (seg->off + flen > seg->max || ulpdu < hdr_len + left) {
		u32 part = fill_segment(qp, seg);

		if (part) {
			ulpdu = part;
			flen = kwarp_fpdu_len(ulpdu, tx->pos, markers);
		} else {
			new_segment(tx->buf, seg);
		}
	}

	mark = kwarp_tx_mark(tx->buf);
	ret = put_fpdu(qp, cache, src, out, flen, hdr_len, ulpdu - hdr_len);
	if (ret) {
		kwarp_tx_rewind(tx->buf, &mark);
		msg->done = done;
		msg->cur_sge = cur_sge;
		msg->cur_off = cur_off;
		src->n = 0;
		return ret;
	}
	trace_kwarp_tx_fpdu(qp, ulpdu, flen);
	tx->pos += flen;
	seg->off += flen;
	if (seg->off == seg->max) {
		if (!seg->exact)
			kwarp_tx_close_run(tx->buf, true);
		seg->off = 0;
	}
	if (ends)
		new_segment(tx->buf, seg);
	if (msg->done == msg->len) {
		src->n = 0;
		message_sent(qp);
	}
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
	struct kwarp_tx_buf *b = kwarp_tx_buf_get();
	struct kwarp_mr_cache cache = { .qp = qp };
	struct kwarp_tx_out out = { .b = b };
	struct tx_source src = {};
	struct tx_segment seg;
	u32 fpdus = 0, limit;
	int ret = 0;

	kwarp_llp_assert_locked(llp);
	if (!b)
		return -ENOMEM;
	tx->buf = b;
	tx->locals = 0;
	segment_init(qp, llp, &seg);
	limit = clamp(kwarp_llp_wspace(llp), 4096, (int)KWARP_TX_BATCH);

	/* Regions are held in the cache: no sleep, no preemption by softirq. */
	local_bh_disable();
	out.frag = kwarp_tx_pages_begin();
	while (b->len < limit && !kwarp_tx_full(b)) {
		if (tx->msg.kind == KWARP_TX_IDLE &&
		    !kwarp_tx_next(qp, llp, &cache))
			break;
		ret = build_one(qp, &cache, &src, &out, &seg);
		if (ret == -EACCES) {
			source_error(qp);
			ret = 0;
			continue;
		}
		if (ret)
			break;
		fpdus++;
	}
	kwarp_tx_pages_end();
	kwarp_tx_close_run(b, seg.off != 0);
	kwarp_mr_cache_put(&cache);
	local_bh_enable();

	kwarp_qp_count_n(qp, KWARP_STAT_TX_FPDUS, fpdus);
	kwarp_qp_count_n(qp, KWARP_STAT_TX_OCTETS, b->len);
	if (qp->params.tx_markers)
		kwarp_qp_count_n(qp, KWARP_STAT_TX_MARKERS,
				 kwarp_markers_in(tx->pos - b->len, b->len));
	if (fpdus)
		trace_kwarp_tx_batch(qp, fpdus, b->len, seg.max);
	if (b->len)
		return b->len;
	tx->buf = NULL;
	kwarp_tx_buf_put(b);
	return ret;
}
