// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Cursor in TCP's out-of-order queue, for early placement. */
#include "llp/mpa/cursor.h"

#include <linux/tcp.h>
#include <net/tcp.h>

/**
 * kwarp_cursor_early() - position a cursor in TCP's out-of-order queue
 * @st:		result
 * @sk:		socket, locked
 * @seq:	sequence number of the first byte
 *
 * The cursor ends at the next gap.
 *
 * Return: false if the out-of-order queue does not contain that byte.
 */
bool kwarp_cursor_early(struct kwarp_cursor *st, struct sock *sk, u32 seq)
{
	struct rb_node *p = tcp_sk(sk)->out_of_order_queue.rb_node;
	struct sk_buff *found = NULL;

	/*
	 * Find the first skb that ends after @seq, because TCP delivers the bytes of the
	 * first one where neighbours overlap. The ends of the skbs are in the same order as
	 * their beginnings.
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
	return kwarp_cursor_set(st, found, seq - TCP_SKB_CB(found)->seq);
}
