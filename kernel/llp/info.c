// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What TCP knows of a connection, for those who only look. */
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "llp.h"

static void name4(const struct inet_sock *inet, struct kwarp_llp_info *info)
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
static void name6(const struct sock *sk, struct kwarp_llp_info *info)
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

void kwarp_llp_get_info(const struct kwarp_llp *llp,
			struct kwarp_llp_info *info)
{
	const struct sock *sk = llp->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(info, 0, sizeof(*info));
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		name6(sk, info);
	else
#endif
		name4(inet_sk(sk), info);
	info->emss = READ_ONCE(tp->mss_cache);
	info->retransmits = READ_ONCE(tp->total_retrans);
}
