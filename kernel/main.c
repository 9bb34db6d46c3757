// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Module load and unload. */
#include <linux/cacheinfo.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <rdma/rdma_netlink.h>

#include "cm/cm.h"
#include "dev/link.h"
#include "kwarp.h"
#include "llp/llp.h"

struct workqueue_struct *kwarp_wq;
struct workqueue_struct *kwarp_rest_wq;

/* Is memory charged to the cgroup of a program, and not to that of the caller? */
static bool charges_program(void)
{
#ifdef CONFIG_MEMCG
	return current->active_memcg;
#else
	return false;
#endif
}

/*
 * Memory of a connection is charged to the memory cgroup of its QP's creator
 * (kwarp_qp_prepare()). Beyond the cgroup's limit the connection fails, without the OOM
 * killer. The creator's own calls may wait for memory; workers, which serve others, must not
 * wait for a program. QPs of kernel consumers have no cgroup, and targets such as nvmet accept in
 * a worker of iw_cm: these allocations of up to 80 KiB would fail without reclaim.
 */
gfp_t kwarp_gfp_conn(void)
{
	if ((current->flags & PF_WQ_WORKER) && charges_program())
		return GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN;
	return GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
}

static int __init kwarp_init(void)
{
	int ret;

	/* Rings and payload are written through the direct map, and programs read their own. */
	if (cpu_dcache_is_aliasing()) {
		pr_err("kwarp does not support this processor: its data caches may alias\n");
		return -EOPNOTSUPP;
	}
	kwarp_wq = alloc_workqueue("kwarp", WQ_MEM_RECLAIM | WQ_HIGHPRI |
				   KWARP_WQ_PERCPU, 0);
	if (!kwarp_wq)
		return -ENOMEM;
	kwarp_rest_wq = alloc_workqueue("kwarp_rest",
					WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	ret = kwarp_rest_wq ? kwarp_mpa_init() : -ENOMEM;
	if (ret)
		goto err_wq;
	ret = kwarp_sctp_init();
	if (ret)
		goto err_mpa;
	ret = kwarp_cm_init();
	if (ret)
		goto err_sctp;
	ret = kwarp_link_init();
	if (ret)
		goto err_cm;
	return 0;

err_cm:
	kwarp_cm_exit();
err_sctp:
	kwarp_sctp_exit();
err_mpa:
	kwarp_mpa_exit();
err_wq:
	if (kwarp_rest_wq)
		destroy_workqueue(kwarp_rest_wq);
	destroy_workqueue(kwarp_wq);
	return ret;
}

static void __exit kwarp_exit(void)
{
	/* On return there are no devices, so no QPs, no connections and no work. */
	kwarp_link_exit();
	kwarp_cm_exit();
	kwarp_sctp_exit();
	kwarp_take_exit();
	destroy_workqueue(kwarp_rest_wq);
	destroy_workqueue(kwarp_wq);
	kwarp_mpa_exit();
}

module_init(kwarp_init);
module_exit(kwarp_exit);

MODULE_DESCRIPTION("Software iWARP RNIC");
MODULE_AUTHOR("The kwarp developers");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KWARP_VERSION);
MODULE_ALIAS_RDMA_LINK("kwarp");
/* For kernels where CRC32c comes from the crypto layer: its fast version. */
MODULE_SOFTDEP("pre: crc32c_intel");
