// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMAP on a mock lower layer: messages in any order and with any segmentation, errors at
 * each call. The cases run when the module is loaded, and print TAP lines to the kernel
 * log.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "ktest.h"
#include "proto/errors.h"
#include "proto/rdmap.h"
#include "rdmap/pass.h"
#include "rdmap/stream.h"
#include "seam.h"

static char *netdev;
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "network interface of a kwarp device");

static uint seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of random segmentation");

struct ib_device *seam_ibdev;
struct rnd_state seam_rnd;
static int cases, failures;

static void tap(const char *name, int ret)
{
	cases++;
	failures += ret != 0;
	if (ret)
		pr_info("ktest: not ok %d - %s%s (%d)\n", cases, kt_mark(ret), name, ret);
	else
		pr_info("ktest: ok %d - %s\n", cases, name);
}

/* ---- the wire ---------------------------------------------------------------- */

/**
 * struct want - a message that should have been sent
 * @opcode:	RDMAP_*
 * @len:	length of its payload
 * @data:	payload, or NULL: not compared
 * @stag:	STag of a tagged message
 * @to:		TO of a tagged message
 */
struct want {
	u8 opcode;
	u32 len;
	const u8 *data;
	u32 stag;
	u64 to;
};

static int segment_ok(const struct kwarp_ddp_hdr *h, const struct want *w,
		      const u8 *p, u32 len, u32 off)
{
	bool last = off + len == w->len;

	if (h->opcode != w->opcode || off + len > w->len || h->last != last)
		return -EPROTO;
	if (!h->tagged && h->mo != off)
		return -EPROTO;
	if (h->tagged && (h->stag != w->stag || h->to != w->to + off))
		return -EPROTO;
	return w->data && memcmp(p, w->data + off, len) ? KT_WRONG_DATA : 0;
}

static int sent_locked(struct seam *e, const struct want *w, int count)
{
	struct mock_ulpdu *u;
	struct kwarp_ddp_hdr h;
	u32 msn = 0, off = 0;
	int i = 0, ret = 0;

	list_for_each_entry(u, &e->m.sent, link) {
		if (i == count || kwarp_ddp_parse(u->data + 2, u->len, &h))
			return -EPROTO;
		ret = segment_ok(&h, &w[i], u->data + 2 + h.len, u->len - h.len, off);
		if (ret)
			return ret;
		if (h.opcode == RDMAP_SEND && !off && h.msn != ++msn)
			return -EPROTO;
		off += u->len - h.len;
		if (h.last) {
			off = 0;
			i++;
		}
	}
	return i == count && !off ? 0 : -ENODATA;
}

/* Check that exactly these messages were sent, each complete, in this order. */
static int sent(struct seam *e, const struct want *w, int count)
{
	int ret;

	kwarp_llp_lock(&e->m.llp);
	ret = sent_locked(e, w, count);
	kwarp_llp_unlock(&e->m.llp);
	return ret;
}

/* Receive a message with random segmentation; deliver some of it immediately. */
static int come(struct seam *e, struct kwarp_ddp_hdr h, const u8 *data, u32 len)
{
	u32 off = 0, n;
	int ret;

	h.dv = KWARP_DDP_V_IETF;
	h.rv = KWARP_DDP_V_IETF;
	do {
		n = min(len - off, 1 + prandom_u32_state(&seam_rnd) % 1400);
		h.last = off + n == len;
		ret = mock_come(&e->m, &h, data + off, n);
		if (ret)
			return ret;
		off += n;
		h.to += n;
		h.mo += n;
		if (prandom_u32_state(&seam_rnd) % 3 == 0)
			mock_deliver(&e->m);
	} while (off < len);
	return 0;
}

/* Wait until everything received is consumed; a worker may have the rest. */
static int delivered(struct seam *e)
{
	int ms;

	mock_deliver(&e->m);
	for (ms = 0; mock_pending(&e->m); ms++) {
		if (ms == PATIENCE_MS)
			return -ETIMEDOUT;
		fsleep(1000);
	}
	return 0;
}

