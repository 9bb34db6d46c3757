// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls of consumers' handlers. A handler may be called inside a pass of a queue pair; what it
 * posts must not wait for the end of that pass.
 */
#include "core/handler.h"

#include <linux/percpu.h>
#include <linux/preempt.h>

/* Handlers of kernel consumers that this CPU calls. */
static DEFINE_PER_CPU(unsigned int, in_handler);

static void handler_begin(void)
{
	migrate_disable();
	this_cpu_inc(in_handler);
}

static void handler_end(void)
{
	this_cpu_dec(in_handler);
	migrate_enable();
}

/**
 * kwarp_in_handler() - may the caller be inside a kernel consumer's handler?
 *
 * Context: any.
 * Return: true if so, or if this CPU has interrupted a handler.
 */
bool kwarp_in_handler(void)
{
	return raw_cpu_read(in_handler);
}

/**
 * kwarp_call_event() - report an asynchronous event
 * @handler:	the consumer's handler, or NULL
 * @ev:		the event
 * @context:	the consumer's context
 *
 * Context: any; no spin lock of ours is held.
 */
void kwarp_call_event(kwarp_event_fn handler, struct ib_event *ev, void *context)
{
	if (!handler)
		return;
	handler_begin();
	handler(ev, context);
	handler_end();
}

/* Call a kernel consumer's completion handler. Context: any; no spin lock of ours is held. */
void kwarp_call_completion(struct ib_cq *cq)
{
	handler_begin();
	cq->comp_handler(cq, cq->cq_context);
	handler_end();
}
