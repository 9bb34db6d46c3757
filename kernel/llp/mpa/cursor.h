/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* TCP's queues as a sequence of contiguous pieces, for proto's reader. */
#ifndef _KWARP_LLP_MPA_CURSOR_H
#define _KWARP_LLP_MPA_CURSOR_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "proto/mpa_fpdu.h"

/**
 * struct kwarp_cursor - a position in the receive queue, or in the out-of-order queue
 * @r:		current piece; proto/ reads through it
 * @queue:	end of the list; NULL: the out-of-order queue, up to its next gap
 * @skb:	skb in the queue
 * @part:	@skb itself, or the current member of its frag_list
 * @frag:	next fragment of @part
 * @end:	sequence number after @skb and those before it
 * @skip:	bytes of @skb still ahead that an earlier skb already contained
 *
 * Neighbours in the queue may overlap: an out-of-order segment is queued unchanged, even
 * if the data that fills the gap before it covers its beginning.
 *
 * A plain value: copy it to read the same bytes again. Valid while the socket lock is
 * held and nothing is consumed. kwarp cannot be built with high memory
 * (INFINIBAND_VIRT_DMA), so pages need no mapping.
 */
struct kwarp_cursor {
	struct kwarp_reader r;
	const struct sk_buff_head *queue;
	struct sk_buff *skb;
	struct sk_buff *part;
	int frag;
	u32 end;
	u32 skip;
};

u32 kwarp_cursor_init(struct kwarp_cursor *st, struct sock *sk);

/*
 * Position the cursor in @skb of @st->queue at offset @off. Return: false if @skb is
 * shorter.
 */
bool kwarp_cursor_stand(struct kwarp_cursor *st, struct sk_buff *skb, u32 off);
bool kwarp_cursor_early(struct kwarp_cursor *st, struct sock *sk, u32 seq);

#endif /* _KWARP_LLP_MPA_CURSOR_H */
