/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* TCP's receive queue as a row of contiguous pieces, for proto's reader. */
#ifndef _KWARP_RX_STREAM_H
#define _KWARP_RX_STREAM_H

#include <linux/skbuff.h>
#include <net/sock.h>

#include "../proto/mpa_fpdu.h"

/**
 * struct kwarp_stream - a position in the receive queue
 * @r:		current piece; proto/ reads through it
 * @queue:	end of the list
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

#endif /* _KWARP_RX_STREAM_H */