/* ---- cases ------------------------------------------------------------------- */

static const u32 cuts[] = { 82, 128, 1442, MOCK_MULPDU_MAX, 0 };

static int post_all(struct seam *e, struct want *w)
{
	*w++ = (struct want){ RDMAP_SEND, 5000, e->local };
	*w++ = (struct want){
		RDMAP_WRITE, 3000, e->local + 8000, PEER_STAG, PEER_TO + 8000,
	};
	*w++ = (struct want){ RDMAP_SEND, 0, e->local };
	*w++ = (struct want){ RDMAP_SEND, 1, e->local + 20000 };
	*w++ = (struct want){
		RDMAP_WRITE, 40000, e->local + 1, PEER_STAG, PEER_TO + 1,
	};
	return seam_post(e, IB_WR_SEND, 0, 5000) ? : seam_post(e, IB_WR_RDMA_WRITE, 8000, 3000) ? :
	       seam_post(e, IB_WR_SEND, 0, 0) ? : seam_post(e, IB_WR_SEND, 20000, 1) ? :
	       seam_post(e, IB_WR_RDMA_WRITE, 1, 40000);
}

static int messages_out(u32 cut)
{
	struct seam *e = seam_open();
	struct want w[5];
	int ret;

	if (!e)
		return -ENOMEM;
	e->m.mulpdu = cut;
	ret = post_all(e, w) ? : seam_wait(e, 5, 0) ? : sent(e, w, 5);
	seam_close(e);
	return ret;
}

/* Return: 1 if there are fewer calls than @at. */
static int failed_call(enum mock_call call, u32 at)
{
	struct seam *e = seam_open();
	struct want w[5];
	int ret;

	if (!e)
		return -ENOMEM;
	e->m.mulpdu = 1000;
	e->m.fail_at[call] = e->m.calls[call] + at;
	ret = post_all(e, w) ? : seam_wait(e, 5, 0) ? : sent(e, w, 5);
	if (!ret && e->m.calls[call] < e->m.fail_at[call])
		ret = 1;
	seam_close(e);
	return ret;
}

static int each_call(enum mock_call call)
{
	int at, ret = 0;

	for (at = 1; !ret && at < 100; at++)
		ret = failed_call(call, at);
	/* The loop has ended, and not at the first call. */
	return ret == 1 && at > 3 ? 0 : ret == 1 ? -EIO : ret ? : -E2BIG;
}

/* While there is no memory, the engine tries again from time to time, not at once. */
static int memory_is_short(void)
{
	struct seam *e = seam_open();
	struct want w[5];
	int ms, ret;

	if (!e)
		return -ENOMEM;
	e->m.starved = 1000;
	ret = post_all(e, w);
	for (ms = 0; !ret && READ_ONCE(e->m.starved) > 998; ms++) {
		if (ms == PATIENCE_MS)
			ret = -ETIMEDOUT;
		fsleep(1000);
	}
	if (!ret && READ_ONCE(e->m.starved) < 900)
		ret = -ELOOP;
	kwarp_llp_lock(&e->m.llp);
	e->m.starved = 0;
	kwarp_llp_unlock(&e->m.llp);
	ret = ret ? : seam_wait(e, 5, 0) ? : sent(e, w, 5);
	seam_close(e);
	return ret;
}

static int answer(struct seam *e, const struct kwarp_rdmap_read *rd)
{
	const struct kwarp_ddp_hdr h = {
		.tagged = true, .opcode = RDMAP_READ_RESPONSE,
		.stag = rd->sink_stag, .to = rd->sink_to,
	};

	return come(e, h, e->local, rd->len);
}

