/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All differences between the supported kernels, 6.12 to 7.2. No other file checks the
 * kernel version.
 */
#ifndef _KWARP_COMPAT_H
#define _KWARP_COMPAT_H

#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/socket.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/tcp.h>
#ifdef TCPOLEN_ACCECN_BASE
#include <net/tcp_ecn.h>
#endif
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

/* Is this kernel version @a.@b or later? */
#define KWARP_KERNEL_FROM(a, b)	(LINUX_VERSION_CODE >= KERNEL_VERSION(a, b, 0))

/*
 * Users of RCU Tasks without this option wait for call_rcu(), which is enough only if a task is not
 * preempted. In the tree of the kernel Kconfig selects the option.
 */
#if defined(CONFIG_PREEMPTION) && !defined(CONFIG_TASKS_RCU)
#error "kwarp needs CONFIG_TASKS_RCU of a preemptible kernel; CONFIG_KPROBES selects it"
#endif

/* The address type of kernel_bind() and kernel_connect(), for any family. */
#if KWARP_KERNEL_FROM(6, 19)
#define kwarp_sockaddr(ss)	((struct sockaddr_unsized *)(ss))
#else
#define kwarp_sockaddr(ss)	((struct sockaddr *)(ss))
#endif

/* Let a socket of the kernel hold its namespace. */
static inline void kwarp_net_refcnt_upgrade(struct sock *sk)
{
#ifdef KWARP_SK_NET_REFCNT_UPGRADE
	sk_net_refcnt_upgrade(sk);
#else
	struct net *net = sock_net(sk);

	__netns_tracker_free(net, &sk->ns_tracker, false);
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
#endif
}

/* Before WQ_PERCPU, workqueues were per CPU by default. */
#if KWARP_KERNEL_FROM(6, 18)
#define KWARP_WQ_PERCPU		WQ_PERCPU
#else
#define KWARP_WQ_PERCPU		0
#endif

/*
 * For __vmalloc(): fail without an OOM kill. In Linux 6.19 it warns of __GFP_RETRY_MAYFAIL, and
 * ignores the flag.
 */
#if KWARP_KERNEL_FROM(6, 19) && !KWARP_KERNEL_FROM(7, 0)
#define KWARP_VMALLOC_MAYFAIL	__GFP_NORETRY
#else
#define KWARP_VMALLOC_MAYFAIL	__GFP_RETRY_MAYFAIL
#endif

/* Member of struct sctp_endpoint: the key that signs the endpoint's cookies. */
#if KWARP_KERNEL_FROM(6, 18)
#define KWARP_SCTP_COOKIE_KEY	cookie_auth_key
#else
#define KWARP_SCTP_COOKIE_KEY	secret_key
#endif

/*
 * Does each segment have the option of Accurate ECN? TCP has this option since Linux 6.18; with
 * net.ipv4.tcp_ecn_option 1 few segments have it. Return: its fields at least, 0 to 3; or -1.
 */
static inline int kwarp_tcp_accecn_fields(const struct sock *sk)
{
#ifdef TCPOLEN_ACCECN_BASE
	const struct tcp_sock *tp = tcp_sk(sk);
	int option;

	if (!tcp_ecn_mode_accecn(tp) || !tp->saw_accecn_opt)
		return -1;
	option = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_ecn_option);
	if (option > TCP_ACCECN_OPTION_FULL ||
	    (option == TCP_ACCECN_OPTION_FULL && !tcp_accecn_opt_fail_send(tp)))
		return tp->accecn_minlen;
#endif
	return -1;
}

/*
 * A device belongs to the namespace of its netdev if namespaces do not share devices.
 * Older cores put every new device into the initial namespace, where it is invisible to
 * the namespace that requested it: call kwarp_ib_set_net() before registering it.
 */
#ifdef ib_alloc_device_with_net
#define kwarp_ib_alloc_device(drv_struct, member, net) \
	ib_alloc_device_with_net(drv_struct, member, net)
static inline void kwarp_ib_set_net(struct ib_device *ibdev, struct net *net)
{
}
#else
#define kwarp_ib_alloc_device(drv_struct, member, net) \
	((void)(net), ib_alloc_device(drv_struct, member))
static inline void kwarp_ib_set_net(struct ib_device *ibdev, struct net *net)
{
	if (!rdma_dev_access_netns(ibdev, net))
		write_pnet(&ibdev->coredev.rdma_net, net);
}
#endif

/* Pin user memory by address. */
static inline struct ib_umem *kwarp_umem_get(struct ib_device *ibdev, u64 addr,
					     u64 len, int access)
{
#if KWARP_KERNEL_FROM(7, 0)
	return ib_umem_get_va(ibdev, addr, len, access);
#else
	return ib_umem_get(ibdev, addr, len, access);
#endif
}

