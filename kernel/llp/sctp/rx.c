// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SCTP receive: the callback that reports a message reads the message in place, in the
 * socket's receive queue. Unordered delivery may change the order, so a message that is
 * early by its DDP-SSN is held. A worker returns the events that were read to SCTP, by
 * recvmsg() with an iterator that discards the data, which also opens the window.
 */
#include "llp/sctp/sctp.h"

#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>
#include <net/sctp/ulpevent.h>

#include "proto/early.h"

/* ---- events ------------------------------------------------------------------- */

/* Return: the next event that has not been read, or NULL. */
static struct sk_buff *next_event(const struct kwarp_llp *llp)
{
	struct sk_buff_head *q = &llp->sk->sk_receive_queue;
	const struct sk_buff *last = llp->sctp->rx.last;
	struct sk_buff *skb;

	/* If @last was returned to SCTP, the unread events begin the queue. */
	skb = last && last->next ? last->next : q->next;
	return skb == (struct sk_buff *)q ? NULL : skb;
}

static void mark_read(struct kwarp_sctp_rx *rx, struct sk_buff *skb)
{
	kfree_skb(rx->last);
	rx->last = skb_get(skb);
	rx->unread++;
	rx->unread_bytes += skb->len;
}

static void assoc_lost(struct kwarp_llp *llp, int err)
{
	struct kwarp_sctp *s = llp->sctp;

	if (test_bit(KWARP_SCTP_LOST, &s->flags))
		return;
	s->err = llp->sk->sk_err ? : s->err ? : err;
	set_bit(KWARP_SCTP_LOST, &s->flags);
}

static void assoc_changed(struct kwarp_llp *llp, u16 state)
{
	switch (state) {
	case SCTP_COMM_UP:
		break; /* sk_state_change has reported it */
	case SCTP_CANT_STR_ASSOC:
		assoc_lost(llp, ECONNREFUSED);
		break;
	case SCTP_SHUTDOWN_COMP:
		set_bit(KWARP_SCTP_SHUTDOWN, &llp->sctp->flags);
		break;
	default:
		/* COMM_LOST, or RESTART: a restarted peer has lost the state of this session. */
		assoc_lost(llp, ECONNRESET);
	}
}

/* SCTP sends this event for single-homed peers, too: do not count a mere timeout. */
static void path_changed(struct kwarp_llp *llp, int state)
{
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);

	if (state == SCTP_ADDR_POTENTIALLY_FAILED && assoc &&
	    assoc->peer.transport_count > 1)
		kwarp_count(llp->dev, KWARP_STAT_PATH_FAILURE);
}

static void note_event(struct kwarp_llp *llp, const struct sk_buff *skb)
{
	const union sctp_notification *note = (const void *)skb->data;

	switch (note->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		assoc_changed(llp, note->sn_assoc_change.sac_state);
		break;
	case SCTP_SHUTDOWN_EVENT:
		set_bit(KWARP_SCTP_SHUTDOWN, &llp->sctp->flags);
		break;
	case SCTP_PEER_ADDR_CHANGE:
		path_changed(llp, note->sn_paddr_change.spc_state);
		break;
	}
}

static bool is_notification(struct sk_buff *skb)
{
	return sctp_skb2event(skb)->msg_flags & MSG_NOTIFICATION;
}

/* Return: DDP-SSN of the next message in order. */
static u16 expected_ssn(const struct kwarp_sctp_rx *rx)
{
	return (u16)rx->next;
}

/* Let a worker return the events that were read to SCTP, if there are enough of them. */
static void give_back(struct kwarp_sctp *s)
{
	if (s->rx.unread >= KWARP_SCTP_UNREAD ||
	    s->rx.unread_bytes >= KWARP_SCTP_UNREAD_BYTES)
		kwarp_sctp_queue_consume(s);
}

/*
 * Read the notifications before the first message of the queue. Return: true if there is a
 * message, in the queue or held, that may be next in order.
 */