/* Post a read and answer it. */
static int read_out(struct seam *e, u32 len)
{
	struct kwarp_rdmap_read rd;
	struct mock_ulpdu *u;
	int ret, ms;

	mock_forget(&e->m);
	memset(e->remote, 0, len);
	ret = seam_post(e, IB_WR_RDMA_READ, 0, len);
	for (ms = 0; !ret && list_empty(&e->m.sent) && ms < PATIENCE_MS; ms++)
		fsleep(1000);
	u = list_first_entry_or_null(&e->m.sent, struct mock_ulpdu, link);
	if (ret || !u || (u->data[3] & 15) != RDMAP_READ_REQUEST)
		return ret ? : -ENODATA;
	kwarp_rdmap_read_parse(u->data + 2 + KWARP_DDP_UNTAGGED_LEN, &rd);
	ret = rd.len == len && rd.src_stag == PEER_STAG && rd.src_to == PEER_TO ?
	      answer(e, &rd) : -EPROTO;
	mock_deliver(&e->m);
	return ret ? : seam_wait(e, e->done + 1, 0) ? :
	       memcmp(e->remote, e->local, len) ? KT_WRONG_DATA : 0;
}

static int write_in(struct seam *e, u32 at, u32 len)
{
	const struct kwarp_ddp_hdr h = {
		.tagged = true, .opcode = RDMAP_WRITE,
		.stag = e->pd->unsafe_global_rkey, .to = (uintptr_t)e->remote + at,
	};
	int ret = come(e, h, e->local + at, len) ? : delivered(e);

	return ret ? : memcmp(e->remote + at, e->local + at, len) ? KT_WRONG_DATA : 0;
}

static int send_in(struct seam *e, u32 msn, u32 at, u32 len)
{
	const struct kwarp_ddp_hdr h = { .opcode = RDMAP_SEND, .msn = msn };
	int ret = seam_post_recv(e, at, len) ? : come(e, h, e->local + at, len);

	mock_deliver(&e->m);
	return ret ? : seam_wait(e, e->done + 1, 0) ? : e->wc.byte_len != len ? -EIO :
	       memcmp(e->remote + at, e->local + at, len) ? KT_WRONG_DATA : 0;
}

/* The peer reads: check that it gets the contents of the memory. */
static int read_in(struct seam *e, u32 msn, u32 at, u32 len)
{
	const struct want w = { RDMAP_READ_RESPONSE, len, e->remote + at, 5, 900 };
	const struct kwarp_ddp_hdr h = {
		.opcode = RDMAP_READ_REQUEST, .qn = KWARP_QN_READ, .msn = msn,
		.last = true, .dv = KWARP_DDP_V_IETF, .rv = KWARP_DDP_V_IETF,
	};
	const struct kwarp_rdmap_read rd = {
		.sink_stag = 5, .sink_to = 900, .len = len,
		.src_stag = e->pd->unsafe_global_rkey,
		.src_to = (uintptr_t)e->remote + at,
	};
	u8 body[KWARP_RDMAP_READ_LEN];
	int ret, ms;

	mock_forget(&e->m);
	memcpy(e->remote, e->local, BYTES);
	kwarp_rdmap_read_encode(&rd, body);
	ret = mock_come(&e->m, &h, body, sizeof(body));
	mock_deliver(&e->m);
	for (ms = 0; !ret && sent(e, &w, 1) && ms < PATIENCE_MS; ms++) {
		mock_room(&e->m);
		fsleep(1000);
	}
	return ret ? : sent(e, &w, 1);
}

static int any_order(u32 piece)
{
	struct seam *e = seam_open();
	u32 sends = 0, reads = 0, at, len;
	int i, ret = 0;

	if (!e)
		return -ENOMEM;
	e->m.piece = piece;
	for (i = 0; i < 200 && !ret; i++) {
		at = prandom_u32_state(&seam_rnd) % (BYTES / 2);
		len = 1 + prandom_u32_state(&seam_rnd) % (BYTES / 2);
		memset(e->remote, 0, BYTES);
		switch (prandom_u32_state(&seam_rnd) % 4) {
		case 0:
			ret = send_in(e, ++sends, at, len);
			break;
		case 1:
			ret = write_in(e, at, len);
			break;
		case 2:
			ret = read_in(e, ++reads, at, len);
			break;
		default:
			ret = read_out(e, len);
		}
	}
	seam_close(e);
	return ret;
}

