/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kwarp: a software iWARP RNIC. Definitions for all directories: the device, its policy
 * and its limits.
 *
 * Directories; each includes only those to its right (the suite "rooms"):
 *	dev, verbs, cm, rdmap, llp, core, proto
 *
 * Lock order, outermost first (explained in Documentation/locking.rst).
 * Those called leaves are outside of no other lock:
 *	newlink_mutex		creation of devices; RTNL is taken under it
 *	listeners_mutex		devices' listeners for a rendezvous
 *	ep->mutex		an endpoint's state; held across upcalls to iw_cm
 *	qp->mutex		connection attached, modify_qp; sleeping
 *	socket lock		the data path of one connection: tx, rx, state
 *	srq->mutex, cq->mutex	modify_srq, resize_cq; sleeping; outside of the queue's lock
 *	dev->counted_lock	counters of single QPs; sleeping; leaf
 *	ep->child_lock		a listener's children
 *	mr->change		an invalidation, a binding or a deregistration of an STag
 *	qp->sq.lock, rq.lock	queue indices and state; irqsave, sq before rq;
 *				a shared receive queue's is taken alone
 *	context->cqs_lock	the list of a program's CQs; irqsave
 *	cq->pause.lock		paused queue pairs with this send CQ; bh; leaf
 *	cq->lock		the CQ ring; irqsave; leaf
 *	multihomed_lock		devices with policy paths (dev/addr.c); bh
 *	sk->sk_callback_lock	changes of sk_user_data and the callbacks; leaf
 *	dev->lock		the device's lists of endpoints; irqsave; leaf
 *	requested_lock		handles that iw_cm has got (cm/iw_qp.c); irqsave; leaf
 * An endpoint's events are bits, so raising one takes no lock.
 */
#ifndef _KWARP_H
#define _KWARP_H

#include <linux/kref.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/stringify.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "stats.h"
#include "version.h"

enum kwarp_limits {
	KWARP_MAX_QP		= 64 * 1024,
	KWARP_MAX_QP_WR		= 32 * 1024,
	KWARP_MAX_CQ		= 64 * 1024,
	KWARP_MAX_CQE		= 1024 * 1024,
	KWARP_MAX_SRQ		= 64 * 1024,
	KWARP_MAX_SRQ_WR	= 32 * 1024,
	KWARP_MAX_MR		= 1 << 22,
	KWARP_MAX_MW		= 1 << 22,	/* together with KWARP_MAX_MR: half of all STags */
	KWARP_MAX_PD		= 64 * 1024,
	KWARP_MAX_IRD		= 128,
	KWARP_MAX_ORD		= 128,
	KWARP_MAX_FAST_REG	= 1024,		/* pages in one REG_MR */
	KWARP_GIDS		= 64,		/* addresses of the netdev */
};

gfp_t kwarp_gfp_conn(void);
#define KWARP_PORT		1		/* the only port */
#define KWARP_MAX_MSG_SIZE	0x80000000U	/* bytes, as verbs reports it */

/*
 * The lower layers: MPA over TCP (RFC 5044), SCTP (RFC 5043). Listeners serve all that a
 * value names, connections use the first.
 */
enum kwarp_llp_policy {
	KWARP_LLP_TCP,
	KWARP_LLP_TCP_SCTP,
	KWARP_LLP_SCTP_TCP,
	KWARP_LLP_SCTP,
};

#define KWARP_PATHS_MAX		3		/* netdevs in policy paths */

/* Names of netdevs; unused entries are empty and last. */
struct kwarp_paths {
	char name[KWARP_PATHS_MAX][IFNAMSIZ];
};

static inline int kwarp_num_paths(const struct kwarp_paths *paths)
{
	int num = 0;

	while (num < KWARP_PATHS_MAX && *paths->name[num])
		num++;
	return num;
}

