/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* TCP's queues as a row of contiguous pieces, for proto's reader. */
#ifndef _KWARP_RX_STREAM_H
#define _KWARP_RX_STREAM_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "../proto/mpa_fpdu.h"

/**
 * struct kwarp_stream - a position in the receive queue, or in the out-of-order queue
 * @r:		current piece; proto/ reads through it
 * @queue:	end of the list; NULL: the out-of-order queue, up to its next gap
 * @skb:	skb in the queue
 * @part:	@skb itself or the member of its frag_list in work
 * @frag:	next fragment of @part
 * @end:	sequence number behind @skb and those before it
 * @skip:	octets of @skb still to come that one before it had already
 *
 * Neighbours in the queue may overlap: a segment that came out of order is
 * queued as it is, even if what filled the gap before it covers its beginning.
 *
 * A plain value: copy it to read the same octets again. Valid while the socket
 * lock is held and nothing is consumed. There is no high memory where kwarp
 * can be built (INFINIBAND_VIRT_DMA), so pages need no mapping.
 */
struct kwarp_stream {
	struct kwarp_reader r;
	const struct sk_buff_head *queue;
	struct sk_buff *skb;
	struct sk_buff *part;
	int frag;
	u32 end;
	u32 skip;
};

/**
 * kwarp_stream_init() - stand at TCP's copied_seq
 * @st:		result
 * @sk:		socket, locked
 *
 * Return: octets that can be read from there on, in order, FIN not counted.
 */
u32 kwarp_stream_init(struct kwarp_stream *st, struct sock *sk);

/* Stand in @skb of @st->queue, @off octets on. Return: false if it is shorter. */
bool kwarp_stream_stand(struct kwarp_stream *st, struct sk_buff *skb, u32 off);

/**
 * kwarp_stream_early() - stand somewhere in TCP's out-of-order queue
 * @st:		result
 * @sk:		socket, locked
 * @seq:	sequence number of the first octet
 *
 * What lies behind it can be read up to the next gap, FIN not counted.
 *
 * Return: false if TCP does not hold that octet out of order.
 */
bool kwarp_stream_early(struct kwarp_stream *st, struct sock *sk, u32 seq);

/**
 * kwarp_stream_simple() - does each octet of a stretch have one holder?
 * @st:		in the receive queue, at the stretch's first octet
 * @end:	sequence number behind it
 *
 * Return: false if a segment it lies in has octets in common with the next.
 */
bool kwarp_stream_simple(const struct kwarp_stream *st, u32 end);

#endif /* _KWARP_RX_STREAM_H */
