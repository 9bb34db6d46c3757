/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reporting for the cases. */
#ifndef _KTEST_KTEST_H
#define _KTEST_KTEST_H

#include <linux/errno.h>

/*
 * Result of a case: delivered bytes differ from those sent, or bytes were changed that no
 * message had addressed. No other call returns this error.
 */
#define KT_WRONG_DATA	(-EILSEQ)

/* Prefix for the name of a failed case; the runner does not repeat such a failure. */
static inline const char *kt_mark(int ret)
{
	if (ret == KT_WRONG_DATA)
		return "wrong data: ";
	return "";
}

/**
 * kt_tap() - report the result of one case
 * @name:	name of the case
 * @ret:	0 for success, anything else for failure. After KT_WRONG_DATA the line has
 *		the words "wrong data", and tests/run-suite.sh makes no second try.
 */
void kt_tap(const char *name, int ret);

void kt_region_cases(void);
void kt_refusal_cases(void);
void kt_queue_cases(void);
void kt_event_cases(void);
void kt_race_cases(void);
void kt_dmabuf_cases(void);
void kt_unread_cases(void);

/* No cases: a program controls the responder of a connection (serve.c). */
void kt_serve(void);
void kt_serve_end(void);

/*
 * reclaim.c: finds allocations that may wait for a disk, but must not. Does nothing in
 * kernels without tracepoints.
 */
#ifdef CONFIG_TRACEPOINTS
int kt_reclaim(void);
void kt_reclaim_end(void);
#else
static inline int kt_reclaim(void)
{
	return -EOPNOTSUPP;
}

static inline void kt_reclaim_end(void)
{
}
#endif

/* hold.c: does nothing in kernels without kprobes. */
#ifdef CONFIG_KPROBES
int kt_hold(void);
void kt_hold_end(void);
#else
static inline int kt_hold(void)
{
	return -EOPNOTSUPP;
}

static inline void kt_hold_end(void)
{
}
#endif

#endif /* _KTEST_KTEST_H */
