// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MPA send: FPDUs are built in pages, of which TCP gets references.
 *
 * A batch is a sequence of runs. All segments of a run but the last are full: one FPDU of
 * EMSS bytes, or several shorter ones. So segmentation by TCP or the NIC cuts at FPDU
 * boundaries. If the last segment is not full, the run ends with an end-of-record mark, and
 * the next run starts a new segment (RFC 5044 appendix A).
 */
#include "llp/mpa/mpa.h"

#include <linux/slab.h>

#include "llp/mpa/pages.h"
#include "llp/mpa/tcp.h"
#include "trace.h"

static struct kmem_cache *cache;	/* on 64 bits kmalloc() would use 512 bytes for 304 */

static void segment_init(struct kwarp_llp *llp)
{
	struct kwarp_mpa_segment *seg = &llp->mpa->tx.segment;
	u32 least = kwarp_fpdu_len(KWARP_MULPDU_MIN, 0, llp->framing.tx_markers);
	u32 emss = kwarp_tcp_emss(llp);

	/* RFC 5044 4.5: the MULPDU is at least 128, however small the EMSS is. */
	seg->max = max(emss, least);
	seg->off = 0;
	seg->ends = false;
	/* TCP does not end a segment after so many bytes. */
	if (llp->framing.large)
		seg->max = KWARP_ULPDU_MAX & ~3U;
}

/*
 * Return: bytes of a batch, as many of TCP's packets before segmentation as fit, each of them
 * full. Otherwise the last bytes of each batch would be a short packet of their own.
 */
static u32 batch_max(const struct kwarp_llp *llp)
{
	u32 packet = kwarp_tcp_gso_segs(llp) * llp->mpa->tx.segment.max;

	if (llp->framing.large || !packet || packet > KWARP_TX_BATCH)
		return KWARP_TX_BATCH;
	return KWARP_TX_BATCH - KWARP_TX_BATCH % packet;
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
	tx->limit = clamp(kwarp_tcp_wspace(llp), 4096, (int)batch_max(llp));
	tx->frag = kwarp_tx_pages_begin();
	return 0;
}

/* Start a new segment with the next FPDU, even if there is room in the current one. */
static void new_segment(struct kwarp_mpa_tx *tx)
{
	if (tx->segment.off)
		kwarp_tx_close_run(tx->buf, MSG_EOR);
	tx->segment.off = 0;
}

/*
 * Let the end of a message share a segment with the ULPDU after it (@want->next_len), so that
 * the peer answers this ULPDU before its consumer can act on the message and close. If they
 * do not fit, half of the end of the message goes into the preceding segment.
 */
static void share_segment(struct kwarp_llp *llp,
			  const struct kwarp_ulpdu_want *want, u32 *ulpdu)
{
	bool markers = llp->framing.tx_markers;
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_mpa_segment *seg = &tx->segment;
	u32 need;

	if (!want->next_len || *ulpdu < want->hdr_len + want->left)
		return;
	need = kwarp_fpdu_len(*ulpdu, tx->pos, markers);
	need += kwarp_fpdu_len(want->next_len, tx->pos + need, markers);
	if (seg->off + need <= seg->max)
		return;
	new_segment(tx);
	if (need <= seg->max || want->left < 2)
		return;
	*ulpdu = want->hdr_len + want->left / 2;
	seg->ends = true;
}

/*
 * A message that does not fit into the rest of a segment may begin there: a sequence of
 * messages then fills its segments and is a single run.
 * Return: bytes of the ULPDU that fills the segment, or 0.
 */
