/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A struct kwarp_reader (proto/) over TCP's receive and out-of-order queues. */
#ifndef _KWARP_LLP_MPA_CURSOR_H
#define _KWARP_LLP_MPA_CURSOR_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "proto/mpa_fpdu.h"

/**
 * struct kwarp_cursor - a position in the receive queue, or in the out-of-order queue
 * @r:		current piece; the functions of proto/ read through this member
 * @queue:	receive queue, or NULL: the out-of-order queue, up to its next gap
 * @skb:	current skb of the queue
 * @part:	@skb itself, or the current member of its frag_list
 * @frag:	next fragment of @part
 * @end:	sequence number after @skb and the skbs before it
 * @skip:	bytes to skip in the rest of @skb, because an earlier skb contained them
 *
 * Neighbours in the queue may overlap: TCP queues an out-of-order segment unchanged, even
 * if the data that later fill the gap before the segment cover its beginning.
 *
 * Copy a cursor to read the same bytes again. A cursor is valid while the socket lock is
 * held and nothing is consumed. Pages need no mapping, because INFINIBAND_VIRT_DMA
 * excludes high memory.
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
 * Position the cursor at offset @off of @skb, which is in @st->queue. Return: false if
 * there are fewer bytes.
 */
bool kwarp_cursor_set(struct kwarp_cursor *st, struct sk_buff *skb, u32 off);
bool kwarp_cursor_early(struct kwarp_cursor *st, struct sock *sk, u32 seq);

#endif /* _KWARP_LLP_MPA_CURSOR_H */
