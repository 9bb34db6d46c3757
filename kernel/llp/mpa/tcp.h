/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* TCP sockets, for the files of llp/mpa/. */
#ifndef _KWARP_LLP_MPA_TCP_H
#define _KWARP_LLP_MPA_TCP_H

#include "llp/llp.h"

int kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		   const struct kwarp_llp *listener);
u32 kwarp_tcp_emss(const struct kwarp_llp *llp);
u32 kwarp_tcp_gso_segs(const struct kwarp_llp *llp);
size_t kwarp_tcp_call_max(const struct kwarp_llp *llp);

/* Return: free bytes of the send buffer; may be negative. */
int kwarp_tcp_wspace(const struct kwarp_llp *llp);
int kwarp_tcp_send_bvec(struct kwarp_llp *llp, struct bio_vec *bv,
			unsigned int nr, size_t len, int flags);
void kwarp_tcp_shutdown(struct sock *sk);

#endif /* _KWARP_LLP_MPA_TCP_H */
