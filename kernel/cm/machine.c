// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The endpoint's state machine: a table of states and events.
 *
 *  IDLE -> LISTEN ------------------------------------------------> CLOSED
 *  IDLE -> CONNECTING -> WAIT_REP -----------> ESTABLISHED
 *                               `-> (rejected: CLOSED; Terminate: CLOSING)
 *  IDLE -> WAIT_REQ -> READY -> REQUESTED [-> WAIT_RTR] -> ESTABLISHED
 *           `------------`--------`-> (rejected: LINGER)
 *  IDLE [-> WAIT_REP | -> WAIT_REQ] -> ESTABLISHED (attached: Start Keys, no frames)
 *  WAIT_RTR, ESTABLISHED [-> CLOSING] -> LINGER -> CLOSED
 *
 * Events are bits (an event raised twice before the work runs is handled once) and are
 * handled in the order of the table's rows, not of their arrival. The order is that of
 * the wire: bytes before the end of the stream, the first FPDU before its error, an end
 * before the QP error that results from it. The timeout is last: anything that has
 * happened in time counts.
 *
 * Closing a connection:
 *
 *  - Our consumer disconnects: iw_cm changes the QP to SQD (DRAIN: CLOSING), the
 *    send engine finishes and sends FIN (FIN_SENT). The peer may still send
 *    and is served until its FIN arrives; then LINGER, where only the close
 *    is left. Limits: KWARP_EP_DRAIN_MS for the engine, startup_timeout_ms for
 *    the peer's next acknowledgment or FIN; then CLOSE reports -ETIMEDOUT, and
 *    LINGER follows.
 *  - The peer disconnects: PEER_FIN. None of our outstanding requests can be
 *    answered, so the QP is flushed immediately and the engine sends our FIN. If
 *    the peer resets the connection before TCP has accepted our FIN: RESET.
 *  - Either side finds an error: QP_ERR. A Terminate that TCP has not accepted
 *    yet keeps us in CLOSING until it is sent, followed by FIN (FIN_SENT; same
 *    limit). Then the QP is detached, iw_cm gets its CLOSE, and in LINGER we
 *    discard what arrives until the peer's FIN: closing a socket with unread
 *    bytes would send RST, which overtakes the Terminate at the peer. Limits:
 *    KWARP_EP_DISCARD_MAX and startup_timeout_ms, and KWARP_EP_PERIODS as often
 *    if the peer has not acknowledged our data and FIN. The number of endpoints
 *    per device is limited, too: see linger.c.
 *  - A rejected request: the reply and FIN, then LINGER as above.
 *  - WAIT_RTR has no QP attached if it waits for the Rtr frame (2007 proposal):
 *    every transition out of that state handles a missing QP.
 *  - The QP is destroyed: as for an error, but without waiting: what TCP has
 *    accepted is sent, then FIN.
 *  - Wrong startup frames: the socket is closed (RFC 5044 7.1.2).
 *
 * CLOSE is delivered after the QP was detached and flushed, and makes iw_cm release the QP.
 * The socket may stay in LINGER for a while.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "cm/ep.h"

/* ---- established and closing ------------------------------------------------ */

/**
 * kwarp_ep_enter() - startup is complete and reported: ESTABLISHED, start the engine
 * @ep:		endpoint with an attached QP, mutex held
 */
void kwarp_ep_enter(struct kwarp_ep *ep)
{
	lockdep_assert_held(&ep->mutex);
	kwarp_ep_set_state(ep, KWARP_EP_ESTABLISHED);
	kwarp_ep_disarm(ep);
	kfree(ep->su);
	ep->su = NULL;
	/* The program has set the options of an attached socket. */
	if (!ep->llp.user_file)
		kwarp_llp_keepalive(&ep->llp,
				    READ_ONCE(ep_dev(ep)->policy.keepalive_s));
	kwarp_qp_start(ep->qp);
}

/* iw_cm needs ESTABLISHED before it can accept a CLOSE. */
static void settle_established(struct kwarp_ep *ep, int status)
{
	if (ep->state == KWARP_EP_WAIT_RTR)
		kwarp_up_established(ep, status);
}

