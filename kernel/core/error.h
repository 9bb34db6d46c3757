/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a protocol error means to those who watch: counters, verbs' events. */
#ifndef _KWARP_CORE_ERROR_H
#define _KWARP_CORE_ERROR_H

#include <rdma/ib_verbs.h>

#include "../kwarp.h"
#include "../proto/errors.h"

struct kwarp_qp;

/**
 * kwarp_error_count() - count an error that ends a connection
 * @qp:		queue pair
 * @err:	what is raised
 *
 * Once by its class, which is the Terminate's layer and type, and once by what it
 * is about. Context: socket lock held.
 */
void kwarp_error_count(struct kwarp_qp *qp, enum kwarp_err err);

/**
 * kwarp_error_event() - the asynchronous event of an error
 * @err:	what is raised
 *
 * Return: type of the QP's event.
 */
enum ib_event_type kwarp_error_event(enum kwarp_err err);

#endif /* _KWARP_CORE_ERROR_H */
