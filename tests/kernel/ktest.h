/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reporting for the cases. */
#ifndef _KTEST_KTEST_H
#define _KTEST_KTEST_H

#include <linux/errno.h>

/*
 * Result of a case: bytes that were delivered are not those that were sent, or bytes were
 * changed that nobody had addressed. No other call returns it.
 */
#define KT_WRONG_DATA	(-EILSEQ)

/* Begins the name of a failed case; the runner does not take such a failure for chance. */
static inline const char *kt_mark(int ret)
{
	if (ret == KT_WRONG_DATA)
		return "wrong data: ";
	return "";
}

/**
 * kt_tap() - report the result of one case
 * @name:	what the case shows
 * @ret:	0 for success, anything else for failure. The words "wrong data" tell
 *		tests/run-suite.sh that no second try excuses it.
 */
void kt_tap(const char *name, int ret);

void kt_region_cases(void);
void kt_refusal_cases(void);
void kt_queue_cases(void);
void kt_event_cases(void);
void kt_race_cases(void);

/* No cases: a program controls the passive side of a connection (serve.c). */
void kt_serve(void);
void kt_serve_end(void);

/*
 * reclaim.c: finds allocations that may wait for a disk where they must not. Does nothing
 * in kernels without tracepoints.
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