/* The consumer expects a flush after accept, even if no QP was attached yet (Rtr frame). */
static void flush_accepted(struct kwarp_ep *ep)
{
	struct kwarp_qp *qp = ep->qp;

	if (!ep->su || !ep->su->rtr_frame || !qp)
		return;
	mutex_lock(&qp->mutex);
	if (kwarp_qp_traits_now(qp)->idle)
		kwarp_qp_disconnect(qp, KWARP_ABORT);
	mutex_unlock(&qp->mutex);
}

/* Detach the QP, report the end, and close the socket or linger. */
static void finish_ep(struct kwarp_ep *ep, int status, bool abort)
{
	kwarp_qp_detach(&ep->llp);
	flush_accepted(ep);
	/* Before the events, because the consumer may use the QP again immediately. */
	kwarp_ep_release_qp(ep, status);
	settle_established(ep, status ? : -ECONNABORTED);
	kwarp_up_close(ep, status);
	if (abort)
		kwarp_ep_close(ep, KWARP_ABORT);
	else
		kwarp_linger(ep, KWARP_LINGER_ENDED);
}

/**
 * kwarp_ep_withdraw() - end an accepted connection of which iw_cm expects no event any more
 * @ep:		endpoint in KWARP_EP_WAIT_RTR, mutex held; the caller holds its own reference
 *
 * The QP is flushed, the peer gets a reset. Context: process, may sleep.
 */
void kwarp_ep_withdraw(struct kwarp_ep *ep)
{
	might_sleep();
	lockdep_assert_held(&ep->mutex);
	WARN_ON_ONCE(ep->established);
	kwarp_qp_detach(&ep->llp);
	flush_accepted(ep);
	kwarp_ep_close(ep, KWARP_ABORT);
}

/* Has the engine sent everything? */
static bool engine_done(struct kwarp_ep *ep)
{
	const struct kwarp_qp *qp;
	bool done;

	kwarp_llp_lock(&ep->llp);
	qp = ep->llp.qp;
	done = !qp || READ_ONCE(qp->tx.state) >= KWARP_TX_FIN_SENT;
	kwarp_llp_unlock(&ep->llp);
	return done;
}

/* The QP is in ERR and flushed: finish once FIN is sent. FIN_SENT calls this again. */
static void ep_finish_when_sent(struct kwarp_ep *ep)
{
	if (engine_done(ep)) {
		finish_ep(ep, 0, false);
		return;
	}
	if (ep->state == KWARP_EP_CLOSING)
		return;
	settle_established(ep, -ECONNABORTED);
	kwarp_ep_set_state(ep, KWARP_EP_CLOSING);
	kwarp_ep_arm_startup(ep);
}

/* Our consumer disconnects: let the engine finish first. */
static void drain_engine(struct kwarp_ep *ep)
{
	settle_established(ep, -ECONNABORTED);
	kwarp_ep_set_state(ep, KWARP_EP_CLOSING);
	kwarp_ep_arm(ep, KWARP_EP_DRAIN_MS);
}

/* Our FIN is sent. A QP in ERR is finished; any other waits for the peer's FIN. */
static void fin_sent(struct kwarp_ep *ep)
{
	const struct kwarp_qp *qp;
	bool sound;

	kwarp_llp_lock(&ep->llp);
	qp = ep->llp.qp;
	sound = qp && !kwarp_qp_failed(qp);
	kwarp_llp_unlock(&ep->llp);
	if (!sound) {
		ep_finish_when_sent(ep);
		return;
	}
	settle_established(ep, -ECONNABORTED);
	kwarp_ep_set_state(ep, KWARP_EP_CLOSING);
	ep->queued = kwarp_llp_queued(&ep->llp);
	kwarp_ep_arm_startup(ep);
}

static void peer_fin(struct kwarp_ep *ep)
{
	kwarp_up_disconnect(ep);
	ep_finish_when_sent(ep);
}

/* Count an end before the RTR indication, unless an error or Terminate caused it. */
static void count_early_end(struct kwarp_ep *ep)
{
	const struct kwarp_qp *qp;
	bool count;

	kwarp_llp_lock(&ep->llp);
	qp = ep->llp.qp;
	count = !qp || qp->stream_end;
	kwarp_llp_unlock(&ep->llp);
	if (count)
		kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_CLOSED);
}