bool kwarp_sctp_read_events(struct kwarp_llp *llp)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	struct sk_buff *skb;

	kwarp_llp_assert_locked(llp);
	while ((skb = next_event(llp)) && is_notification(skb)) {
		mark_read(rx, skb);
		note_event(llp, skb);
	}
	/* The number of notifications has no limit, and pull_end() may not be called. */
	if (!skb)
		give_back(llp->sctp);
	return skb || (rx->nr_held && xa_load(&rx->held, expected_ssn(rx)));
}

/* ---- messages ------------------------------------------------------------------ */

static void msg_put(struct kwarp_sctp_msg *m)
{
	if (m->owned)
		kfree_skb(m->skb);
	m->skb = NULL;
	m->owned = false;
}

/* Return: DDP-SSN of a checked message, whose first fragment may have one byte. */
static u16 ssn_of(const struct sk_buff *skb)
{
	__be16 buf;
	const __be16 *ssn = skb_header_pointer(skb, 0, sizeof(buf), &buf);

	return ssn ? get_unaligned_be16(ssn) : 0;
}

/* Check PPID, stream and order of a message or piece (RFC 5043 5.2, 8). Return: 0 or error. */
static enum kwarp_err check_chunk(struct sk_buff *skb, struct kwarp_sctp_msg *m)
{
	const struct sctp_ulpevent *ev = sctp_skb2event(skb);

	m->ppid = ntohl((__force __be32)ev->ppid);
	if (m->ppid != KWARP_SCTP_SEGMENT && m->ppid != KWARP_SCTP_CONTROL)
		return KWARP_ERR_CHUNK;
	if (!(ev->flags & SCTP_UNORDERED) || ev->stream)
		return KWARP_ERR_CHUNK;
	return KWARP_ERR_NONE;
}

/* Check the length of a message (RFC 5043 10). Return: 0 or error. */
static enum kwarp_err check_len(const struct sk_buff *skb)
{
	if (skb->len < KWARP_SCTP_SSN_LEN || skb->len > KWARP_SCTP_MSG_MAX)
		return KWARP_ERR_CHUNK;
	return KWARP_ERR_NONE;
}

/*
 * Set m->skb to @skb if this is linear, otherwise to a copy: RFC 5043 9 allows SCTP
 * fragmentation if the alternative is IP fragmentation. SCTP does not charge the copy, so it
 * lives for one pull only. Return: 0 or -ENOMEM.
 */
static int flatten_msg(struct sk_buff *skb, struct kwarp_sctp_msg *m)
{
	m->skb = skb;
	if (likely(!skb_is_nonlinear(skb)))
		return 0;
	m->skb = skb_copy(skb, GFP_ATOMIC);
	m->owned = m->skb;
	return m->skb ? 0 : -ENOMEM;
}

/* Set the size of the receive buffer. */
void kwarp_sctp_rcvbuf(struct kwarp_llp *llp)
{
	u32 size = llp->sctp->tx.buf ? KWARP_SCTP_RCVBUF : KWARP_SCTP_RCVBUF_NEW;

	kwarp_llp_assert_locked(llp);
	WRITE_ONCE(llp->sk->sk_rcvbuf, size + llp->sctp->rx.held_bytes);
}

/* Return: bytes charged to the socket for a message, while a reference is held. */
static u32 charge_of(const struct sk_buff *skb)
{
	u32 charge = skb->len + sizeof(*skb);
	const struct sk_buff *frag;

	/* By add_piece(), otherwise by SCTP. */
	if (skb->destructor == sock_rfree)
		return skb->truesize;
	skb_walk_frags(skb, frag)
		charge += sizeof(*frag);
	return charge;
}

/*
 * Hold an early message. skb->mark keeps the PPID, because SCTP may free the event. Return: as
 * take_msg().
 */
static int hold_msg(struct kwarp_llp *llp, struct sk_buff *skb, u32 ppid)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	int ret;

	if (rx->held_bytes + charge_of(skb) > KWARP_SCTP_HELD_MAX)
		return KWARP_ERR_CHUNK;
	xa_lock_bh(&rx->held);
	ret = __xa_insert(&rx->held, ssn_of(skb), skb, GFP_ATOMIC);
	if (!ret)
		__xa_set_mark(&rx->held, ssn_of(skb), KWARP_SCTP_NOT_PLACED);
	xa_unlock_bh(&rx->held);
	if (ret)
		return ret == -EBUSY ? KWARP_ERR_SSN : ret;
	skb_get(skb);
	skb->mark = ppid;
	rx->held_bytes += charge_of(skb);
	rx->nr_held++;
	kwarp_sctp_rcvbuf(llp);
	return KWARP_ERR_NONE;
}

