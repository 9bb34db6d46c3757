/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by the files of llp/mpa/. */
#ifndef _KWARP_LLP_MPA_TCP_H
#define _KWARP_LLP_MPA_TCP_H

#include "llp/llp.h"

/**
 * kwarp_tcp_hook() - install our callbacks on a socket
 * @llp:	initialised, no socket yet
 * @sock:	the socket; not hooked yet
 * @listener:	the listener if @sock is its child, or NULL
 */
void kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp *listener);

/* Payload bytes of a segment now: EMSS, less pending SACK options (RFC 5044 4.5). */
u32 kwarp_tcp_emss(const struct kwarp_llp *llp);

/* Free send buffer, bytes; negative if none. */
int kwarp_tcp_wspace(const struct kwarp_llp *llp);

/**
 * kwarp_tcp_send_bvec() - hand pages to TCP without blocking
 * @llp:	connection
 * @bv:		pages to reference; they must not change until TCP releases them
 * @nr:		number of elements
 * @len:	total bytes
 * @eor:	end of record: the next call starts a new segment
 *
 * Return: bytes accepted (may be less), -EAGAIN (write space will be reported), other
 * errno if the connection is unusable.
 */
int kwarp_tcp_send_bvec(struct kwarp_llp *llp, struct bio_vec *bv,
			unsigned int nr, size_t len, bool eor);

/*
 * Send FIN after the remaining data, unless it was sent already. Context: socket lock
 * held.
 */
void kwarp_tcp_shutdown(struct sock *sk);

#endif /* _KWARP_LLP_MPA_TCP_H */
