// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What stream.h has for out-of-order placement. */
#include "stream.h"

#include <linux/tcp.h>
#include <net/tcp.h>

bool kwarp_stream_early(struct kwarp_stream *st, struct sock *sk, u32 seq)
{
	struct rb_node *p = tcp_sk(sk)->out_of_order_queue.rb_node;
	struct sk_buff *found = NULL;

	/*
	 * The first that ends behind it: where neighbours overlap, TCP delivers the
	 * octets of the one before. Their ends are in order like their beginnings.
	 */
	while (p) {
		struct sk_buff *skb = rb_to_skb(p);

		if (after(TCP_SKB_CB(skb)->seq + skb->len, seq)) {
			found = skb;
			p = p->rb_left;
		} else {
			p = p->rb_right;
		}
	}
	if (!found || after(TCP_SKB_CB(found)->seq, seq))
		return false;
	st->queue = NULL;
	return kwarp_stream_stand(st, found, seq - TCP_SKB_CB(found)->seq);
}

bool kwarp_stream_simple(const struct kwarp_stream *st, u32 end)
{
	struct sk_buff *skb = st->skb, *next;
	u32 skb_end;

	for (;; skb = next) {
		skb_end = TCP_SKB_CB(skb)->seq + skb->len;
		next = skb_queue_is_last(st->queue, skb) ? NULL :
		       skb_queue_next(st->queue, skb);
		if (next && before(TCP_SKB_CB(next)->seq, skb_end))
			return false;
		if (!after(end, skb_end))
			return true;
		if (!next)
			return false;
	}
}