/* Take the next message in order from @held, if it is there. Return: 0 or -ENOMEM. */
static int from_held(struct kwarp_llp *llp, struct kwarp_sctp_msg *m)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	struct sk_buff *skb;

	if (!rx->nr_held)
		return 0;
	skb = xa_load(&rx->held, expected_ssn(rx));
	if (!skb)
		return 0;
	if (flatten_msg(skb, m))
		return -ENOMEM;
	m->ppid = skb->mark;
	xa_erase_bh(&rx->held, expected_ssn(rx));
	rx->held_bytes -= charge_of(skb);
	rx->nr_held--;
	/* A message that is not a copy is owned by @m now. */
	if (m->owned)
		kfree_skb(skb);
	m->owned = true;
	kwarp_sctp_rcvbuf(llp);
	return 0;
}

/*
 * Check the length of a message, and hold the message if early. Return: 0, with m->skb set if in
 * order; enum kwarp_err; or -ENOMEM.
 */
static int take_msg(struct kwarp_llp *llp, struct sk_buff *skb, struct kwarp_sctp_msg *m)
{
	const struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	u32 ahead;
	int ret;

	ret = check_len(skb);
	if (ret)
		return ret;
	ahead = kwarp_session_ahead(ssn_of(skb), expected_ssn(rx));
	if (likely(!ahead))
		return flatten_msg(skb, m);
	return ahead < KWARP_SCTP_WINDOW ? hold_msg(llp, skb, m->ppid) : KWARP_ERR_SSN;
}

/*
 * While the receive window is full, or memory short, SCTP delivers a message in pieces, as they
 * arrive. Nothing else is delivered before the last piece, unless SCTP gives the message up because
 * the association has failed.
 */
static bool is_first_piece(struct sk_buff *skb)
{
	return sctp_skb2event(skb)->msg_flags & SCTP_DATA_FIRST_FRAG;
}

static bool is_last_piece(struct sk_buff *skb)
{
	return sctp_skb2event(skb)->msg_flags & MSG_EOR;
}

static bool is_whole(struct sk_buff *skb)
{
	return is_first_piece(skb) && is_last_piece(skb);
}

static void drop_pieces(struct kwarp_sctp_rx *rx)
{
	kfree_skb(rx->pieces);
	rx->pieces = NULL;
}

/* Make room for @len bytes at the end of rx->pieces. Return: 0 or -ENOMEM. */
static int grow_pieces(struct kwarp_sctp_rx *rx, struct sock *sk, u32 len)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	int ret = 0;

	if (!rx->pieces)
		rx->pieces = alloc_skb(len, gfp);
	if (!rx->pieces)
		return -ENOMEM;
	/* pskb_expand_head() does not update the charge. */
	skb_orphan(rx->pieces);
	if (len > skb_tailroom(rx->pieces))
		ret = pskb_expand_head(rx->pieces, 0, max(len, rx->pieces->len), gfp);
	skb_set_owner_r(rx->pieces, sk);
	return ret;
}

/*
 * Append a piece to rx->pieces, which is charged to the socket beyond the limits of its memory, as
 * SCTP charges its own copies. Return: 0; enum kwarp_err; or -ENOMEM, with the contents unchanged.
 */
static int add_piece(struct kwarp_llp *llp, const struct sk_buff *skb, u32 ppid)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;

	if (skb->len > KWARP_SCTP_MSG_MAX - (rx->pieces ? rx->pieces->len : 0))
		return KWARP_ERR_CHUNK;
	if (grow_pieces(rx, llp->sk, skb->len))
		return -ENOMEM;
	if (!rx->pieces->len)
		rx->pieces->mark = ppid;
	if (rx->pieces->mark != ppid)
		return KWARP_ERR_CHUNK;
	skb_copy_bits(skb, 0, skb_put(rx->pieces, skb->len), skb->len);
	return 0;
}