static void peer_fin_early(struct kwarp_ep *ep)
{
	count_early_end(ep);
	ep_finish_when_sent(ep);
}

static void stream_lost(struct kwarp_ep *ep)
{
	finish_ep(ep, -(READ_ONCE(ep->llp.sk_err) ? : ECONNRESET), true);
}

static void stream_lost_early(struct kwarp_ep *ep)
{
	count_early_end(ep);
	stream_lost(ep);
}

/* The initiator is ready: its first FPDU was valid (RFC 6581 9.2). */
static void peer_ready(struct kwarp_ep *ep)
{
	kwarp_up_established(ep, 0);
	kwarp_ep_enter(ep);
}

/* Bytes arrived without a QP attached: the Rtr frame, or the end of the stream. */
static void rtr_frame_recv(struct kwarp_ep *ep)
{
	int ret = kwarp_startup_rtr_frame(ep);

	if (ret > 0)
		peer_ready(ep);
	else if (ret < 0)
		finish_ep(ep, ret, ret != -EPROTO);
}

static void rtr_timeout(struct kwarp_ep *ep)
{
	kwarp_count(ep_dev(ep), KWARP_STAT_STARTUP_TIMEOUT);
	finish_ep(ep, -ETIMEDOUT, false);
}

/*
 * Data of completed requests may still be on the way, if the path is slow: wait longer if the peer
 * has acknowledged some of them, and do not reset.
 */
static void closing_timeout(struct kwarp_ep *ep)
{
	if (engine_done(ep) && kwarp_ep_acked(ep) && ep->queued &&
	    ep->periods++ < KWARP_EP_PERIODS)
		kwarp_ep_arm_startup(ep);
	else
		finish_ep(ep, -ETIMEDOUT, false);
}

static void qp_gone(struct kwarp_ep *ep)
{
	finish_ep(ep, 0, false);
}

static void dev_down(struct kwarp_ep *ep)
{
	finish_ep(ep, -ENETDOWN, true);
}

static void ep_reset(struct kwarp_ep *ep)
{
	kwarp_ep_close(ep, KWARP_ABORT);
}

/* ---- the table -------------------------------------------------------------- */

typedef void (*action)(struct kwarp_ep *ep);

/**
 * struct row - what an event does in each state
 * @event:	bit of kwarp_ep.events
 * @name:	for the log
 * @late:	states in which the event may occur and is ignored: it was handled before, or
 *		another event made it obsolete
 * @act:	function for each state in which the event is handled. The event cannot occur
 *		in a state that is neither here nor in @late
 */
struct row {
	u8 event;
	const char *name;
	u16 late;
	action act[KWARP_EP_STATES];
};

#define ROW(ev)		.event = (ev), .name = #ev
#define IN(state, fn)	.act[KWARP_EP_ ## state] = (fn)
#define FROM(state)	((u16)GENMASK(KWARP_EP_CLOSED, KWARP_EP_ ## state))