/**
 * struct kwarp_policy - the administrator's settings, read at connect and accept
 * @llp:	enum kwarp_llp_policy, of connections and listeners of rdma_cm
 * @mpa_rev:	MPA revision to offer: 0, 1 or 2
 * @permissive:	serve revision 0 (RFC 5044 appendix C) without offering it
 * @crc:	enum kwarp_crc_policy
 * @markers:	ask the peer for markers
 * @ooo:	place out-of-order FPDUs before their turn; needs markers and CRCs on the
 *		connection
 * @p2p:	request the peer-to-peer model as initiator, with these kinds of
 *		ready-to-receive indication: bit mask of KWARP_RTR_*
 *		(proto/mpa_startup.h); 0: do not request it
 * @ird:	maximum inbound reads granted
 * @ord:	maximum outbound reads requested
 * @startup_timeout_ms:	limit of each wait for the peer's host in connection setup
 * @answer_timeout_ms:	limit of the wait for the answer to a request, ours or the peer's
 * @backlog:	maximum number of connections of one listener in setup
 * @keepalive_s:	seconds of silence from the peer after which TCP probes it; 0:
 *		never
 * @fpdu_large:	FPDUs up to the MPA limit instead of one TCP segment
 * @send_imm:	use kwarp's own opcodes for Send with Immediate, and accept them
 * @rendezvous_port:	TCP port for queue pairs that modify_qp connects
 *		(cm/rendezvous.c); 0: none
 * @rendezvous_ack:	on such connections, sends complete when the peer has received
 *		them
 * @poll_us:	time for which a poll of an empty CQ polls the network, microseconds; 0: not
 *		(core/cq_napi.c). A change takes effect at once
 * @paths:	further netdevs whose addresses SCTP uses; protected by dev->lock
 *
 * Written with WRITE_ONCE by sysfs, read with READ_ONCE; a change affects new connections
 * only, unless stated otherwise.
 */
struct kwarp_policy {
	u8 llp;
	u8 mpa_rev;
	bool permissive;
	u8 crc;
	bool markers;
	bool ooo;
	u8 p2p;
	u16 ird;
	u16 ord;
	u32 startup_timeout_ms;
	u32 answer_timeout_ms;
	u32 backlog;
	u32 keepalive_s;
	bool fpdu_large;
	bool send_imm;
	u16 rendezvous_port;
	bool rendezvous_ack;
	u16 poll_us;
	struct kwarp_paths paths;
};

/* Kinds of objects with a limit per device (verbs/limits.c). */
enum kwarp_object {
	KWARP_OBJECT_PD,
	KWARP_OBJECT_CQ,
	KWARP_OBJECT_QP,
	KWARP_OBJECT_SRQ,
	KWARP_OBJECT_MR,
	KWARP_OBJECT_MW,
	KWARP_OBJECT_KINDS,
};

struct kwarp_ep;

/* Reasons why an endpoint lingers: each has its own limit (cm/linger.c). */
enum kwarp_linger_kind {
	KWARP_LINGER_REFUSED,	/* refused in startup */
	KWARP_LINGER_ENDED,	/* a connection was established */
	KWARP_LINGER_KINDS
};

/* Lingering endpoints of one kind, oldest first. */
struct kwarp_lingering {
	struct list_head eps;
	u32 nr;
};