/* Take a piece of a message; the last one completes the message. Return: as take_msg(). */
static noinline int take_piece(struct kwarp_llp *llp, struct sk_buff *skb,
			       struct kwarp_sctp_msg *m)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	int ret;

	if (!rx->pieces && !is_first_piece(skb))
		return KWARP_ERR_CHUNK;
	ret = add_piece(llp, skb, m->ppid);
	if (ret)
		return ret;
	if (!is_last_piece(skb)) {
		/* No callback follows if SCTP queues the next piece in the same step. */
		kwarp_sctp_retry(llp->sctp);
		return 0;
	}
	ret = take_msg(llp, rx->pieces, m);
	if (ret == -ENOMEM) {
		/* The piece will be read again. */
		skb_trim(rx->pieces, rx->pieces->len - skb->len);
		return ret;
	}
	if (m->skb) {
		m->owned = true;
		rx->pieces = NULL;
	} else {
		drop_pieces(rx);
	}
	return ret;
}

/* Take an event that is no notification. Return: as take_msg(). */
static int from_queue(struct kwarp_llp *llp, struct sk_buff *skb, struct kwarp_sctp_msg *m)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	int ret;

	ret = check_chunk(skb, m);
	if (ret)
		return ret;
	if (unlikely(rx->pieces) && is_first_piece(skb))
		drop_pieces(rx);
	return likely(is_whole(skb)) ? take_msg(llp, skb, m) : take_piece(llp, skb, m);
}

/* Return: number of messages that wait for another message, or for a piece. */
static u32 incomplete(const struct kwarp_sctp_rx *rx)
{
	return rx->nr_held + !!rx->pieces;
}

/*
 * Get the next message in order; the caller releases it by msg_put(). Without memory the message
 * stays where it is, and is read again later. Return: 0, with m->skb NULL if there is none; or the
 * error of a message, which ends the session.
 */
static enum kwarp_err next_msg(struct kwarp_llp *llp, struct kwarp_sctp_msg *m)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	struct sk_buff *skb;
	int ret;

	kwarp_llp_assert_locked(llp);
	m->skb = NULL;
	m->owned = false;
	if (test_bit(KWARP_SCTP_PEER_TERM, &llp->sctp->flags))
		return KWARP_ERR_NONE;
	ret = from_held(llp, m);
	while (!m->skb && !ret && (skb = next_event(llp))) {
		/* Ignore messages after a restart: they belong to another session. */
		if (!is_notification(skb) &&
		    !test_bit(KWARP_SCTP_LOST, &llp->sctp->flags))
			ret = from_queue(llp, skb, m);
		if (ret == -ENOMEM)
			break;
		mark_read(rx, skb);
		if (is_notification(skb))
			note_event(llp, skb);
	}
	if (ret == -ENOMEM) {
		kwarp_sctp_retry(llp->sctp);
		return KWARP_ERR_NONE;
	}
	if (m->skb)
		rx->next++;
	return ret;
}

static const u8 *msg_body(const struct kwarp_sctp_msg *m)
{
	return m->skb->data + KWARP_SCTP_SSN_LEN;
}

static u32 msg_body_len(const struct kwarp_sctp_msg *m)
{
	return m->skb->len - KWARP_SCTP_SSN_LEN;
}

/*
 * Set KWARP_SCTP_PEER_TERM for a Session Terminate, which is too short to be in fragments. Return:
 * false for other messages.
 */
static bool note_terminate(struct kwarp_sctp *s, const struct kwarp_sctp_msg *m)
{
	if (m->ppid != KWARP_SCTP_CONTROL || skb_is_nonlinear(m->skb) ||
	    !kwarp_session_is_terminate(msg_body(m), msg_body_len(m)))
		return false;
	set_bit(KWARP_SCTP_PEER_TERM, &s->flags);
	return true;
}

