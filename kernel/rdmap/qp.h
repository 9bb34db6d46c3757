/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue pair, one end of an RDMAP stream: data, state, references. */
#ifndef _KWARP_RDMAP_QP_H
#define _KWARP_RDMAP_QP_H

#include <linux/random.h>

#include "core/mem.h"
#include "core/wq.h"
#include "kwarp.h"
#include "llp/llp.h"
#include "proto/errors.h"
#include "proto/qp_state.h"
#include "proto/rdmap.h"
#include "proto/rendezvous.h"
#include "rdmap/in.h"
#include "rdmap/out.h"

struct kwarp_attach;
struct kwarp_llp;
struct kwarp_srq;
struct mem_cgroup;

/**
 * struct kwarp_qp_params - parameters agreed on at connection setup
 * @ird:	inbound reads that were granted
 * @ird_limit:	inbound reads that are accepted, if more than @ird: MPA revisions 0 and 1
 *		do not tell the peer a limit
 * @ord:	outbound reads that may be outstanding
 * @early:	ULPDUs are placed out of order if the lower layer can supply them
 * @mpa_rev:	MPA revision in force
 * @initiator:	we sent the MPA request
 * @wait_first:	responder: before the peer's first FPDU, send nothing but a Terminate for
 *		an invalid one (RFC 5044 7.1.2)
 * @rtr:	responder: the first FPDU must be one of these ready-to-receive
 *		indications (KWARP_RTR_SEND, _WRITE, _READ; RFC 6581 9.2), which the
 *		consumer does not see; 0: none was agreed
 * @ext:	messages beyond RFC 5040: KWARP_RDMAP_EXT_*
 * @ack:	a send completes when the peer has acknowledged it (ack.c); rendezvous only
 * @user_ord:	the part of @ord that work requests may use; RTS of a rendezvous sets it
 *		under the socket lock
 *
 * Constant while a connection is attached, except @user_ord.
 */
struct kwarp_qp_params {
	u16 ird;
	u16 ird_limit;
	u16 ord;
	bool early;
	u8 mpa_rev;
	bool initiator;
	bool wait_first;
	u8 rtr;
	u8 ext;
	bool ack;
	u16 user_ord;
};

/**
 * struct kwarp_rdv - rendezvous of a queue pair with the partner that modify_qp has named;
 * valid if kwarp_qp_traits_now(qp)->partner
 * @initiator:	we make the connection
 * @missed:	the partner has disconnected and a request is unacknowledged: the QP fails
 *		at @deadline
 * @matched:	the partner has identified itself to an endpoint: @peer_rq_psn is valid
 * @wrong:	connection attempts with wrong PSNs so far
 * @peer_rq_psn: first PSN that the partner expects
 * @delay_ms:	delay before the next attempt
 * @deadline:	end of all attempts, or of the wait for an acknowledgment; jiffies
 * @id:		identities of this QP and of the partner
 * @ord:	maximum outbound reads; unknown before RTS
 * @ird:	maximum inbound reads
 * @tos:	traffic class of the path
 * @work:	next attempt, or the deadline; cancelled before the QP is freed. Queued on
 *		kwarp_wq once the partner has disconnected
 *
 * Protected by qp->mutex.
 */
struct kwarp_rdv {
	bool initiator;
	bool missed;
	bool matched;
	u8 wrong;
	u32 peer_rq_psn;
	u16 delay_ms;
	unsigned long deadline;
	struct kwarp_rdv_id id;
	u16 ord;
	u16 ird;
	u8 tos;
	struct delayed_work work;
};

/* Work of the driver of the engines (drive.c). */
enum kwarp_drive_bits {
	KWARP_DRIVE_RX	= 1 << 0,	/* data may have arrived */
	KWARP_DRIVE_TX	= 1 << 1,	/* the send engine may have work or room */
	KWARP_DRIVE_END	= 1 << 2,	/* report the end of the stream, if it has ended */
};

/**
 * struct kwarp_drive_state - the driver of the engines
 * @due:	work that is due: bits of enum kwarp_drive_bits
 * @running:	the driver runs: who brings work adds it to @due
 * @awaited:	kwarp_drive_await() waits for the end of this run
 * @budget:	batches that the send engine may still build in this run
 */
struct kwarp_drive_state {
	u8 due;
	bool running;
	bool awaited;
	int budget;
};

/* The side that raised the error that ended a stream. */
enum kwarp_err_from {
	KWARP_ERR_FROM_NOBODY,
	KWARP_ERR_FROM_US,
	KWARP_ERR_FROM_PEER,
	KWARP_ERR_FROM_PEER_UNKNOWN,	/* the peer's Terminate is too short to name the error */
};

