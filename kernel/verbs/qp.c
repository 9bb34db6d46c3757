// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: modify and query. proto/qp_state.h defines the states and what modify_qp
 * may do in each; a connection changes the state itself (rdmap/qp.c).
 */
#include "verbs/verbs.h"

#include "cm/cm.h"
#include "llp/llp.h"
#include "rdmap/drive.h"
#include "rdmap/tx.h"

#define KWARP_REMOTE_ACCESS	(IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_ATOMIC)

static_assert((int)KWARP_QP_SHOWN_RESET == IB_QPS_RESET);
static_assert((int)KWARP_QP_SHOWN_INIT == IB_QPS_INIT);
static_assert((int)KWARP_QP_SHOWN_RTR == IB_QPS_RTR);
static_assert((int)KWARP_QP_SHOWN_RTS == IB_QPS_RTS);
static_assert((int)KWARP_QP_SHOWN_SQD == IB_QPS_SQD);
static_assert((int)KWARP_QP_SHOWN_ERR == IB_QPS_ERR);

/* ---- transitions --------------------------------------------------------- */

static enum ib_qp_state shown_state(const struct kwarp_qp *qp)
{
	return kwarp_qp_traits_now(qp)->shown;
}

/* SQE does not exist here: KWARP_QP_STEPS is refused in every state. */
static enum kwarp_qp_step step_of(const struct ib_qp_attr *attr, int mask)
{
	switch (attr->qp_state) {
	case IB_QPS_RESET:
		return KWARP_QP_TO_RESET;
	case IB_QPS_INIT:
		return KWARP_QP_TO_INIT;
	case IB_QPS_RTR:
		return mask & (IB_QP_DEST_QPN | IB_QP_AV) ?
		       KWARP_QP_TO_PARTNER : KWARP_QP_TO_RTR;
	case IB_QPS_RTS:
		return KWARP_QP_TO_RTS;
	case IB_QPS_SQD:
		return KWARP_QP_TO_SQD;
	case IB_QPS_ERR:
		return KWARP_QP_TO_ERR;
	default:
		return KWARP_QP_STEPS;
	}
}

static int to_reset(struct kwarp_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	if (qp->state == KWARP_QP_RESET)
		return 0;
	/* Busy until the connection manager has released the old connection. */
	if (rcu_access_pointer(qp->llp) || !kwarp_qp_reserve(qp))
		return -EBUSY;
	kwarp_wq_reset(&qp->sq, &qp->rq);
	kwarp_cq_forget_qp(qp->sq.cq, qp->ibqp.qp_num);
	kwarp_cq_forget_qp(qp->rq.cq, qp->ibqp.qp_num);
	kwarp_qp_step(qp, KWARP_QP_TO_RESET);
	kwarp_qp_unclaim(qp);
	return 0;
}

static int to_init(struct kwarp_qp *qp)
{
	int ret = kwarp_qp_failed(qp) ? to_reset(qp) : 0;

	if (!ret)
		kwarp_qp_step(qp, KWARP_QP_TO_INIT);
	return ret;
}

/* Look for the partner that @attr names by QP number and path: no rdma_cm is involved. */
static int to_partner(struct kwarp_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	if (!ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_RC, mask) ||
	    attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)
		return -EINVAL;
	return kwarp_rdv_begin(qp, attr);
}

/*
 * Change the state under the socket lock, if there is a connection, so that the send engine
 * observes the step at once: after SQD it takes nothing more from the send queue.
 */
static void step_engine(struct kwarp_qp *qp, enum kwarp_qp_step step)
{
	struct kwarp_llp *llp = kwarp_qp_lock_llp(qp);

	/* The step is refused if an error came first. */
	kwarp_qp_step(qp, step);
	if (llp)
		kwarp_qp_unlock_llp(llp);
}

static int to_rts(struct kwarp_qp *qp, const struct ib_qp_attr *attr)
{
	int ret = 0;

	if (!kwarp_qp_traits_now(qp)->partner)
		return 0;
	if (shown_state(qp) == IB_QPS_RTR)
		ret = kwarp_rdv_sends(qp, attr);
	if (ret)
		return ret;
	step_engine(qp, KWARP_QP_TO_RTS);
	kwarp_tx_kick(qp);
	return 0;
}

static void to_sqd(struct kwarp_qp *qp)
{
	if (kwarp_qp_traits_now(qp)->partner)
		step_engine(qp, KWARP_QP_TO_SQD);
	else if (READ_ONCE(qp->state) == KWARP_QP_OPEN)
		kwarp_qp_disconnect(qp, KWARP_CLOSE);
}