/* Drop the message that was pulled, the pieces, and all messages that are held. */
void kwarp_sctp_drop_held(struct kwarp_llp *llp)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	struct sk_buff *skb;
	unsigned long ssn;

	kwarp_llp_assert_locked(llp);
	msg_put(&rx->msg);
	drop_pieces(rx);
	xa_for_each(&rx->held, ssn, skb) {
		xa_erase_bh(&rx->held, ssn);
		kfree_skb(skb);
	}
	rx->nr_held = 0;
	rx->held_bytes = 0;
	kwarp_sctp_rcvbuf(llp);
}

/* Discard everything received, but note the end of the stream. Return: bytes discarded. */
static u32 drop_all(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;
	struct sk_buff *skb;
	unsigned long ssn;
	u32 bytes = 0;

	kwarp_llp_assert_locked(llp);
	/* A Session Terminate counts although messages before it are missing. */
	xa_for_each(&s->rx.held, ssn, skb) {
		const struct kwarp_sctp_msg m = { .skb = skb, .ppid = skb->mark };

		note_terminate(s, &m);
	}
	kwarp_sctp_drop_held(llp);
	while ((skb = next_event(llp))) {
		struct kwarp_sctp_msg m = { .skb = skb };

		mark_read(&s->rx, skb);
		if (is_notification(skb)) {
			note_event(llp, skb);
			continue;
		}
		bytes += skb->len;
		if (is_whole(skb) && !check_chunk(skb, &m) && !check_len(skb))
			note_terminate(s, &m);
	}
	return bytes;
}

/* ---- returning events to SCTP --------------------------------------------------- */

static u32 take_unread(struct kwarp_sctp *s)
{
	u32 n;

	lock_sock(s->llp->sk);
	s->llp->locked_at = jiffies;
	n = min(s->rx.unread, 64U);
	s->rx.unread -= n;
	s->rx.unread_bytes = 0;
	release_sock(s->llp->sk);
	return n;
}

void kwarp_sctp_consume_events(struct kwarp_sctp *s, struct socket *sock)
{
	struct msghdr msg;
	u32 n;

	might_sleep();
	while ((n = take_unread(s))) {
		while (n--) {
			memset(&msg, 0, sizeof(msg));
			/* Longer than any message, so that one call takes one message. */
			iov_iter_discard(&msg.msg_iter, ITER_DEST, 1 << 30);
			sock_recvmsg(sock, &msg, MSG_DONTWAIT);
		}
	}
}

/* ---- startup -------------------------------------------------------------------- */

static int hello_of(struct kwarp_llp *llp, const struct kwarp_sctp_msg *m,
		    struct kwarp_hello *hello, enum kwarp_mpa_type type)
{
	u32 len = msg_body_len(m);
	int ret;

	if (note_terminate(llp->sctp, m))
		return -ECONNRESET;
	hello->err = KWARP_MPA_E_KEY;
	if (m->ppid != KWARP_SCTP_CONTROL ||
	    !test_bit(KWARP_SCTP_ADAPTED, &llp->sctp->flags))
		return -EPROTO;
	ret = kwarp_session_decode(msg_body(m), len, type, &hello->f);
	if (ret) {
		hello->err = -ret;
		return -EPROTO;
	}
	memcpy(hello->rx, msg_body(m), len);
	hello->have = len;
	return 1;
}

/* Has the session ended? Sets llp->sk_err if the association was lost. */
static bool startup_ended(struct kwarp_llp *llp)
{
	u32 left;
	int over = kwarp_sctp_over(llp, &left);

	if (over < 0)
		WRITE_ONCE(llp->sk_err, -over);
	return over;
}

int kwarp_sctp_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			  enum kwarp_mpa_type type)
{
	struct kwarp_sctp_msg m;
	int ret;

	static_assert(sizeof(hello->rx) >= KWARP_SCTP_CONTROL_MAX);
	kwarp_llp_lock(llp);
	if (next_msg(llp, &m) ||
	    (type == KWARP_MPA_REQ && llp->sctp->rx.nr_held)) {
		/* A held message has overtaken the Initiate, against RFC 5043 6.6. */
		hello->err = KWARP_MPA_E_KEY;
		ret = -EPROTO;
		msg_put(&m);
	} else if (m.skb) {
		ret = hello_of(llp, &m, hello, type);
		msg_put(&m);
	} else {
		ret = startup_ended(llp) ? -ECONNRESET : 0;
	}
	kwarp_llp_unlock(llp);
	return ret;
}

