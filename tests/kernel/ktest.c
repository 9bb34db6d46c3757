// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A consumer of verbs in the kernel, which tests operations that programs cannot use. The
 * cases run when the module is loaded, between the devices that rdma_cm finds for two
 * addresses, and print TAP lines to the kernel log.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "ktest.h"

static bool races;
module_param(races, bool, 0444);
MODULE_PARM_DESC(races, "run only the cases of race_cases.c");

static bool unread;
module_param(unread, bool, 0444);
MODULE_PARM_DESC(unread, "run only the cases of unread_cases.c");

static bool serve;
module_param(serve, bool, 0444);
MODULE_PARM_DESC(serve, "run no cases, serve tests/peer/ooo (serve.c)");

static bool hold;
module_param(hold, bool, 0444);
MODULE_PARM_DESC(hold, "run no cases, insert delays (hold.c)");

static bool reclaim;
module_param(reclaim, bool, 0444);
MODULE_PARM_DESC(reclaim, "run no cases, check allocations (reclaim.c)");

static bool leak;
module_param(leak, bool, 0444);
MODULE_PARM_DESC(leak, "run no cases, leak memory and fail");

static unsigned long leaked[4];
static int nr_leaked;
module_param_array(leaked, ulong, &nr_leaked, 0444);
MODULE_PARM_DESC(leaked, "run no cases, free this memory and fail");

static int cases, failures;

void kt_tap(const char *name, int ret)
{
	cases++;
	failures += ret != 0;
	if (ret)
		pr_info("ktest: not ok %d - %s%s (%d)\n", cases, kt_mark(ret), name, ret);
	else
		pr_info("ktest: ok %d - %s\n", cases, name);
}

/* Large, because SLUB has arrays that still point to the last small objects. */
static int __init kt_leak(void)
{
	for (int i = 0; i < ARRAY_SIZE(leaked); i++) {
		void *memory = kmalloc(100000, GFP_KERNEL);

		pr_info("ktest: leaked 0x%lx\n", (unsigned long)memory);
	}
	return -ECANCELED;
}

static int __init ktest_init(void)
{
	if (leak)
		return kt_leak();
	if (nr_leaked) {
		while (nr_leaked)
			kfree((void *)leaked[--nr_leaked]);
		return -ECANCELED;
	}
	if (hold)
		return kt_hold();
	if (reclaim)
		return kt_reclaim();
	if (serve) {
		kt_serve();
	} else if (races) {
		kt_race_cases();
	} else if (unread) {
		kt_unread_cases();
	} else {
		kt_region_cases();
		kt_refusal_cases();
		kt_queue_cases();
		kt_event_cases();
		kt_dmabuf_cases();
	}
	pr_info("ktest: 1..%d\n", cases);
	pr_info("ktest: %d failed\n", failures);
	return 0;
}

static void __exit ktest_exit(void)
{
	if (hold)
		kt_hold_end();
	if (reclaim)
		kt_reclaim_end();
	if (serve)
		kt_serve_end();
}

module_init(ktest_init);
module_exit(ktest_exit);
MODULE_DESCRIPTION("Test of kwarp by a kernel consumer");
MODULE_LICENSE("Dual BSD/GPL");
