// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MPA send: ULPDUs become FPDUs, in memory that is passed to TCP by reference.
 *
 * A batch is a sequence of runs. Within a run every FPDU but the last is exactly one EMSS
 * long, or several short ones share a segment, so the segmentation by TCP (or the NIC)
 * cuts at FPDU boundaries; a run that does not end at a multiple of the EMSS is closed
 * with an end-of-record mark, and the next one starts a new segment (RFC 5044 appendix
 * A).
 */
#include "llp/mpa/mpa.h"

#include "llp/mpa/tcp.h"
#include "trace.h"

static void segment_init(struct kwarp_llp *llp)
{
	struct kwarp_mpa_segment *seg = &llp->mpa->tx.segment;
	u32 emss = kwarp_tcp_emss(llp);

	/* RFC 5044 4.5: a MULPDU of 128 is always offered, however small the EMSS is. */
	emss = max(emss, 128U + 32U);
	seg->max = emss & ~3U;
	seg->exact = seg->max == emss;
	seg->off = 0;
	seg->ends = false;
	if (llp->framing.large) {
		seg->max = KWARP_ULPDU_MAX & ~3U;
		seg->exact = false;
	}
}

int kwarp_mpa_batch_begin(struct kwarp_llp *llp)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;

	kwarp_llp_assert_locked(llp);
	tx->buf = kwarp_tx_buf_get();
	if (!tx->buf)
		return -ENOMEM;
	segment_init(llp);
	tx->start = tx->pos;
	tx->frames = 0;
	tx->limit = clamp(kwarp_tcp_wspace(llp), 4096, (int)KWARP_TX_BATCH);
	tx->frag = kwarp_tx_pages_begin();
	return 0;
}

/* The next FPDU starts a new segment, even if this one has room left. */
static void new_segment(struct kwarp_mpa_tx *tx)
{
	if (tx->segment.off)
		kwarp_tx_close_run(tx->buf, true);
	tx->segment.off = 0;
}

/*
 * The end of a message and the ULPDU after it share a segment, so that the peer answers
 * the latter before its consumer can act on the former and close. If they do not fit into
 * one segment, half of the end goes into the preceding one.
 */
static void leave_room(struct kwarp_llp *llp,
		       const struct kwarp_ulpdu_want *want, u32 *ulpdu)
{
	bool markers = llp->framing.tx_markers;
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_mpa_segment *seg = &tx->segment;
	u32 need;

	if (!want->behind || *ulpdu < want->hdr_len + want->left)
		return;
	need = kwarp_fpdu_len(*ulpdu, tx->pos, markers);
	need += kwarp_fpdu_len(want->behind, tx->pos + need, markers);
	if (seg->off + need <= seg->max)
		return;
	new_segment(tx);
	if (need <= seg->max || want->left < 2)
		return;
	*ulpdu = want->hdr_len + want->left / 2;
	seg->ends = true;
}

/*
 * A message that does not fit into the rest of a segment may begin there, so that
 * sequences of messages make sequences of full segments, for one call to TCP.
 * Return: bytes of the ULPDU that fills the segment, or 0.
 */
static u32 fill_segment(const struct kwarp_llp *llp,
			const struct kwarp_ulpdu_want *want)
{
	const struct kwarp_mpa_segment *seg = &llp->mpa->tx.segment;
	u32 room = seg->max - seg->off;
	u32 ulpdu;

	if (!want->fill || !seg->off || !seg->exact ||
	    room < KWARP_ULPDU_CUT_MIN)
		return 0;
	ulpdu = kwarp_mulpdu(room, llp->mpa->tx.pos, llp->framing.tx_markers);
	return ulpdu < KWARP_ULPDU_CUT_MIN ? 0 : ulpdu;
}

/* Return: bytes of the next ULPDU. */
static u32 choose_ulpdu_len(struct kwarp_llp *llp, const struct kwarp_ulpdu_want *want)
{
	bool markers = llp->framing.tx_markers;
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_mpa_segment *seg = &tx->segment;
	u32 all = want->hdr_len + want->left;
	u32 ulpdu, part;

	/* The rest of the message, and the segment has room for it. */
	if (!want->behind && all <= KWARP_ULPDU_MAX &&
	    seg->off + kwarp_fpdu_len(all, tx->pos, markers) <= seg->max)
		return all;
	ulpdu = min(all, kwarp_mulpdu(seg->max, tx->pos, markers));
	leave_room(llp, want, &ulpdu);
	if (ulpdu < all ||
	    seg->off + kwarp_fpdu_len(ulpdu, tx->pos, markers) > seg->max) {
		part = fill_segment(llp, want);
		if (part)
			ulpdu = part;
		else
			new_segment(tx);
	}
	return ulpdu;
}

/*
 * Common case: the whole FPDU fits at @dst, and the first marker, if any, is @to_marker
 * bytes after @dst, beyond the DDP header.
 */
