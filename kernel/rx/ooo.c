// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Out-of-order placement: what TCP holds behind a gap is searched for FPDUs, and
 * what was placed early is found again in its turn.
 */
#include "ooo.h"

#include <linux/tcp.h>
#include <net/tcp.h>

#include "../core/qp.h"
#include "../llp/llp.h"
#include "../proto/mpa_find.h"
#include "place.h"

/*
 * Octets behind the beginning of a run in which a marker is looked for that tells of
 * an FPDU. The longest FPDU there is begins in half of it.
 */
#define OOO_FIND_MAX	(128 * 1024)

int kwarp_ooo_init(struct kwarp_qp *qp)
{
	struct kwarp_ooo *o;

	might_sleep();
	if (!qp->params.ooo)
		return 0;
	o = kvzalloc(struct_size(o, e, KWARP_LEDGER_MAX), KWARP_GFP_CONN);
	if (!o)
		return -ENOMEM;
	kwarp_ledger_init(&o->ledger, o->e, KWARP_LEDGER_MAX);
	qp->rx.ooo = o;
	return 0;
}

void kwarp_ooo_free(struct kwarp_rx *rx)
{
	kvfree(rx->ooo);
	rx->ooo = NULL;
}

/* ---- what may be believed --------------------------------------------------- */

/* What TCP counts for all sockets of the namespace. */
static unsigned long counted(const struct sock *sk, unsigned int id)
{
	const struct linux_mib __percpu *mib =
		sock_net(sk)->mib.net_statistics;
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(mib, cpu)->mibs[id]);
	return sum;
}

static void doubt(struct kwarp_qp *qp)
{
	struct kwarp_ooo *o = qp->rx.ooo;

	o->past.dropped = false;
	kwarp_qp_count_n(qp, KWARP_STAT_OOO_REPLACED,
			 kwarp_ledger_doubt(&o->ledger));
}

/*
 * TCP may throw away what it holds out of order, which counts as a drop of the
 * socket, or copy it together. What came in its place may be something else.
 * Other drops do no harm: with nothing reneged or covered since then, and the gap
 * still there, the out-of-order queue has lost nothing. What the namespace counts is
 * only looked at when an entry is to be used, see sure().
 */
static void note(struct kwarp_qp *qp, struct sock *sk)
{
	struct kwarp_tcp_past *past = &qp->rx.ooo->past;
	u32 rcv_nxt = tcp_sk(sk)->rcv_nxt;
	u32 drops = kwarp_sk_drops(sk);

	if (drops != past->drops) {
		if (rcv_nxt == past->rcv_nxt)
			past->dropped = true;
		else
			doubt(qp);
	}
	past->drops = drops;
	past->rcv_nxt = rcv_nxt;
}

static void count_namespace(struct kwarp_tcp_past *past, const struct sock *sk)
{
	past->dropped = false;
	past->collapsed = counted(sk, LINUX_MIB_TCPRCVCOLLAPSED);
	past->removed = counted(sk, LINUX_MIB_OFOPRUNED) +
			counted(sk, LINUX_MIB_TCPOFOMERGE);
}

/* Before entries are used: once in a pass, in which nothing changes. */
static void sure(struct kwarp_rx_pass *pass)
{
	struct kwarp_tcp_past *past = &pass->ooo->past;
	const struct kwarp_tcp_past was = *past;

	if (pass->sure)
		return;
	pass->sure = true;
	count_namespace(past, pass->sk);
	if (past->collapsed != was.collapsed ||
	    (was.dropped && past->removed != was.removed))
		doubt(pass->qp);
}

void kwarp_ooo_begin(struct kwarp_rx_pass *pass)
{
	struct kwarp_rx *rx = &pass->qp->rx;

	if (kwarp_ledger_empty(&rx->ooo->ledger))
		return;
	note(pass->qp, pass->sk);
	pass->ooo = rx->ooo;
	pass->base = tcp_sk(pass->sk)->copied_seq - rx->pos;
}

void kwarp_ooo_end(struct kwarp_qp *qp)
{
	kwarp_ledger_pass(&qp->rx.ooo->ledger, qp->rx.pos);
}

const struct kwarp_early *kwarp_ooo_find(struct kwarp_rx_pass *pass,
					 const struct kwarp_stream *st,
					 const struct kwarp_fpdu *f)
{
	struct kwarp_early *e = kwarp_ledger_find(&pass->ooo->ledger, f->pos);

	if (!e || e->kind != KWARP_EARLY_PLACED)
		return NULL;
	sure(pass);
	if (e->kind != KWARP_EARLY_PLACED)
		return NULL;
	if (e->len == f->len &&
	    kwarp_stream_simple(st, f->pos + f->len + pass->base))
		return e;
	/* Another segment has some of its octets, too: they may be others. */
	kwarp_ledger_leave(&pass->ooo->ledger, e);
	kwarp_qp_count(pass->qp, KWARP_STAT_OOO_REPLACED);
	return NULL;
}

bool kwarp_ooo_recall(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
		      u64 addr, u32 len)
{
	const struct kwarp_early *e = pass->early;

	if (e && e->gen == mr->gen && e->addr == addr && e->payload == len) {
		kwarp_qp_count(pass->qp, KWARP_STAT_OOO_DELIVERED);
		return true;
	}
	if (e) {
		/* The memory has been registered anew, or the receive changed. */
		kwarp_qp_count(pass->qp, KWARP_STAT_OOO_REPLACED);
		pass->early = NULL;
	}
	kwarp_ooo_written(pass, mr, addr, len);
	return false;
}

