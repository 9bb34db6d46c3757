// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SCTP send: messages, each a DDP-SSN and a ULPDU, are built in a buffer, which SCTP
 * copies. All messages of a push but the last are sent with MSG_MORE, so that SCTP bundles
 * them. A worker pushes the messages that callbacks have built.
 */
#include "llp/sctp/sctp.h"

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>

#include "trace.h"

/* ---- sending -------------------------------------------------------------------- */

/* Is a third of the send buffer free? Context: any. */
bool kwarp_sctp_room(const struct kwarp_llp *llp)
{
	const struct sock *sk = llp->sk;
	int size = READ_ONCE(sk->sk_sndbuf);

	return READ_ONCE(sk->sk_wmem_queued) < size - size / 3;
}

/*
 * Send a message. Context: process; socket lock not held, because SCTP takes it. Return: 0,
 * -EAGAIN if space or memory is short, or another errno.
 */
static int send_one(struct socket *sock, struct msghdr *msg, void *p, size_t len)
{
	unsigned int noio = memalloc_noio_save();
	struct kvec iov = { .iov_base = p, .iov_len = len };
	int ret;

	msg->msg_flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	iov_iter_kvec(&msg->msg_iter, ITER_SOURCE, &iov, 1, len);
	ret = sock_sendmsg(sock, msg);
	memalloc_noio_restore(noio);
	if (ret == -ENOMEM || ret == -ENOBUFS)
		return -EAGAIN;
	return min(ret, 0);
}

/* A segment is sent with the socket's default PPID and SCTP_UNORDERED. */
static int send_segment(struct socket *sock, void *p, size_t len, bool more)
{
	struct msghdr msg = { .msg_flags = more ? MSG_MORE : 0 };

	return send_one(sock, &msg, p, len);
}

static int send_control(struct socket *sock, void *p, size_t len)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_sndinfo))] __aligned(8) = {};
	struct msghdr msg = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = (void *)control;
	struct sctp_sndinfo *info = CMSG_DATA(c);

	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = SCTP_SNDINFO;
	c->cmsg_len = CMSG_LEN(sizeof(*info));
	info->snd_flags = SCTP_UNORDERED;
	info->snd_ppid = (__force u32)htonl(KWARP_SCTP_CONTROL);
	return send_one(sock, &msg, p, len);
}

static bool is_sending(const struct kwarp_sctp *s)
{
	return test_bit(KWARP_SCTP_SENDING, &s->flags);
}

/*
 * Release the socket lock for sending. Until relock_after_send() other contexts may take the
 * lock, but KWARP_SCTP_SENDING keeps them from sending.
 * Return: the socket, which is not released before relock_after_send().
 */
static struct socket *unlock_for_send(struct kwarp_llp *llp)
{
	struct socket *sock = llp->sock;

	kwarp_llp_assert_locked(llp);
	WARN_ON_ONCE(test_and_set_bit(KWARP_SCTP_SENDING, &llp->sctp->flags));
	release_sock(llp->sk);
	return sock;
}

static void relock_after_send(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	lock_sock(llp->sk);
	llp->locked_at = jiffies;
	clear_bit(KWARP_SCTP_SENDING, &s->flags);
	wake_up_all(&s->idle);
	if (test_and_clear_bit(KWARP_SCTP_RERUN, &s->flags))
		kwarp_sctp_kick(s);
}

/* Wait for the end of KWARP_SCTP_SENDING; releases the lock meanwhile. Context: process. */
static void wait_idle(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	kwarp_llp_assert_locked(llp);
	while (is_sending(s)) {
		release_sock(llp->sk);
		wait_event(s->idle, !is_sending(s));
		lock_sock(llp->sk);
	}
}

static bool has_unsent(const struct kwarp_sctp_tx *tx)
{
	return tx->sent < tx->nr;
}

void kwarp_sctp_halt(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	might_sleep();
	kwarp_llp_assert_locked(llp);
	wait_idle(llp);
	/* Push messages left for the worker, because the engine has counted them as sent. */
	kwarp_sctp_push(llp);
	set_bit(KWARP_SCTP_HALTED, &s->flags);
	wait_idle(llp);
}

/* In a callback of the socket nothing may be sent. */
static bool in_callback(const struct kwarp_sctp *s)
{
	return test_bit(KWARP_SCTP_CALLBACK, &s->flags);
}

/* ---- startup and end -------------------------------------------------------------- */

