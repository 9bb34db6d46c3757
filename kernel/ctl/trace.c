// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The tracepoints' definitions; what they are is trace.h. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#endif
#include "trace.h"
