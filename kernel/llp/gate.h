/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Access to a connection whose socket is a program's (llp->gate.taken): mpa/take.c. The
 * program may hold the socket lock as long as it likes.
 */
#ifndef _KWARP_LLP_GATE_H
#define _KWARP_LLP_GATE_H

#include <linux/types.h>

struct kwarp_llp;

/* Longest wait for a program that holds its socket's lock; jiffies. */
#define KWARP_TAKE_PATIENCE	(2 * HZ)

/*
 * Enter the section that @severed closes, under the socket lock. Return: false if
 * severed. Context: any.
 */
bool kwarp_take_enter(struct kwarp_llp *llp);
void kwarp_take_leave(struct kwarp_llp *llp);

/* Take the lock and enter; @patience in jiffies. Otherwise as kwarp_llp_lock(). */
bool kwarp_take_lock(struct kwarp_llp *llp, long patience);

/* End a connection whose socket may still be open in a program. */
void kwarp_take_close(struct kwarp_llp *llp, bool abort);

#endif /* _KWARP_LLP_GATE_H */
