/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters and verbs events of protocol errors. */
#ifndef _KWARP_RDMAP_ERROR_H
#define _KWARP_RDMAP_ERROR_H

#include <rdma/ib_verbs.h>

#include "kwarp.h"
#include "proto/errors.h"

struct kwarp_qp;

void kwarp_error_count(struct kwarp_qp *qp, enum kwarp_err err);
enum ib_event_type kwarp_error_event(enum kwarp_err err);

#endif /* _KWARP_RDMAP_ERROR_H */
