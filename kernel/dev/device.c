// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The RDMA device: operations table, registration, removal. */
#include "verbs/verbs.h"

#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <rdma/kwarp-abi.h>

#include "cm/cm.h"
#include "core/gid.h"
#include "core/srq.h"
#include "dev/addr.h"
#include "dev/link.h"
#include "dev/policy.h"
#include "trace.h"
#include "verbs/counter.h"
#include "verbs/restrack.h"

static int alloc_ucontext(struct ib_ucontext *ibctx, struct ib_udata *udata)
{
	struct kwarp_uresp_alloc_ctx resp = {
		.abi_version = KWARP_ABI_VERSION,
		.max_inline = KWARP_MAX_INLINE,
		.cqe_size = sizeof(struct kwarp_cqe),
		.comp_mask = KWARP_ALLOC_CTX_FEATURES,
		.max_sge = KWARP_MAX_SGE,
		.max_attach_message = KWARP_ATTACH_MESSAGE_MAX,
	};
	struct kwarp_ucontext *context = container_of(ibctx, struct kwarp_ucontext, ibuctx);
	struct kwarp_ureq_alloc_ctx req;
	int ret;

	ret = kwarp_udata_request(udata, &req, sizeof(req), 0);
	if (ret)
		return ret;
	if (req.comp_mask)
		return -EOPNOTSUPP;
	resp.features = req.features & KWARP_FEATURE_ATTACH;
	INIT_LIST_HEAD(&context->cqs);
	spin_lock_init(&context->cqs_lock);
	context->next_qpn = kwarp_qpn_random();
	/*
	 * The device supports disassociation, so the core holds no module reference
	 * for open contexts: take one here. An administrator may still remove a
	 * device in use.
	 */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	ret = kwarp_udata_respond(udata, &resp, sizeof(resp));
	if (ret)
		module_put(THIS_MODULE);
	return ret;
}

/* For a process that imports the context of another one; nothing to report. */
static int query_ucontext(struct ib_ucontext *ibctx,
			  struct uverbs_attr_bundle *attrs)
{
	return 0;
}

static void dealloc_ucontext(struct ib_ucontext *ibctx)
{
	/* Unloading is safe: it begins with device removal, which waits for our caller. */
	module_put(THIS_MODULE);
}

/*
 * The device is removed while a process uses it. The core destroys all objects next,
 * which marks the rings as dead; their pages belong to the process's mapping.
 */
static void disassociate_ucontext(struct ib_ucontext *ibctx)
{
}

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	int ret = kwarp_udata_empty(udata);

	return ret ? : kwarp_object_take(to_kdev(ibpd->device),
					 KWARP_OBJECT_PD);
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	kwarp_object_give(to_kdev(ibpd->device), KWARP_OBJECT_PD);
	return 0;
}

/* The last step of unregistration: no clients and no consumers are left. */
static void device_free(struct ib_device *ibdev)
{
	struct kwarp_device *dev = to_kdev(ibdev);

	kwarp_link_device_flush(dev);
	kwarp_addr_flush(dev);
	kwarp_cq_device_exit(dev);
	kwarp_rdv_set_port(dev, 0);
	trace_kwarp_link(dev, ibdev->iw_ifname, "removed");
	/* End connections that were still closing when their consumers ended. */
	kwarp_cm_device_drain(dev);
	kwarp_cm_device_exit(dev);
	destroy_workqueue(dev->cm_wq);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->qps);
	ida_destroy(&dev->cq_ids);
	ida_destroy(&dev->srq_ids);
	free_percpu(dev->stats);
}

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)KWARP_DRIVER_ID,
	.uverbs_abi_ver = KWARP_ABI_VERSION,
	.device_group = &kwarp_policy_group,

	.alloc_hw_port_stats = kwarp_alloc_hw_port_stats,
	.alloc_mr = kwarp_alloc_mr,
	.alloc_mw = kwarp_alloc_mw,
	.alloc_pd = alloc_pd,
	.alloc_ucontext = alloc_ucontext,
	.counter_alloc_stats = kwarp_counter_alloc_stats,
	.counter_bind_qp = kwarp_op_counter_bind,
	.counter_dealloc = kwarp_counter_dealloc,
	.counter_unbind_qp = kwarp_op_counter_unbind,
	.counter_update_stats = kwarp_counter_update_stats,
	KWARP_COUNTER_OPS
	.create_cq = kwarp_create_cq,
	.create_qp = kwarp_create_qp,
	.create_srq = kwarp_create_srq,
	.dealloc_driver = device_free,
	.dealloc_mw = kwarp_dealloc_mw,
	.dealloc_pd = dealloc_pd,
	.dealloc_ucontext = dealloc_ucontext,
	.dereg_mr = kwarp_dereg_mr,
	.destroy_cq = kwarp_destroy_cq,
	.destroy_qp = kwarp_destroy_qp,
	.destroy_srq = kwarp_destroy_srq,
	.disassociate_ucontext = disassociate_ucontext,
	.fill_res_cq_entry = kwarp_fill_res_cq_entry,
	.fill_res_mr_entry = kwarp_fill_res_mr_entry,
	.fill_res_qp_entry = kwarp_fill_res_qp_entry,
	.fill_res_srq_entry = kwarp_fill_res_srq_entry,
	.get_dev_fw_str = kwarp_get_dev_fw_str,
	.get_dma_mr = kwarp_get_dma_mr,
	.get_hw_stats = kwarp_get_hw_stats,
	.get_port_immutable = kwarp_get_port_immutable,
	.iw_accept = kwarp_cm_accept,
	.iw_add_ref = kwarp_cm_qp_add_ref,
	.iw_connect = kwarp_cm_connect,
	.iw_create_listen = kwarp_cm_create_listen,
	.iw_destroy_listen = kwarp_cm_destroy_listen,
	.iw_get_qp = kwarp_cm_get_qp,
	.iw_reject = kwarp_cm_reject,
	.iw_rem_ref = kwarp_cm_qp_rem_ref,
	.map_mr_sg = kwarp_map_mr_sg,
	.mmap = kwarp_mmap,
	.mmap_free = kwarp_mmap_free,
	.modify_cq = kwarp_cq_moderate,
	.modify_qp = kwarp_modify_qp,
	.modify_srq = kwarp_modify_srq,
	.poll_cq = kwarp_cq_poll,
	.post_recv = kwarp_post_recv,
	.post_send = kwarp_post_send,
	.post_srq_recv = kwarp_post_srq_recv,
	.query_device = kwarp_query_device,
	.query_gid = kwarp_query_gid,
	.query_pkey = kwarp_query_pkey,
	.query_port = kwarp_query_port,
	.query_qp = kwarp_query_qp,
	.query_srq = kwarp_query_srq,
	.query_ucontext = query_ucontext,
	.reg_user_mr = kwarp_op_reg_user_mr,
	.reg_user_mr_dmabuf = kwarp_op_reg_dmabuf_mr,
	.req_notify_cq = kwarp_cq_arm,
	.rereg_user_mr = kwarp_rereg_user_mr,
	.KWARP_OP_RESIZE_CQ = kwarp_op_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, kwarp_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, kwarp_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, kwarp_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, kwarp_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, kwarp_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, kwarp_ucontext, ibuctx),
};

