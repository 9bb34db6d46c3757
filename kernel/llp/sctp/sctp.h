/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP over SCTP (RFC 5043): a lower layer of DDP. One DDP stream for each association, on
 * SCTP stream 0. Context: socket lock held, unless noted.
 *
 * SCTP has no function that sends with the socket lock held. So a push releases the lock
 * while it sends, and nothing is sent from callbacks: what they build, the work @send pushes.
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
	/* Batch: bytes, messages. A message may have KWARP_ULPDU_MAX bytes. */
	KWARP_SCTP_BATCH	= 128 * 1024,
	KWARP_SCTP_BATCH_NR	= 64,
	/* Buffers, in truesize. SCTP advertises half of the first receive buffer. */
	KWARP_SCTP_RCVBUF_NEW	= 1024 * 1024,	/* until the session is accepted */
	KWARP_SCTP_RCVBUF	= 2 * 1024 * 1024,
	/* Less than KWARP_SCTP_WINDOW messages, each of which counts as 1.2 KiB or more. */
	KWARP_SCTP_SNDBUF	= 4 * 1024 * 1024,
	/*
	 * Messages that wait for earlier ones. SCTP accepts nothing, not even what they
	 * wait for, while more than the receive buffer is charged to the socket: so the
	 * buffer grows by what they are charged. It must stay below 16 times the window,
	 * or SCTP would report a window that opens too late.
	 */
	KWARP_SCTP_HELD_MAX	= 5 * 1024 * 1024,
	/* Messages, and their bytes, read before they are given back to SCTP. */
	KWARP_SCTP_UNREAD	= 16,
	KWARP_SCTP_UNREAD_BYTES	= KWARP_SCTP_RCVBUF_NEW / 16,
	/* Delay before sending again when memory is short, milliseconds. */
	KWARP_SCTP_RETRY_MS	= 20,
};

#define KWARP_SCTP_FRESH	XA_MARK_0

/* Bits of kwarp_sctp.flags; atomic. */
enum kwarp_sctp_flag {
	KWARP_SCTP_UP,		/* the association is established */
	KWARP_SCTP_ADAPTED,	/* with the right adaptation indication of the peer */
	KWARP_SCTP_LOST,	/* it is gone: @err */
	KWARP_SCTP_SHUT,	/* the peer shuts it down */
	KWARP_SCTP_FIN,		/* the peer's Session Terminate was received in turn */
	KWARP_SCTP_FIN_ASKED,	/* ours was asked for: only the first time counts */
	KWARP_SCTP_FIN_DUE,	/* and it is still to be sent */
	KWARP_SCTP_CALLBACK,	/* a callback of the socket is running: nothing may be sent */
	KWARP_SCTP_SENDING,	/* a push has released the socket lock */
	KWARP_SCTP_HALTED,	/* no push any more */
	KWARP_SCTP_AGAIN,	/* queue @send after the push: there is more to read or send */
	KWARP_SCTP_WANT,	/* queue @send when there is room */
};

/**
 * struct kwarp_sctp_msg - a received message
 * @skb:	it; linear, DDP-SSN first
 * @ppid:	enum kwarp_sctp_ppid
 * @owned:	the reference to @skb is the holder's: kwarp_sctp_msg_put()
 */
struct kwarp_sctp_msg {
	struct sk_buff *skb;
	u32 ppid;
	bool owned;
};

/**
 * struct kwarp_sctp_rx - receive side
 * @last:	the last event of the socket's receive queue that was read, with a reference
 * @unread:	events read but not given back to SCTP
 * @unread_bytes: their bytes
 * @next:	number of the next message in turn, modulo 2^32; its low 16 bits are the
 *		DDP-SSN
 * @held:	messages received before their turn, by DDP-SSN; KWARP_SCTP_FRESH marks those
 *		that early placement has not seen
 * @nr_held:	their number
 * @held_bytes:	what is charged to the socket for them
 * @msg:	the message that was pulled
 * @pos:	bytes of all messages before @msg, modulo 2^32
 * @frames:	messages pulled in this pass
 * @bytes:	their bytes
 */
struct kwarp_sctp_rx {
	struct sk_buff *last;
	u32 unread;
	u32 unread_bytes;
	u32 next;
	struct xarray held;
	u32 nr_held;
	u32 held_bytes;
	struct kwarp_sctp_msg msg;
	u32 pos;
	u32 frames;
	u32 bytes;
};

