/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043): a lower layer of DDP. Each association carries one DDP stream,
 * on SCTP stream 0. Context: socket lock held, unless noted.
 *
 * SCTP has no function that sends with the socket lock held. So push() releases the lock
 * while it sends, and callbacks do not send: the work @send pushes a batch that they build.
 */
#ifndef _KWARP_LLP_SCTP_SCTP_H
#define _KWARP_LLP_SCTP_SCTP_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "llp/llp.h"
#include "llp/socket.h"
#include "proto/sctp_session.h"

struct sctp_association;

enum kwarp_sctp_limits {
	/* Batch: bytes and messages. A message has up to KWARP_ULPDU_MAX + 2 bytes. */
	KWARP_SCTP_BATCH	= 128 * 1024,
	KWARP_SCTP_BATCH_NR	= 64,
	/* Of the peer: a DDP-SSN and a segment, whose length a Terminate can report. */
	KWARP_SCTP_MSG_MAX	= KWARP_SCTP_SSN_LEN + U16_MAX,
	/* Receive buffer. SCTP's window is half of the buffer of a new association. */
	KWARP_SCTP_RCVBUF_NEW	= 1024 * 1024,	/* before kwarp_sctp_begin() */
	KWARP_SCTP_RCVBUF	= 2 * 1024 * 1024,
	/* Holds fewer than KWARP_SCTP_WINDOW messages: each is charged 1.2 KiB or more. */
	KWARP_SCTP_SNDBUF	= 4 * 1024 * 1024,
	/*
	 * Charge of messages held out of order. SCTP drops every message, also the missing
	 * one, while the receive buffer is fully charged, so the buffer grows by this charge.
	 * The buffer must stay below 16 times the window, because SCTP sends a window update
	 * only if the window has grown by 1/16 of the buffer.
	 */
	KWARP_SCTP_HELD_MAX	= 5 * 1024 * 1024,
	/* Events, or their bytes, that are read before we return them to SCTP. */
	KWARP_SCTP_UNREAD	= 16,
	KWARP_SCTP_UNREAD_BYTES	= KWARP_SCTP_RCVBUF_NEW / 16,
	/* Delay before sending again if memory was short, milliseconds. */
	KWARP_SCTP_RETRY_MS	= 20,
};

#define KWARP_SCTP_NOT_PLACED	XA_MARK_0

/* Bits of kwarp_sctp.flags; atomic. */
enum kwarp_sctp_flag {
	KWARP_SCTP_UP,		/* the association was established */
	KWARP_SCTP_ADAPTED,	/* the peer's adaptation indication is that of DDP */
	KWARP_SCTP_LOST,	/* the association is lost: @err */
	KWARP_SCTP_SHUTDOWN,	/* the association was shut down */
	KWARP_SCTP_PEER_TERM,		/* the peer's Session Terminate was received */
	KWARP_SCTP_REJECTED,		/* we have sent a Reject */
	KWARP_SCTP_TERM_REQUESTED,	/* our Session Terminate was requested, once */
	KWARP_SCTP_TERM_PENDING,	/* our Session Terminate is still to be sent */
	KWARP_SCTP_CALLBACK,	/* a callback of the socket is running: do not send */
	KWARP_SCTP_SENDING,	/* a process sends, with the socket lock released */
	KWARP_SCTP_HALTED,	/* no further push may begin */
	KWARP_SCTP_RERUN,	/* queue @send when KWARP_SCTP_SENDING ends */
	KWARP_SCTP_WANT_SPACE,	/* queue @send when there is send space */
};

/**
 * struct kwarp_sctp_msg - a received message
 * @skb:	the message; linear, DDP-SSN first
 * @ppid:	enum kwarp_sctp_ppid
 * @owned:	the user of this struct has a reference to @skb and must put it
 */
struct kwarp_sctp_msg {
	struct sk_buff *skb;
	u32 ppid;
	bool owned;
};

/**
 * struct kwarp_sctp_rx - receive side
 * @last:	the last event of the receive queue that was read, with a reference
 * @unread:	events read but not returned to SCTP
 * @unread_bytes: bytes of these events
 * @next:	number of the next message in order, modulo 2^32; the low 16 bits are its
 *		DDP-SSN
 * @held:	messages received out of order, by DDP-SSN; KWARP_SCTP_NOT_PLACED marks those
 *		that early_pull() has not returned
 * @nr_held:	number of messages in @held
 * @held_bytes:	bytes charged to the socket for the messages in @held
 * @pieces:	the beginning of a message that SCTP delivers in pieces, linear, with its PPID in
 *		the mark, charged to the socket; or NULL
 * @msg:	the message that was pulled
 * @len:	bytes of the message that was pulled last; 0 if the last pull returned none
 * @pos:	bytes of all messages pulled, modulo 2^32
 * @frames:	messages pulled in this pass
 * @bytes:	bytes of the messages pulled in this pass
 */
struct kwarp_sctp_rx {
	struct sk_buff *last;
	u32 unread;
	u32 unread_bytes;
	u32 next;
	struct xarray held;
	u32 nr_held;
	u32 held_bytes;
	struct sk_buff *pieces;
	struct kwarp_sctp_msg msg;
	u32 len;
	u32 pos;
	u32 frames;
	u32 bytes;
};