static int put_flat(const struct kwarp_llp *llp, u8 *dst, u32 to_marker,
		    const struct kwarp_ddp_hdr *h,
		    struct kwarp_payload_source *src,
		    const struct kwarp_fpdu *frame)
{
	u8 *to = dst + KWARP_MPA_HDR_LEN;
	u32 left = frame->ulpdu_len, n;
	int ret;

	put_unaligned_be16(left, dst);
	if (likely(h)) {
		n = kwarp_ddp_encode(h, to);
		to += n;
		left -= n;
	}
	to_marker -= to - dst;
	while (left) {
		if (!src->n) {
			ret = src->next(src);
			if (ret)
				return ret;
		}
		if (unlikely(!to_marker)) {
			to = kwarp_fpdu_flat_marker(dst, to);
			to_marker = KWARP_MARKER_DATA;
		}
		n = min3(left, src->n, to_marker);
		memcpy(to, src->p, n);
		src->p += n;
		src->n -= n;
		to += n;
		to_marker -= n;
		left -= n;
	}
	kwarp_fpdu_flat_end(dst, to, frame->len, llp->framing.crc);
	return 0;
}

/*
 * Copy @len bytes of payload to @dst, which has @room bytes; @all: it has room for all
 * of them, with markers. Return: bytes written, or -errno of the source.
 */
static int put_fpdu_payload(struct kwarp_payload_source *src,
			    struct kwarp_fpdu_writer *w, u8 *dst, u32 room, bool all,
			    u32 *len)
{
	u32 written = 0;

	while (*len) {
		u32 n = *len;
		int ret;

		if (!all)
			n = min(n, kwarp_fpdu_fit(w, room - written));
		if (!n)
			break;
		if (!src->n) {
			ret = src->next(src);
			if (ret)
				return ret;
		}
		n = min(n, src->n);
		written += kwarp_fpdu_put(w, dst + written, src->p, n);
		src->p += n;
		src->n -= n;
		*len -= n;
	}
	return written;
}

static u32 put_header(struct kwarp_fpdu_writer *w, u8 *dst,
		      const struct kwarp_ddp_hdr *h)
{
	u32 len = kwarp_ddp_hdr_len(h->tagged);
	u8 hdr[KWARP_DDP_HDR_MAX];

	/* Common case: no marker falls into the header. */
	if (likely(kwarp_fpdu_room(w) >= len)) {
		kwarp_ddp_encode(h, dst);
		kwarp_fpdu_ref(w, dst, len);
		return len;
	}
	kwarp_ddp_encode(h, hdr);
	return kwarp_fpdu_put(w, dst, hdr, len);
}

/*
 * Slow path: a marker falls into the headers, or the FPDU is split at the end of a
 * contiguous piece of memory. @dst: from kwarp_tx_room().
 */
static int put_split(struct kwarp_llp *llp, struct kwarp_tx_out *out, u8 *dst,
		     const struct kwarp_ddp_hdr *h,
		     struct kwarp_payload_source *src,
		     const struct kwarp_fpdu *frame)
{
	u32 payload = frame->ulpdu_len -
		      (h ? kwarp_ddp_hdr_len(h->tagged) : 0);
	struct kwarp_fpdu_writer *w = &llp->mpa->tx.writer;
	bool all = kwarp_tx_left(out) >= frame->len;
	u32 n;
	int ret;

	n = kwarp_fpdu_begin(w, dst, frame->pos, frame->ulpdu_len);
	if (likely(h))
		n += put_header(w, dst + n, h);
	for (;;) {
		ret = put_fpdu_payload(src, w, dst + n, kwarp_tx_left(out) - n, all,
				       &payload);
		if (ret < 0)
			return ret;
		n += ret;
		if (all ||
		    (!payload && kwarp_tx_left(out) - n >= KWARP_FPDU_TAIL_MAX))
			break;
		kwarp_tx_commit(out, n);
		n = 0;
		dst = kwarp_tx_room(out, KWARP_TX_MIN_ROOM);
		if (!dst)
			return -ENOMEM;
	}
	n += kwarp_fpdu_end(w, dst + n);
	kwarp_tx_commit(out, n);
	return 0;
}

static noinline int put_or_rewind(struct kwarp_llp *llp,
				  struct kwarp_tx_out *out, u8 *dst,
				  const struct kwarp_ddp_hdr *h,
				  struct kwarp_payload_source *src,
				  const struct kwarp_fpdu *frame)
{
	struct kwarp_tx_mark mark = kwarp_tx_mark(out->b);
	int ret;

	ret = put_split(llp, out, dst, h, src, frame);
	if (ret)
		kwarp_tx_rewind(out->b, &mark);
	return ret;
}