/* Only the Terminate is sent, and reports the error. */
static int framing_error(enum kwarp_err err)
{
	const struct kwarp_term_err *term = kwarp_err_term(err);
	struct seam *e = seam_open();
	struct kwarp_ddp_hdr h;
	struct mock_ulpdu *u;
	int ret;

	if (!e)
		return -ENOMEM;
	ret = seam_post_recv(e, 0, 100) ? : seam_post_recv(e, 0, 100);
	e->m.pull_err = err;
	mock_deliver(&e->m);
	ret = ret ? : seam_wait(e, 0, 2) ? : seam_wait_fin(e);
	u = list_first_entry_or_null(&e->m.sent, struct mock_ulpdu, link);
	if (!ret && (!u || !list_is_singular(&e->m.sent) ||
		     kwarp_ddp_parse(u->data + 2, u->len, &h) ||
		     h.opcode != RDMAP_TERMINATE ||
		     u->data[2 + h.len] != (term->layer << 4 | term->etype) ||
		     u->data[3 + h.len] != term->code))
		ret = -EPROTO;
	if (!ret && !test_bit(KWARP_LLP_EV_QP_ERR, &e->m.events))
		ret = -EPIPE;
	seam_close(e);
	return ret;
}

static int nothing_goes(void)
{
	struct seam *e = seam_open();
	int ret, ms;

	if (!e)
		return -ENOMEM;
	e->m.broken = true;
	ret = seam_post_recv(e, 0, 100) ? : seam_post(e, IB_WR_RDMA_READ, 0, 100) ? :
	      seam_post(e, IB_WR_SEND, 0, 10);
	for (ms = 0; !READ_ONCE(e->m.calls[MOCK_PUT]) && ms < PATIENCE_MS; ms++)
		fsleep(1000);
	/* The built ULPDUs are dropped, and the engine stops: none is built again. */
	kwarp_llp_lock(&e->m.llp);
	if (!ret && (!e->m.calls[MOCK_PUT] || !list_empty(&e->m.batch) ||
		     to_kqp(e->qp)->tx.state != KWARP_TX_DEAD))
		ret = -EIO;
	kwarp_llp_unlock(&e->m.llp);
	mock_end(&e->m, ECONNRESET);
	ret = ret ? : seam_wait(e, 0, 3);
	seam_close(e);
	return ret;
}

/* Built FPDUs that were not accepted are discarded with the connection. */
static int detached(u32 at)
{
	struct seam *e = seam_open();
	struct want w[5];
	int ret, ms;

	if (!e)
		return -ENOMEM;
	e->m.mulpdu = 500;
	e->m.fail_at[MOCK_PUSH] = e->m.calls[MOCK_PUSH] + at;
	ret = post_all(e, w);
	for (ms = 0; READ_ONCE(e->m.calls[MOCK_PUSH]) < e->m.fail_at[MOCK_PUSH]; ms++) {
		if (ms == PATIENCE_MS)
			return -ETIMEDOUT;
		fsleep(1000);
	}
	kwarp_qp_detach(&e->m.llp);
	if (!ret && !list_empty(&e->m.batch))
		ret = -EBUSY;
	seam_poll(e);
	if (!ret && e->done + e->flushed != 5)
		ret = -EIO;
	seam_close(e);
	return ret;
}

/* ---- regions of an unusual kind ----------------------------------------------- */

/* A region of 4 GiB that maps the pages of e->remote repeatedly. */
static struct ib_mr *region_open(struct seam *e)
{
	const u32 blocks = (1ULL << 32) / BYTES;
	struct ib_mr *ibmr = ib_alloc_mr(e->pd, IB_MR_TYPE_MEM_REG, 1);
	struct kwarp_mr *mr;
	void **all;
	u32 i;