int kwarp_sctp_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			  const void *pd)
{
	struct kwarp_sctp *s = llp->sctp;
	u8 *buf;
	int len, ret;

	buf = kmalloc(KWARP_SCTP_SSN_LEN + KWARP_SCTP_CONTROL_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	len = kwarp_session_encode(f, buf + KWARP_SCTP_SSN_LEN);
	ret = -EINVAL;
	if (len < 0)
		goto out;
	if (f->pd_len)
		memcpy(buf + KWARP_SCTP_SSN_LEN + len, pd, f->pd_len);
	len += KWARP_SCTP_SSN_LEN + f->pd_len;
	ret = -EPROTO;
	kwarp_llp_lock(llp);
	if (test_bit(KWARP_SCTP_ADAPTED, &s->flags)) {
		struct socket *sock;

		/* A QP may be attached already, whose engine may be sending. */
		wait_idle(llp);
		put_unaligned_be16(s->tx.ssn++, buf);
		llp->startup_sent = true;
		sock = unlock_for_send(llp);
		ret = send_control(sock, buf, len);
		relock_after_send(llp);
		if (f->reject && !ret)
			set_bit(KWARP_SCTP_REJECTED, &s->flags);
	}
	kwarp_llp_unlock(llp);
out:
	kfree(buf);
	return ret;
}

void kwarp_sctp_send_terminate(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;
	u8 buf[KWARP_SCTP_SSN_LEN + KWARP_SCTP_CODE_LEN];
	struct socket *sock;
	int ret = -EAGAIN;

	kwarp_llp_assert_locked(llp);
	if (!test_bit(KWARP_SCTP_TERM_PENDING, &s->flags) || !llp->sock)
		return;
	if (is_sending(s)) {
		set_bit(KWARP_SCTP_RERUN, &s->flags);
		return;
	}
	if (in_callback(s)) {
		kwarp_sctp_kick(s);
		return;
	}
	if (!has_unsent(&s->tx)) {
		put_unaligned_be16(s->tx.ssn, buf);
		put_unaligned_be16(KWARP_SESSION_TERMINATE, buf + KWARP_SCTP_SSN_LEN);
		sock = unlock_for_send(llp);
		ret = send_control(sock, buf, sizeof(buf));
		relock_after_send(llp);
	}
	if (ret != -EAGAIN)
		clear_bit(KWARP_SCTP_TERM_PENDING, &s->flags);
	else if (kwarp_sctp_room(llp))
		kwarp_sctp_retry(s);
	else
		kwarp_sctp_want_space(llp);
}

/* As inet_shutdown() does. SCTP's SHUTDOWN follows when the peer has acknowledged all messages. */
void kwarp_sctp_send_shutdown(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	llp->sk->sk_prot->shutdown(llp->sk, SEND_SHUTDOWN);
}

/*
 * A Session Terminate is the last message of a session (RFC 5043 6.2). SCTP's SHUTDOWN follows when
 * the peer has sent its last message, too, because SCTP has no half-closed state. A rejected
 * session ends with the Reject (6.3).
 */
void kwarp_sctp_shutdown(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	kwarp_llp_assert_locked(llp);
	if (!test_bit(KWARP_SCTP_UP, &s->flags) ||
	    test_bit(KWARP_SCTP_LOST, &s->flags))
		return;
	if (test_bit(KWARP_SCTP_REJECTED, &s->flags)) {
		kwarp_sctp_send_shutdown(llp);
		return;
	}
	if (!test_and_set_bit(KWARP_SCTP_TERM_REQUESTED, &s->flags))
		set_bit(KWARP_SCTP_TERM_PENDING, &s->flags);
	/* Try again at each request: the worker may be disabled before it has sent. */
	kwarp_sctp_send_terminate(llp);
}

/* ---- batches ----------------------------------------------------------------------- */

int kwarp_sctp_begin(struct kwarp_llp *llp)
{
	struct kwarp_sctp_tx *tx = &llp->sctp->tx;

	might_sleep();
	if (!tx->buf)
		tx->buf = kvmalloc(KWARP_SCTP_BATCH, kwarp_gfp_conn());
	if (!tx->buf)
		return -ENOMEM;
	kwarp_llp_lock(llp);
	kwarp_sctp_rcvbuf(llp);
	kwarp_llp_unlock(llp);
	return 0;
}

/* Discard the messages that were not sent. DDP-SSNs have no gaps (RFC 5043 6): use theirs again. */
static void forget_batch(struct kwarp_sctp_tx *tx)
{
	tx->ssn -= tx->nr - tx->sent;
	tx->nr = 0;
	tx->sent = 0;
}

void kwarp_sctp_end(struct kwarp_llp *llp)
{
	struct kwarp_sctp_tx *tx;

	/* NULL if no socket could be opened. */
	if (!llp->sctp)
		return;
	tx = &llp->sctp->tx;
	kvfree(tx->buf);
	tx->buf = NULL;
	forget_batch(tx);
}

/* Bytes of the first @nr messages. */
static u32 bytes_of(const struct kwarp_sctp_tx *tx, u32 nr)
{
	return nr ? tx->end[nr - 1] : 0;
}

/* Is there no room for another message of maximum size? */
static bool batch_is_full(const struct kwarp_sctp_tx *tx)
{
	return tx->nr == KWARP_SCTP_BATCH_NR ||
	       bytes_of(tx, tx->nr) + KWARP_SCTP_SSN_LEN + tx->mulpdu >
	       KWARP_SCTP_BATCH;
}

/* Set the MULPDU: the largest without fragmentation, but at least 516 (RFC 5043 9). */
void kwarp_sctp_update_mulpdu(struct kwarp_llp *llp)
{
	struct sctp_association *assoc = kwarp_sctp_assoc(llp);
	struct kwarp_sctp *s = llp->sctp;
	u32 most;

	if (!assoc)
		return;
	most = assoc->frag_point;
	most -= min(most, KWARP_SCTP_SSN_LEN + KWARP_SCTP_CONTROL_ROOM);
	WRITE_ONCE(s->tx.mulpdu, clamp_t(u32, most & ~3U, KWARP_SCTP_MULPDU_MIN,
					 KWARP_ULPDU_MAX & ~3U));
	WRITE_ONCE(s->rtx, assoc->stats.rtxchunks);
}

int kwarp_sctp_batch_begin(struct kwarp_llp *llp)
{
	struct kwarp_sctp_tx *tx = &llp->sctp->tx;

	kwarp_llp_assert_locked(llp);
	kwarp_sctp_update_mulpdu(llp);
	if (!has_unsent(tx)) {
		tx->nr = 0;
		tx->sent = 0;
	}
	tx->first = tx->nr;
	return batch_is_full(tx) ? -ENOMEM : 0;
}

/* Copy @left bytes of payload to @to. Return: 0 or -errno of @src. */
static int put_chunk_payload(struct kwarp_payload_source *src, u8 *to, u32 left)
{
	u32 n;
	int ret;

	while (left) {
		if (!src->n) {
			ret = src->next(src);
			if (ret)
				return ret;
		}
		n = min(left, src->n);
		memcpy(to, src->p, n);
		src->p += n;
		src->n -= n;
		to += n;
		left -= n;
	}
	return 0;
}

int kwarp_sctp_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		   struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src)
{
	struct kwarp_sctp_tx *tx = &llp->sctp->tx;
	u32 all = want->hdr_len + want->left;
	u32 at = bytes_of(tx, tx->nr), n = KWARP_SCTP_SSN_LEN;
	u32 ulpdu = min(all, tx->mulpdu);
	const struct kwarp_fpdu frame = {
		.pos = tx->pos,
		.len = KWARP_SCTP_SSN_LEN + ulpdu,
		.ulpdu_len = ulpdu,
	};
	u8 *dst = tx->buf + at;
	int ret;

	kwarp_llp_assert_locked(llp);
	put_unaligned_be16(tx->ssn, dst);
	if (likely(h)) {
		h->last = ulpdu == all;
		n += kwarp_ddp_encode(h, dst + n);
	}
	ret = put_chunk_payload(src, dst + n, KWARP_SCTP_SSN_LEN + ulpdu - n);
	if (ret)
		return ret;
	tx->ssn++;
	tx->pos += frame.len;
	tx->end[tx->nr++] = at + frame.len;
	want->left -= ulpdu - want->hdr_len;
	trace_kwarp_tx_fpdu(llp->qp, &frame, !want->left);
	return batch_is_full(tx);
}