static struct lock_class_key mrs_key;

static struct kwarp_device *device_alloc(struct net *net)
{
	struct kwarp_device *dev;

	dev = kwarp_ib_alloc_device(kwarp_device, ibdev, net);
	if (!dev)
		return NULL;
	kwarp_ib_set_net(&dev->ibdev, net);
	dev->stats = alloc_percpu(struct kwarp_stats);
	dev->cm_wq = alloc_ordered_workqueue("kwarp_cm", WQ_MEM_RECLAIM);
	if (!dev->stats || !dev->cm_wq) {
		if (dev->cm_wq)
			destroy_workqueue(dev->cm_wq);
		free_percpu(dev->stats);
		ib_dealloc_device(&dev->ibdev);
		return NULL;
	}
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	dev->next_qpn = kwarp_qpn_random();
	xa_init_flags(&dev->mrs, XA_FLAGS_ACCOUNT);
	/*
	 * With the lock class of dev->qps, lockdep would assume that this lock is taken
	 * under iw_cm's locks, too.
	 */
	lockdep_set_class(&dev->mrs.xa_lock, &mrs_key);
	ida_init(&dev->cq_ids);
	ida_init(&dev->srq_ids);
	mutex_init(&dev->counted_lock);
	INIT_LIST_HEAD(&dev->counted_qps);
	spin_lock_init(&dev->lock);
	kwarp_cm_device_init(dev);
	kwarp_addr_init(dev);
	kwarp_cq_device_init(dev);
	kwarp_link_device_init(dev);
	kwarp_policy_init(&dev->policy);
	/* From here on ib_dealloc_device() calls device_free(). */
	ib_set_device_ops(&dev->ibdev, &device_ops);
	return dev;
}

static void device_describe(struct kwarp_device *dev,
			    struct net_device *netdev)
{
	struct ib_device *ibdev = &dev->ibdev;

	rtnl_lock();
	kwarp_gid_set_number(dev, netdev);
	strscpy(ibdev->iw_ifname, netdev->name, sizeof(ibdev->iw_ifname));
	dev->up = kwarp_netdev_active(netdev);
	rtnl_unlock();

	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->node_guid = dev->number.global.interface_id;
	strscpy(ibdev->node_desc, "kwarp software iWARP RNIC",
		sizeof(ibdev->node_desc));
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	/* kwarp binds real TCP ports: no port mapper is needed. */
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	ibdev->driver_def = kwarp_uapi_defs;
	/* Commands for a user's doorbells. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				  BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ) |
				  BIT_ULL(IB_USER_VERBS_CMD_POLL_CQ);
}

/**
 * kwarp_device_add() - create and register the RDMA device of a netdev
 * @name:	name of the new device, as given by the administrator
 * @netdev:	held and checked by the caller
 * @net:	namespace of the device
 *
 * After success the caller must not access the device without a reference: the device may
 * already be unregistered again.
 *
 * Return: 0 or negative errno.
 */
int kwarp_device_add(const char *name, struct net_device *netdev, struct net *net)
{
	struct kwarp_device *dev;
	int ret;

	might_sleep();
	dev = device_alloc(net);
	if (!dev)
		return -ENOMEM;
	device_describe(dev, netdev);
	ret = ib_device_set_netdev(&dev->ibdev, netdev, KWARP_PORT);
	if (ret)
		goto err_dev;
	ib_mark_name_assigned_by_user(&dev->ibdev);
	/* No DMA device: work requests and scatter lists carry kernel addresses. */
	ret = ib_register_device(&dev->ibdev, name, NULL);
	if (ret)
		goto err_dev;
	return 0;

err_dev:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}
