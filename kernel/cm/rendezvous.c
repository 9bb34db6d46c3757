// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rendezvous: modify_qp gives a queue pair its partner, by number and GID, and the queue
 * pair connects to it without rdma_cm (Documentation/wire.rst). This file has
 * the queue pair's side; meet.c has the connections.
 *
 * The initiator tries to connect and retries with a growing delay: the other device
 * closes connections for which it has no partner, so an attempt costs little and reveals
 * nothing. The responder waits. Both give up at a deadline. No caller waits here:
 * modify_qp returns immediately, and posted requests stay in the rings.
 */
#include "cm/cm.h"

#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>

#include "cm/ep.h"
#include "core/gid.h"

enum rdv_limits {
	RDV_DELAY_FIRST_MS	= 5,
	RDV_DELAY_MAX_MS	= 500,
	RDV_NO_TRY_MS		= 3600 * 1000,
	/* Limit of the search, in startup timeouts: the partner's program may be late. */
	RDV_WAITS		= 3,
	/* Attempts with wrong PSNs after which all are refused, so that none are guessed. */
	RDV_WRONG_MAX		= 64,
};

static union ib_gid *as_gid(u8 *raw)
{
	return (union ib_gid *)raw;
}

/* ---- the queue pair ---------------------------------------------------------- */

static void set_deadline(struct kwarp_qp *qp)
{
	u32 ms = READ_ONCE(qp->dev->policy.startup_timeout_ms);

	qp->rdv.deadline = jiffies + RDV_WAITS * msecs_to_jiffies(ms);
}

/* Run the work in @ms, or at the deadline if that is earlier. */
static void plan_work(struct kwarp_qp *qp, u32 ms)
{
	long left = qp->rdv.deadline - jiffies;
	unsigned long delay = min_t(long, msecs_to_jiffies(ms), max(left, 0L));

	lockdep_assert_held(&qp->mutex);
	kwarp_cm_queue_delayed(qp->dev, &qp->rdv.work, delay);
}

/* Schedule the next step; no connection attempt is in progress. */
static void plan_next(struct kwarp_qp *qp)
{
	struct kwarp_rdv *rdv = &qp->rdv;

	if (!rdv->initiator) {
		plan_work(qp, RDV_NO_TRY_MS);
		return;
	}
	plan_work(qp, rdv->delay_ms);
	rdv->delay_ms = min_t(u32, 2 * rdv->delay_ms, RDV_DELAY_MAX_MS);
}

/* Is the QP still looking for its partner, with no attempt in progress? */
static bool is_looking(const struct kwarp_qp *qp)
{
	return kwarp_qp_traits_now(qp)->idle && kwarp_qp_traits_now(qp)->partner &&
	       !qp->claimed;
}

/* Private data and parameters of the startup frame: one read more than verbs shows. */
static void fill_request(const struct kwarp_qp *qp, struct iw_cm_conn_param *params,
			 u8 *pd)
{
	kwarp_rdv_encode(&qp->rdv.id, pd);
	memset(params, 0, sizeof(*params));
	params->qpn = qp->ibqp.qp_num;
	params->ird = qp->rdv.ird + 1;
	params->ord = qp->rdv.ord + 1;
	params->private_data = pd;
	params->private_data_len = KWARP_RDV_LEN;
}

/* The attempt failed. Plan the next one, unless kwarp_rdv_unclaim() has done so. */
static void try_again(struct kwarp_qp *qp)
{
	mutex_lock(&qp->mutex);
	if (is_looking(qp) && !delayed_work_pending(&qp->rdv.work))
		plan_next(qp);
	mutex_unlock(&qp->mutex);
}

static void rdv_work(struct work_struct *work)
{
	struct kwarp_qp *qp = container_of(to_delayed_work(work),
					   struct kwarp_qp, rdv.work);
	unsigned int noio = memalloc_noio_save();
	struct iw_cm_conn_param params;
	u8 pd[KWARP_RDV_LEN];
	bool try = false;

	mutex_lock(&qp->mutex);
	if (is_looking(qp)) {
		if (time_after_eq(jiffies, qp->rdv.deadline)) {
			kwarp_count(qp->dev, KWARP_STAT_RDV_TIMEOUT);
			kwarp_qp_fail_search(qp);
		} else if (qp->rdv.initiator) {
			fill_request(qp, &params, pd);
			try = true;
		} else {
			plan_next(qp);
		}
	}
	mutex_unlock(&qp->mutex);
	if (kwarp_qp_lost(qp))
		kwarp_qp_check_lost(qp);
	/* The QP is not freed meanwhile: kwarp_rdv_cancel() waits for this work. */
	if (try && kwarp_meet_connect(qp, &params))
		try_again(qp);
	memalloc_noio_restore(noio);
}

/**
 * kwarp_rdv_init() - a queue pair is being created
 * @qp:		queue pair
 */
void kwarp_rdv_init(struct kwarp_qp *qp)
{
	INIT_DELAYED_WORK(&qp->rdv.work, rdv_work);
}

static bool same_device(struct kwarp_qp *qp)
{
	return kwarp_gid_is_ours(qp->dev, as_gid(qp->rdv.id.peer_gid));
}