/**
 * struct kwarp_sctp_tx - send side
 * @ssn:	DDP-SSN of the next message
 * @mulpdu:	MULPDU on the present path
 * @buf:	KWARP_SCTP_BATCH bytes, or NULL while no ULPDUs are carried
 * @end:	offset of the end of each message in @buf
 * @nr:		messages in @buf
 * @first:	index of the first message of the batch being built
 * @sent:	messages in @buf that SCTP has accepted
 * @pos:	bytes of all messages put, modulo 2^32
 */
struct kwarp_sctp_tx {
	u16 ssn;
	u32 mulpdu;
	u8 *buf;
	u32 end[KWARP_SCTP_BATCH_NR];
	u32 nr;
	u32 first;
	u32 sent;
	u32 pos;
};

/**
 * struct kwarp_sctp - an association or a listener
 * @llp:	connection that contains this association; constant
 * @flags:	bits of enum kwarp_sctp_flag; atomic
 * @wait:	entry of the socket's wait queue, which SCTP wakes when there is send space
 * @idle:	wait queue for the end of KWARP_SCTP_SENDING
 * @send:	work: run the engines, send our Session Terminate
 * @retry:	the same as @send, after a delay; reads what memory was too short for, and what
 *		follows a piece
 * @consume:	work: return events that were read to SCTP
 * @local:	local address, the wildcard for some listeners; constant once KWARP_SCTP_UP
 * @remote:	address of the peer; constant once KWARP_SCTP_UP
 * @rtx:	chunks retransmitted, for observers
 * @afonly:	wildcard listener: IPv6 only; constant
 * @err:	positive errno of KWARP_SCTP_LOST, or the last error of the socket
 * @rx:		receive side
 * @tx:		send side; the sender uses it without the lock during KWARP_SCTP_SENDING
 *
 * The socket lock guards @err and the members after it.
 */
struct kwarp_sctp {
	struct kwarp_llp *llp;
	unsigned long flags;
	wait_queue_entry_t wait;
	wait_queue_head_t idle;
	struct work_struct send;
	struct delayed_work retry;
	struct work_struct consume;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 rtx;
	bool afonly;
	/* Under the socket lock: */
	int err;
	struct kwarp_sctp_rx rx;
	struct kwarp_sctp_tx tx;
};

/* assoc.c */

struct sctp_association *kwarp_sctp_assoc(const struct kwarp_llp *llp);

/* Queue @send, @retry or @consume, with a reference to the connection. Context: any. */
void kwarp_sctp_kick(struct kwarp_sctp *s);
void kwarp_sctp_retry(struct kwarp_sctp *s);
void kwarp_sctp_queue_consume(struct kwarp_sctp *s);

int kwarp_sctp_set_option(struct socket *sock, int name, void *value, int len);

/* addr.c */

void kwarp_sctp_note_addrs(struct kwarp_llp *llp, const struct kwarp_llp *listener);
int kwarp_sctp_readdress(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind);
int kwarp_sctp_bind(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp_bind *bind);

/* rx.c */

bool kwarp_sctp_read_events(struct kwarp_llp *llp);
void kwarp_sctp_drop_held(struct kwarp_llp *llp);
void kwarp_sctp_rcvbuf(struct kwarp_llp *llp);

/* Return the events that were read to SCTP. Context: process, socket lock not held. */
void kwarp_sctp_consume_events(struct kwarp_sctp *s, struct socket *sock);
int kwarp_sctp_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			  enum kwarp_mpa_type type);
int kwarp_sctp_hello_more(struct kwarp_llp *llp);
int kwarp_sctp_drain(struct kwarp_llp *llp, size_t len);
int kwarp_sctp_over(const struct kwarp_llp *llp, u32 *left);
bool kwarp_sctp_pull_begin(struct kwarp_llp *llp);
enum kwarp_pull kwarp_sctp_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
void kwarp_sctp_pull_end(struct kwarp_llp *llp, enum kwarp_last_ulpdu last,
			 struct kwarp_llp_counts *counts);
void kwarp_sctp_discard(struct kwarp_llp *llp);
bool kwarp_sctp_early_begin(struct kwarp_llp *llp);
enum kwarp_pull kwarp_sctp_early_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u,
				      struct kwarp_early *e);

/* tx.c */

bool kwarp_sctp_busy(const struct kwarp_llp *llp);
void kwarp_sctp_update_mulpdu(struct kwarp_llp *llp);
bool kwarp_sctp_room(const struct kwarp_llp *llp);

/*
 * Send our Session Terminate if KWARP_SCTP_TERM_PENDING is set, or queue a work that sends it
 * later. Releases the socket lock meanwhile, except in a callback.
 */
void kwarp_sctp_send_terminate(struct kwarp_llp *llp);
int kwarp_sctp_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			  const void *pd);
int kwarp_sctp_begin(struct kwarp_llp *llp);
void kwarp_sctp_end(struct kwarp_llp *llp);
int kwarp_sctp_batch_begin(struct kwarp_llp *llp);
int kwarp_sctp_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		   struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src);
u32 kwarp_sctp_batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts);
int kwarp_sctp_push(struct kwarp_llp *llp);
void kwarp_sctp_drop(struct kwarp_llp *llp);
void kwarp_sctp_halt(struct kwarp_llp *llp);
bool kwarp_sctp_writeable(const struct kwarp_llp *llp);
void kwarp_sctp_want_space(struct kwarp_llp *llp);
bool kwarp_sctp_in_flight(const struct kwarp_llp *llp);
void kwarp_sctp_shutdown(struct kwarp_llp *llp);
void kwarp_sctp_send_shutdown(struct kwarp_llp *llp);

#endif /* _KWARP_LLP_SCTP_SCTP_H */