static u32 fill_segment(const struct kwarp_llp *llp,
			const struct kwarp_ulpdu_want *want)
{
	const struct kwarp_mpa_segment *seg = &llp->mpa->tx.segment;
	u32 room = seg->max - seg->off;
	u32 ulpdu;

	if (!want->may_split || !seg->off || llp->framing.large ||
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

	/* Common case: the segment has room for the rest of the message. */
	if (!want->next_len && all <= KWARP_ULPDU_MAX &&
	    seg->off + kwarp_fpdu_len(all, tx->pos, markers) <= seg->max)
		return all;
	ulpdu = min(all, kwarp_mulpdu(seg->max, tx->pos, markers));
	share_segment(llp, want, &ulpdu);
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
 * Fast path: the FPDU is contiguous at @dst, and the first marker, if any, follows the DDP
 * header, @to_marker bytes after @dst.
 */
static int put_flat(const struct kwarp_llp *llp, u8 *dst, u32 to_marker,
		    const struct kwarp_ddp_hdr *h,
		    struct kwarp_payload_source *src,
		    const struct kwarp_fpdu *frame)
{
	u8 *to = dst + KWARP_MPA_HDR_LEN;
	u32 left = frame->ulpdu_len, n, pos;
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
		n = min(left, src->n);
		if (likely(n <= to_marker)) {
			memcpy(to, src->p, n);
			to += n;
			to_marker -= n;
		} else {
			to = kwarp_fpdu_flat_put(dst, to, to_marker, src->p, n);
			pos = frame->pos + (to - dst);
			to_marker = -pos % KWARP_MARKER_SPACING;
		}
		src->p += n;
		src->n -= n;
		left -= n;
	}
	kwarp_fpdu_flat_end(dst, to, frame->len, llp->framing.crc);
	return 0;
}

/*
 * Copy payload, with markers, to @dst, which has @room bytes; if @all is set, *@len bytes
 * fit. Subtracts the bytes copied from *@len. Return: bytes written, or -errno of @src.
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

	/* Common case: there is no marker in the header. */
	if (likely(kwarp_fpdu_room(w) >= len)) {
		kwarp_ddp_encode(h, dst);
		kwarp_fpdu_ref(w, dst, len);
		return len;
	}
	kwarp_ddp_encode(h, hdr);
	return kwarp_fpdu_put(w, dst, hdr, len);
}

/*
 * Slow path: there is a marker in the headers, or the FPDU is split at the end of a block
 * of pages. @dst: from kwarp_tx_room().
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

/* @rest: bytes of the message that are left; a short rest still belongs to the batch. */
static bool batch_ends(const struct kwarp_mpa_tx *tx, u32 rest)
{
	if (kwarp_tx_full(tx->buf))
		return true;
	return tx->buf->len >= tx->limit && (!rest || rest > KWARP_TX_REST);
}

/* Account for an FPDU. */
static __always_inline void fpdu_added(struct kwarp_llp *llp, struct kwarp_ulpdu_want *want,
				       const struct kwarp_fpdu *frame)
{
	want->left -= frame->ulpdu_len - want->hdr_len;
	llp->mpa->tx.frames++;
	llp->mpa->tx.pos += frame->len;
	trace_kwarp_tx_fpdu(llp->qp, frame, !want->left);
}

/*
 * Fastest path: write what follows the DDP header of a contiguous FPDU without markers, whose
 * payload is loaded. Nothing can fail.
 */
static __always_inline void put_loaded(const struct kwarp_llp *llp, u8 *dst, u32 hdr_len,
				       struct kwarp_payload_source *src,
				       const struct kwarp_fpdu *frame)
{
	u8 *to = dst + KWARP_MPA_HDR_LEN + hdr_len;
	u32 payload = frame->ulpdu_len - hdr_len;

	memcpy(to, src->p, payload);
	src->p += payload;
	src->n -= payload;
	kwarp_fpdu_flat_end(dst, to + payload, frame->len, llp->framing.crc);
}

/* The same with the length and the header. */
static __always_inline void put_plain(const struct kwarp_llp *llp, u8 *dst,
				      const struct kwarp_ddp_hdr *h,
				      struct kwarp_payload_source *src,
				      const struct kwarp_fpdu *frame)
{
	put_unaligned_be16(frame->ulpdu_len, dst);
	put_loaded(llp, dst, kwarp_ddp_encode(h, dst + KWARP_MPA_HDR_LEN), src, frame);
}

