// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mock_llp.h"

#include <linux/net.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "core/mem.h"

static struct mock *to_mock(struct kwarp_llp *llp)
{
	return container_of(llp, struct mock, llp);
}

static bool fails(struct mock *m, enum mock_call call)
{
	return ++m->calls[call] == m->fail_at[call];
}

static void list_free(struct list_head *list)
{
	struct mock_ulpdu *u, *next;

	list_for_each_entry_safe(u, next, list, link) {
		list_del(&u->link);
		kfree(u);
	}
}

/* ---- receive ---------------------------------------------------------------- */

static int begin(struct kwarp_llp *llp)
{
	return 0;
}

static void end(struct kwarp_llp *llp)
{
	list_free(&to_mock(llp)->batch);
}

static bool pull_begin(struct kwarp_llp *llp)
{
	struct mock *m = to_mock(llp);

	m->pulled = NULL;
	return !list_empty(&m->in) || m->pull_err;
}

static void consume(struct mock *m)
{
	if (!m->pulled)
		return;
	list_del(&m->pulled->link);
	kfree(m->pulled);
	m->pulled = NULL;
}

static bool next_piece(struct kwarp_reader *r)
{
	struct mock_reader *reader = container_of(r, struct mock_reader, r);
	u32 n = min(reader->piece, reader->left);

	r->n = n;
	reader->left -= n;
	/* The pieces are adjacent: the next begins where r->p points. */
	return n;
}

static enum kwarp_pull pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	struct mock *m = to_mock(llp);
	struct mock_ulpdu *in;

	consume(m);
	u->seg_len = 0;
	u->early = NULL;
	in = list_first_entry_or_null(&m->in, struct mock_ulpdu, link);
	if (!in) {
		u->err = m->pull_err;
		return m->pull_err ? KWARP_PULL_ERR : KWARP_PULL_NONE;
	}
	m->pulled = in;
	memset(&u->frame, 0, sizeof(u->frame));
	u->frame.ulpdu_len = in->len;
	u->frame.len = in->len + 2;
	u->len = in->len;
	u->seg_len = min_t(u32, in->len, sizeof(u->seg));
	memcpy(u->seg, in->data + 2, u->seg_len);
	u->flat = m->piece ? NULL : in->data;
	if (m->piece) {
		m->reader.piece = m->piece;
		m->reader.left = in->len + 2;
		m->reader.r.p = in->data;
		m->reader.r.n = 0;
		m->reader.r.next = next_piece;
		u->r = &m->reader.r;
	}
	return KWARP_PULL_ULPDU;
}

static void pull_end(struct kwarp_llp *llp, enum kwarp_last_ulpdu last,
		     struct kwarp_llp_counts *counts)
{
	if (last == KWARP_LAST_CONSUMED)
		consume(to_mock(llp));
	memset(counts, 0, sizeof(*counts));
	/* The engine only checks whether there were any, and whether all is consumed. */
	counts->frames = 1;
	counts->left = !list_empty(&to_mock(llp)->in);
}

static void discard(struct kwarp_llp *llp)
{
	list_free(&to_mock(llp)->in);
}

static bool early_begin(struct kwarp_llp *llp)
{
	return false;
}

static enum kwarp_pull early_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u,
				  struct kwarp_early *e)
{
	return KWARP_PULL_NONE;
}

/* ---- send ------------------------------------------------------------------- */

static int batch_begin(struct kwarp_llp *llp)
{
	struct mock *m = to_mock(llp);

	WARN_ON(!list_empty(&m->batch));
	m->batched = 0;
	if (m->revoke)
		WRITE_ONCE(m->revoke->state, KWARP_MR_INVALID);
	return fails(m, MOCK_BATCH_BEGIN) ? -ENOMEM : 0;
}

static u32 choose(struct mock *m, const struct kwarp_ulpdu_want *want)
{
	u32 all = want->hdr_len + want->left;
	u32 most = m->mulpdu ? :
		   want->hdr_len + 64 + prandom_u32_state(&m->rnd) %
					(MOCK_MULPDU_MAX - want->hdr_len - 63);

	return min(all, most);
}

static int put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
	       struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src)
{
	struct mock *m = to_mock(llp);
	struct mock_ulpdu *u;
	u32 payload = choose(m, want) - want->hdr_len, left = payload, n;
	int ret;

	/* More would wrap with a header in front. */
	if (fails(m, MOCK_PUT) || want->left > KWARP_MAX_MSG_SIZE)
		return -ENOMEM;
	u = kzalloc(sizeof(*u), GFP_ATOMIC);
	if (!u)
		return -ENOMEM;
	if (h) {
		h->last = left == want->left;
		u->len = kwarp_ddp_encode(h, u->data + 2);
	}
	while (left) {
		if (!src->n) {
			ret = src->next(src);
			if (ret) {
				kfree(u);
				return ret;
			}
		}
		n = min(left, src->n);
		memcpy(u->data + 2 + u->len, src->p, n);
		src->p += n;
		src->n -= n;
		u->len += n;
		left -= n;
	}
	want->left -= payload;
	list_add_tail(&u->link, &m->batch);
	m->batched++;
	return m->batched >= m->most;
}

static u32 batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	counts->frames = to_mock(llp)->batched;
	return to_mock(llp)->batched;
}