static int change_state(struct kwarp_qp *qp, const struct ib_qp_attr *attr,
			int mask)
{
	enum kwarp_qp_step step = step_of(attr, mask);

	lockdep_assert_held(&qp->mutex);
	if (kwarp_qp_traits_now(qp)->partner &&
	    !ib_modify_qp_is_ok(shown_state(qp), attr->qp_state, IB_QPT_RC,
				mask))
		return -EINVAL;
	if (kwarp_qp_next(READ_ONCE(qp->state), step) == KWARP_QP_REFUSED)
		return -EINVAL;
	switch (step) {
	case KWARP_QP_TO_RESET:
		return to_reset(qp);
	case KWARP_QP_TO_INIT:
		return to_init(qp);
	case KWARP_QP_TO_PARTNER:
		return to_partner(qp, attr, mask);
	case KWARP_QP_TO_RTS:
		return to_rts(qp, attr);
	case KWARP_QP_TO_SQD:
		to_sqd(qp);
		return 0;
	case KWARP_QP_TO_ERR:
		kwarp_qp_disconnect(qp, KWARP_ABORT);
		return 0;
	default:
		kwarp_qp_step(qp, step);
		return 0;
	}
}

/* ---- attributes ---------------------------------------------------------- */

void kwarp_qp_default_access(struct kwarp_qp *qp)
{
	qp->access_by_consumer = false;
	qp->attr.qp_access_flags = KWARP_QP_ACCESS_DEFAULT;
	/* iw_cm grants read and write, without a flag for atomics: grant atomics, too. */
	WRITE_ONCE(qp->access, KWARP_REMOTE_ACCESS);
}

static int check_modify_attr(const struct kwarp_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE | IB_QP_QKEY |
		    IB_QP_CAP))
		return -EOPNOTSUPP;
	/* There is no IB_EVENT_SQ_DRAINED: a program would wait for ever. */
	if ((mask & IB_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_CUR_STATE) &&
	    attr->cur_qp_state != shown_state(qp))
		return -EINVAL;
	if ((mask & IB_QP_PORT) && attr->port_num != KWARP_PORT)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index)
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > KWARP_MAX_ORD)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > KWARP_MAX_IRD)
		return -EINVAL;
	return 0;
}

/*
 * Are the rights those of the connection manager, not of the consumer? For iWARP,
 * rdma_init_qp_attr() names no rights before there is a connection, and iw_cm's two rights
 * later; librdmacm sets them along with the state, and our provider adds the port. Manual
 * bring-up sets a P_Key index or a partner; a consumer's change of rights sets no state.
 */
static bool access_of_cm(const struct ib_qp_attr *attr, int mask)
{
	const int cm = IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT |
		       IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC;

	return (mask & IB_QP_STATE) && !(mask & ~cm) &&
	       (attr->qp_state == IB_QPS_INIT || attr->qp_state == IB_QPS_RTR) &&
	       (!attr->qp_access_flags ||
		attr->qp_access_flags == KWARP_QP_ACCESS_DEFAULT);
}

/* Rights set by the consumer apply exactly; those of the CM do not override them. */
static void set_access(struct kwarp_qp *qp, const struct ib_qp_attr *attr,
		       int mask)
{
	if (access_of_cm(attr, mask)) {
		if (!qp->access_by_consumer)
			kwarp_qp_default_access(qp);
		return;
	}
	qp->access_by_consumer = true;
	qp->attr.qp_access_flags = attr->qp_access_flags;
	WRITE_ONCE(qp->access, attr->qp_access_flags & KWARP_REMOTE_ACCESS);
	/* A pass that runs may have checked the former rights. */
	kwarp_drive_await(qp);
}

/* Most attributes have a meaning for InfiniBand only and are stored for query_qp. */
static void store_attr(struct kwarp_qp *qp, const struct ib_qp_attr *attr,
		       int mask)
{
	lockdep_assert_held(&qp->mutex);
	if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RESET)
		kwarp_qp_default_access(qp);
	if (mask & IB_QP_ACCESS_FLAGS)
		set_access(qp, attr, mask);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_DEST_QPN)
		qp->attr.dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = attr->ah_attr;
		/* The core owns sgid_attr, which is valid during this call only. */
		qp->attr.ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IB_QP_RQ_PSN)
		qp->attr.rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		qp->attr.sq_psn = attr->sq_psn;
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
}