/* Add an FPDU of the length that suits best. Return: 0, -ENOMEM or -errno of @src. */
static int put_one(struct kwarp_llp *llp, struct kwarp_tx_out *out, struct kwarp_ddp_hdr *h,
		   struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_mpa_segment *seg = &tx->segment;
	bool markers = llp->framing.tx_markers;
	struct kwarp_fpdu frame = { .pos = tx->pos };
	u32 to_marker;
	u8 *dst;
	int ret;

	frame.ulpdu_len = choose_ulpdu_len(llp, want);
	frame.len = kwarp_fpdu_len(frame.ulpdu_len, tx->pos, markers);
	if (likely(h))
		h->last = frame.ulpdu_len == want->hdr_len + want->left;
	dst = kwarp_tx_room(out, frame.len);
	if (unlikely(!dst))
		return -ENOMEM;
	to_marker = markers ? kwarp_to_marker(tx->pos) : U32_MAX;
	ret = 0;
	if (likely(kwarp_tx_left(out) >= frame.len && !markers && h &&
		   frame.ulpdu_len - want->hdr_len <= src->n)) {
		put_plain(llp, dst, h, src, &frame);
		kwarp_tx_commit(out, frame.len);
	} else if (likely(kwarp_tx_left(out) >= frame.len &&
			  to_marker >= KWARP_MPA_HDR_LEN + want->hdr_len)) {
		ret = put_flat(llp, dst, to_marker, h, src, &frame);
		if (!ret)
			kwarp_tx_commit(out, frame.len);
	} else {
		ret = put_or_rewind(llp, out, dst, h, src, &frame);
	}
	if (ret)
		return ret;
	if (likely(h))
		kwarp_ddp_advance(h, frame.ulpdu_len - want->hdr_len);
	fpdu_added(llp, want, &frame);
	seg->off += frame.len;
	if (seg->off == seg->max) {
		if (llp->framing.large)
			kwarp_tx_close_run(tx->buf, MSG_EOR);
		seg->off = 0;
	}
	if (unlikely(seg->ends)) {
		seg->ends = false;
		new_segment(tx);
	}
	return 0;
}

/*
 * Common case: the rest of the message fits as one FPDU without markers into the current segment,
 * and nothing can fail.
 */
static __always_inline bool rest_fits(const struct kwarp_llp *llp,
				      const struct kwarp_tx_out *out,
				      const struct kwarp_ulpdu_want *want, u32 loaded)
{
	const struct kwarp_mpa_segment *seg = &llp->mpa->tx.segment;
	u32 len = kwarp_fpdu_len(want->hdr_len + want->left, 0, false);

	return want->left <= loaded && want->hdr_len + want->left <= KWARP_ULPDU_MAX &&
	       seg->off + len < seg->max && len <= kwarp_tx_left(out) &&
	       !want->next_len && !llp->framing.tx_markers;
}

static __always_inline void put_rest(struct kwarp_llp *llp, struct kwarp_tx_out *out,
				     struct kwarp_ddp_hdr *h, struct kwarp_ulpdu_want *want,
				     struct kwarp_payload_source *src)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_fpdu frame = { .pos = tx->pos, .ulpdu_len = want->hdr_len + want->left };

	frame.len = kwarp_fpdu_len(frame.ulpdu_len, 0, false);
	h->last = true;
	put_plain(llp, kwarp_tx_at(out), h, src, &frame);
	kwarp_tx_commit(out, frame.len);
	fpdu_added(llp, want, &frame);
	tx->segment.off += frame.len;
}

/*
 * Number of FPDUs with @payload bytes each that fill a segment, follow each other, and precede the
 * last FPDU of the message: as many as belong to the batch and cannot fail, because their payload
 * is loaded, and the block of pages has room.
 */
