/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the cases report to. */
#ifndef _KTEST_KTEST_H
#define _KTEST_KTEST_H

#include <linux/errno.h>

/**
 * kt_tap() - one case is over
 * @name:	what it says
 * @ret:	0, or anything else: it fails
 */
void kt_tap(const char *name, int ret);

void kt_region_cases(void);
void kt_refusal_cases(void);
void kt_queue_cases(void);
void kt_race_cases(void);

/* No cases: a program has a connection's passive side do things (serve.c). */
void kt_serve(void);
void kt_serve_end(void);

/* hold.c: nothing is held where there are no kprobes. */
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