/* Must RESET or INIT wait for a connection to end? Disconnects from a partner. */
static bool ends_connection(struct kwarp_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	lockdep_assert_held(&qp->mutex);
	if (check_modify_attr(qp, attr, mask))
		return false;
	if (!kwarp_qp_traits_now(qp)->partner) {
		/* The driver may have delivered the completion of an error, and enter ERR next. */
		kwarp_drive_await(qp);
		return kwarp_qp_failed(qp) &&
		       (READ_ONCE(qp->claimed) || rcu_access_pointer(qp->llp));
	}
	if (attr->qp_state != IB_QPS_RESET ||
	    !ib_modify_qp_is_ok(shown_state(qp), IB_QPS_RESET, IB_QPT_RC, mask))
		return false;
	/* RESET removes the completions of a flush, but they take room in the CQ until then. */
	kwarp_wq_discard(&qp->sq, &qp->rq);
	kwarp_qp_disconnect(qp, KWARP_ABORT);
	return true;
}

/*
 * Wait until the connection manager has released the old connection. The wait is short and
 * does not depend on the peer. Return: 0 or -ERESTARTSYS.
 */
static int leave_connection(struct kwarp_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	bool wait;

	if (!(mask & IB_QP_STATE) ||
	    (attr->qp_state != IB_QPS_RESET && attr->qp_state != IB_QPS_INIT))
		return 0;
	mutex_lock(&qp->mutex);
	wait = ends_connection(qp, attr, mask);
	mutex_unlock(&qp->mutex);
	return wait ? kwarp_cm_qp_leave(qp) : 0;
}

static int modify_qp(struct kwarp_qp *qp, struct ib_qp_attr *attr, int mask)
{
	int ret;

	might_sleep();
	ret = leave_connection(qp, attr, mask);
	if (ret)
		return ret;
	mutex_lock(&qp->mutex);
	ret = check_modify_attr(qp, attr, mask);
	if (!ret && (mask & IB_QP_STATE))
		ret = change_state(qp, attr, mask);
	if (!ret)
		store_attr(qp, attr, mask);
	mutex_unlock(&qp->mutex);
	return ret;
}

int kwarp_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct kwarp_qp *qp;
	int ret;

	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	if (ibqp->qp_type != IB_QPT_DRIVER)
		return modify_qp(to_kqp(ibqp), attr, mask);
	/* Called by iw_cm. The handle may end as soon as this task sleeps. */
	qp = kwarp_iw_qp_target(ibqp);
	if (!qp)
		return -EINVAL;
	ret = modify_qp(qp, attr, mask);
	kwarp_qp_put(qp);
	return ret;
}

/* The attributes of InfiniBand that cannot be set are 0. */
static void load_attr(const struct kwarp_qp *qp, struct ib_qp_attr *attr)
{
	const struct kwarp_qp_attr *a = &qp->attr;

	lockdep_assert_held(&qp->mutex);
	*attr = (struct ib_qp_attr) {
		.cap = a->cap,
		.ah_attr = a->ah_attr,
		.qp_access_flags = a->qp_access_flags,
		.path_mtu = a->path_mtu,
		.dest_qp_num = a->dest_qp_num,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.min_rnr_timer = a->min_rnr_timer,
		.port_num = KWARP_PORT,
	};
}

int kwarp_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	struct net_device *netdev;
	bool partner;

	might_sleep();
	mutex_lock(&qp->mutex);
	load_attr(qp, attr);
	attr->qp_state = shown_state(qp);
	/* Without a partner, report the ORD and IRD that were negotiated. */
	partner = kwarp_qp_traits_now(qp)->partner;
	if (!partner && rcu_access_pointer(qp->llp)) {
		attr->max_rd_atomic = min_t(u16, qp->params.ord, U8_MAX);
		attr->max_dest_rd_atomic = min_t(u16, qp->params.ird, U8_MAX);
	}
	/* CLOSING always drains; SQD with a partner, until all fetched are done. */
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    (!partner || READ_ONCE(qp->sq.window.done) !=
					 READ_ONCE(qp->sq.window.fetched));
	mutex_unlock(&qp->mutex);

	attr->cur_qp_state = attr->qp_state;
	if (!partner)
		attr->path_mtu = IB_MTU_1024;
	netdev = partner ? NULL : ib_device_get_netdev(ibqp->device, KWARP_PORT);
	if (netdev) {
		attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
		dev_put(netdev);
	}

	*init_attr = (struct ib_qp_init_attr) {
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
						IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
		.port_num = KWARP_PORT,
	};
	return 0;
}