/**
 * struct kwarp_device - one RNIC over one net_device
 * @ibdev:	the RDMA core's part; its netdev comes from ib_device_get_netdev()
 * @policy:	see above
 * @qps:	QP number to struct ib_qp; entries hold no reference; lock taken with
 *		interrupts off (iw_cm looks up QPs that way)
 * @mrs:	STag index (upper 24 bits) to struct kwarp_mr; RCU readers
 * @next_qpn:	first number to try for the next QP of a kernel consumer; @qps.xa_lock
 * @objects:	number of objects of each kind
 * @stats:	per CPU counters (stats.h)
 * @cq_ids:	source of CQ numbers
 * @srq_ids:	source of SRQ numbers
 * @cm_wq:	work of listeners, of connections that are being set up (cm/ep.c has a
 *		queue for the others) and of rendezvous. Ordered, because programs on both
 *		sides number their QPs by the order in which requests are made and arrive.
 *		MEM_RECLAIM: a disk behind NVMe-oF reconnects to write pages out
 * @overflow_work: fails the QPs whose CQ has overflowed
 * @connecting:	endpoints in KWARP_EP_CONNECTING
 * @owner_poll:	runs while @upcall_due is not empty
 * @gid_work:	updates @gids; holds a reference on @ibdev while queued
 * @gone_work:	unregisters the device after its consumers were notified of the netdev's
 *		end
 * @counted_lock: protects the fields up to @counted_qps and the counted values of QPs; a mutex,
 *		because a user may have many QPs with such a counter
 * @counted:	sum of the values transferred to counters of single QPs
 * @counted_qps: QPs with such a counter
 * @lock:	protects the fields up to @gids, and @policy.paths
 * @eps:	all endpoints of the device, for removal
 * @upcall_due:	endpoints from which iw_cm expects an event
 * @lingering:	endpoints in KWARP_EP_LINGER that have not been displaced
 * @gids:	the GID table (core/gid.h); written under RTNL, too
 * @number:	GID of a device without an address; constant
 * @multihomed:	in the list of devices with policy paths; multihomed_lock (dev/addr.c)
 * @paths_net:	namespace of the names in policy paths; multihomed_lock
 * @rendezvous:	listener of policy.rendezvous_port, or NULL; listeners_mutex
 *		(cm/rdv_port.c)
 * @rendezvous_link:	in the list of all devices with such a listener; listeners_mutex
 * @gids_follow:	@gids has the netdev's addresses (kwarp_addr_follow()); RTNL
 * @up:	the netdev is up; RTNL
 * @leaving:	the netdev is gone; written under RTNL
 */
struct kwarp_device {
	struct ib_device ibdev;
	struct kwarp_policy policy;
	struct xarray qps;
	struct xarray mrs;
	u32 next_qpn;
	atomic_t objects[KWARP_OBJECT_KINDS];
	struct kwarp_stats __percpu *stats;
	struct ida cq_ids;
	struct ida srq_ids;
	struct workqueue_struct *cm_wq;
	atomic_t connecting;
	struct timer_list owner_poll;
	struct work_struct gid_work;
	struct delayed_work gone_work;
	struct delayed_work overflow_work;

	struct mutex counted_lock; /* see above */
	struct kwarp_stats counted;
	struct list_head counted_qps;

	spinlock_t lock;	/* see above */
	struct list_head eps;
	struct list_head upcall_due;
	struct kwarp_lingering lingering[KWARP_LINGER_KINDS];
	union ib_gid gids[KWARP_GIDS];
	union ib_gid number;

	struct list_head multihomed;
	const struct net *paths_net;

	struct kwarp_ep *rendezvous;
	struct list_head rendezvous_link;

	bool gids_follow;
	bool up;
	bool leaving;
};

struct kwarp_pd {
	struct ib_pd ibpd;
};

/**
 * struct kwarp_ucontext - a program's device context
 * @ibuctx:	the RDMA core's part
 * @cqs:	the program's CQs
 * @cqs_lock:	protects @cqs; outside kwarp_cq.lock
 * @pushes:	completions added to CQs with a NAPI instance; approximate (core/cq_napi.c)
 * @pushes_seen: value of @pushes at the end of the last poll of the network
 * @next_qpn:	first number to try for the program's next QP; kwarp_device.qps.xa_lock
 */
struct kwarp_ucontext {
	struct ib_ucontext ibuctx;
	struct list_head cqs;
	spinlock_t cqs_lock;	/* see above */
	u32 pushes;
	u32 pushes_seen;
	u32 next_qpn;
};

static inline struct kwarp_device *to_kdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct kwarp_device, ibdev);
}

/* core/removal.c */
bool kwarp_is_removed(struct kwarp_device *dev);

/**
 * kwarp_netdev_net() - the namespace of a netdev
 * @netdev:	referenced; without RTNL it may leave the namespace at any time
 *
 * Context: any.
 * Return: namespace with a reference, or NULL if it is ending.
 */
static inline struct net *kwarp_netdev_net(const struct net_device *netdev)
{
	struct net *net;

	rcu_read_lock();
	net = maybe_get_net(dev_net(netdev));
	rcu_read_unlock();
	return net;
}

/* Work of the send engines, per CPU; memory reclaim may depend on it. */
extern struct workqueue_struct *kwarp_wq;

/* Work that engines left over at their limits; unbound, normal priority. */
extern struct workqueue_struct *kwarp_rest_wq;

#endif /* _KWARP_H */