/*
 * struct kwarp_qp_attr - attributes that modify_qp sets and query_qp reports, as in struct
 * ib_qp_attr, which is twice as large
 */
struct kwarp_qp_attr {
	struct ib_qp_cap cap;
	struct rdma_ah_attr ah_attr;
	int qp_access_flags;
	enum ib_mtu path_mtu;
	u32 dest_qp_num;
	u32 rq_psn;
	u32 sq_psn;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr_timer;
};

/**
 * struct kwarp_qp - a queue pair
 * @ibqp:	RDMA core's part; ibqp.qp_num is the index in dev->qps
 * @refs:	table, connection, claim, queued work, a timer that wakes the engine, calls of iw_cm
 * @free:	completed when @refs is zero: destroy_qp waits for it
 * @dev:	device
 * @memory:	identity of the QP in access checks of registered memory
 * @srq:	source of receives instead of @rq, or NULL
 * @owner:	thread group of the process that created the QP; NULL for a kernel consumer
 * @memcg:	memory cgroup of a user QP's creator, also charged for the memory of the QP's
 *		connections; or NULL. Holds a reference
 * @mem:	memory of the rings
 * @mmap:	mmap entry of @mem for a user's QP, else NULL
 * @mutex:	serialises modify_qp, attach and detach
 * @llp:	attached connection, with a reference; read under RCU
 * @access:	IB_ACCESS_REMOTE_* granted to the peer on this QP; read without a lock
 * @access_by_consumer: the consumer has set @access, not the connection manager
 * @attr:	attributes stored for query_qp, except the state
 * @attach:	the last program's socket that was attached (cm/attach.c)
 * @rdv:	rendezvous with a partner named in modify_qp (cm/rendezvous.c)
 * @state:	changed by kwarp_qp_step() with sq.lock, rq.lock and, if a connection is
 *		attached, the socket lock held; stable under any one of these
 * @last_wqe_due: of a user's QP with @srq: the next change to ERR raises
 *		IB_EVENT_QP_LAST_WQE_REACHED; set at creation and at each attach. Protected by
 *		the socket lock if a connection is attached, else by @mutex
 * @drive:	driver of the engines
 * @tx:		send engine
 * @rx:		receive engine
 * @params:	agreed at connection setup
 * @err:	first error: raised here, or received in the peer's Terminate
 * @err_from:	side that raised @err
 * @stream_end:	FIN or reset ended the stream, with no error before it
 * @stats:	counters of this QP alone; read without a lock
 * @sq:		send queue
 * @rq:		receive queue
 * @claimed:	a connection owns the QP, even one still being set up: kwarp_qp_claim();
 *		changes wake waiters on this address
 * @claims:	number of the last claim, modulo 2^32
 * @claimant:	the connection that owns the QP, which clears this before it is freed; NULL if
 *		there is none, or if the QP is only reserved
 * @counted:	@stats when last added to the bound counter, or NULL
 * @counted_link: in dev->counted_qps while bound to a counter
 * @work:	runs the send engine
 * @rest:	runs both engines on the work that a pass left over: kwarp_tx_defer()
 * @retry:	runs the send engine after a delay, when memory was short
 * @pause_link:	entry of the list of paused queue pairs of @sq.cq, under its lock (coalesce.c)
 *
 * The RDMA core allocates it by kzalloc(): more than 2048 bytes would take 4096.
 *
 * @dev to @mmap are constant. @mutex protects changes of @llp to @rdv, the socket lock of
 * the attached connection @drive to @stats, sq.lock changes of @claimed to @claimant, and
 * dev->counted_lock @counted and @counted_link.
 */
struct kwarp_qp {
	struct ib_qp ibqp;
	struct kwarp_device *dev;
	struct kwarp_mem_accessor memory;
	refcount_t refs;
	enum kwarp_qp_state state;
	struct completion free;
	struct mutex mutex;	/* see above */
	struct kwarp_llp __rcu *llp;
	struct kwarp_srq *srq;
	int access;
	bool access_by_consumer;
	struct pid *owner;
	struct mem_cgroup *memcg;
	struct kwarp_sq sq;
	struct kwarp_rq rq;
	struct kwarp_drive_state drive;
	struct kwarp_tx tx;
	struct kwarp_rx rx;
	struct kwarp_qp_params params;
	struct kwarp_term_err err;
	enum kwarp_err_from err_from;
	bool stream_end;
	bool last_wqe_due;
	u64 stats[KWARP_STAT_QP];
	u64 *counted;
	struct list_head counted_link;
	void *mem;
	struct rdma_user_mmap_entry *mmap;
	struct kwarp_qp_attr attr;
	struct work_struct work;
	struct work_struct rest;
	struct delayed_work retry;
	struct list_head pause_link;
	bool claimed;
	u32 claims;
	struct kwarp_llp *claimant;
	struct kwarp_attach *attach;
	struct kwarp_rdv rdv;
};

