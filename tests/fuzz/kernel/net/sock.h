/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of a TCP socket that kernel/llp/mpa/cursor.c uses, for user space. */
#ifndef FUZZ_NET_SOCK_H
#define FUZZ_NET_SOCK_H

#include <linux/skbuff.h>

struct sock {
	struct sk_buff_head sk_receive_queue;
	u32 copied_seq;
	u32 rcv_nxt;
};

/* TCP's part is not separate here. */
#define tcp_sock sock
#define tcp_sk(sk) (sk)

static inline bool after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

static inline int tcp_inq(struct sock *sk)
{
	return (int)(sk->rcv_nxt - sk->copied_seq);
}

static inline struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off)
{
	struct sk_buff *skb;

	for (skb = sk->sk_receive_queue.first; skb; skb = skb->next) {
		*off = seq - skb->seq;
		if (*off < skb->len)
			return skb;
	}
	return NULL;
}

#endif
