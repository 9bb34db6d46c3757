// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The receive engine's loop: for each complete FPDU in TCP's receive queue
 * verify, parse, place, deliver; then consume in one step. An incomplete FPDU
 * stays with TCP.
 */
#include "rx.h"

#include <linux/tcp.h>
#include <net/tcp.h>

#include "../core/mem.h"
#include "../core/qp.h"
#include "../core/srq.h"
#include "../ctl/trace.h"
#include "../llp/llp.h"
#include "../proto/ddp.h"
#include "ooo.h"
#include "place.h"
#include "stream.h"

/* Wake us when the FPDU is complete, not for each segment of it. */
static void set_lowat(struct sock *sk, u32 need)
{
	int most, size;

	/*
	 * The window is closed although all that is complete has been consumed: the
	 * receive buffer is too small for the FPDU (truesize of many small segments).
	 * Without more room the stream would stand still for ever. It gets what TCP
	 * itself may give a socket, and, as there, keeps it.
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
	case KWARP_FPDU_ERR_CRC:
		return KWARP_ERR_MPA_CRC;
	case KWARP_FPDU_ERR_MARKER:
		return KWARP_ERR_MPA_MARKER;
	default:
		return KWARP_ERR_MPA_LENGTH;
	}
}

/* A complete and verified FPDU, the first octets of its ULPDU in pass->seg. */
static enum kwarp_err take_fpdu(struct kwarp_rx_pass *pass,
				const struct kwarp_fpdu *f)
{
	pass->seg_len = min_t(u32, f->ulpdu_len, sizeof(pass->seg));
	pass->ulpdu_len = f->ulpdu_len;
	pass->fpdu = f;
	return kwarp_rx_segment(pass);
}

/* In pieces, or with markers. */
static enum kwarp_err one_fpdu(struct kwarp_rx_pass *pass,
			       const struct kwarp_stream *st,
			       const struct kwarp_fpdu *f)
{
	struct kwarp_stream tmp = *st;
	int ret;

	if (unlikely(pass->ooo))
		pass->early = kwarp_ooo_find(pass, st, f);
	/* The very octets that were verified when they were placed need no CRC. */
	ret = kwarp_fpdu_verify(&tmp.r, f,
				pass->qp->params.crc && !pass->early,
				pass->seg, sizeof(pass->seg));
	if (ret)
		return verdict_err(ret);
	pass->flat = NULL;
	pass->stream = *st;
	return take_fpdu(pass, f);
}

/*
 * As it lies there; nearly all do. Return: KWARP_FPDU_OK with all checked that can
 * be without a look into the header, or anything else if it is for the long way.
 */
static int flat_fpdu(struct kwarp_rx_pass *pass, const struct kwarp_reader *r,
		     u32 avail, struct kwarp_fpdu *f)
{
	const struct kwarp_qp_params *params = &pass->qp->params;
	u32 n = min(r->n, avail);
	int ret;

	if (params->rx_markers) {
		ret = kwarp_fpdu_flat_marked(r->p, n, pass->qp->rx.pos,
					     params->crc, pass->seg,
					     sizeof(pass->seg), f);
	} else {
		ret = kwarp_fpdu_flat(r->p, n, params->crc, f);
		if (!ret)
			memcpy(pass->seg, r->p + KWARP_MPA_HDR_LEN,
			       min_t(u32, f->ulpdu_len, sizeof(pass->seg)));
	}
	/* What is judged is the copy. */
	barrier();
	pass->flat = r->p;
	return ret;
}

static bool at_limit(const struct kwarp_rx_pass *pass, u32 used)
{
	return used >= KWARP_RX_OCTETS || pass->cost >= KWARP_RX_FPDUS;
}

/*
 * Sets @used to the octets to consume. Stops at an error or a Terminate: what
 * these need is not done with bottom halves disabled; and at the pass' limits.
 * Return: KWARP_ERR_NONE or what to raise.
 */
static enum kwarp_err run_fpdus(struct kwarp_rx_pass *pass,
				struct kwarp_stream *st, u32 avail, u32 *used)
{
	bool markers = pass->qp->params.rx_markers;
	struct kwarp_rx *rx = &pass->qp->rx;
	enum kwarp_err err;
	struct kwarp_fpdu f;
	int ret;

	*used = 0;
	while (!pass->terminated && *used < avail) {
		if (unlikely(at_limit(pass, *used))) {
			pass->more = true;
			break;
		}
		ret = KWARP_FPDU_NEED_MORE;
		/* Those that were placed early need a closer look. */
		if (likely(!pass->ooo) && kwarp_reader_more(&st->r))
			ret = flat_fpdu(pass, &st->r, avail - *used, &f);
		if (ret == KWARP_FPDU_OK) {
			err = take_fpdu(pass, &f);
		} else {
			struct kwarp_stream tmp = *st;

			ret = kwarp_fpdu_peek(&tmp.r, avail - *used, rx->pos,
					      markers, &f);
			if (ret == KWARP_FPDU_NEED_MORE) {
				pass->need = f.need;
				break;
			}
			pass->seg_len = 0;
			err = ret ? verdict_err(ret) : one_fpdu(pass, st, &f);
		}
		if (err)
			return err;
		kwarp_reader_skip(&st->r, f.len);
		*used += f.len;
		rx->pos += f.len;
		pass->fpdus++;
		pass->cost++;
	}
	return KWARP_ERR_NONE;
}

static void first_fpdu(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	qp->rx.got_first = true;
	if (!qp->params.initiator)
		llp->owner->event(llp, KWARP_LLP_EV_RTR);
	/* The send queue may have waited for this (RFC 5044 7.1.2). */
	kwarp_tx_run(qp, llp, 1);
}

/* A stopped stream is drained, so that the peer's FIN can be seen. */
static void drain(struct sock *sk)
{
	u32 avail = tcp_inq(sk);

	WRITE_ONCE(sk->sk_rcvlowat, 1);
	if (avail)
		tcp_read_done(sk, avail);
}

/*
 * A worker takes over, and stays until it has caught up: what arrives meanwhile
 * would only make each softirq as long as a pass may be.
 */
static void come_again(struct kwarp_qp *qp)
{
	qp->rx.more = true;
	kwarp_qp_count(qp, KWARP_STAT_RX_CONTINUED);
	kwarp_tx_defer(qp);
}

bool kwarp_rx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, u32 *left)
{
	struct kwarp_cqe cqes[KWARP_RX_CQES];
	struct kwarp_rx_pass pass = {
		.qp = qp, .sk = llp->sk, .cache.qp = qp, .cqes = cqes,
	};
	struct kwarp_rx *rx = &qp->rx;
	struct kwarp_stream st;
	enum kwarp_err err;
	u32 avail, used;

	kwarp_llp_assert_locked(llp);
	*left = 0;
	if (rx->stopped) {
		drain(llp->sk);
		return true;
	}
	if (rx->more || rx->ending)
		return false;
	avail = kwarp_stream_init(&st, llp->sk);
	if (!avail)
		return true;
	if (kwarp_llp_held_long(llp)) {
		come_again(qp);
		return false;
	}
	WRITE_ONCE(llp->sk->sk_rcvlowat, 1);
	if (unlikely(rx->ooo))
		kwarp_ooo_begin(&pass);

	/* Regions are held in the cache: no sleep, no preemption by softirq. */
	local_bh_disable();
	err = run_fpdus(&pass, &st, avail, &used);
	kwarp_mr_cache_put(&pass.cache);
	kwarp_rx_deliver(&pass, false);
	local_bh_enable();
	rx->ending = err || pass.terminated;

	if (used)
		tcp_read_done(llp->sk, used);
	if (pass.need)
		set_lowat(llp->sk, pass.need);
	if (pass.more)
		come_again(qp);
	if (unlikely(rx->ooo))
		kwarp_ooo_end(qp);
	kwarp_qp_count_n(qp, KWARP_STAT_RX_FPDUS, pass.fpdus);
	kwarp_qp_count_n(qp, KWARP_STAT_RX_OCTETS, used);
	if (qp->params.rx_markers)
		kwarp_qp_count_n(qp, KWARP_STAT_RX_MARKERS,
				 kwarp_markers_in(rx->pos - used, used));
	trace_kwarp_rx_batch(qp, pass.fpdus, used, avail - used);
	/*
	 * Also a completion's consumer may have ended the connection. An error comes
	 * behind the requests before it: they are answered as far as TCP has room now,
	 * the Terminate waits for no more.
	 */
	if (!rx->stopped && !pass.terminated) {
		if (pass.fpdus && !rx->got_first)
			first_fpdu(qp, llp);
		else if (pass.kick_tx)
			kwarp_tx_run(qp, llp, err ? KWARP_TX_BUDGET : 1);
	}
	if (err)
		kwarp_qp_raise(qp, err, pass.seg_len ? pass.seg : NULL,
			       pass.seg_len, pass.ulpdu_len);
	else if (pass.terminated)
		kwarp_qp_fail(qp);
	rx->ending = false;
	if (rx->stopped) {
		drain(llp->sk);
		return true;
	}
	/* What was sent may have had TCP take in more, and this engine with it. */
	*left = tcp_inq(llp->sk);
	return !rx->more;
}

