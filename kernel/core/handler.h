/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls of consumers' handlers, for completions and for asynchronous events. */
#ifndef _KWARP_CORE_HANDLER_H
#define _KWARP_CORE_HANDLER_H

#include <rdma/ib_verbs.h>

/* A handler of asynchronous events, as in struct ib_qp, ib_cq and ib_srq. */
typedef void (*kwarp_event_fn)(struct ib_event *ev, void *context);

void kwarp_call_event(kwarp_event_fn handler, struct ib_event *ev, void *context);
void kwarp_call_completion(struct ib_cq *cq);
bool kwarp_in_handler(void);

#endif
