/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kwarp: a software iWARP RNIC. What every room knows: the device, its
 * policy and its limits.
 *
 * Rooms, each may call those to its right only:
 *	verbs, cm, ctl -> tx, rx -> core, llp -> proto
 *
 * Lock order, outermost first (Documentation/locking.rst has the reasons):
 *	listeners_mutex		devices' listeners for a rendezvous
 *	ep->mutex		an endpoint's state; held across upcalls to iw_cm
 *	qp->mutex		connection attached, modify_qp; sleeping
 *	socket lock		the data path of one connection: tx, rx, state
 *	srq->mutex		modify_srq; sleeping; outside of rq.lock only
 *	qp->sq.lock, rq.lock	queue indices and state; irqsave, sq before rq;
 *				a shared receive queue's alone
 *	cq->lock		the CQ ring; irqsave; leaf
 *	sk->sk_callback_lock	socket to connection pointer; leaf
 *	dev->counted_lock	counters of single QPs; leaf
 *	dev->lock		the device's lists of endpoints; irqsave; leaf
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
#include "ctl/stats.h"

/* Of the module; it is what stands for a firmware, too. */
#define KWARP_VERSION_MAJOR	0
#define KWARP_VERSION_MINOR	1
#define KWARP_VERSION_PATCH	0
#define KWARP_VERSION	__stringify(KWARP_VERSION_MAJOR) "." \
			__stringify(KWARP_VERSION_MINOR) "." \
			__stringify(KWARP_VERSION_PATCH)

enum kwarp_limits {
	KWARP_MAX_QP		= 64 * 1024,
	KWARP_MAX_QP_WR		= 32 * 1024,
	KWARP_MAX_CQ		= 64 * 1024,
	KWARP_MAX_CQE		= 1024 * 1024,
	KWARP_MAX_SRQ		= 64 * 1024,
	KWARP_MAX_SRQ_WR	= 32 * 1024,
	KWARP_MAX_MR		= 1 << 22,
	KWARP_MAX_MW		= 1 << 22,	/* with the above: half of all STags */
	KWARP_MAX_PD		= 64 * 1024,
	KWARP_MAX_IRD		= 128,
	KWARP_MAX_ORD		= 128,
	KWARP_MAX_FAST_REG	= 1024,		/* pages in one REG_MR */
	KWARP_MAX_PRIVATE_DATA	= 512,
	KWARP_GIDS		= 64,		/* addresses of the netdev */
};

/*
 * Memory of a connection: charged to the maker of its QP (kwarp_qp_attach()). If that
 * control group has not enough, the connection fails: a worker kills none of its
 * processes.
 */
#define KWARP_GFP_CONN	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#define KWARP_PORT		1		/* the only one */
#define KWARP_MAX_MSG_SIZE	0x80000000U	/* octets, as verbs reports it */

/* How much CRCs are wanted (RFC 5044 7.1.1, C). */
enum kwarp_crc_policy {
	KWARP_CRC_OFF,		/* only if the peer asks */
	KWARP_CRC_PREFERRED,	/* asked for */
	KWARP_CRC_REQUIRED,	/* asked for; a reply without C is refused */
};

/**
 * struct kwarp_policy - an administrator's wishes, read at connect and accept
 * @mpa_rev:	MPA revision to offer: 0, 1 or 2
 * @permissive:	serve revision 0 (RFC 5044 appendix C) without offering it
 * @crc:	enum kwarp_crc_policy
 * @markers:	ask the peer for markers
 * @ooo:	place FPDUs that come out of order before their turn; needs markers
 *		and CRCs on the connection
 * @p2p:	ask for the peer-to-peer model as initiator, with these kinds of
 *		ready-to-receive indication: bit mask of KWARP_RTR_*
 *		(proto/mpa_startup.h); 0: do not ask
 * @ird:	most inbound reads granted
 * @ord:	most outbound reads asked for
 * @startup_timeout_ms:	limit of each wait in connection set-up
 * @backlog:	most connections of one listener in set-up
 * @keepalive_s:	silence of the peer, in seconds, after which TCP probes it;
 *		0: never
 * @fpdu_large:	FPDUs up to the MPA limit instead of one TCP segment
 * @send_imm:	use our own opcodes for Send with Immediate, and take them
 * @rendezvous_port:	TCP port on which queue pairs that know each other by number
 *		and GID meet (cm/rendezvous.c); 0: none
 * @rendezvous_ack:	of such connections: sends complete when the peer has them
 *
 * Written with WRITE_ONCE by sysfs, read with READ_ONCE; a change affects new
 * connections only.
 */