	if (IS_ERR(ibmr))
		return NULL;
	all = kvmalloc_array(blocks, sizeof(*all), GFP_KERNEL);
	if (!all) {
		ib_dereg_mr(ibmr);
		return NULL;
	}
	for (i = 0; i < blocks; i++)
		all[i] = e->remote;
	mr = to_kmr(ibmr);
	kvfree(mr->blocks);
	mr->blocks = all;
	mr->nr_blocks = blocks;
	mr->max_blocks = blocks;
	mr->first = 0;
	mr->shift = ilog2(BYTES);
	mr->iova = 0;
	mr->length = 1ULL << 32;
	mr->access = IB_ACCESS_REMOTE_READ;
	smp_store_release(&mr->state, KWARP_MR_VALID); /* after all of the above */
	return ibmr;
}

/* Detach first, because the engines may use the region. @mr: or NULL */
static void close_with_region(struct seam *e, struct ib_mr *mr)
{
	kwarp_qp_detach(&e->m.llp);
	if (mr)
		ib_dereg_mr(mr);
	seam_close(e);
}

static int request_in(struct seam *e, const struct ib_mr *mr, u32 len)
{
	const struct kwarp_ddp_hdr h = {
		.opcode = RDMAP_READ_REQUEST, .qn = KWARP_QN_READ, .msn = 1,
		.last = true, .dv = KWARP_DDP_V_IETF, .rv = KWARP_DDP_V_IETF,
	};
	const struct kwarp_rdmap_read rd = {
		.sink_stag = 5, .len = len, .src_stag = mr->rkey,
	};
	u8 body[KWARP_RDMAP_READ_LEN];
	int ret;

	kwarp_rdmap_read_encode(&rd, body);
	ret = mock_come(&e->m, &h, body, sizeof(body));
	mock_deliver(&e->m);
	return ret;
}

/* The peer asks for so much that length and header do not fit into 32 bits. */
static int longest_response(u32 len)
{
	struct seam *e = seam_open();
	struct kwarp_ddp_hdr h;
	struct mock_ulpdu *u;
	struct ib_mr *mr;
	u64 to = 0;
	int ret, ms, n = 0;

	if (!e)
		return -ENOMEM;
	mr = region_open(e);
	e->m.mulpdu = 1000;
	e->m.fail_at[MOCK_PUSH] = e->m.calls[MOCK_PUSH] + 3;
	ret = mr ? request_in(e, mr, len) : -ENOMEM;
	for (ms = 0; !ret && READ_ONCE(e->m.writeable); ms++) {
		if (ms == PATIENCE_MS)
			ret = -ETIMEDOUT;
		fsleep(1000);
	}
	/* The third batch was refused: nothing is sent until there is room. */
	if (!ret) {
		list_for_each_entry(u, &e->m.sent, link) {
			if (kwarp_ddp_parse(u->data + 2, u->len, &h) ||
			    h.opcode != RDMAP_READ_RESPONSE || h.last || h.to != to ||
			    u->len != 1000)
				ret = -EPROTO;
			to += u->len - h.len;
			n++;
		}
		if (!n)
			ret = -ENODATA;
	}
	close_with_region(e, mr);
	return ret;
}

/* The region is invalid when the answer is built: the same pass sends the Terminate. */
static int revoked_response(void)
{
	struct seam *e = seam_open();
	struct kwarp_ddp_hdr h;
	struct mock_ulpdu *u;
	struct ib_mr *mr;
	int ret;

	if (!e)
		return -ENOMEM;
	mr = region_open(e);
	if (mr) {
		e->m.revoke = to_kmr(mr);
		ret = request_in(e, mr, 10000);
	} else {
		ret = -ENOMEM;
	}
	u = list_first_entry_or_null(&e->m.sent, struct mock_ulpdu, link);
	if (!ret && (!u || kwarp_ddp_parse(u->data + 2, u->len, &h) ||
		     h.opcode != RDMAP_TERMINATE))
		ret = -EPROTO;
	ret = ret ? : seam_wait_fin(e);
	close_with_region(e, mr);
	return ret;
}

