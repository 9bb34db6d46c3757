/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by the files of llp/mpa/. */
#ifndef _KWARP_LLP_MPA_TCP_H
#define _KWARP_LLP_MPA_TCP_H

#include "llp/llp.h"

void kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp *listener);
u32 kwarp_tcp_emss(const struct kwarp_llp *llp);

/* Free send buffer, bytes; negative if none. */
int kwarp_tcp_wspace(const struct kwarp_llp *llp);
int kwarp_tcp_send_bvec(struct kwarp_llp *llp, struct bio_vec *bv,
			unsigned int nr, size_t len, bool eor);
void kwarp_tcp_shutdown(struct sock *sk);

#endif /* _KWARP_LLP_MPA_TCP_H */