/* Assert that the socket lock is held, if a connection is attached. */
static inline void kwarp_qp_assert_locked(const struct kwarp_qp *qp)
{
#ifdef CONFIG_LOCKDEP
	const struct kwarp_llp *llp = rcu_access_pointer(qp->llp);

	if (llp)
		kwarp_llp_assert_locked(llp);
#endif
}

/* Count for the device and the QP. Context: socket lock held. */
static inline void kwarp_qp_count_n(struct kwarp_qp *qp, enum kwarp_counter id,
				    u64 n)
{
	kwarp_count_n(qp->dev, id, n);
	WRITE_ONCE(qp->stats[id], qp->stats[id] + n);
}

static inline void kwarp_qp_count(struct kwarp_qp *qp, enum kwarp_counter id)
{
	kwarp_qp_count_n(qp, id, 1);
}

static inline struct kwarp_qp *to_kqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct kwarp_qp, ibqp);
}

/* Maximum number of inbound reads that may be unanswered at a time. */
static inline u32 kwarp_qp_ird_room(const struct kwarp_qp *qp)
{
	return max(qp->params.ird, qp->params.ird_limit);
}

/* DDP and RDMAP version in force: enum kwarp_ddp_version. */
static inline u8 kwarp_qp_version(const struct kwarp_qp *qp)
{
	return qp->params.mpa_rev ? KWARP_DDP_V_IETF : KWARP_DDP_V_RDMAC;
}

void kwarp_qp_get(struct kwarp_qp *qp);
void kwarp_qp_put(struct kwarp_qp *qp);

/* QP numbers: 0 and 1 are special in verbs, and all ones is multicast. */
#define KWARP_QPN_MIN	2
#define KWARP_QPN_MAX	0xfffffe

static inline bool kwarp_qpn_valid(u32 qpn)
{
	return qpn >= KWARP_QPN_MIN && qpn <= KWARP_QPN_MAX;
}

static inline u32 kwarp_qpn_random(void)
{
	return get_random_u32_inclusive(KWARP_QPN_MIN, KWARP_QPN_MAX);
}

struct kwarp_qp *kwarp_qp_find(struct kwarp_device *dev, u32 qpn);

/* The QP's connection with a reference, or NULL. Context: any. */
struct kwarp_llp *kwarp_qp_llp(struct kwarp_qp *qp);
struct kwarp_llp *kwarp_qp_lock_llp(struct kwarp_qp *qp);
void kwarp_qp_unlock_llp(struct kwarp_llp *llp);
bool kwarp_qp_claim(struct kwarp_qp *qp, struct kwarp_llp *llp);
bool kwarp_qp_claim_partner(struct kwarp_qp *qp, struct kwarp_llp *llp);
struct kwarp_llp *kwarp_qp_claimant(struct kwarp_qp *qp);
bool kwarp_qp_reserve(struct kwarp_qp *qp);

/* Undo kwarp_qp_claim() or kwarp_qp_reserve(). Context: any; the QP is referenced. */
void kwarp_qp_unclaim(struct kwarp_qp *qp);
void kwarp_qp_wake_waiters(struct kwarp_qp *qp);
int kwarp_qp_await_end(struct kwarp_qp *qp);
bool kwarp_qp_step(struct kwarp_qp *qp, enum kwarp_qp_step step);
void kwarp_qp_state_init(struct kwarp_qp *qp);

/* Is the QP in an error state? Then posted requests are flushed. */
static inline bool kwarp_qp_failed(const struct kwarp_qp *qp)
{
	return kwarp_qp_is_failed(READ_ONCE(qp->state));
}

/* Has the rendezvous partner ended the connection? */
static inline bool kwarp_qp_lost(const struct kwarp_qp *qp)
{
	return kwarp_qp_is_lost(READ_ONCE(qp->state));
}

static inline const struct kwarp_qp_traits *
kwarp_qp_traits_now(const struct kwarp_qp *qp)
{
	return &kwarp_qp_traits_of[READ_ONCE(qp->state)];
}

void kwarp_qp_set_err(struct kwarp_qp *qp, const struct kwarp_term_err *err,
		      enum kwarp_err_from from);
void kwarp_qp_our_err(struct kwarp_qp *qp, enum kwarp_err err);
void kwarp_qp_warn_terminate(const struct kwarp_qp *qp, const char *way,
			     const struct kwarp_term_err *err);

#endif /* _KWARP_RDMAP_QP_H */
