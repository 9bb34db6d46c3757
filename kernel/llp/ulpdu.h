/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between a DDP stream and its lower layer (RFC 5041 5): ULPDUs, each one
 * DDP segment. The lower layer supplies verified ULPDUs in order, and accepts ULPDUs in
 * batches.
 *
 * The operations on ULPDUs run with the socket lock held. In pull(), in operations with
 * early_ in their names, and from batch_begin() to batch_end(), the caller has disabled
 * bottom halves, so nothing may sleep.
 */
#ifndef _KWARP_LLP_ULPDU_H
#define _KWARP_LLP_ULPDU_H

#include "proto/ddp.h"
#include "proto/errors.h"
#include "proto/mpa_fpdu.h"
#include "proto/mpa_startup.h"
#include "proto/rdmap.h"

struct kwarp_early;
struct kwarp_hello;
struct kwarp_llp;
struct kwarp_llp_bind;
struct kwarp_llp_info;
struct net;
struct sockaddr_storage;
struct socket;

/* The longest headers of DDP and RDMAP; the rest of a ULPDU is payload. */
#define KWARP_ULPDU_SEG_MAX	(KWARP_DDP_UNTAGGED_LEN + \
				 KWARP_RDMAP_ATOMIC_REQ_LEN)

/* A longer ULPDU has payload: only DDP's header is needed, in a number of whole words. */
#define KWARP_ULPDU_SEG_LONG	24

/* Minimum length of a ULPDU that segmentation produces (RFC 5044 4.5). */
#define KWARP_ULPDU_CUT_MIN	128

/**
 * struct kwarp_ulpdu - a received ULPDU
 * @len:	bytes
 * @seg_len:	number of leading bytes that are in @seg: all of its headers, if the ULPDU is valid
 * @seg:	copy of the leading bytes; headers are validated and parsed in the copy only,
 *		because the sender may still change the pages of an skb
 * @frame:	framing of the ULPDU; frame.pos is its position in the stream, modulo
 *		2^32, in bytes (MPA) or messages (SCTP)
 * @flat:	first byte of the frame if the frame is contiguous; otherwise NULL
 * @r:		reader at the first byte of the frame if @flat is NULL
 * @early:	record of the early placement of this ULPDU, or NULL
 * @err:	error if the result of the pull was KWARP_PULL_ERR
 *
 * Valid until the next pull.
 */
struct kwarp_ulpdu {
	u32 len;
	u32 seg_len;
	u8 seg[KWARP_ULPDU_SEG_MAX];
	struct kwarp_fpdu frame;
	const u8 *flat;
	struct kwarp_reader *r;
	const struct kwarp_early *early;
	enum kwarp_err err;
};

/* The payload behind headers of @hdr_len bytes, or NULL if it is not contiguous. */
static inline const u8 *kwarp_ulpdu_plain(const struct kwarp_ulpdu *u, u32 hdr_len)
{
	if (unlikely(!u->flat || u->frame.markers))
		return NULL;
	return u->flat + KWARP_MPA_HDR_LEN + hdr_len;
}

/* Copy all payload behind headers of @hdr_len bytes; @u->flat is set. */
static __always_inline void kwarp_ulpdu_copy(const struct kwarp_ulpdu *u, u32 hdr_len, u8 *dst)
{
	if (unlikely(u->frame.markers))
		kwarp_fpdu_flat_copy(u->flat, &u->frame, hdr_len, dst);
	else
		memcpy(dst, u->flat + KWARP_MPA_HDR_LEN + hdr_len, u->len - hdr_len);
}

/* Result of a pull. */
enum kwarp_pull {
	KWARP_PULL_NONE,	/* no further complete ULPDU */
	KWARP_PULL_ULPDU,
	KWARP_PULL_ERR,		/* error of the lower layer: no ULPDU follows */
};

/**
 * struct kwarp_llp_counts - totals of one pass
 * @frames:	FPDUs or SCTP messages
 * @bytes:	bytes of these, framing included
 * @left:	receive: not 0 if unread data are left; MPA: number of bytes
 * @markers:	markers in @bytes
 * @replaced:	receive: ULPDUs that were placed early, but that the data in order do not
 *		match
 */
struct kwarp_llp_counts {
	u32 frames;
	u32 bytes;
	u32 left;
	u32 markers;
	u32 replaced;
};

/**
 * struct kwarp_payload_source - payload to be sent, in contiguous pieces
 * @p:		next byte; the first piece is loaded unless there is no payload
 * @n:		bytes left in the current piece
 * @next:	load the next piece; called when @n is 0. Return: 0 or -errno
 */