static u32 count_full(const struct kwarp_mpa_tx *tx, const struct kwarp_tx_out *out,
		      const struct kwarp_ulpdu_want *want, u32 loaded, u32 payload)
{
	u32 n = min(loaded, want->left - 1) / payload;
	u32 max = tx->segment.max;

	n = min(n, kwarp_tx_left(out) / max);
	return tx->buf->len < tx->limit ? min(n, DIV_ROUND_UP(tx->limit - tx->buf->len, max)) : 0;
}

/* Add these FPDUs, whose headers differ in TO or MO only. There are no markers. */
static void put_full(struct kwarp_llp *llp, struct kwarp_tx_out *out, struct kwarp_ddp_hdr *h,
		     struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	u32 ulpdu_len = kwarp_mulpdu(tx->segment.max, 0, false);
	struct kwarp_fpdu frame = { .len = tx->segment.max, .ulpdu_len = ulpdu_len };
	u32 n, payload = ulpdu_len - want->hdr_len;
	u8 *prev, *dst = kwarp_tx_at(out);

	n = count_full(tx, out, want, src->n, payload);
	if (!n)
		return;
	kwarp_tx_commit(out, n * frame.len);
	tx->frames += n;
	want->left -= n * payload;
	put_plain(llp, dst, h, src, &frame);
	for (;;) {
		frame.pos = tx->pos;
		trace_kwarp_tx_fpdu(llp->qp, &frame, false);
		kwarp_ddp_advance(h, payload);
		tx->pos += frame.len;
		if (!--n)
			break;
		prev = dst + KWARP_MPA_HDR_LEN;
		dst += frame.len;
		put_unaligned_be16(frame.ulpdu_len, dst);
		kwarp_ddp_encode_next(h, prev, dst + KWARP_MPA_HDR_LEN);
		put_loaded(llp, dst, want->hdr_len, src, &frame);
	}
}

/*
 * The same with markers: the lengths of the ULPDUs differ. Ends before an FPDU with a marker in its
 * headers, or where its CRC would be.
 */
static void put_full_marked(struct kwarp_llp *llp, struct kwarp_tx_out *out,
			    struct kwarp_ddp_hdr *h, struct kwarp_ulpdu_want *want,
			    struct kwarp_payload_source *src)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_fpdu frame = { .len = tx->segment.max };
	u32 hdr_len = KWARP_MPA_HDR_LEN + want->hdr_len;

	while (tx->buf->len < tx->limit && kwarp_tx_left(out) >= frame.len) {
		u32 payload, to_marker = kwarp_to_marker(tx->pos);
		u8 *to, *dst = kwarp_tx_at(out);

		frame.pos = tx->pos;
		frame.ulpdu_len = kwarp_mulpdu(frame.len, 0, false) -
				  kwarp_markers_in(frame.pos, frame.len) * KWARP_MARKER_LEN;
		payload = frame.ulpdu_len - want->hdr_len;
		if (payload >= want->left || payload > src->n || to_marker < hdr_len ||
		    !kwarp_to_marker(frame.pos + frame.len - KWARP_MPA_CRC_LEN))
			break;
		put_unaligned_be16(frame.ulpdu_len, dst);
		kwarp_ddp_encode(h, dst + KWARP_MPA_HDR_LEN);
		to = kwarp_fpdu_flat_put(dst, dst + hdr_len, to_marker - hdr_len, src->p, payload);
		kwarp_fpdu_flat_end(dst, to, frame.len, llp->framing.crc);
		src->p += payload;
		src->n -= payload;
		kwarp_tx_commit(out, frame.len);
		kwarp_ddp_advance(h, payload);
		fpdu_added(llp, want, &frame);
	}
}

/*
 * A packet of TCP has MAX_SKB_FRAGS pages at most. If a batch of 64 KiB did not begin with a page
 * of 4 KiB, TCP would end the packet within an FPDU, and cut the following segments within FPDUs.
 * Several smaller batches that share a packet also share pages, unless each begins with one.
 */