struct kwarp_policy {
	u8 mpa_rev;
	bool permissive;
	u8 crc;
	bool markers;
	bool ooo;
	u8 p2p;
	u16 ird;
	u16 ord;
	u32 startup_timeout_ms;
	u32 backlog;
	u32 keepalive_s;
	bool fpdu_large;
	bool send_imm;
	u16 rendezvous_port;
	bool rendezvous_ack;
};

/* What is counted per device and has a limit (verbs/limits.c). */
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

/* Why an endpoint lingers: each kind has its own limit (cm/linger.c). */
enum kwarp_linger_kind {
	KWARP_LINGER_REFUSED,	/* in startup */
	KWARP_LINGER_ENDED,	/* a connection was made */
	KWARP_LINGER_KINDS
};

/* Oldest first. */
struct kwarp_lingering {
	struct list_head eps;
	u32 nr;
};

/**
 * struct kwarp_device - one RNIC over one net_device
 * @ibdev:	the RDMA core's part; its netdev comes from ib_device_get_netdev()
 * @policy:	see above
 * @qps:	QP number to QP; entries hold no reference; lock taken with interrupts
 *		off (iw_cm looks up so)
 * @mrs:	STag index (upper 24 bits) to struct kwarp_mr; RCU readers
 * @objects:	how many there are of each kind
 * @stats:	per CPU counters (ctl/stats.h)
 * @counted_lock: protects @counted, @counted_qps and what a QP has told; leaf
 * @counted:	what counters of single QPs have been told so far
 * @counted_qps: QPs that have such a counter
 * @cm_wq:	work of endpoints and of rendezvous: ordered, for requests go out and are
 *		reported in the order in which they were made and came; programs number
 *		their QPs by it on both sides. MEM_RECLAIM: a disk behind NVMe-oF
 *		reconnects to write pages out
 * @lock:	protects @eps, @owing, @lingering, @gids and @number
 * @eps:	every endpoint of the device, for removal
 * @owing:	those that iw_cm waits for
 * @look:	runs while there are any in @owing
 * @lingering:	those in KWARP_EP_LINGER, unless told to go
 * @cq_ids:	source of CQ numbers
 * @srq_ids:	source of SRQ numbers
 * @gids:	the GID table (core/gid.h); written under RTNL, too
 * @number:	GID of a device without an address
 * @gid_work:	brings @gids up to date; holds a reference on @ibdev while queued
 * @gone_work:	unregisters the device when its consumers know that the netdev left
 * @rendezvous:	listener of policy.rendezvous_port, or NULL (cm/rdv_port.c)
 * @rendezvous_link:	in a list of all that have one
 * @up:	the netdev runs
 */
struct kwarp_device {
	struct ib_device ibdev;
	struct kwarp_policy policy;
	struct xarray qps;
	struct xarray mrs;
	atomic_t objects[KWARP_OBJECT_KINDS];
	struct kwarp_stats __percpu *stats;
	spinlock_t counted_lock; /* see above */
	struct kwarp_stats counted;
	struct list_head counted_qps;
	struct workqueue_struct *cm_wq;
	spinlock_t lock;	/* see above */
	struct list_head eps;
	struct list_head owing;
	struct timer_list look;
	struct kwarp_lingering lingering[KWARP_LINGER_KINDS];
	struct ida cq_ids;
	struct ida srq_ids;
	union ib_gid gids[KWARP_GIDS];
	union ib_gid number;
	struct work_struct gid_work;
	struct delayed_work gone_work;
	bool leaving;		/* its netdev has gone; written under RTNL */
	struct kwarp_ep *rendezvous;
	struct list_head rendezvous_link;
	bool up;
};

struct kwarp_pd {
	struct ib_pd ibpd;
};

struct kwarp_ucontext {
	struct ib_ucontext ibuctx;
};

static inline struct kwarp_device *to_kdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct kwarp_device, ibdev);
}

/* Send work, several per CPU; also memory reclaim may depend on it. */
extern struct workqueue_struct *kwarp_wq;

/* What is left of more work than a softirq or a process has to do; no priority. */
extern struct workqueue_struct *kwarp_rest_wq;

/* All work that may wait for the lock of a program's socket (llp/take.c). */
extern struct workqueue_struct *kwarp_taken_wq;

#endif /* _KWARP_H */
