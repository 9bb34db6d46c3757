// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stream.h"

#include <linux/tcp.h>
#include <net/tcp.h>

static bool load(struct kwarp_stream *st, const void *p, u32 n)
{
	u32 skip = min(st->skip, n);

	st->skip -= skip;
	st->r.p = p + skip;
	st->r.n = n - skip;
	return st->r.n;
}

static void enter_skb(struct kwarp_stream *st, struct sk_buff *skb)
{
	u32 seq = TCP_SKB_CB(skb)->seq;

	st->skb = skb;
	st->skip = (s32)(st->end - seq) > 0 ? st->end - seq : 0;
	if ((s32)(seq + skb->len - st->end) > 0)
		st->end = seq + skb->len;
}

/* The skb behind st->skb without a gap between them, or NULL. */
static struct sk_buff *next_skb(const struct kwarp_stream *st)
{
	struct sk_buff *skb;

	if (likely(st->queue))
		return skb_queue_is_last(st->queue, st->skb) ? NULL :
		       skb_queue_next(st->queue, st->skb);
	skb = skb_rb_next(st->skb);
	return skb && !after(TCP_SKB_CB(skb)->seq, st->end) ? skb : NULL;
}

/*
 * The next non-empty fragments. TCP makes each page of what is spliced to it a
 * fragment of its own; the stretches of the sender on this very machine are
 * contiguous, and so are some drivers' buffers: one piece of them all, or every
 * third FPDU would lie in two.
 */
static bool load_frags(struct kwarp_stream *st, struct sk_buff *part)
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
		if (load(st, p, n))
			return true;
	}
	return false;
}

/* The next non-empty piece: linear part, fragments, frag_list, next skb. */
static bool stream_next(struct kwarp_reader *r)
{
	struct kwarp_stream *st = container_of(r, struct kwarp_stream, r);

	for (;;) {
		struct sk_buff *part = st->part;

		/* Memory of a device: the stream ends here for us. */
		if (!skb_frags_readable(part))
			return false;
		if (load_frags(st, part))
			return true;
		/* GRO may chain whole skbs behind the first. */
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
		if (load(st, part->data, skb_headlen(part)))
			return true;
	}
}

bool kwarp_stream_stand(struct kwarp_stream *st, struct sk_buff *skb, u32 off)
{
	st->end = TCP_SKB_CB(skb)->seq;
	enter_skb(st, skb);
	st->part = skb;
	st->frag = 0;
	st->r.next = stream_next;
	load(st, skb->data, skb_headlen(skb));
	return kwarp_reader_skip(&st->r, off);
}

u32 kwarp_stream_init(struct kwarp_stream *st, struct sock *sk)
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
	return kwarp_stream_stand(st, skb, off) ? avail : 0;
}
