// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A memory window that is freed while one pass binds it anew and another pass uses it. */
#include <linux/kthread.h>
#include <linux/sched.h>

#include "compat.h"
#include "core/stag.h"
#include "ktest.h"
#include "mock_llp.h"
#include "verbs/mr.h"

#define PASS_MS	50

/**
 * struct moved - a window that is bound to a second region
 * @user:	queue pair that binds
 * @pd:		protection domain
 * @mr:		the two regions
 * @mw:		the window
 * @pass:	ends the pass that uses the window
 * @over:	the second bind has returned
 * @early:	it had, when the pass ended
 */
struct moved {
	struct kwarp_mem_accessor user;
	struct ib_pd *pd;
	struct ib_mr *mr[2];
	struct ib_mw *mw;
	struct hrtimer pass;
	struct completion over;
	bool early;
};

static struct kwarp_mr *window_of(struct moved *m)
{
	return to_kmw(m->mw)->mr;
}

/* A page of memory that a window can be bound to, as if a program had registered it. */
static struct ib_mr *region_new(struct ib_pd *pd, void *page)
{
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);
	struct kwarp_mr *k;

	if (IS_ERR(mr))
		return NULL;
	k = to_kmr(mr);
	k->kind = KWARP_MR_PAGES;
	k->access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_MW_BIND;
	k->iova = (uintptr_t)page;
	k->length = PAGE_SIZE;
	k->blocks[0] = page;
	k->nr_blocks = 1;
	WRITE_ONCE(k->state, KWARP_MR_VALID);
	return mr;
}

static struct ib_mw *window_new(struct ib_pd *pd)
{
	struct ib_mw *mw = rdma_zalloc_drv_obj(pd->device, ib_mw);

	if (!mw)
		return NULL;
	mw->device = pd->device;
	mw->pd = pd;
	mw->type = IB_MW_TYPE_1;
	if (pd->device->ops.alloc_mw(mw, NULL)) {
		kfree(mw);
		return NULL;
	}
	return mw;
}

static int bind_to(struct moved *m, int region)
{
	struct kwarp_mr *k = to_kmr(m->mr[region]);
	const struct kwarp_mw_bind bind = {
		.window = window_of(m)->stag, .key = window_of(m)->stag, .lkey = k->stag,
		.addr = k->iova, .length = k->length, .access = IB_ACCESS_REMOTE_WRITE,
	};
	int ret;

	local_bh_disable();
	ret = kwarp_mw_bind_region(&m->user, &bind);
	local_bh_enable();
	return ret;
}

static int bind_again(void *arg)
{
	struct moved *m = arg;

	bind_to(m, 1);
	complete(&m->over);
	return 0;
}

static enum hrtimer_restart pass_ends(struct hrtimer *timer)
{
	struct moved *m = container_of(timer, struct moved, pass);

	m->early = completion_done(&m->over);
	kwarp_mr_put(window_of(m));
	return HRTIMER_NORESTART;
}

/*
 * The bind waits for the pass, with softirqs off on its processor, so it runs on another one than
 * this function. The window is freed meanwhile. Frees @m->mw.
 */
static int free_while_moved(struct moved *m)
{
	struct kwarp_mr *window = window_of(m);
	struct task_struct *task;

	/* the pass */
	if (kwarp_mr_get(m->user.dev, window->stag) != window)
		return -ENOENT;
	task = kthread_create(bind_again, m, "bind");
	if (IS_ERR(task)) {
		kwarp_mr_put(window);
		return PTR_ERR(task);
	}
	migrate_disable();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, smp_processor_id()));
	wake_up_process(task);
	while (READ_ONCE(window->state) != KWARP_MR_BUSY && !completion_done(&m->over))
		cond_resched();
	hrtimer_start(&m->pass, ms_to_ktime(PASS_MS), HRTIMER_MODE_REL_HARD);
	m->pd->device->ops.dealloc_mw(m->mw);
	wait_for_completion(&m->over);
	hrtimer_cancel(&m->pass);
	migrate_enable();
	kfree(m->mw);
	m->mw = NULL;
	return m->early ? KT_WRONG_DATA : 0;
}

/* The window's old region may be freed when the bind has returned: no pass may use it then. */
int kt_window_freed_while_moved(struct ib_device *ibdev)
{
	struct moved *m = kzalloc(sizeof(*m), GFP_KERNEL);
	void *page = (void *)get_zeroed_page(GFP_KERNEL);
	int i, ret = -ENOMEM;

	if (!m || !page)
		goto out;
	m->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(m->pd))
		goto out;
	m->user = (struct kwarp_mem_accessor){ .dev = to_kdev(ibdev), .pd = m->pd, .id = 1 };
	init_completion(&m->over);
	kwarp_hrtimer_setup(&m->pass, pass_ends, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	for (i = 0; i < ARRAY_SIZE(m->mr); i++)
		m->mr[i] = region_new(m->pd, page);
	m->mw = window_new(m->pd);
	if (m->mr[0] && m->mr[1] && m->mw)
		ret = bind_to(m, 0) ? : free_while_moved(m);
	for (i = 0; i < ARRAY_SIZE(m->mr); i++) {
		if (!m->mr[i])
			continue;
		if (atomic_read(&to_kmr(m->mr[i])->windows))
			ret = ret ? : -EBUSY;
		ib_dereg_mr(m->mr[i]);
	}
	if (m->mw) {
		ibdev->ops.dealloc_mw(m->mw);
		kfree(m->mw);
	}
	ib_dealloc_pd(m->pd);
out:
	free_page((unsigned long)page);
	kfree(m);
	return ret;
}
