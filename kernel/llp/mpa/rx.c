// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MPA receive: each complete FPDU in TCP's receive queue is verified in place; an
 * incomplete FPDU stays in that queue.
 */
#include "llp/mpa/mpa.h"

#include <net/tcp.h>

#include "proto/early.h"

/* Have sk_data_ready called when the FPDU is complete, not for each of its segments. */
static void set_lowat(struct sock *sk, u32 need)
{
	int most, size;

	/*
	 * If the window is closed although every complete FPDU was consumed, the receive
	 * buffer is too small for this FPDU (truesize of many small segments), and the
	 * stream would stall forever. Grow the buffer, at most to TCP's own limit for a
	 * socket; like TCP, never shrink it.
	 */
	most = max_t(int, KWARP_RCVBUF_MIN,
		     READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[2]));
	size = READ_ONCE(sk->sk_rcvbuf);
	if (need > 1 && tcp_receive_window(tcp_sk(sk)) == 0 && size < most)
		WRITE_ONCE(sk->sk_rcvbuf, size < most / 2 ? 2 * size : most);
	WRITE_ONCE(sk->sk_rcvlowat, need);
}

static enum kwarp_err verdict_err(int verdict)
{
	switch (verdict) {
	case KWARP_FPDU_NEED_MORE:
		/* The bytes have arrived, but in memory of a device. */
		return KWARP_ERR_DDP_LOCAL;
	case KWARP_FPDU_ERR_CRC:
		return KWARP_ERR_MPA_CRC;
	case KWARP_FPDU_ERR_MARKER:
		return KWARP_ERR_MPA_MARKER;
	default:
		return KWARP_ERR_MPA_LENGTH;
	}
}

bool kwarp_mpa_pull_begin(struct kwarp_llp *llp)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;

	kwarp_llp_assert_locked(llp);
	rx->avail = kwarp_cursor_init(&rx->at, llp->sk);
	rx->used = 0;
	rx->len = 0;
	rx->need = 0;
	rx->frames = 0;
	rx->replaced = 0;
	if (!rx->avail)
		return false;
	WRITE_ONCE(llp->sk->sk_rcvlowat, 1);
	/* Only the slow path looks for FPDUs that were placed early. */
	rx->ledger = llp->ledger && !kwarp_ledger_empty(llp->ledger) ?
		     llp->ledger : NULL;
	return true;
}

static __always_inline void consume_fpdu(struct kwarp_mpa_rx *rx)
{
	if (!rx->len)
		return;
	if (likely(rx->at.r.n > rx->len)) {
		rx->at.r.p += rx->len;
		rx->at.r.n -= rx->len;
	} else {
		kwarp_reader_skip(&rx->at.r, rx->len);
	}
	rx->used += rx->len;
	rx->pos += rx->len;
	rx->len = 0;
	rx->frames++;
}

/*
 * Fast path: the FPDU is contiguous. Return: KWARP_FPDU_OK if it passed all checks that
 * need no DDP header; anything else selects the slow path.
 */
static int flat_fpdu(const struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	const struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	bool markers = llp->framing.rx_markers;
	const u8 *p = rx->at.r.p;
	u32 n = min(rx->at.r.n, rx->avail - rx->used);
	int ret;

	u->frame.pos = rx->pos;
	u->flat = p;
	if (markers)
		ret = kwarp_fpdu_flat_marked(p, n, llp->framing.crc, &u->frame);
	else
		ret = kwarp_fpdu_flat(p, n, llp->framing.crc, &u->frame);
	if (ret)
		return ret;
	p += KWARP_MPA_HDR_LEN;
	if (unlikely(markers && kwarp_to_marker(rx->pos) < KWARP_MPA_HDR_LEN + sizeof(u->seg)))
		kwarp_fpdu_flat_hdr(u->flat, &u->frame, u->seg, sizeof(u->seg));
	/* A constant length saves a call. */
	else if (likely(u->frame.ulpdu_len >= sizeof(u->seg)))
		memcpy(u->seg, p, sizeof(u->seg));
	else
		memcpy(u->seg, p, u->frame.ulpdu_len);
	/* Headers are checked in the copy: do not read them again from the skb's pages. */
	barrier();
	return KWARP_FPDU_OK;
}

/* Slow path: the FPDU is not contiguous, may have been placed early, or is invalid. */
static noinline enum kwarp_pull pull_slow(struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	struct kwarp_cursor tmp = rx->at;
	int ret;

	u->flat = NULL;
	ret = kwarp_fpdu_peek(&tmp.r, rx->avail - rx->used, rx->pos,
			      llp->framing.rx_markers, &u->frame);
	if (ret == KWARP_FPDU_NEED_MORE && u->frame.need > rx->avail - rx->used) {
		rx->need = u->frame.need;
		return KWARP_PULL_NONE;
	}
	if (!ret && unlikely(rx->ledger))
		u->early = kwarp_mpa_placed_early(rx, &u->frame, u);
	if (!ret && likely(!u->early)) {
		tmp = rx->at;
		ret = kwarp_fpdu_verify(&tmp.r, &u->frame, llp->framing.crc,
					u->seg, sizeof(u->seg));
		/* Without CRC and markers only the headers were read. Can the rest be read? */
		tmp = rx->at;
		if (!ret && !llp->framing.crc &&
		    !kwarp_reader_skip(&tmp.r, u->frame.len))
			ret = KWARP_FPDU_NEED_MORE;
	}
	if (ret) {
		u->err = verdict_err(ret);
		return KWARP_PULL_ERR;
	}
	rx->payload = rx->at;
	u->r = &rx->payload.r;
	return KWARP_PULL_ULPDU;
}