struct kwarp_payload_source {
	const u8 *p;
	u32 n;
	int (*next)(struct kwarp_payload_source *src);
};

/**
 * struct kwarp_ulpdu_want - data to be sent next, from which put() chooses the lengths of
 * ULPDUs
 * @hdr_len:	bytes of the DDP header
 * @left:	payload bytes of the message still to be sent, at most KWARP_MAX_MSG_SIZE; put()
 *		subtracts those that it has added
 * @next_len:	bytes of the ULPDU after this message, which should share a TCP segment with
 *		the end of this message; 0: none
 * @may_split:	the ULPDU is the first of its message and may be cut to fill a TCP segment
 */
struct kwarp_ulpdu_want {
	u32 hdr_len;
	u32 left;
	u32 next_len;
	bool may_split;
};

/* The sides of a connection. */
enum kwarp_llp_side {
	KWARP_LLP_LOCAL,
	KWARP_LLP_PEER,
};

/* How a connection ends. */
enum kwarp_ending {
	KWARP_CLOSE,	/* in the background, after all data have been sent */
	KWARP_ABORT,	/* now, with a reset */
};

/* The last ULPDU that a pass has pulled. */
enum kwarp_last_ulpdu {
	KWARP_LAST_LEFT,	/* refused: it stays in the queue */
	KWARP_LAST_CONSUMED,
};

/**
 * struct kwarp_llp_ops - a lower layer
 * @connect:	see kwarp_llp_connect()
 * @listen:	see kwarp_llp_listen()
 * @relisten:	see kwarp_llp_relisten(); NULL if nobody but kwarp can end a listener
 * @has_child:	see kwarp_llp_has_child()
 * @accept:	see kwarp_llp_accept()
 * @readdress:	update the addresses of a listener after a change: those of netdev
 *		@bind->ifindex for a wildcard listener, and those of @bind->paths; of @bind
 *		only these and @bind->net are set. NULL if the transport needs no update. In
 *		process context, may sleep. Return: 0, or -EAGAIN: call again later
 * @hello_send:	see kwarp_llp_hello_send()
 * @hello_recv:	see kwarp_llp_hello_recv()
 * @hello_more:	see kwarp_llp_hello_more()
 * @drain:	see kwarp_llp_drain()
 * @getname:	see kwarp_llp_getname()
 * @keepalive:	see kwarp_llp_keepalive(); NULL if the transport probes the peer by default
 * @info:	see kwarp_llp_get_info()
 * @unlocked:	a process has released the socket lock; or NULL
 * @wake_bh:	see kwarp_llp_wake_bh()
 * @try_wake:	see kwarp_llp_try_wake(); NULL if the transport cannot send in softirq
 * @close:	clean up before the socket, whose callbacks are restored, is released; or NULL.
 *		Context: process, may sleep
 * @free:	free the lower layer's data after the last put; or NULL
 * @halt:	stop pushes before the queue pair is detached: none is in progress on return.
 *		May release the socket lock meanwhile. NULL if push() never releases it. In
 *		process context, may sleep
 * @over:	has the stream ended? Called when the engine has read everything. Return: 0 if
 *		not; 1 if the peer ended it; -errno if it was lost. Unless 0 is returned,
 *		*@left is not 0 if incomplete or out-of-order data are left
 * @begin:	allocate memory for carrying ULPDUs; idempotent. Context: process, may
 *		sleep, socket lock not held. Return: 0 or -errno
 * @end:	free the memory of @begin and stop carrying ULPDUs; idempotent
 * @pull_begin:	start a pass over the in-order data. Return: false if there are none
 * @pull:	get the next verified ULPDU; consumes the previous one. Return: enum
 *		kwarp_pull
 * @pull_end:	end the pass and update the receive window once for all of its ULPDUs; consumes
 *		the last ULPDU pulled, or leaves it in the queue
 * @discard:	discard everything received, so that the end of the stream becomes visible
 * @early_begin: start a search for ULPDUs after a gap. Return: false if none are new
 * @early_pull:	get the next ULPDU of the search. Sets position, length and CRC of @e, and
 *		its kind to BAD if the ULPDU must not be used. The search continues after
 *		the ULPDU if the caller has added @e to the ledger. Return: enum
 *		kwarp_pull; KWARP_PULL_ERR if the pass has reached its limit
 * @early_end:	remember that nothing is left to search in this run; or NULL
 * @batch_begin: start an empty batch. Return: 0 or -ENOMEM
 * @put:	add one or more ULPDUs of a message to the batch: header @h, or NULL if the payload
 *		contains the header, and as many of @want->left bytes from @src as suit the lower
 *		layer. Sets the L flag in the last ULPDU of the message. @h has other values
 *		afterwards. Return: 0; 1 if the batch is full; -ENOMEM or the errno of @src if
 *		nothing was added
 * @batch_end:	close the batch. Return: bytes to be pushed
 * @push:	pass the batch to the transport; may release the socket lock meanwhile, if
 *		@halt is not NULL. Return: 0 if nothing is left; -EAGAIN if space or memory
 *		is short, and the rest can be pushed later; or another errno if nothing can
 *		be sent any more
 * @drop:	discard the batch
 * @poll:	see kwarp_llp_poll()
 * @writeable:	Return: true if there is enough send space to build a batch
 * @want_space:	request a call of engine->writable() when there is send space, as push()
 *		does when it returns -EAGAIN for lack of space
 * @in_flight:	Return: true if more data are in flight than a receiver may leave
 *		unacknowledged (delayed ACK), so that the call for @want_space comes soon
 * @shutdown:	end our direction after all data pushed so far
 * @watch:	start calling engine->early(), as long as a queue pair is attached; NULL if the
 *		transport does it in any case
 * @where:	positions in both directions of the stream, in bytes modulo 2^32, for traces
 */
