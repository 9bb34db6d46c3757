// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection domains, thread domains, parent domains.
 *
 * A parent domain has the handle of its protection domain, so the kernel sees
 * no difference. Its allocators are never called: queues are kernel memory, and
 * the provider's other allocations are small.
 */
#include <errno.h>
#include <stdlib.h>

#include "kwarp.h"

struct ibv_pd *kwarp_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct kwarp_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(ctx, &pd->ibpd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->ibpd;
}

static void free_parent_domain(struct kwarp_pd *pd)
{
	atomic_fetch_sub(&pd->parent->users, 1);
	if (pd->td)
		atomic_fetch_sub(&pd->td->users, 1);
	free(pd);
}

int kwarp_dealloc_pd(struct ibv_pd *ibpd)
{
	struct kwarp_pd *pd = to_kpd(ibpd);
	int ret;

	if (pd->parent) {
		free_parent_domain(pd);
		return 0;
	}
	if (atomic_load(&pd->users))
		return EBUSY;
	ret = ibv_cmd_dealloc_pd(ibpd);
	if (ret)
		return ret;

	free(pd);
	return 0;
}

struct ibv_td *kwarp_alloc_td(struct ibv_context *ctx,
			      struct ibv_td_init_attr *attr)
{
	struct kwarp_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibtd.context = ctx;
	return &td->ibtd;
}

int kwarp_dealloc_td(struct ibv_td *ibtd)
{
	struct kwarp_td *td = container_of(ibtd, struct kwarp_td, ibtd);

	if (atomic_load(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

struct ibv_pd *kwarp_alloc_parent_domain(
	struct ibv_context *ctx, struct ibv_parent_domain_init_attr *attr)
{
	struct kwarp_pd *pd;

	if (!attr->pd || to_kpd(attr->pd)->parent) {
		errno = EINVAL;
		return NULL;
	}
	if (attr->comp_mask & ~(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->parent = to_kpd(attr->pd);
	atomic_fetch_add(&pd->parent->users, 1);
	if (attr->td) {
		pd->td = container_of(attr->td, struct kwarp_td, ibtd);
		atomic_fetch_add(&pd->td->users, 1);
	}
	pd->ibpd.context = ctx;
	pd->ibpd.handle = attr->pd->handle;
	return &pd->ibpd;
}

/* The kernel cannot query a PD alone: a wrong handle fails when it is used. */
struct ibv_pd *kwarp_import_pd(struct ibv_context *ctx, uint32_t pd_handle)
{
	struct kwarp_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ibpd.context = ctx;
	pd->ibpd.handle = pd_handle;
	return &pd->ibpd;
}

void kwarp_unimport_pd(struct ibv_pd *ibpd)
{
	struct kwarp_pd *pd = to_kpd(ibpd);

	if (pd->parent)
		free_parent_domain(pd);
	else
		free(pd);
}