static noinline enum kwarp_pull pull_any(struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	enum kwarp_pull pull;

	consume_fpdu(rx);
	u->seg_len = 0;
	u->len = 0;
	u->early = NULL;
	if (rx->used == rx->avail)
		return KWARP_PULL_NONE;
	if (unlikely(rx->ledger) || !kwarp_reader_more(&rx->at.r) ||
	    flat_fpdu(llp, u) != KWARP_FPDU_OK) {
		pull = pull_slow(llp, u);
		if (pull != KWARP_PULL_ULPDU)
			return pull;
	}
	u->len = u->frame.ulpdu_len;
	u->seg_len = min_t(u32, u->len, sizeof(u->seg));
	rx->len = u->frame.len;
	return KWARP_PULL_ULPDU;
}

/* Check the CRC of a contiguous FPDU that was pulled. Return: as kwarp_mpa_pull(). */
static noinline enum kwarp_pull check_crc(struct kwarp_mpa_rx *rx, struct kwarp_ulpdu *u)
{
	if (kwarp_fpdu_crc_ok(u->flat, u->frame.len))
		return KWARP_PULL_ULPDU;
	/* The FPDU stays in the queue, and nothing in it can be relied on. */
	rx->len = 0;
	u->seg_len = 0;
	u->len = 0;
	u->err = KWARP_ERR_MPA_CRC;
	return KWARP_PULL_ERR;
}

/*
 * Consume the previous FPDU, and pull the one behind it at @p, which is contiguous, in u->frame,
 * and has payload. Its CRC is not checked yet.
 */
static __always_inline enum kwarp_pull pull_flat(struct kwarp_llp *llp, struct kwarp_ulpdu *u,
						 const u8 *p)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;

	rx->at.r.p = p;
	rx->at.r.n -= rx->len;
	rx->used += rx->len;
	rx->pos += rx->len;
	rx->frames += !!rx->len;
	rx->len = u->frame.len;
	u->frame.pos = rx->pos;
	u->flat = p;
	u->early = NULL;
	u->len = u->frame.ulpdu_len;
	static_assert(KWARP_ULPDU_SEG_LONG >= KWARP_DDP_HDR_MAX);
	u->seg_len = KWARP_ULPDU_SEG_LONG;
	memcpy(u->seg, p + KWARP_MPA_HDR_LEN, KWARP_ULPDU_SEG_LONG);
	/* Headers are checked in the copy: do not read them again from the skb's pages. */
	barrier();
	return llp->framing.crc ? check_crc(rx, u) : KWARP_PULL_ULPDU;
}

/* The next fast path: the first marker follows the headers. */
static noinline enum kwarp_pull pull_marked(struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	u32 room = min(rx->at.r.n, rx->avail - rx->used);
	const u8 *p = rx->at.r.p + rx->len;

	u->frame.pos = rx->pos + rx->len;
	if (unlikely(rx->ledger) || room <= rx->len ||
	    kwarp_to_marker(u->frame.pos) < KWARP_MPA_HDR_LEN + KWARP_ULPDU_SEG_LONG ||
	    kwarp_fpdu_flat_marked(p, room - rx->len, false, &u->frame) != KWARP_FPDU_OK ||
	    u->frame.ulpdu_len <= sizeof(u->seg))
		return pull_any(llp, u);
	return pull_flat(llp, u, p);
}

/*
 * Fastest path: no markers, and the ULPDU has payload and is contiguous with the previous one.
 * Other functions are called in place of a return only, so that no registers are saved.
 */
enum kwarp_pull kwarp_mpa_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	u32 room = min(rx->at.r.n, rx->avail - rx->used);
	const u8 *p = rx->at.r.p + rx->len;

	kwarp_llp_assert_locked(llp);
	if (llp->framing.rx_markers)
		return pull_marked(llp, u);
	if (unlikely(rx->ledger) ||
	    room < rx->len + KWARP_MPA_HDR_LEN + sizeof(u->seg) ||
	    kwarp_fpdu_flat(p, room - rx->len, false, &u->frame) != KWARP_FPDU_OK ||
	    u->frame.ulpdu_len <= sizeof(u->seg))
		return pull_any(llp, u);
	return pull_flat(llp, u, p);
}

void kwarp_mpa_pull_end(struct kwarp_llp *llp, enum kwarp_last_ulpdu last,
			struct kwarp_llp_counts *counts)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;

	kwarp_llp_assert_locked(llp);
	if (last == KWARP_LAST_CONSUMED)
		consume_fpdu(rx);
	rx->len = 0;
	if (rx->used)
		tcp_read_done(llp->sk, rx->used);
	if (rx->need)
		set_lowat(llp->sk, rx->need);
	if (unlikely(llp->ledger))
		kwarp_ledger_drop_before(llp->ledger, rx->pos);
	counts->frames = rx->frames;
	counts->bytes = rx->used;
	counts->left = rx->avail - rx->used;
	counts->replaced = rx->replaced;
	counts->markers = llp->framing.rx_markers ?
			  kwarp_markers_in(rx->pos - rx->used, rx->used) : 0;
}

void kwarp_mpa_discard(struct kwarp_llp *llp)
{
	struct sock *sk = llp->sk;
	u32 avail = tcp_inq(sk);

	kwarp_llp_assert_locked(llp);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	if (avail)
		tcp_read_done(sk, avail);
}