struct kwarp_llp_ops {
	int (*connect)(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		       const struct sockaddr_storage *remote);
	int (*listen)(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		      int backlog);
	int (*relisten)(struct kwarp_llp *llp, int backlog);
	bool (*has_child)(const struct kwarp_llp *listener);
	int (*accept)(struct kwarp_llp *listener, struct kwarp_llp *child);
	int (*readdress)(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind);
	int (*hello_send)(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			  const void *pd);
	int (*hello_recv)(struct kwarp_llp *llp, struct kwarp_hello *hello,
			  enum kwarp_mpa_type type);
	int (*hello_more)(struct kwarp_llp *llp);
	int (*drain)(struct kwarp_llp *llp, size_t len);
	int (*getname)(const struct kwarp_llp *llp, struct sockaddr_storage *ss,
		       enum kwarp_llp_side side);
	void (*keepalive)(struct kwarp_llp *llp, u32 seconds);
	void (*info)(const struct kwarp_llp *llp, struct kwarp_llp_info *info);
	void (*unlocked)(struct kwarp_llp *llp);
	bool (*wake_bh)(struct kwarp_llp *llp);
	bool (*try_wake)(struct kwarp_llp *llp);
	void (*close)(struct kwarp_llp *llp, struct socket *sock,
		      enum kwarp_ending ending);
	void (*free)(struct kwarp_llp *llp);
	void (*halt)(struct kwarp_llp *llp);
	int (*over)(const struct kwarp_llp *llp, u32 *left);
	int (*begin)(struct kwarp_llp *llp);
	void (*end)(struct kwarp_llp *llp);
	bool (*pull_begin)(struct kwarp_llp *llp);
	enum kwarp_pull (*pull)(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
	void (*pull_end)(struct kwarp_llp *llp, enum kwarp_last_ulpdu last,
			 struct kwarp_llp_counts *counts);
	void (*discard)(struct kwarp_llp *llp);
	bool (*early_begin)(struct kwarp_llp *llp);
	enum kwarp_pull (*early_pull)(struct kwarp_llp *llp,
				      struct kwarp_ulpdu *u,
				      struct kwarp_early *e);
	void (*early_end)(struct kwarp_llp *llp);
	int (*batch_begin)(struct kwarp_llp *llp);
	int (*put)(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		   struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src);
	u32 (*batch_end)(struct kwarp_llp *llp,
			 struct kwarp_llp_counts *counts);
	int (*push)(struct kwarp_llp *llp);
	void (*drop)(struct kwarp_llp *llp);
	void (*poll)(struct kwarp_llp *llp);
	bool (*writeable)(const struct kwarp_llp *llp);
	void (*want_space)(struct kwarp_llp *llp);
	bool (*in_flight)(const struct kwarp_llp *llp);
	void (*shutdown)(struct kwarp_llp *llp);
	void (*watch)(struct kwarp_llp *llp);
	void (*where)(const struct kwarp_llp *llp, u32 *tx_pos, u32 *rx_pos);
};

#endif /* _KWARP_LLP_ULPDU_H */
