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

#endif /* _KTEST_KTEST_H */