/* ---- limits and order ----------------------------------------------------------- */

/* A pass that reaches its limit with the last ULPDU does not queue a worker. */
static int just_a_pass(u32 ulpdus)
{
	const struct kwarp_ddp_hdr h = {
		.tagged = true, .opcode = RDMAP_WRITE, .last = true,
		.dv = KWARP_DDP_V_IETF, .rv = KWARP_DDP_V_IETF,
	};
	struct seam *e = seam_open();
	u64 wanted = ulpdus > KWARP_RX_ULPDUS;
	int ret = 0;
	u32 i;

	if (!e)
		return -ENOMEM;
	for (i = 0; i < ulpdus && !ret; i++)
		ret = mock_come(&e->m, &h, NULL, 0);
	ret = ret ? : delivered(e);
	if (!ret && to_kqp(e->qp)->stats[KWARP_STAT_RX_CONTINUED] != wanted)
		ret = -EIO;
	seam_close(e);
	return ret;
}

/*
 * While a response is sent, more arrives than a pass processes, then FIN. A worker processes the
 * rest before the end of the stream is reported: the last message is received.
 */
static int fin_after_a_pass(void)
{
	const struct want w = { RDMAP_READ_RESPONSE, 100, NULL, 5, 0 };
	struct kwarp_ddp_hdr h = {
		.tagged = true, .opcode = RDMAP_WRITE, .last = true,
		.dv = KWARP_DDP_V_IETF, .rv = KWARP_DDP_V_IETF,
	};
	struct seam *e = seam_open();
	struct ib_mr *mr;
	int ret, i;

	if (!e)
		return -ENOMEM;
	mr = region_open(e);
	ret = mr ? seam_post_recv(e, 0, 10) : -ENOMEM;
	for (i = 0; i < KWARP_RX_ULPDUS && !ret; i++)
		ret = mock_come(&e->m, &h, NULL, 0);
	h.tagged = false;
	h.opcode = RDMAP_SEND;
	h.msn = 1;
	ret = ret ? : mock_come(&e->m, &h, e->local, 10);
	mock_come_late(&e->m);
	ret = ret ? : request_in(e, mr, w.len) ? : seam_wait(e, 1, 0) ? : sent(e, &w, 1);
	if (!ret && to_kqp(e->qp)->stats[KWARP_STAT_RX_CONTINUED] != 1)
		ret = -EIO;
	if (!ret && !test_bit(KWARP_LLP_EV_PEER_FIN, &e->m.events))
		ret = -ENODATA;
	close_with_region(e, mr);
	return ret;
}

/* The stream is closed before kwarp_qp_start(): no byte is sent before the start. */
static int closed_before_start(void)
{
	struct seam *e = seam_open_stopped();
	struct kwarp_qp *qp;
	int ret;

	if (!e)
		return -ENOMEM;
	qp = to_kqp(e->qp);
	ret = seam_post(e, IB_WR_SEND, 0, 10);
	mutex_lock(&qp->mutex);
	kwarp_qp_disconnect(qp, KWARP_CLOSE);
	mutex_unlock(&qp->mutex);
	msleep(20);
	if (!ret && (!list_empty(&e->m.sent) || e->m.shut))
		ret = -EALREADY;
	kwarp_qp_start(qp);
	ret = ret ? : seam_wait(e, 1, 0) ? : seam_wait_fin(e);
	if (!ret && list_empty(&e->m.sent))
		ret = -ENODATA;
	seam_close(e);
	return ret;
}