int kwarp_sctp_hello_more(struct kwarp_llp *llp)
{
	struct kwarp_sctp_msg m;
	int ret = 1;

	kwarp_llp_lock(llp);
	if (!next_msg(llp, &m)) {
		/* A held message has overtaken the one that may follow, a Session Terminate. */
		if (!incomplete(&llp->sctp->rx) &&
		    (!m.skb || note_terminate(llp->sctp, &m)))
			ret = startup_ended(llp) ? 0 : -EAGAIN;
		msg_put(&m);
	}
	kwarp_llp_unlock(llp);
	return ret;
}

/*
 * The peer has sent its last message: shut the association down when ours is sent. Keep the socket
 * until then, because the number of associations without a socket has no limit. Return: 0 at the
 * end of the association, otherwise -EAGAIN.
 */
static int finish_assoc(struct kwarp_llp *llp)
{
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);

	if (!assoc || sctp_state(assoc, CLOSED))
		return 0;
	if (!test_bit(KWARP_SCTP_TERM_PENDING, &llp->sctp->flags))
		kwarp_sctp_send_shutdown(llp);
	return -EAGAIN;
}

int kwarp_sctp_drain(struct kwarp_llp *llp, size_t len)
{
	struct kwarp_sctp *s = llp->sctp;
	u32 left;
	int ret;

	kwarp_llp_lock(llp);
	ret = drop_all(llp);
	if (!ret) {
		ret = kwarp_sctp_over(llp, &left);
		if (ret >= 0)
			ret = ret ? finish_assoc(llp) : -EAGAIN;
	}
	kwarp_llp_unlock(llp);
	kwarp_sctp_consume_events(s, llp->sock);
	return ret;
}

/* ---- ULPDUs --------------------------------------------------------------------- */

int kwarp_sctp_over(const struct kwarp_llp *llp, u32 *left)
{
	const struct kwarp_sctp *s = llp->sctp;
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);

	kwarp_llp_assert_locked(llp);
	*left = 0;
	/* The first end counts, but after the FIN was reported, look for a loss. */
	if (test_bit(KWARP_SCTP_PEER_TERM, &s->flags) && !llp->eof)
		return 1;
	if (test_bit(KWARP_SCTP_LOST, &s->flags))
		return -s->err;
	if (test_bit(KWARP_SCTP_PEER_TERM, &s->flags))
		return 1;
	*left = incomplete(&s->rx);
	if (test_bit(KWARP_SCTP_SHUTDOWN, &s->flags))
		return 1;
	/* Closed, with no event left: SCTP could not allocate the event of the end. */
	if (test_bit(KWARP_SCTP_UP, &s->flags) && !next_event(llp) &&
	    (!assoc || sctp_state(assoc, CLOSED)))
		return -(llp->sk->sk_err ? : s->err ? : ECONNRESET);
	return 0;
}

/* Describe message @nr of the stream, a DDP segment, as a ULPDU. */
static void fill_ulpdu(struct kwarp_ulpdu *u, const struct kwarp_sctp_msg *m, u32 nr)
{
	u->len = msg_body_len(m);
	u->seg_len = min_t(u32, u->len, sizeof(u->seg));
	memcpy(u->seg, msg_body(m), u->seg_len);
	/*
	 * The message has the layout of an FPDU without markers: the DDP-SSN takes the place
	 * of the ULPDU Length. The payload reader counts a CRC, but does not read it.
	 */
	static_assert(!(KWARP_SCTP_SSN_LEN - KWARP_MPA_HDR_LEN));
	u->flat = m->skb->data;
	u->frame = (struct kwarp_fpdu){
		.pos = nr,
		.len = m->skb->len + KWARP_MPA_CRC_LEN,
		.ulpdu_len = u->len,
	};
}

/*
 * Return: the ledger's entry of a message that was placed early, or NULL. Nothing needs to
 * be compared, because the message that is pulled is the one that was held.
 */
