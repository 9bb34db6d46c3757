// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "llp/mpa/cursor.h"

#include <linux/tcp.h>
#include <net/tcp.h>

static bool cursor_load(struct kwarp_cursor *st, const void *p, u32 n)
{
	u32 skip = min(st->skip, n);

	st->skip -= skip;
	st->r.p = p + skip;
	st->r.n = n - skip;
	return st->r.n;
}

static void enter_skb(struct kwarp_cursor *st, struct sk_buff *skb)
{
	u32 seq = TCP_SKB_CB(skb)->seq;

	st->skb = skb;
	st->skip = (s32)(st->end - seq) > 0 ? st->end - seq : 0;
	if ((s32)(seq + skb->len - st->end) > 0)
		st->end = seq + skb->len;
}

/* Return: the skb that follows st->skb without a gap, or NULL. */
static struct sk_buff *next_skb(const struct kwarp_cursor *st)
{
	struct sk_buff *skb;

	if (likely(st->queue))
		return skb_queue_is_last(st->queue, st->skb) ? NULL :
		       skb_queue_next(st->queue, st->skb);
	skb = skb_rb_next(st->skb);
	return skb && !after(TCP_SKB_CB(skb)->seq, st->end) ? skb : NULL;
}

/*
 * Load the next non-empty fragments. Fragments that are contiguous in memory, as those
 * from a sender's page blocks over loopback or from some drivers' buffers, are merged into
 * one piece, because an FPDU that spans two pieces takes the slow path.
 */
static bool load_frags(struct kwarp_cursor *st, struct sk_buff *part)
{
	const struct skb_shared_info *info = skb_shinfo(part);

	while (st->frag < info->nr_frags) {
		const skb_frag_t *f = &info->frags[st->frag++];
		const u8 *p = skb_frag_address(f);
		u32 n = skb_frag_size(f);

		while (st->frag < info->nr_frags &&
		       skb_frag_address(++f) == p + n) {
			n += skb_frag_size(f);
			st->frag++;
		}
		if (cursor_load(st, p, n))
			return true;
	}
	return false;
}

/* Load the next non-empty piece: linear part, fragments, frag_list, next skb. */
static bool stream_next(struct kwarp_reader *r)
{
	struct kwarp_cursor *st = container_of(r, struct kwarp_cursor, r);

	for (;;) {
		struct sk_buff *part = st->part;

		/* The CPU cannot read device memory, so the data end here. */
		if (!skb_frags_readable(part))
			return false;
		if (load_frags(st, part))
			return true;
		/* GRO may chain whole skbs after the first. */
		part = part == st->skb ? skb_shinfo(part)->frag_list :
					 part->next;
		if (!part) {
			part = next_skb(st);
			if (!part)
				return false;
			enter_skb(st, part);
		}
		st->part = part;
		st->frag = 0;
		if (cursor_load(st, part->data, skb_headlen(part)))
			return true;
	}
}

bool kwarp_cursor_set(struct kwarp_cursor *st, struct sk_buff *skb, u32 off)
{
	st->end = TCP_SKB_CB(skb)->seq;
	enter_skb(st, skb);
	st->part = skb;
	st->frag = 0;
	st->r.next = stream_next;
	cursor_load(st, skb->data, skb_headlen(skb));
	return kwarp_reader_skip(&st->r, off);
}

/**
 * kwarp_cursor_init() - position a cursor at TCP's copied_seq
 * @st:		result
 * @sk:		socket, locked
 *
 * Return: bytes that can be read in order from there, FIN not counted.
 */
u32 kwarp_cursor_init(struct kwarp_cursor *st, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sk_buff *skb;
	u32 off, avail;

	avail = tcp_inq(sk);
	if (!avail)
		return 0;
	skb = tcp_recv_skb(sk, tp->copied_seq, &off);
	if (!skb)
		return 0;
	st->queue = &sk->sk_receive_queue;
	return kwarp_cursor_set(st, skb, off) ? avail : 0;
}