/* The ULPDU of the first message with @opcode that was sent, or NULL. */
static const struct mock_ulpdu *sent_first(struct seam *e, u8 opcode)
{
	struct kwarp_ddp_hdr h;
	struct mock_ulpdu *u;
	int ms;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		kwarp_llp_lock(&e->m.llp);
		list_for_each_entry(u, &e->m.sent, link) {
			if (kwarp_ddp_parse(u->data + 2, u->len, &h) || h.opcode != opcode)
				continue;
			kwarp_llp_unlock(&e->m.llp);
			return u;
		}
		kwarp_llp_unlock(&e->m.llp);
		fsleep(1000);
	}
	return NULL;
}

/*
 * With acknowledgments: the peer refuses a Send, for which it has no receive, before it has
 * answered an older RDMA Read. The error is that of the Send.
 */
static int refused_send(void)
{
	const struct kwarp_ddp_hdr h = {
		.opcode = RDMAP_TERMINATE, .qn = KWARP_QN_TERMINATE, .msn = 1,
		.last = true, .dv = KWARP_DDP_V_IETF, .rv = KWARP_DDP_V_IETF,
	};
	/* Terminate control 1/2/2 with M and D, the segment's length, and its DDP header. */
	u8 body[6 + KWARP_DDP_UNTAGGED_LEN] = { 0x12, 2, 0xc0 };
	struct seam *e = seam_open_stopped();
	const struct mock_ulpdu *u;
	int ms, n = 0, ret;
	struct ib_wc wc[2];

	if (!e)
		return -ENOMEM;
	to_kqp(e->qp)->params.ack = true;
	kwarp_qp_start(to_kqp(e->qp));
	ret = seam_post(e, IB_WR_RDMA_READ, 0, 100) ? : seam_post(e, IB_WR_SEND, 0, 10);
	u = ret ? NULL : sent_first(e, RDMAP_SEND);
	if (u) {
		put_unaligned_be16(u->len, body + 4);
		memcpy(body + 6, u->data + 2, KWARP_DDP_UNTAGGED_LEN);
		ret = mock_come(&e->m, &h, body, sizeof(body)) ? : delivered(e);
	} else {
		ret = ret ? : -ETIMEDOUT;
	}
	for (ms = 0; !ret && n < 2; ms++) {
		n += ib_poll_cq(e->cq, 2 - n, wc + n);
		if (ms == PATIENCE_MS)
			ret = -ETIMEDOUT;
		fsleep(1000);
	}
	if (!ret && (wc[0].status != IB_WC_WR_FLUSH_ERR ||
		     wc[1].status != IB_WC_RNR_RETRY_EXC_ERR))
		ret = -EPROTO;
	seam_close(e);
	return ret;
}

/*
 * With acknowledgments: a request that sends nothing is the last one posted. The acknowledging read
 * is sent, and the peer's response completes the request.
 */
static int acknowledged_local_request(void)
{
	struct kwarp_rdmap_read rd = {};
	struct seam *e = seam_open_stopped();
	struct ib_send_wr local = { .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED };
	struct ib_sge sge;
	struct ib_send_wr send = { .opcode = IB_WR_SEND, .next = &local, .sg_list = &sge };
	const struct mock_ulpdu *u;
	struct ib_mr *mr;
	int ret, ms;

	if (!e)
		return -ENOMEM;
	sge = (struct ib_sge){ (uintptr_t)e->local, 10, e->pd->local_dma_lkey };
	send.num_sge = 1;
	mr = region_open(e);
	to_kqp(e->qp)->params.ack = true;
	to_kqp(e->qp)->sq.sig_all = false;
	if (mr)
		local.ex.invalidate_rkey = mr->rkey;
	kwarp_qp_start(to_kqp(e->qp));
	/* The engine sends both requests in one run, when there is room. */
	kwarp_llp_lock(&e->m.llp);
	e->m.writeable = false;
	kwarp_llp_unlock(&e->m.llp);
	ret = mr ? ib_post_send(e->qp, &send, NULL) : -ENOMEM;
	for (ms = 0; !ret && !READ_ONCE(e->m.wanted); ms++) {
		if (ms == PATIENCE_MS)
			ret = -ETIMEDOUT;
		fsleep(1000);
	}
	mock_room(&e->m);
	u = ret ? NULL : sent_first(e, RDMAP_READ_REQUEST);
	if (u) {
		kwarp_rdmap_read_parse(u->data + 2 + KWARP_DDP_UNTAGGED_LEN, &rd);
		ret = answer(e, &rd) ? : delivered(e) ? : seam_wait(e, 1, 0);
	} else {
		ret = ret ? : -ETIMEDOUT;
	}
	if (!ret && (rd.len || e->wc.opcode != IB_WC_LOCAL_INV))
		ret = -EPROTO;
	close_with_region(e, mr);
	return ret;
}

