// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Data that arrive in memory of a device, as with devmem TCP: the processor cannot read them, so
 * the connection must end. A hook of netfilter marks the packets.
 */
#include "ktest.h"
#include "mem.h"

#include <linux/ip.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>

/* Frames of the connection setup are shorter, the payload of an RDMA Write of a page is longer. */
#define LONG_PACKET	1000

struct mark {
	unsigned int readable;	/* first bytes of the payload that can be read */
	unsigned int packets;	/* marked so far */
};

static unsigned int mark_packet(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct mark *m = priv;

	if (ip_hdr(skb)->protocol != IPPROTO_TCP || skb->len < LONG_PACKET)
		return NF_ACCEPT;
	if (!pskb_may_pull(skb, ip_hdrlen(skb) + tcp_hdrlen(skb) + m->readable))
		return NF_DROP;
	skb->unreadable = 1;
	m->packets++;
	return NF_ACCEPT;
}

static int ended(struct kt_side *s)
{
	if (!wait_for_completion_timeout(&s->event, KT_PATIENCE))
		return -ETIMEDOUT;
	return s->last == RDMA_CM_EVENT_DISCONNECTED ? 0 : -EPROTO;
}

static int write_marked(struct kt_env *e, struct mark *m)
{
	struct kt_side *client = &e->p.client;
	struct ib_sge sge = kt_page(client, e->a, 0);
	int ret = kt_rdma(client, IB_WR_RDMA_WRITE, sge, e->b->mr->iova, e->b->mr->rkey);

	return ret ? : ended(client) ? : ended(&e->p.server) ? : m->packets ? 0 : -ENODATA;
}

static int unreadable(unsigned int readable)
{
	struct mark m = { .readable = readable };
	const struct nf_hook_ops hook = {
		.hook = mark_packet, .priv = &m, .pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN, .priority = NF_IP_PRI_FIRST,
	};
	struct kt_env e = { };
	struct net *net;
	int ret;

	ret = kt_env_open(&e, IB_POLL_WORKQUEUE);
	if (ret)
		return ret;
	net = e.p.server.id->route.addr.dev_addr.net;
	ret = kt_reg(&e.p.server, e.b, KT_ACCESS) ? : nf_register_net_hook(net, &hook);
	if (!ret) {
		ret = write_marked(&e, &m);
		nf_unregister_net_hook(net, &hook);
	}
	kt_env_close(&e);
	return ret;
}

void kt_unread_cases(void)
{
	kt_tap("an FPDU that cannot be read ends the connection", unreadable(0));
	/* the length of MPA and the headers of DDP and RDMAP */
	kt_tap("payload that cannot be read ends the connection", unreadable(2 + 14));
}
