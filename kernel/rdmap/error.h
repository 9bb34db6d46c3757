/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How a protocol error is reported to observers: counters and verbs events. */
#ifndef _KWARP_RDMAP_ERROR_H
#define _KWARP_RDMAP_ERROR_H

#include <rdma/ib_verbs.h>

#include "kwarp.h"
#include "proto/errors.h"

struct kwarp_qp;

/**
 * kwarp_error_count() - count an error that ends a connection
 * @qp:		queue pair
 * @err:	error to be raised
 *
 * Counts it once by its class, which is the layer and type of the Terminate, and once by
 * its subject. Context: socket lock held.
 */
void kwarp_error_count(struct kwarp_qp *qp, enum kwarp_err err);

/**
 * kwarp_error_event() - the asynchronous event of an error
 * @err:	error to be raised
 *
 * Return: the type of the QP's asynchronous event.
 */
enum ib_event_type kwarp_error_event(enum kwarp_err err);

#endif /* _KWARP_RDMAP_ERROR_H */