/*
 * The responder identifies its partner by the connection's source address, which must be that
 * of the partner's GID. So both GIDs must be of one address family, unless both ends are on
 * this device, where each may use any address of the device.
 */
static bool path_ok(struct kwarp_device *dev, const union ib_gid *from,
		    const union ib_gid *to)
{
	struct sockaddr_storage src, dst;

	return kwarp_gid_is_ours(dev, from) && kwarp_gid_to_addr(from, &src) &&
	       kwarp_gid_to_addr(to, &dst) &&
	       (src.ss_family == dst.ss_family || kwarp_gid_is_ours(dev, to));
}

/**
 * kwarp_rdv_begin() - INIT to RTR: start looking for the partner
 * @qp:		queue pair in INIT, its mutex held
 * @attr:	ah_attr with sgid_attr, dest_qp_num, rq_psn, max_dest_rd_atomic
 *
 * Returns immediately. Posted requests are sent when the partner has been found; if it is
 * not found by a deadline (three times the policy's startup_timeout_ms, from here and
 * again from RTS), kwarp_qp_fail_search() is called. Context: process.
 *
 * Return: 0; -EOPNOTSUPP if the policy has no rendezvous_port; -EINVAL if the path does
 * not lead from an address of this device to the address of a single host, or the
 * families differ and the destination is another device; -EBUSY if another connection has
 * claimed the QP.
 */
int kwarp_rdv_begin(struct kwarp_qp *qp, const struct ib_qp_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);
	struct kwarp_rdv *rdv = &qp->rdv;

	lockdep_assert_held(&qp->mutex);
	if (!READ_ONCE(qp->dev->policy.rendezvous_port)) {
		/* Counted, because few programs print the errno. */
		kwarp_count(qp->dev, KWARP_STAT_RDV_OFF);
		return -EOPNOTSUPP;
	}
	/* No QP has such a number: the special ones, and multicast. */
	if (!kwarp_qpn_valid(attr->dest_qp_num))
		return -EINVAL;
	/* Partners are identified by addresses: a path needs a GRH. */
	if (!(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) ||
	    !path_ok(qp->dev, &grh->sgid_attr->gid, &grh->dgid))
		return -EINVAL;

	rdv->id = (struct kwarp_rdv_id) {
		.qpn = qp->ibqp.qp_num,
		.peer_qpn = attr->dest_qp_num,
		.rq_psn = attr->rq_psn,
	};
	memcpy(rdv->id.gid, &grh->sgid_attr->gid, sizeof(rdv->id.gid));
	memcpy(rdv->id.peer_gid, &grh->dgid, sizeof(rdv->id.peer_gid));
	if (rdv->id.peer_qpn == rdv->id.qpn && same_device(qp))
		return -EINVAL;
	/* Keep other connections from claiming the QP until its state has changed. */
	if (!kwarp_qp_reserve(qp))
		return -EBUSY;
	rdv->initiator = kwarp_rdv_initiates(&rdv->id, same_device(qp) ?
					     KWARP_RDV_ONE_DEVICE : KWARP_RDV_TWO_DEVICES);
	rdv->ird = attr->max_dest_rd_atomic;
	rdv->ord = KWARP_MAX_ORD;
	rdv->tos = grh->traffic_class;
	rdv->missed = false;
	rdv->matched = false;
	rdv->wrong = 0;
	rdv->delay_ms = RDV_DELAY_FIRST_MS;
	kwarp_qp_step(qp, KWARP_QP_TO_PARTNER);
	kwarp_qp_unclaim(qp);
	set_deadline(qp);
	plan_work(qp, rdv->initiator ? 0 : RDV_NO_TRY_MS);
	return 0;
}

/* If the connection already exists, its depth can only be reduced. */
static void limit_ord(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = kwarp_qp_lock_llp(qp);
	u16 ord;

	if (!llp)
		return;
	/* One read is reserved for acknowledgments, if there is more than one. */
	ord = qp->params.ord;
	if (qp->params.ack && ord > 1)
		ord--;
	qp->params.user_ord = min(ord, qp->rdv.ord);
	kwarp_qp_unlock_llp(llp);
}

/**
 * kwarp_rdv_sends() - RTR to RTS
 * @qp:		queue pair in rendezvous, its mutex held
 * @attr:	sq_psn, max_rd_atomic
 *
 * Context: process.
 *
 * Return: 0; -EINVAL if the partner that was found expects another PSN: then the queue
 * pair is in ERR, and its connection ends.
 */