/*
 * Report a port state change. Newer cores also watch the netdev themselves; their function
 * remembers the last reported state, so each change is reported once.
 */
static inline void kwarp_port_event(struct ib_device *ibdev,
				    struct net_device *netdev, bool active)
{
#if KWARP_KERNEL_FROM(6, 15)
	ib_dispatch_port_state_event(ibdev, netdev);
#else
	struct ib_event ev = {
		.device = ibdev,
		.element.port_num = 1,
		.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	ib_dispatch_event(&ev);
#endif
}

/* Registration: newer cores pass a DMA handle, and for dma-bufs the call's attributes. */
#if KWARP_KERNEL_FROM(6, 17)
#define kwarp_op_reg_user_mr	kwarp_reg_user_mr
#define kwarp_op_reg_dmabuf_mr	kwarp_reg_dmabuf_mr
#else
struct ib_dmah;

struct ib_mr *kwarp_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access, struct ib_dmah *dmah,
				struct ib_udata *udata);
struct ib_mr *kwarp_reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length,
				  u64 iova, int fd, int access,
				  struct ib_dmah *dmah,
				  struct uverbs_attr_bundle *attrs);

static inline struct ib_mr *kwarp_op_reg_user_mr(struct ib_pd *pd, u64 start,
						 u64 length, u64 iova,
						 int access,
						 struct ib_udata *udata)
{
	return kwarp_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}

static inline struct ib_mr *
kwarp_op_reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
		       int fd, int access, struct uverbs_attr_bundle *attrs)
{
	return kwarp_reg_dmabuf_mr(pd, offset, length, iova, fd, access, NULL,
				   attrs);
}
#endif

/* The namespace name became a string. */
#if KWARP_KERNEL_FROM(6, 13)
#define KWARP_IMPORT_DMA_BUF()	MODULE_IMPORT_NS("DMA_BUF")
#else
#define KWARP_IMPORT_DMA_BUF()	MODULE_IMPORT_NS(DMA_BUF)
#endif

/* Initialise a timer, with the interface of newer kernels. */
#if KWARP_KERNEL_FROM(6, 15)
#define kwarp_hrtimer_setup	hrtimer_setup
#else
static inline void
kwarp_hrtimer_setup(struct hrtimer *timer,
		    enum hrtimer_restart (*function)(struct hrtimer *),
		    clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/*
 * Send an acknowledgment with the current window. The function got flags in 6.18 and in a
 * release of 6.12, so check its type, not the version. Socket lock held.
 */
static inline void kwarp_tcp_send_ack(struct sock *sk)
{
	void (*plain)(struct sock *sk, u32 rcv_nxt) = (void *)__tcp_send_ack;
	void (*flagged)(struct sock *sk, u32 rcv_nxt, u16 flags) =
		(void *)__tcp_send_ack;

	BUILD_BUG_ON(!__same_type(&__tcp_send_ack, flagged) &&
		     !__same_type(&__tcp_send_ack, plain));
	if (__same_type(&__tcp_send_ack, flagged))
		flagged(sk, tcp_sk(sk)->rcv_nxt, 0);
	else
		plain(sk, tcp_sk(sk)->rcv_nxt);
}

/* Counters of single QPs: newer cores pass the port and have the driver set the size. */
#if KWARP_KERNEL_FROM(6, 16)
#define kwarp_op_counter_bind	kwarp_counter_bind
#define kwarp_op_counter_unbind	kwarp_counter_unbind
#define KWARP_COUNTER_OPS \
	.counter_init = kwarp_counter_init, \
	INIT_RDMA_OBJ_SIZE(rdma_counter, kwarp_rdma_counter, core),
#else
int kwarp_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);
int kwarp_counter_unbind(struct ib_qp *ibqp, u32 port);

static inline int kwarp_op_counter_bind(struct rdma_counter *counter,
					struct ib_qp *ibqp)
{
	return kwarp_counter_bind(counter, ibqp, counter->port);
}

static inline int kwarp_op_counter_unbind(struct ib_qp *ibqp)
{
	return kwarp_counter_unbind(ibqp, ibqp->port);
}

#define KWARP_COUNTER_OPS
#endif

/* resize_cq: newer cores offer the operation to user space only, and renamed it. */
#if KWARP_KERNEL_FROM(7, 1)
#define KWARP_OP_RESIZE_CQ	resize_user_cq
#define kwarp_op_resize_cq	kwarp_resize_cq
#else
#define KWARP_OP_RESIZE_CQ	resize_cq
int kwarp_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		    struct ib_udata *udata);

static inline int kwarp_op_resize_cq(struct ib_cq *ibcq, int cqe,
				     struct ib_udata *udata)
{
	return cqe > 0 ? kwarp_resize_cq(ibcq, cqe, udata) : -EINVAL;
}
#endif

#endif /* _KWARP_COMPAT_H */