/* In the order in which pending events are handled. */
static const struct row rows[] = {
	/*
	 * REMOVED: the device is being removed. DOWN announces that: a listener survives it,
	 * because iw_cm has no event to tell the consumer to listen again.
	 */
	{
		ROW(KWARP_EP_EV_REMOVED),
		.late = BIT(KWARP_EP_CLOSED),
		IN(LISTEN, kwarp_listen_end),
		IN(CONNECTING, kwarp_initiator_down),
		IN(WAIT_REP, kwarp_initiator_down),
		IN(WAIT_REQ, ep_reset),
		IN(READY, ep_reset),
		IN(REQUESTED, ep_reset),
		IN(WAIT_RTR, dev_down),
		IN(ESTABLISHED, dev_down),
		IN(CLOSING, dev_down),
		IN(LINGER, ep_reset),
	},
	{
		ROW(KWARP_EP_EV_DOWN),
		.late = BIT(KWARP_EP_LISTEN) | BIT(KWARP_EP_CLOSED),
		IN(CONNECTING, kwarp_initiator_down),
		IN(WAIT_REP, kwarp_initiator_down),
		IN(WAIT_REQ, ep_reset),
		IN(READY, ep_reset),
		IN(REQUESTED, ep_reset),
		IN(WAIT_RTR, dev_down),
		IN(ESTABLISHED, dev_down),
		IN(CLOSING, dev_down),
		IN(LINGER, ep_reset),
	},
	/* destroy_qp waits for the end of the connection. */
	{
		ROW(KWARP_LLP_EV_QP_GONE),
		.late = FROM(LINGER),
		IN(CONNECTING, kwarp_initiator_qp_gone),
		IN(WAIT_REP, kwarp_initiator_qp_gone),
		IN(WAIT_REQ, kwarp_responder_drop), /* attached socket */
		IN(WAIT_RTR, qp_gone),
		IN(ESTABLISHED, qp_gone),
		IN(CLOSING, qp_gone),
	},
	{
		ROW(KWARP_LLP_EV_CONNECTED),
		.late = FROM(WAIT_REP),
		IN(CONNECTING, kwarp_initiator_connected),
	},
	/* Once a QP is attached, its receive engine reads the socket. */
	{
		ROW(KWARP_LLP_EV_READABLE),
		.late = BIT(KWARP_EP_ESTABLISHED) | BIT(KWARP_EP_CLOSING) |
			BIT(KWARP_EP_CLOSED),
		IN(LISTEN, kwarp_listen_children),
		IN(WAIT_REP, kwarp_initiator_reply),
		IN(WAIT_REQ, kwarp_responder_request),
		IN(READY, kwarp_responder_early),
		IN(REQUESTED, kwarp_responder_early),
		IN(WAIT_RTR, rtr_frame_recv),
		IN(LINGER, kwarp_linger_discard),
	},
	{
		ROW(KWARP_LLP_EV_RTR),
		.late = FROM(ESTABLISHED),
		IN(WAIT_RTR, peer_ready),
	},
	/* The reply may have arrived before the reset: read first. */
	{
		ROW(KWARP_LLP_EV_RESET),
		.late = BIT(KWARP_EP_CLOSED),
		IN(LISTEN, kwarp_listen_reset),
		IN(CONNECTING, kwarp_initiator_refused),
		IN(WAIT_REP, kwarp_initiator_reply),
		IN(WAIT_REQ, kwarp_responder_lost),
		IN(READY, kwarp_responder_lost),
		IN(REQUESTED, kwarp_responder_lost),
		IN(WAIT_RTR, stream_lost_early),
		IN(ESTABLISHED, stream_lost),
		IN(CLOSING, stream_lost),
		IN(LINGER, ep_reset),
	},
	/* Raised only with a QP; otherwise READABLE reports the end of the stream. */
	{
		ROW(KWARP_LLP_EV_PEER_FIN),
		.late = FROM(LINGER),
		IN(WAIT_RTR, peer_fin_early),
		IN(ESTABLISHED, peer_fin),
		IN(CLOSING, ep_finish_when_sent),
	},
	{
		ROW(KWARP_LLP_EV_QP_ERR),
		.late = FROM(LINGER),
		IN(WAIT_RTR, ep_finish_when_sent),
		IN(ESTABLISHED, ep_finish_when_sent),
		IN(CLOSING, ep_finish_when_sent),
	},
	{
		ROW(KWARP_LLP_EV_DRAIN),
		.late = FROM(CLOSING),
		IN(WAIT_RTR, drain_engine),
		IN(ESTABLISHED, drain_engine),
	},
	{
		ROW(KWARP_LLP_EV_FIN_SENT),
		.late = FROM(LINGER),
		IN(WAIT_RTR, fin_sent),
		IN(ESTABLISHED, fin_sent),
		IN(CLOSING, fin_sent),
	},
	/*
	 * Reset, as TCP does with connections that were not accepted. After a FIN, the socket
	 * would wait for the FIN of a silent peer, and such sockets would have no limit.
	 * A consumer that has the request may answer after the listener has ended; the wait has
	 * its limit also if iw_cm had not delivered the request, and has dropped it.
	 */
	{
		ROW(KWARP_EP_EV_UNWANTED),
		.late = FROM(REQUESTED),
		IN(WAIT_REQ, ep_reset),
		IN(READY, ep_reset),
	},
	/* After the events that end a child. */
	{
		ROW(KWARP_EP_EV_TURN),
		.late = FROM(REQUESTED),
		IN(READY, kwarp_responder_ask),
	},
	{
		ROW(KWARP_EP_EV_READDRESS),
		.late = BIT(KWARP_EP_IDLE) | FROM(CONNECTING),
		IN(LISTEN, kwarp_listen_readdress),
	},
	{
		ROW(KWARP_EP_EV_DISPLACED),
		.late = BIT(KWARP_EP_CLOSED),
		IN(LINGER, kwarp_linger_displaced),
	},
	/* Handled only if the timer has not been set to a later time meanwhile. */
	{
		ROW(KWARP_EP_EV_TIMEOUT),
		.late = BIT(KWARP_EP_CLOSED),
		IN(LISTEN, kwarp_listen_retry),
		IN(CONNECTING, kwarp_initiator_timeout),
		IN(WAIT_REP, kwarp_initiator_timeout),
		IN(WAIT_REQ, kwarp_responder_timeout),
		IN(READY, kwarp_responder_ask),
		IN(REQUESTED, kwarp_responder_unanswered),
		IN(WAIT_RTR, rtr_timeout),
		IN(CLOSING, closing_timeout),
		IN(LINGER, kwarp_linger_timeout),
	},
};