static void align_batch(struct kwarp_mpa_tx *tx, u32 left)
{
	/* The ends of the blocks are unused. */
	const u32 pages = tx->limit / PAGE_SIZE + 3;

	if (pages > MAX_SKB_FRAGS && !tx->buf->len && left >= tx->limit)
		tx->frag->offset = ALIGN(tx->frag->offset, PAGE_SIZE);
}

/* The message needs several FPDUs, or one that is no common case: add one or more. */
static noinline_for_stack int put_more(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
				       struct kwarp_ulpdu_want *want,
				       struct kwarp_payload_source *src)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_tx_out out = { .b = tx->buf, .frag = tx->frag };
	int ret;

	align_batch(tx, want->left);
	ret = put_one(llp, &out, h, want, src);
	if (ret)
		return ret;
	/* The longest FPDU does not fill a segment that is longer. */
	if (h && want->left && !tx->segment.off && tx->segment.max < KWARP_ULPDU_MAX) {
		if (llp->framing.tx_markers)
			put_full_marked(llp, &out, h, want, src);
		else
			put_full(llp, &out, h, want, src);
	}
	if (h && want->left && !batch_ends(tx, want->left) && rest_fits(llp, &out, want, src->n))
		put_rest(llp, &out, h, want, src);
	/* The ULPDU that shares the segment with the end of the message belongs to the batch. */
	return batch_ends(tx, want->left ? : want->next_len);
}

int kwarp_mpa_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		  struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	struct kwarp_tx_out out = { .b = tx->buf, .frag = tx->frag };

	kwarp_llp_assert_locked(llp);
	if (!h || !rest_fits(llp, &out, want, src->n))
		return put_more(llp, h, want, src);
	put_rest(llp, &out, h, want, src);
	return batch_ends(tx, 0);
}

u32 kwarp_mpa_batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts)
{
	struct kwarp_mpa_tx *tx = &llp->mpa->tx;
	u32 len = tx->buf->len;

	kwarp_llp_assert_locked(llp);
	kwarp_tx_pages_end();
	tx->frag = NULL;
	kwarp_tx_close_run(tx->buf, tx->segment.off ? MSG_EOR : 0);
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

int kwarp_mpa_init(void)
{
	int ret;

	cache = KMEM_CACHE(kwarp_mpa, SLAB_ACCOUNT);
	if (!cache)
		return -ENOMEM;
	ret = kwarp_tx_pages_init();
	if (ret)
		kmem_cache_destroy(cache);
	return ret;
}

void kwarp_mpa_exit(void)
{
	kwarp_tx_pages_exit();
	kmem_cache_destroy(cache);
}

int kwarp_mpa_begin(struct kwarp_llp *llp)
{
	might_sleep();
	if (!llp->mpa)
		llp->mpa = kmem_cache_zalloc(cache, kwarp_gfp_conn());
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
	kmem_cache_free(cache, llp->mpa);
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

/* TCP has accepted @len bytes: put our references to their pages. */
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
	size_t max;

	kwarp_llp_assert_locked(llp);
	if (!b)
		return 0;
	max = kwarp_tcp_call_max(llp);
	while (b->first_run < b->nr_runs) {
		const struct kwarp_tx_run *run = &b->runs[b->first_run];
		int i, ret, flags = run->flags;
		size_t len = 0;

		for (i = b->first; i < run->bv_end; i++)
			len += b->bv[i].bv_len;
		if (unlikely(len > max)) {
			len = max;
			flags = MSG_MORE;
		}
		ret = kwarp_tcp_send_bvec(llp, &b->bv[b->first],
					  run->bv_end - b->first, len, flags);
		if (ret < 0)
			return ret;
		tx_buf_advance(b, ret);
		if (ret < len)
			return -EAGAIN;
		if (b->first == run->bv_end)
			b->first_run++;
	}
	kwarp_mpa_drop(llp);
	return 0;
}