/**
 * struct kwarp_sctp_tx - send side
 * @ssn:	DDP-SSN of the next message
 * @mulpdu:	maximum ULPDU on the present path
 * @buf:	KWARP_SCTP_BATCH bytes, or NULL while no ULPDUs are carried
 * @end:	end of each message in @buf
 * @nr:		messages in @buf
 * @first:	the first of them that belongs to the batch being built
 * @sent:	number of them that SCTP has accepted
 * @pos:	bytes of all messages, modulo 2^32
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
 * @llp:	its connection
 * @flags:	enum kwarp_sctp_flag
 * @err:	errno that KWARP_SCTP_LOST stands for; 0 if not known
 * @rx:		receive side
 * @tx:		send side
 * @wait:	in the socket's wait queue, which SCTP wakes when there is room
 * @idle:	waits for the end of KWARP_SCTP_SENDING
 * @send:	runs the send engine, or sends our Session Terminate
 * @retry:	does the same after a delay
 * @consume:	gives messages that were read back to SCTP
 * @local:	own address; constant once KWARP_SCTP_UP. A listener's may be the wildcard
 * @remote:	the peer's; likewise
 * @rtx:	chunks retransmitted, for observers
 * @afonly:	listener for all addresses: of IPv6 only
 */
struct kwarp_sctp {
	struct kwarp_llp *llp;
	unsigned long flags;
	int err;
	struct kwarp_sctp_rx rx;
	struct kwarp_sctp_tx tx;
	wait_queue_entry_t wait;
	wait_queue_head_t idle;
	struct work_struct send;
	struct delayed_work retry;
	struct work_struct consume;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 rtx;
	bool afonly;
};

/* assoc.c */

struct sctp_association *kwarp_sctp_assoc(const struct kwarp_llp *llp);

/* The association is established. */
void kwarp_sctp_up(struct kwarp_llp *llp);

/* Run @send, @retry after its delay, or @consume. With a reference. Context: any. */
void kwarp_sctp_kick(struct kwarp_sctp *s);
void kwarp_sctp_retry(struct kwarp_sctp *s);
void kwarp_sctp_give_back(struct kwarp_sctp *s);

/* rx.c */

bool kwarp_sctp_look(struct kwarp_llp *llp);
void kwarp_sctp_forget(struct kwarp_llp *llp);
void kwarp_sctp_rcvbuf(struct kwarp_llp *llp);

/* Give back to SCTP what was read. Context: process, socket lock not held. */
void kwarp_sctp_consume(struct kwarp_sctp *s, struct socket *sock);
int kwarp_sctp_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			  enum kwarp_mpa_type type);
int kwarp_sctp_hello_more(struct kwarp_llp *llp);
int kwarp_sctp_drain(struct kwarp_llp *llp, size_t len);
int kwarp_sctp_over(const struct kwarp_llp *llp, u32 *left);
bool kwarp_sctp_pull_begin(struct kwarp_llp *llp);
enum kwarp_pull kwarp_sctp_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
void kwarp_sctp_pull_end(struct kwarp_llp *llp, bool last,
			 struct kwarp_llp_counts *counts);
void kwarp_sctp_discard(struct kwarp_llp *llp);
bool kwarp_sctp_early_begin(struct kwarp_llp *llp);
enum kwarp_pull kwarp_sctp_early_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u,
				      struct kwarp_early *e);

/* tx.c */

bool kwarp_sctp_busy(const struct kwarp_llp *llp);
void kwarp_sctp_path(struct kwarp_llp *llp);
bool kwarp_sctp_room(const struct kwarp_llp *llp);

/*
 * Send our Session Terminate if it is due, now or later: nothing follows it. May release
 * the socket lock meanwhile, unless in a callback.
 */
void kwarp_sctp_flush(struct kwarp_llp *llp);
int kwarp_sctp_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			  const void *pd);
int kwarp_sctp_begin(struct kwarp_llp *llp);
void kwarp_sctp_end(struct kwarp_llp *llp);
int kwarp_sctp_batch_begin(struct kwarp_llp *llp);
int kwarp_sctp_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		   const struct kwarp_ulpdu_want *want,
		   struct kwarp_payload_source *src, struct kwarp_fpdu *frame);
u32 kwarp_sctp_batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts);
int kwarp_sctp_push(struct kwarp_llp *llp);
void kwarp_sctp_drop(struct kwarp_llp *llp);
void kwarp_sctp_halt(struct kwarp_llp *llp);
bool kwarp_sctp_writeable(const struct kwarp_llp *llp);
void kwarp_sctp_want_space(struct kwarp_llp *llp);
bool kwarp_sctp_in_flight(const struct kwarp_llp *llp);
void kwarp_sctp_shutdown(struct kwarp_llp *llp);

#endif /* _KWARP_LLP_SCTP_SCTP_H */
