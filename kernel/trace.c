// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Definitions of the tracepoints; see trace.h. */
#include <rdma/kwarp-abi.h>

#include "core/cq.h"
#include "llp/llp.h"
#include "proto/ddp.h"
#include "proto/mpa_fpdu.h"
#include "proto/mpa_startup.h"
#include "proto/qp_state.h"
#include "proto/rdmap.h"
#include "rdmap/qp.h"

#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#endif
#include "trace.h"