static void run(void)
{
	static const enum kwarp_err framing[] = {
		KWARP_ERR_MPA_CRC, KWARP_ERR_MPA_MARKER, KWARP_ERR_MPA_LENGTH,
	};
	int i, ret;

	for (i = 0, ret = 0; i < ARRAY_SIZE(cuts) && !ret; i++)
		ret = messages_out(cuts[i]);
	tap("seam.messages_out__any_cut", ret);
	tap("seam.batch_begin_fails__at_each_call", each_call(MOCK_BATCH_BEGIN));
	tap("seam.put_fails__at_each_call", each_call(MOCK_PUT));
	tap("seam.push_is_refused__at_each_call", each_call(MOCK_PUSH));
	tap("seam.memory_is_short__tries_again_later", memory_is_short());
	tap("seam.any_order__contiguous", any_order(0));
	tap("seam.any_order__in_single_bytes", any_order(1));
	tap("seam.any_order__in_pieces", any_order(37));
	for (i = 0, ret = 0; i < ARRAY_SIZE(framing) && !ret; i++)
		ret = framing_error(framing[i]);
	tap("seam.framing_error__terminate", ret);
	tap("seam.push_fails_for_good", nothing_goes());
	for (i = 1, ret = 0; i < 6 && !ret; i++)
		ret = detached(i);
	tap("seam.detached_with_a_batch", ret);
	tap("seam.response__of_2_31_bytes", longest_response(1U << 31));
	tap("seam.response__of_2_32_minus_14_bytes", longest_response(-14U));
	tap("seam.response__of_2_32_minus_1_bytes", longest_response(-1U));
	tap("seam.response__region_revoked", revoked_response());
	tap("seam.pass__up_to_its_limit", just_a_pass(KWARP_RX_ULPDUS));
	tap("seam.pass__beyond_its_limit", just_a_pass(KWARP_RX_ULPDUS + 1));
	tap("seam.pass__fin_after_its_limit", fin_after_a_pass());
	tap("seam.closed_before_start", closed_before_start());
	tap("seam.window__freed_while_moved", kt_window_freed_while_moved(seam_ibdev));
	tap("seam.terminate__refused_send_after_a_read", refused_send());
	tap("seam.acknowledged__local_request_last", acknowledged_local_request());
	tap("seam.handle__without_rights", kt_handle_without_rights());
	tap("seam.handle__ends_while_in_use", kt_handle_ends_while_in_use());
	tap("seam.accept__after_the_end", kt_accepted_after_its_end());
	tap("seam.endpoint__waits_for_its_owner", kt_endpoint_waits_for_its_owner());
}

static int __init seam_init(void)
{
	struct net_device *ndev = dev_get_by_name(&init_net, netdev);

	if (!ndev)
		return -ENODEV;
	seam_ibdev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	dev_put(ndev);
	if (!seam_ibdev)
		return -ENODEV;
	prandom_seed_state(&seam_rnd, seed);
	pr_info("ktest: seed %u\n", seed);
	run();
	ib_device_put(seam_ibdev);
	pr_info("ktest: 1..%d\n", cases);
	return 0;
}

static void __exit seam_exit(void)
{
}

module_init(seam_init);
module_exit(seam_exit);
MODULE_DESCRIPTION("Test of kwarp's RDMAP on a mock lower layer");
MODULE_LICENSE("Dual BSD/GPL");
