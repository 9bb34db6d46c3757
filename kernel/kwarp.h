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
 *	dev->lock		the device's list of endpoints; irqsave; leaf
 * An endpoint's events are bits, so raising one takes no lock.
 */
#ifndef _KWARP_H
#define _KWARP_H

#include <linux/kref.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "ctl/stats.h"

enum kwarp_limits {
	KWARP_MAX_QP		= 64 * 1024,
	KWARP_MAX_QP_WR		= 32 * 1024,
	KWARP_MAX_CQ		= 64 * 1024,
	KWARP_MAX_CQE		= 1024 * 1024,
	KWARP_MAX_SRQ		= 64 * 1024,
	KWARP_MAX_SRQ_WR	= 32 * 1024,
	KWARP_MAX_MR		= 1 << 22,
	KWARP_MAX_PD		= 64 * 1024,
	KWARP_MAX_IRD		= 128,
	KWARP_MAX_ORD		= 128,
	KWARP_MAX_FAST_REG	= 1024,		/* pages in one REG_MR */
	KWARP_MAX_PRIVATE_DATA	= 512,
	KWARP_GIDS		= 64,		/* addresses of the netdev */
};

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

struct kwarp_ep;

/**
 * struct kwarp_device - one RNIC over one net_device
 * @ibdev:	the RDMA core's part; its netdev comes from ib_device_get_netdev()
 * @policy:	see above
 * @qps:	QP number to QP; entries hold no reference; lock taken with interrupts
 *		off (iw_cm looks up so)
 * @next_qpn:	where the search for a free QP number starts; lock of @qps
 * @mrs:	STag index (upper 24 bits) to struct kwarp_mr; RCU readers
 * @stats:	per CPU counters (ctl/stats.h)
 * @counted_lock: protects @counted, @counted_qps and what a QP has told; leaf
 * @counted:	what counters of single QPs have been told so far
 * @counted_qps: QPs that have such a counter
 * @lock:	protects @eps, @gids and @number
 * @eps:	every endpoint of the device, for removal
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
	u32 next_qpn;
	struct xarray mrs;
	struct kwarp_stats __percpu *stats;
	spinlock_t counted_lock; /* see above */
	struct kwarp_stats counted;
	struct list_head counted_qps;
	spinlock_t lock;	/* see above */
	struct list_head eps;
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

#endif /* _KWARP_H */