void kwarp_ooo_extent(const struct kwarp_mr *mr, u64 addr, u32 len,
		      struct kwarp_extent *mem)
{
	mem->n = 0;
	while (len) {
		u32 n = len;
		u64 p = (uintptr_t)kwarp_mr_ptr(mr, addr, &n);

		kwarp_extent_add(mem, p, p + n);
		addr += n;
		len -= n;
	}
}

void kwarp_ooo_written(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
		       u64 addr, u32 len)
{
	struct kwarp_extent mem;

	if (kwarp_ledger_sober(&pass->ooo->ledger))
		return;
	kwarp_ooo_extent(mr, addr, len, &mem);
	kwarp_qp_count_n(pass->qp, KWARP_STAT_OOO_REPLACED,
			 kwarp_ledger_written(&pass->ooo->ledger,
					      pass->fpdu->pos, &mem));
}

/* ---- searching -------------------------------------------------------------- */

/**
 * struct search - a search in what TCP holds behind a gap
 * @pass:	for placing
 * @at:		stream position reached
 * @end:	end of the run
 * @octets:	looked at closely
 * @marked:	@at was found by @marker
 * @marker:	position of a marker
 */
struct search {
	struct kwarp_rx_pass *pass;
	u32 at;
	u32 end;
	u32 octets;
	bool marked;
	u32 marker;
};

/* From @s->at, anywhere, to the next FPDU. Return: false if none is known. */
static bool find_start(struct search *s)
{
	struct kwarp_rx_pass *pass = s->pass;
	const struct kwarp_early *e =
		kwarp_ledger_next(&pass->ooo->ledger, s->at);
	bool known = e && before(e->pos, s->end);
	u32 limit = known ? e->pos : s->end;
	struct kwarp_stream st;

	if (!kwarp_stream_early(&st, pass->sk, s->at + pass->base))
		return false;
	s->marked = kwarp_fpdu_find(&st.r, s->at,
				    min(limit - s->at, OOO_FIND_MAX), &s->at,
				    &s->marker);
	if (s->marked)
		return true;
	s->at = limit;
	return known;
}

/* The new FPDU at @s->at. Return: true to go on behind it. */
static bool take_early(struct search *s)
{
	struct kwarp_rx_pass *pass = s->pass;
	struct kwarp_ledger *l = &pass->ooo->ledger;
	const struct kwarp_early *next;
	struct kwarp_stream st, tmp;
	struct kwarp_early e = {};
	struct kwarp_fpdu f;

	if (!kwarp_stream_early(&st, pass->sk, s->at + pass->base))
		return false;
	tmp = st;
	if (kwarp_fpdu_peek(&tmp.r, s->end - s->at, s->at, true, &f))
		return false;
	if (s->marked && !kwarp_fpdu_agrees(&f, s->marker))
		return false;
	next = kwarp_ledger_next(l, s->at);
	if ((next && before(next->pos, s->at + f.len)) ||
	    kwarp_ledger_full(l))
		return false;
	/* From here on it counts what TCP does. */
	if (kwarp_ledger_sober(l))
		count_namespace(&pass->ooo->past, pass->sk);
	s->octets += f.len;
	pass->cost++;
	e.pos = f.pos;
	e.len = f.len;
	if (!kwarp_ooo_place(pass, &st, &f, &e) || !kwarp_ledger_add(l, &e))
		return false;
	s->at += f.len;
	s->marked = false;
	return e.kind != KWARP_EARLY_BAD;
}

/*
 * The run of octets from @s->at to @s->end, in which something may be new. What is
 * beyond a pass' limits is found behind the next segment, or has its turn.
 * Return: false if something is.
 */
static bool search(struct search *s)
{
	if (!find_start(s))
		return true;
	while (before(s->at, s->end)) {
		u32 at = s->at;

		if (s->octets >= KWARP_RX_OCTETS ||
		    s->pass->cost >= KWARP_RX_FPDUS)
			return false;
		if (!kwarp_ledger_skip(&s->pass->ooo->ledger, &s->at))
			return true;
		if (s->at != at)
			s->marked = false;
		else if (!take_early(s))
			return true;
	}
	return true;
}

/* Runs as TCP told of them are remembered; those that were searched to the end. */
static void remember(struct kwarp_ooo *o, u32 from, u32 to)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(o->run); i++)
		if (o->run[i].from == from)
			break;
	if (i == ARRAY_SIZE(o->run))
		i = o->next_run++ % ARRAY_SIZE(o->run);
	o->run[i].from = from;
	o->run[i].to = to;
}

static bool seen(const struct kwarp_ooo *o, const struct search *s)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(o->run); i++)
		if (o->run[i].from == s->at && o->run[i].to == s->end)
			return true;
	return false;
}

void kwarp_rx_early(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	const struct tcp_sock *tp = tcp_sk(llp->sk);
	const struct tcp_sack_block *sack = tp->selective_acks;
	struct kwarp_rx *rx = &qp->rx;
	struct kwarp_rx_pass pass = {
		.qp = qp, .sk = llp->sk, .cache.qp = qp, .ooo = rx->ooo,
	};
	struct search s = { .pass = &pass };
	u32 from;

	kwarp_llp_assert_locked(llp);
	if (!rx->ooo || rx->stopped || kwarp_rx_rtr_due(qp))
		return;
	/* The first block has the newest segment in it (RFC 2018 4). */
	if (!tp->rx_opt.num_sacks)
		return;
	pass.base = tp->copied_seq - rx->pos;
	s.at = sack->start_seq - pass.base;
	s.end = sack->end_seq - pass.base;
	note(qp, llp->sk);
	/* A duplicate, or of another run than the one that has changed. */
	if (seen(rx->ooo, &s))
		return;

	/* As in a pass in order. */
	local_bh_disable();
	from = s.at;
	if (search(&s))
		remember(rx->ooo, from, s.end);
	kwarp_mr_cache_put(&pass.cache);
	local_bh_enable();
}
