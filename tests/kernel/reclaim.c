// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A context that opens or accepts a connection must not wait for a disk, because the disk
 * may be one of NVMe-oF that waits for this connection. While loaded, the module checks
 * every allocation that may sleep in calls below these entry points of kwarp.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/stacktrace.h>
#include <linux/tracepoint.h>

#include "ktest.h"

static const char *const entries[] = {
	"kwarp_cm_connect", "kwarp_cm_accept", "kwarp_ep_work", "rdv_work",
};

static uint seen[ARRAY_SIZE(entries)];
module_param_array(seen, uint, NULL, 0444);
MODULE_PARM_DESC(seen, "allocations that may sleep, below each entry");

static uint with_io[ARRAY_SIZE(entries)];
module_param_array(with_io, uint, NULL, 0444);
MODULE_PARM_DESC(with_io, "allocations that may wait for a disk, below each entry");

static int entry_of(const unsigned long *frames, unsigned int nr)
{
	char name[KSYM_SYMBOL_LEN];
	int i;

	while (nr--) {
		sprint_symbol_no_offset(name, frames[nr]);
		name[strcspn(name, " ")] = 0;
		i = match_string(entries, ARRAY_SIZE(entries), name);
		if (i >= 0)
			return i;
	}
	return -1;
}

static void allocates(unsigned long site, gfp_t gfp)
{
	unsigned long frames[48];
	int i;

	if (!in_task() || !(gfp & __GFP_DIRECT_RECLAIM))
		return;
	i = entry_of(frames, stack_trace_save(frames, ARRAY_SIZE(frames), 1));
	if (i < 0)
		return;
	seen[i]++;
	if (!(current_gfp_context(gfp) & __GFP_IO))
		return;
	if (!with_io[i]++)
		pr_info("ktest: %s: %pS may wait for a disk\n", entries[i], (void *)site);
}

static void on_kmalloc(void *data, unsigned long site, const void *ptr, size_t wanted,
		       size_t got, gfp_t gfp, int node)
{
	allocates(site, gfp);
}

static void on_cache(void *data, unsigned long site, const void *ptr,
		     struct kmem_cache *cache, gfp_t gfp, int node)
{
	allocates(site, gfp);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *point;
} points[] = {
	{ "kmalloc", on_kmalloc },
	{ "kmem_cache_alloc", on_cache },
};

static void match(struct tracepoint *point, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (!strcmp(point->name, points[i].name))
			points[i].point = point;
}

void kt_reclaim_end(void)
{
	int i;

	/* Unregistering a probe that was not registered has no effect. */
	for (i = 0; i < ARRAY_SIZE(points); i++)
		tracepoint_probe_unregister(points[i].point, points[i].probe, NULL);
	tracepoint_synchronize_unregister();
}

int kt_reclaim(void)
{
	int i, ret = 0;

	for_each_kernel_tracepoint(match, NULL);
	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (!points[i].point)
			return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(points) && !ret; i++)
		ret = tracepoint_probe_register(points[i].point, points[i].probe, NULL);
	if (ret)
		kt_reclaim_end();
	return ret;
}
