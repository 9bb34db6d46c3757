/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of llp/ share. */
#ifndef _KWARP_LLP_TCP_H
#define _KWARP_LLP_TCP_H

#include "llp.h"

/**
 * kwarp_tcp_hook() - take the callbacks of a socket
 * @llp:	initialised, no socket yet
 * @sock:	the socket; its callbacks are nobody's
 * @listener:	whose child it is, or NULL
 */
void kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp *listener);

/* The callbacks are the socket's own again. Who runs in one has to be waited for. */
void kwarp_tcp_unhook(struct kwarp_llp *llp);

/* FIN behind the rest, if there was none. Context: socket lock held. */
void kwarp_tcp_shutdown(struct sock *sk);

/* take.c, for connections that have @taken set */

/* The patience that a program gets. */
#define KWARP_TAKE_PATIENCE	(2 * HZ)

/* Into what @severed ends, under the socket lock; false if it has. Context: any. */
bool kwarp_take_enter(struct kwarp_llp *llp);
void kwarp_take_leave(struct kwarp_llp *llp);

/* The lock, and inside; @patience in jiffies. Otherwise as kwarp_llp_lock(). */
bool kwarp_take_lock(struct kwarp_llp *llp, long patience);

/* End a connection whose socket a program may still have open. */
void kwarp_take_close(struct kwarp_llp *llp, bool abort);

#endif /* _KWARP_LLP_TCP_H */
