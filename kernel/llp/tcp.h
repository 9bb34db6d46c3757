/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of llp/ share. */
#ifndef _KWARP_LLP_TCP_H
#define _KWARP_LLP_TCP_H

#include "llp.h"

/*
 * An incomplete FPDU waits in TCP's receive queue, so the window must hold two
 * of the largest (65 KiB each) whatever tcp_rmem says; TCP's own tuning grows it
 * from here. Truesize counts, hence the factor.
 */
#define KWARP_RCVBUF_MIN	(512 * 1024)

/**
 * kwarp_tcp_hook() - take the callbacks of a socket
 * @llp:	initialised, no socket yet
 * @sock:	the socket; its callbacks are nobody's
 * @listener:	whose child it is, or NULL
 */
void kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp *listener);

/* take.c: end a connection whose socket a program may still have open. */
void kwarp_take_end(struct kwarp_llp *llp, bool abort);

#endif /* _KWARP_LLP_TCP_H */