void kwarp_rx_continue(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	might_sleep();
	kwarp_llp_assert_locked(llp);
	if (!qp->rx.more)
		return;
	qp->rx.more = false;
	kwarp_llp_poll(llp);
}

int kwarp_rx_init(struct kwarp_qp *qp)
{
	struct kwarp_rx *rx = &qp->rx;
	const struct kwarp_rq *rq;

	memset(rx, 0, sizeof(*rx));
	rx->send_msn = KWARP_DDP_FIRST_MSN;
	rx->read_msn = KWARP_DDP_FIRST_MSN;
	rx->atomic_msn = KWARP_DDP_FIRST_MSN;
	/* One more: an RTR read goes out even if ORD is zero. */
	rx->ord = roundup_pow_of_two(qp->params.ord + 1);
	rx->ird = roundup_pow_of_two(max_t(u32, qp->params.ird, 1));
	rx->read_stride = struct_size_t(struct kwarp_read, sge,
					qp->sq.max_sge);
	rq = qp->srq ? &qp->srq->rq : &qp->rq;
	rx->recv.wqe = kmalloc(max_t(u32, rq->stride, sizeof(rx->recv.wqe->hdr)),
			       KWARP_GFP_CONN);
	rx->reads = kvcalloc(rx->ord, rx->read_stride, KWARP_GFP_CONN);
	rx->inreads = kvcalloc(rx->ird, sizeof(*rx->inreads), KWARP_GFP_CONN);
	if (!rx->recv.wqe || !rx->reads || !rx->inreads ||
	    kwarp_ooo_init(qp)) {
		kwarp_rx_free(qp);
		return -ENOMEM;
	}
	return 0;
}

void kwarp_rx_free(struct kwarp_qp *qp)
{
	struct kwarp_rx *rx = &qp->rx;

	kwarp_ooo_free(rx);
	kvfree(rx->inreads);
	kvfree(rx->reads);
	kfree(rx->recv.wqe);
	rx->inreads = NULL;
	rx->reads = NULL;
	rx->recv.wqe = NULL;
	rx->stopped = true;
}

void kwarp_rx_stop(struct kwarp_qp *qp)
{
	struct kwarp_rx *rx = &qp->rx;
	struct kwarp_cqe cqe = {};

	if (rx->stopped)
		return;
	rx->stopped = true;
	if (!rx->recv.active)
		return;
	rx->recv.active = false;
	cqe.wr_id = rx->recv.wqe->hdr.wr_id;
	cqe.opcode = KWARP_OP_RECV;
	cqe.status = KWARP_WC_WR_FLUSH_ERR;
	kwarp_rq_complete(qp, &cqe, false);
}