u32 kwarp_sctp_batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts)
{
	struct kwarp_sctp_tx *tx = &llp->sctp->tx;

	kwarp_llp_assert_locked(llp);
	memset(counts, 0, sizeof(*counts));
	counts->frames = tx->nr - tx->first;
	counts->bytes = bytes_of(tx, tx->nr) - bytes_of(tx, tx->first);
	if (counts->frames)
		trace_kwarp_tx_batch(llp->qp, counts->frames, counts->bytes,
				     tx->mulpdu);
	return counts->bytes;
}

/*
 * Has this call charged memory above the program's memory.high? SCTP would let the next charge but
 * one sleep for up to 2 s with the socket lock, and workers that serve other programs, too, would
 * wait for the lock. A message needs at most one charge (MEMCG_CHARGE_BATCH, 256 KiB).
 */
static bool program_is_throttled(void)
{
#ifdef CONFIG_MEMCG
	return !(current->flags & PF_KTHREAD) && current->memcg_nr_pages_over_high;
#else
	return false;
#endif
}

/*
 * Send the rest of the batch, without the socket lock. KWARP_SCTP_SENDING keeps other contexts
 * from changing the batch. Of a throttled program a worker sends the rest.
 */
static int push_batch(struct kwarp_llp *llp, struct socket *sock)
{
	struct kwarp_sctp_tx *tx = &llp->sctp->tx;
	u32 at;
	int ret;

	while (has_unsent(tx)) {
		if (program_is_throttled())
			return -EAGAIN;
		at = bytes_of(tx, tx->sent);
		ret = send_segment(sock, tx->buf + at, tx->end[tx->sent] - at,
				   tx->sent + 1 < tx->nr);
		if (ret)
			return ret;
		tx->sent++;
	}
	return 0;
}

