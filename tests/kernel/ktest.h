/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the cases report to. */
#ifndef _KTEST_KTEST_H
#define _KTEST_KTEST_H

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

#endif /* _KTEST_KTEST_H */
