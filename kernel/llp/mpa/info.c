// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* State of a TCP connection, as "rdma resource" shows it. */
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "llp/mpa/mpa.h"

static void info_names_v4(const struct inet_sock *inet, struct kwarp_llp_info *info)
{
	struct sockaddr_in *local = (struct sockaddr_in *)&info->local;
	struct sockaddr_in *remote = (struct sockaddr_in *)&info->remote;

	local->sin_family = AF_INET;
	local->sin_addr.s_addr = READ_ONCE(inet->inet_saddr);
	local->sin_port = READ_ONCE(inet->inet_sport);
	remote->sin_family = AF_INET;
	remote->sin_addr.s_addr = READ_ONCE(inet->inet_daddr);
	remote->sin_port = READ_ONCE(inet->inet_dport);
}

#if IS_ENABLED(CONFIG_IPV6)
static void info_names_v6(const struct sock *sk, struct kwarp_llp_info *info)
{
	struct sockaddr_in6 *local = (struct sockaddr_in6 *)&info->local;
	struct sockaddr_in6 *remote = (struct sockaddr_in6 *)&info->remote;

	local->sin6_family = AF_INET6;
	local->sin6_addr = sk->sk_v6_rcv_saddr;
	local->sin6_port = READ_ONCE(inet_sk(sk)->inet_sport);
	remote->sin6_family = AF_INET6;
	remote->sin6_addr = sk->sk_v6_daddr;
	remote->sin6_port = READ_ONCE(inet_sk(sk)->inet_dport);
}
#endif

void kwarp_mpa_info(const struct kwarp_llp *llp, struct kwarp_llp_info *info)
{
	const struct sock *sk = llp->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(info, 0, sizeof(*info));
	info->name = "tcp";
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		info_names_v6(sk, info);
	else
#endif
		info_names_v4(inet_sk(sk), info);
	info->emss = READ_ONCE(tp->mss_cache);
	/* Assume the maximum number of markers. */
	info->mulpdu = llp->framing.large ? KWARP_ULPDU_MAX :
		       kwarp_mulpdu(info->emss, 0, llp->framing.tx_markers);
	info->retransmits = READ_ONCE(tp->total_retrans);
}