static_assert(ARRAY_SIZE(rows) == KWARP_EP_EVENTS);

static const char * const state_names[] = {
	[KWARP_EP_IDLE]		= "IDLE",
	[KWARP_EP_LISTEN]	= "LISTEN",
	[KWARP_EP_CONNECTING]	= "CONNECTING",
	[KWARP_EP_WAIT_REP]	= "WAIT_REP",
	[KWARP_EP_WAIT_REQ]	= "WAIT_REQ",
	[KWARP_EP_READY]	= "READY",
	[KWARP_EP_REQUESTED]	= "REQUESTED",
	[KWARP_EP_WAIT_RTR]	= "WAIT_RTR",
	[KWARP_EP_ESTABLISHED]	= "ESTABLISHED",
	[KWARP_EP_CLOSING]	= "CLOSING",
	[KWARP_EP_LINGER]	= "LINGER",
	[KWARP_EP_CLOSED]	= "CLOSED",
};

static_assert(ARRAY_SIZE(state_names) == KWARP_EP_STATES);

/**
 * kwarp_ep_state_name() - name of a state for log messages
 * @state:	state
 *
 * Return: its name.
 */
const char *kwarp_ep_state_name(enum kwarp_ep_state state)
{
	return state_names[state];
}

static void handle_event(struct kwarp_ep *ep, const struct row *row)
{
	action act = row->act[ep->state];

	ibdev_dbg(&ep_dev(ep)->ibdev, "ep %p: %s in %s\n", ep, row->name,
		  kwarp_ep_state_name(ep->state));
	if (act)
		act(ep);
	else
		WARN_ONCE(!(row->late & BIT(ep->state)), "kwarp: %s in %s\n", row->name,
			  kwarp_ep_state_name(ep->state));
}

/**
 * kwarp_ep_work() - handle pending events
 * @work:	the endpoint's work; its reference is put
 *
 * Runs under memalloc_noio, upcalls included: reclaim could write to an NVMe-oF disk that
 * waits for this connection. The calls connect and accept do the same.
 */
void kwarp_ep_work(struct work_struct *work)
{
	struct kwarp_ep *ep = container_of(work, struct kwarp_ep, work);
	unsigned int noio = memalloc_noio_save();
	unsigned long events;
	int i;

	if (!kwarp_ep_trylock(ep))
		goto out;
	events = xchg(&ep->events, 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (!(events & BIT(row->event)))
			continue;
		if (row->event == KWARP_EP_EV_TIMEOUT && !kwarp_ep_timed_out(ep))
			continue;
		handle_event(ep, row);
	}
	kwarp_ep_unlock(ep);
out:
	kwarp_llp_put(&ep->llp);
	memalloc_noio_restore(noio);
}