static const struct kwarp_early *placed_early(const struct kwarp_ledger *l, u32 nr)
{
	const struct kwarp_early *e = kwarp_ledger_find(l, nr);

	return e && e->kind == KWARP_EARLY_PLACED ? e : NULL;
}

bool kwarp_sctp_pull_begin(struct kwarp_llp *llp)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;

	/*
	 * The engine could not answer Read Requests now. The worker reads after it has sent,
	 * so that requests before an error are answered before the Terminate.
	 */
	if (kwarp_sctp_busy(llp))
		return false;
	rx->frames = 0;
	rx->bytes = 0;
	return kwarp_sctp_read_events(llp);
}

enum kwarp_pull kwarp_sctp_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	struct kwarp_sctp_msg *m = &rx->msg;

	kwarp_llp_assert_locked(llp);
	msg_put(m);
	rx->len = 0;
	u->seg_len = 0;
	u->len = 0;
	u->early = NULL;
	u->err = next_msg(llp, m);
	if (u->err)
		return KWARP_PULL_ERR;
	if (!m->skb || note_terminate(llp->sctp, m))
		return KWARP_PULL_NONE;
	if (m->ppid != KWARP_SCTP_SEGMENT) {
		u->err = KWARP_ERR_SESSION;
		return KWARP_PULL_ERR;
	}
	fill_ulpdu(u, m, rx->next - 1);
	if (unlikely(llp->ledger))
		u->early = placed_early(llp->ledger, u->frame.pos);
	rx->len = m->skb->len;
	rx->frames++;
	rx->bytes += rx->len;
	rx->pos += rx->len;
	return KWARP_PULL_ULPDU;
}

void kwarp_sctp_pull_end(struct kwarp_llp *llp, enum kwarp_last_ulpdu last,
			 struct kwarp_llp_counts *counts)
{
	struct kwarp_sctp *s = llp->sctp;

	msg_put(&s->rx.msg);
	/* As over TCP, a segment that has failed does not count, nor is it the peer's first. */
	if (last == KWARP_LAST_LEFT && s->rx.len) {
		s->rx.frames--;
		s->rx.bytes -= s->rx.len;
	}
	memset(counts, 0, sizeof(*counts));
	counts->frames = s->rx.frames;
	counts->bytes = s->rx.bytes;
	counts->left = kwarp_sctp_read_events(llp);
	if (unlikely(llp->ledger))
		kwarp_ledger_drop_before(llp->ledger, s->rx.next);
	give_back(s);
}

/* ---- early placement of held messages (RFC 5043 10) --------------------------------- */

bool kwarp_sctp_early_begin(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return xa_marked(&llp->sctp->rx.held, KWARP_SCTP_NOT_PLACED);
}

/*
 * A message that SCTP has put together from fragments is placed when it is the next in order, as
 * are all messages while the ledger is full.
 */
enum kwarp_pull kwarp_sctp_early_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u,
				      struct kwarp_early *e)
{
	struct kwarp_sctp_rx *rx = &llp->sctp->rx;
	struct kwarp_sctp_msg m = {};
	unsigned long ssn = 0;

	kwarp_llp_assert_locked(llp);
	do {
		m.skb = xa_find(&rx->held, &ssn, U16_MAX, KWARP_SCTP_NOT_PLACED);
		if (!m.skb)
			return KWARP_PULL_NONE;
		xa_lock_bh(&rx->held);
		__xa_clear_mark(&rx->held, ssn, KWARP_SCTP_NOT_PLACED);
		xa_unlock_bh(&rx->held);
	} while (m.skb->mark != KWARP_SCTP_SEGMENT || skb_is_nonlinear(m.skb));
	if (kwarp_ledger_full(llp->ledger))
		return KWARP_PULL_NONE;
	fill_ulpdu(u, &m, rx->next + kwarp_session_ahead(ssn, expected_ssn(rx)));
	*e = (struct kwarp_early){
		.pos = u->frame.pos,
		.len = 1,
		.kind = KWARP_EARLY_UNPLACED,
	};
	return KWARP_PULL_ULPDU;
}

void kwarp_sctp_discard(struct kwarp_llp *llp)
{
	drop_all(llp);
	give_back(llp->sctp);
}
