// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory windows: creation and destruction. A send queue binds them (core/stag.c). */
#include "verbs/mr.h"

int kwarp_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct kwarp_mw *mw = to_kmw(ibmw);
	int ret;

	might_sleep();
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	mw->mr = kwarp_mr_new(ibmw->pd, 0);
	if (!mw->mr)
		return -ENOMEM;
	mw->mr->shared = true;
	mw->mr->kind = ibmw->type == IB_MW_TYPE_2 ? KWARP_MR_WINDOW_2 :
						    KWARP_MR_WINDOW_1;
	ret = kwarp_mr_publish(to_kdev(ibmw->device), mw->mr,
			       KWARP_MR_INVALID);
	if (ret) {
		kwarp_mr_free(mw->mr);
		return ret;
	}
	ibmw->rkey = mw->mr->stag;
	return 0;
}

int kwarp_dealloc_mw(struct ib_mw *ibmw)
{
	struct kwarp_mw *mw = to_kmw(ibmw);

	might_sleep();
	/* The window may be bound. mw->mr is allocated apart, since the core frees ibmw. */
	kwarp_mr_retire(to_kdev(ibmw->device), mw->mr);
	kwarp_mw_release(mw->mr);
	kwarp_mr_free(mw->mr);
	return 0;
}