int kwarp_sctp_push(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;
	int ret;

	kwarp_llp_assert_locked(llp);
	/* Another context is sending this batch, and has released the lock. */
	if (is_sending(s)) {
		set_bit(KWARP_SCTP_RERUN, &s->flags);
		return -EAGAIN;
	}
	if (!has_unsent(&s->tx))
		return 0;
	if (test_bit(KWARP_SCTP_HALTED, &s->flags) ||
	    test_bit(KWARP_SCTP_LOST, &s->flags))
		return -EPIPE;
	if (in_callback(s)) {
		kwarp_sctp_kick(s);
		return batch_is_full(&s->tx) ? -EAGAIN : 0;
	}
	ret = push_batch(llp, unlock_for_send(llp));
	relock_after_send(llp);
	if (test_bit(KWARP_SCTP_HALTED, &s->flags))
		return -EPIPE;
	/* If there is space, memory was short, and the engine retries after a delay. */
	if (ret == -EAGAIN && !kwarp_sctp_room(llp))
		kwarp_sctp_want_space(llp);
	return ret;
}

void kwarp_sctp_drop(struct kwarp_llp *llp)
{
	struct kwarp_sctp_tx *tx = &llp->sctp->tx;

	kwarp_llp_assert_locked(llp);
	/* kwarp_sctp_halt() sends without the driver of the engines, and reads the batch. */
	if (is_sending(llp->sctp))
		return;
	forget_batch(tx);
}

/*
 * Return: true if the engine cannot build messages now, because another context is sending,
 * or, in a callback, because the buffer is full. Then @send is or will be queued.
 */
bool kwarp_sctp_busy(const struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	kwarp_llp_assert_locked(llp);
	if (is_sending(s)) {
		set_bit(KWARP_SCTP_RERUN, &s->flags);
		return true;
	}
	if (!in_callback(s) || !has_unsent(&s->tx) || !batch_is_full(&s->tx))
		return false;
	kwarp_sctp_kick(s);
	return true;
}

bool kwarp_sctp_writeable(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	/* In a callback the engine fills the buffer, to answer requests before an error. */
	return !kwarp_sctp_busy(llp) && kwarp_sctp_room(llp);
}

void kwarp_sctp_want_space(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	kwarp_llp_assert_locked(llp);
	set_bit(KWARP_SCTP_WANT_SPACE, &s->flags);
	/* Pairs with SCTP's wake-up: assoc_woken() reads the bit after space was freed. */
	smp_mb__after_atomic();
	if (kwarp_sctp_room(llp) &&
	    test_and_clear_bit(KWARP_SCTP_WANT_SPACE, &s->flags))
		kwarp_sctp_kick(s);
}

/* No: an engine whose budget is used up continues in a worker, without waiting for ACKs. */
bool kwarp_sctp_in_flight(const struct kwarp_llp *llp)
{
	return false;
}