int kwarp_mpa_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		  const struct kwarp_ulpdu_want *want,
		  struct kwarp_payload_source *src, struct kwarp_fpdu *frame)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_tx_out out = { .b = tx->buf, .frag = tx->frag };
	struct kwarp_mpa_segment *seg = &tx->segment;
	bool markers = llp->framing.tx_markers;
	u32 len, to_marker;
	u8 *dst;
	int ret;

	kwarp_llp_assert_locked(llp);
	frame->ulpdu_len = choose_ulpdu_len(llp, want);
	len = kwarp_fpdu_len(frame->ulpdu_len, tx->pos, markers);
	frame->pos = tx->pos;
	frame->len = len;
	if (likely(h))
		h->last = frame->ulpdu_len == want->hdr_len + want->left;
	dst = kwarp_tx_room(&out, len);
	if (unlikely(!dst))
		return -ENOMEM;
	to_marker = markers ? kwarp_to_marker(tx->pos) : U32_MAX;
	if (likely(kwarp_tx_left(&out) >= len &&
		   to_marker >= KWARP_MPA_HDR_LEN + want->hdr_len)) {
		ret = put_flat(llp, dst, to_marker, h, src, frame);
		if (!ret)
			kwarp_tx_commit(&out, len);
	} else {
		ret = put_or_rewind(llp, &out, dst, h, src, frame);
	}
	if (ret)
		return ret;
	tx->frames++;
	tx->pos += len;
	seg->off += len;
	if (seg->off == seg->max) {
		if (!seg->exact)
			kwarp_tx_close_run(tx->buf, true);
		seg->off = 0;
	}
	if (unlikely(seg->ends)) {
		seg->ends = false;
		new_segment(tx);
	}
	return tx->buf->len >= tx->limit || kwarp_tx_full(tx->buf);
}

u32 kwarp_mpa_batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	u32 len = tx->buf->len;

	kwarp_llp_assert_locked(llp);
	kwarp_tx_pages_end();
	tx->frag = NULL;
	kwarp_tx_close_run(tx->buf, tx->segment.off != 0);
	counts->frames = tx->frames;
	counts->bytes = len;
	counts->markers = llp->framing.tx_markers ?
			  kwarp_markers_in(tx->start, len) : 0;
	if (tx->frames)
		trace_kwarp_tx_batch(llp->qp, tx->frames, len,
				     tx->segment.max);
	if (!len) {
		kwarp_tx_buf_put(tx->buf);
		tx->buf = NULL;
	}
	return len;
}

int kwarp_mpa_begin(struct kwarp_llp *llp)
{
	might_sleep();
	if (!llp->mpa)
		llp->mpa = kzalloc(sizeof(*llp->mpa), kwarp_gfp_conn());
	if (!llp->mpa)
		return -ENOMEM;
	kwarp_fpdu_writer_init(&llp->mpa->tx.writer, llp->framing.tx_markers,
			       llp->framing.crc);
	return 0;
}

void kwarp_mpa_end(struct kwarp_llp *llp)
{
	if (!llp->mpa)
		return;
	kwarp_mpa_drop(llp);
	kfree(llp->mpa);
	llp->mpa = NULL;
}

void kwarp_mpa_where(const struct kwarp_llp *llp, u32 *tx_pos, u32 *rx_pos)
{
	*tx_pos = llp->mpa->tx.pos;
	*rx_pos = llp->mpa->rx.pos;
}

void kwarp_mpa_drop(struct kwarp_llp *llp)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_tx_buf *b = tx->buf;

	if (!b)
		return;
	while (b->first < b->nr)
		put_page(b->bv[b->first++].bv_page);
	kwarp_tx_buf_put(b);
	tx->buf = NULL;
}

/* TCP took @len bytes: drop our page references. */
static void tx_buf_advance(struct kwarp_tx_buf *b, u32 len)
{
	b->len -= len;
	while (len) {
		struct bio_vec *bv = &b->bv[b->first];

		if (len < bv->bv_len) {
			bv->bv_offset += len;
			bv->bv_len -= len;
			return;
		}
		len -= bv->bv_len;
		put_page(bv->bv_page);
		b->first++;
	}
}

int kwarp_mpa_push(struct kwarp_llp *llp)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_tx_buf *b = tx->buf;

	kwarp_llp_assert_locked(llp);
	if (!b)
		return 0;
	while (b->first_run < b->nr_runs) {
		const struct kwarp_tx_run *run = &b->runs[b->first_run];
		size_t len = 0;
		int i, ret;

		for (i = b->first; i < run->bv_end; i++)
			len += b->bv[i].bv_len;
		ret = kwarp_tcp_send_bvec(llp, &b->bv[b->first],
					  run->bv_end - b->first, len,
					  run->eor);
		/* The backlog may have been processed in this call. */
		if (llp->sk_err)
			return -EPIPE;
		if (ret < 0)
			return ret;
		tx_buf_advance(b, ret);
		if (ret < len)
			return -EAGAIN;
		b->first_run++;
	}
	kwarp_mpa_drop(llp);
	return 0;
}