static int push(struct kwarp_llp *llp)
{
	struct mock *m = to_mock(llp);
	struct mock_ulpdu *first;

	if (list_empty(&m->batch))
		return 0;
	if (!list_empty(&m->late)) {
		list_splice_tail_init(&m->late, &m->in);
		m->fin = true;
		llp->engine->readable(llp);
	}
	if (m->broken)
		return -EPIPE;
	if (m->starved) {
		WRITE_ONCE(m->starved, m->starved - 1);
		llp->engine->writable(llp);
		return -EAGAIN;
	}
	if (!fails(m, MOCK_PUSH)) {
		list_splice_tail_init(&m->batch, &m->sent);
		return 0;
	}
	/* Send only a part of the batch. */
	first = list_first_entry(&m->batch, struct mock_ulpdu, link);
	list_move_tail(&first->link, &m->sent);
	m->writeable = false;
	m->wanted = true;
	return -EAGAIN;
}

static void drop(struct kwarp_llp *llp)
{
	list_free(&to_mock(llp)->batch);
}

static int over(const struct kwarp_llp *llp, u32 *left)
{
	const struct mock *m = container_of(llp, struct mock, llp);

	*left = !list_empty(&m->in);
	return m->fin;
}

static void poll(struct kwarp_llp *llp)
{
	if (llp->qp)
		llp->engine->readable(llp);
}

static bool writeable(const struct kwarp_llp *llp)
{
	return container_of(llp, struct mock, llp)->writeable;
}

static void want_space(struct kwarp_llp *llp)
{
	to_mock(llp)->wanted = true;
}

static bool in_flight(const struct kwarp_llp *llp)
{
	return false;
}

static void shutdown(struct kwarp_llp *llp)
{
	to_mock(llp)->shut = true;
}

static void where(const struct kwarp_llp *llp, u32 *tx_pos, u32 *rx_pos)
{
	*tx_pos = 0;
	*rx_pos = 0;
}

static void info(const struct kwarp_llp *llp, struct kwarp_llp_info *info)
{
	memset(info, 0, sizeof(*info));
	info->name = "mock";
}

static const struct kwarp_llp_ops mock_ops = {
	.begin = begin,
	.end = end,
	.pull_begin = pull_begin,
	.pull = pull,
	.pull_end = pull_end,
	.discard = discard,
	.early_begin = early_begin,
	.early_pull = early_pull,
	.batch_begin = batch_begin,
	.put = put,
	.batch_end = batch_end,
	.push = push,
	.drop = drop,
	.over = over,
	.poll = poll,
	.writeable = writeable,
	.want_space = want_space,
	.in_flight = in_flight,
	.shutdown = shutdown,
	.where = where,
	.info = info,
};

/* ---- interface for the cases ------------------------------------------------- */

static void event(struct kwarp_llp *llp, unsigned int ev)
{
	set_bit(ev, &to_mock(llp)->events);
}

static void release(struct kwarp_llp *llp)
{
	complete(&to_mock(llp)->released);
}

static const struct kwarp_llp_owner_ops owner = {
	.event = event,
	.release = release,
};

int mock_open(struct mock *m, struct kwarp_device *dev, u32 seed)
{
	struct socket *sock;
	int ret;

	memset(m, 0, sizeof(*m));
	prandom_seed_state(&m->rnd, seed);
	INIT_LIST_HEAD(&m->in);
	INIT_LIST_HEAD(&m->late);
	INIT_LIST_HEAD(&m->batch);
	INIT_LIST_HEAD(&m->sent);
	init_completion(&m->released);
	m->most = 8;
	m->writeable = true;
	ret = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (ret)
		return ret;
	kwarp_llp_init(&m->llp, dev, &owner);
	m->llp.ops = &mock_ops;
	m->llp.sock = sock;
	m->llp.sk = sock->sk;
	sock_hold(sock->sk);
	return 0;
}

void mock_close(struct mock *m)
{
	struct socket *sock = m->llp.sock;

	kwarp_llp_put(&m->llp);
	wait_for_completion(&m->released);
	/* Wait for readers of qp->llp. */
	synchronize_rcu();
	sock_release(sock);
	list_free(&m->in);
	list_free(&m->late);
	list_free(&m->batch);
	list_free(&m->sent);
}

int mock_come(struct mock *m, const struct kwarp_ddp_hdr *h, const void *payload,
	      u32 len)
{
	struct mock_ulpdu *u = kzalloc(sizeof(*u), GFP_KERNEL);

	if (!u)
		return -ENOMEM;
	u->len = kwarp_ddp_encode(h, u->data + 2);
	memcpy(u->data + 2 + u->len, payload, len);
	u->len += len;
	kwarp_llp_lock(&m->llp);
	list_add_tail(&u->link, &m->in);
	kwarp_llp_unlock(&m->llp);
	return 0;
}

void mock_deliver(struct mock *m)
{
	kwarp_llp_lock(&m->llp);
	if (m->llp.qp)
		m->llp.engine->readable(&m->llp);
	kwarp_llp_unlock(&m->llp);
}

void mock_come_late(struct mock *m)
{
	kwarp_llp_lock(&m->llp);
	list_splice_tail_init(&m->in, &m->late);
	kwarp_llp_unlock(&m->llp);
}

bool mock_pending(struct mock *m)
{
	bool pending;

	kwarp_llp_lock(&m->llp);
	pending = !list_empty(&m->in);
	kwarp_llp_unlock(&m->llp);
	return pending;
}

void mock_room(struct mock *m)
{
	kwarp_llp_lock(&m->llp);
	m->writeable = true;
	if (m->llp.qp && m->wanted) {
		m->wanted = false;
		m->llp.engine->writable(&m->llp);
	}
	kwarp_llp_unlock(&m->llp);
}

void mock_end(struct mock *m, int err)
{
	kwarp_llp_lock(&m->llp);
	if (m->llp.qp)
		m->llp.engine->ended(&m->llp, err, 0);
	kwarp_llp_unlock(&m->llp);
}

void mock_forget(struct mock *m)
{
	list_free(&m->sent);
}