int kwarp_rdv_sends(struct kwarp_qp *qp, const struct ib_qp_attr *attr)
{
	struct kwarp_rdv *rdv = &qp->rdv;

	lockdep_assert_held(&qp->mutex);
	rdv->id.sq_psn = attr->sq_psn;
	rdv->id.sends = true;
	rdv->ord = attr->max_rd_atomic;
	if (rdv->matched &&
	    !kwarp_rdv_psn_equal(rdv->peer_rq_psn, rdv->id.sq_psn)) {
		/* A peer that expects another PSN was accepted before this one was known. */
		kwarp_count(qp->dev, KWARP_STAT_RDV_PSN_ERR);
		kwarp_qp_disconnect(qp, KWARP_ABORT);
		return -EINVAL;
	}
	limit_ord(qp);
	if (!is_looking(qp))
		return 0;
	/* Until one end was in RTS, every match failed (match_partner()): search anew. */
	rdv->delay_ms = RDV_DELAY_FIRST_MS;
	set_deadline(qp);
	plan_work(qp, rdv->initiator ? 0 : RDV_NO_TRY_MS);
	return 0;
}

/**
 * kwarp_rdv_cancel() - end the search for a partner
 * @qp:		queue pair in ERR, its mutex not held
 *
 * Context: process, may sleep, but does not wait for the network.
 */
void kwarp_rdv_cancel(struct kwarp_qp *qp)
{
	might_sleep();
	cancel_delayed_work_sync(&qp->rdv.work);
}

/* ---- functions for its connections ------------------------------------------- */

/* Partners on one device may each use any address of the device. */
static bool gids_match(struct kwarp_qp *qp, const struct kwarp_rdv_id *theirs)
{
	const struct kwarp_rdv_id *mine = &qp->rdv.id;
	union ib_gid from, to;

	if (!memcmp(theirs->gid, mine->peer_gid, sizeof(mine->gid)) &&
	    !memcmp(theirs->peer_gid, mine->gid, sizeof(mine->gid)))
		return true;
	memcpy(&from, theirs->gid, sizeof(from));
	memcpy(&to, theirs->peer_gid, sizeof(to));
	return same_device(qp) && kwarp_gid_is_ours(qp->dev, &from) &&
	       kwarp_gid_is_ours(qp->dev, &to);
}

static bool match_partner(struct kwarp_qp *qp, const struct kwarp_rdv_id *theirs)
{
	struct kwarp_rdv *rdv = &qp->rdv;

	lockdep_assert_held(&qp->mutex);
	if (!kwarp_rdv_numbers_match(&rdv->id, theirs) ||
	    !gids_match(qp, theirs) || rdv->wrong >= RDV_WRONG_MAX)
		return false;
	switch (kwarp_rdv_check_psns(&rdv->id, theirs)) {
	case KWARP_RDV_PSNS_RIGHT:
		rdv->peer_rq_psn = theirs->rq_psn;
		rdv->matched = true;
		return true;
	case KWARP_RDV_PSNS_WRONG:
		rdv->wrong++;
		kwarp_count(qp->dev, KWARP_STAT_RDV_PSN_ERR);
		return false;
	default:
		return false;
	}
}

/**
 * kwarp_rdv_match() - check that a peer is the expected partner
 * @qp:		queue pair in rendezvous
 * @theirs:	the peer's description of itself
 *
 * Return: true if so.
 */
bool kwarp_rdv_match(struct kwarp_qp *qp, const struct kwarp_rdv_id *theirs)
{
	bool yes;

	mutex_lock(&qp->mutex);
	yes = kwarp_qp_traits_now(qp)->partner && match_partner(qp, theirs);
	mutex_unlock(&qp->mutex);
	return yes;
}

/**
 * kwarp_rdv_claim() - claim a queue pair for the connection of its partner
 * @qp:		queue pair
 * @theirs:	the initiator's description of itself
 * @llp:	the connection
 * @params:	result: parameters for accept
 * @pd:		room for KWARP_RDV_LEN bytes, to which @params refers
 *
 * Return: false if the queue pair does not expect this peer.
 */
bool kwarp_rdv_claim(struct kwarp_qp *qp, const struct kwarp_rdv_id *theirs,
		     struct kwarp_llp *llp, struct iw_cm_conn_param *params, u8 *pd)
{
	bool ours;

	/* Any peer may name any QP number: do not take the mutex of unrelated QPs. */
	if (!kwarp_qp_traits_now(qp)->partner)
		return false;
	mutex_lock(&qp->mutex);
	ours = is_looking(qp) && !qp->rdv.initiator && match_partner(qp, theirs) &&
	       kwarp_qp_claim_partner(qp, llp);
	if (ours)
		fill_request(qp, params, pd);
	mutex_unlock(&qp->mutex);
	return ours;
}

/**
 * kwarp_rdv_unclaim() - the connection is over, or was not established
 * @qp:		queue pair, referenced by the caller
 */
void kwarp_rdv_unclaim(struct kwarp_qp *qp)
{
	mutex_lock(&qp->mutex);
	kwarp_qp_unclaim(qp);
	/* No new work for a QP being destroyed: it is in ERR, so not looking. */
	if (is_looking(qp)) {
		qp->rdv.matched = false;
		plan_next(qp);
	}
	mutex_unlock(&qp->mutex);
}

/**
 * kwarp_rdv_made() - the connection is established
 * @qp:		queue pair
 */
void kwarp_rdv_made(struct kwarp_qp *qp)
{
	mutex_lock(&qp->mutex);
	/* The limit may have been set (at RTS) before the connection existed. */
	limit_ord(qp);
	mutex_unlock(&qp->mutex);
}
