/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between a DDP stream and its lower layer (RFC 5041 5): ULPDUs, each one
 * DDP segment. The lower layer supplies them in order, each verified, and accepts them in
 * batches.
 *
 * Everything here runs with the socket lock held. In pull(), in functions with early_ in
 * their names, and from batch_begin() to batch_end(), the caller has disabled bottom
 * halves: nothing sleeps.
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

/* Enough for every header that is interpreted; everything after it is payload. */
#define KWARP_ULPDU_SEG_MAX	(KWARP_DDP_UNTAGGED_LEN + \
				 KWARP_RDMAP_ATOMIC_REQ_LEN)

/* Minimum length of a ULPDU that segmentation produces (RFC 5044 4.5). */
#define KWARP_ULPDU_CUT_MIN	128

/**
 * struct kwarp_ulpdu - a received ULPDU
 * @len:	bytes
 * @seg_len:	number of leading bytes that are in @seg
 * @seg:	copy of the leading bytes; only the copy is validated
 * @frame:	position of the ULPDU in the lower layer's framing; frame.pos is its
 *		position in the stream, modulo 2^32: in bytes, or in messages if these are
 *		what the lower layer carries
 * @flat:	first byte of the frame if it is contiguous; otherwise NULL
 * @r:		otherwise: reader at the first byte of the frame
 * @early:	record of its early placement, or NULL
 * @err:	error for KWARP_PULL_ERR
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

/* Result of a pull. */
enum kwarp_pull {
	KWARP_PULL_NONE,	/* no further complete ULPDU */
	KWARP_PULL_ULPDU,
	KWARP_PULL_ERR,		/* framing error: no ULPDU follows */
};

/**
 * struct kwarp_llp_counts - totals of one pass
 * @frames:	FPDUs
 * @bytes:	stream bytes, framing included
 * @left:	receive: bytes after these, of a frame that is incomplete or was not
 *		examined
 * @markers:	bytes of these that are markers
 * @replaced:	receive: ULPDUs placed early but not accepted when in order
 */
struct kwarp_llp_counts {
	u32 frames;
	u32 bytes;
	u32 left;
	u32 markers;
	u32 replaced;
};

/**
 * struct kwarp_payload_source - payload to be sent, as a sequence of contiguous pieces
 * @p:		next byte
 * @n:		bytes left in this piece
 * @next:	load the next piece, when @n is 0. Return: 0 or -errno
 */
struct kwarp_payload_source {
	const u8 *p;
	u32 n;
	int (*next)(struct kwarp_payload_source *src);
};

/**
 * struct kwarp_ulpdu_want - what is to be sent next, for choosing the length of a ULPDU
 * @hdr_len:	bytes of the DDP header
 * @left:	payload bytes of the message still to be sent, or KWARP_MAX_MSG_SIZE if there
 *		are more
 * @behind:	bytes of a ULPDU that should share a segment with the end of this message;
 *		0: none
 * @fill:	at the start of the message, which may be segmented to fill a TCP segment
 */
struct kwarp_ulpdu_want {
	u32 hdr_len;
	u32 left;
	u32 behind;
	bool fill;
};

/**
 * struct kwarp_llp_ops - a lower layer
 * @connect:	see kwarp_llp_connect()
 * @listen:	see kwarp_llp_listen()
 * @has_child:	see kwarp_llp_has_child()
 * @accept:	see kwarp_llp_accept()
 * @readdress:	give a listener the addresses that it is to have now: if it is for all, those of
 *		netdev @bind->ifindex; those of @bind->paths. @bind->net is set, too. NULL if
 *		they need not be told. Context: process, may sleep. Return: 0; -EAGAIN: try
 *		again later; or another errno
 * @hello_send:	see kwarp_llp_hello_send()
 * @hello_recv:	see kwarp_llp_hello_recv()
 * @hello_more:	see kwarp_llp_hello_more()
 * @drain:	see kwarp_llp_drain()
 * @getname:	see kwarp_llp_getname()
 * @keepalive:	see kwarp_llp_keepalive(); may be NULL if the transport does that by itself
 * @info:	see kwarp_llp_get_info()
 * @unlocked:	the socket lock was released; or NULL
 * @wake_bh:	see kwarp_llp_wake_bh()
 * @close:	the socket has no callbacks of ours any more and is released next, with a
 *		reset if @abort; or NULL. Context: process, may sleep
 * @free:	free the lower layer's data: the last reference is gone; or NULL
 * @halt:	the queue pair is being detached: no push any more, and none is in progress on
 *		return. May release the socket lock meanwhile. NULL if a push never does.
 *		Context: process, may sleep
 * @over:	has the stream ended, with everything before the end processed? Return: 0 if
 *		not; 1: the peer ended it; -errno: it was lost. Otherwise @left is the
 *		number of bytes of ULPDUs that are incomplete
 * @begin:	startup has ended. Context: process, may sleep. Return: 0 or -errno
 * @end:	stop carrying ULPDUs; idempotent
 * @pull_begin:	start a pass over the in-order data. Return: false if there is none
 * @pull:	get the next verified ULPDU; consumes the previous one. Return: enum
 *		kwarp_pull
 * @pull_end:	end the pass: the window moves once. @last: also consume the last ULPDU
 *		pulled
 * @discard:	discard everything received, so that the end of the stream becomes visible
 * @early_begin: look for ULPDUs after a gap. Return: false if there is nothing new
 * @early_pull:	get the next of them; @e receives position, length, CRC, and kind BAD if
 *		it must not be used; if the caller adds @e to the ledger, it is recorded
 *		and the search continues after it. Return: enum kwarp_pull; KWARP_PULL_ERR
 *		is a limit of the pass
 * @early_end:	end of the search; @all: nothing is left to search in this run; or NULL
 * @batch_begin: start an empty batch. Return: 0 or -ENOMEM
 * @put:	add the next ULPDU to the batch: the header @h, or NULL if the payload contains
 *		it, and as many of @want's payload bytes from @src as suit the lower layer;
 *		sets h->last if these are all, and @frame to the resulting FPDU. Return: 0; 1
 *		if the batch is now full; or -errno of @src or -ENOMEM, and nothing was added
 * @batch_end:	close the batch. Return: its bytes, to be pushed
 * @push:	hand the batch to the transport; may release the socket lock meanwhile, if
 *		@halt is not NULL. Return: 0, also if there is none;
 *		-EAGAIN: space or memory is short, the rest goes later; or another errno:
 *		nothing can be sent any more
 * @drop:	discard the batch
 * @poll:	act as if the socket's callback had just been called: see kwarp_llp_poll()
 * @writeable:	Return: true if there is enough room to make sending worthwhile
 * @want_space:	request a call of engine->writable() when there is room, although push()
 *		was not refused
 * @in_flight:	Return: true if more is in flight than a peer may leave unacknowledged for
 *		long: whoever waits for room will be called soon
 * @shutdown:	end our direction after everything that was pushed
 * @watch:	start or stop calling engine->early()
 * @where:	stream bytes so far, modulo 2^32, for observers
 */
struct kwarp_llp_ops {
	int (*connect)(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		       const struct sockaddr_storage *remote);
	int (*listen)(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		      int backlog, bool hold_net);
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
		       bool peer);
	void (*keepalive)(struct kwarp_llp *llp, u32 seconds);
	void (*info)(const struct kwarp_llp *llp, struct kwarp_llp_info *info);
	void (*unlocked)(struct kwarp_llp *llp);
	bool (*wake_bh)(struct kwarp_llp *llp);
	void (*close)(struct kwarp_llp *llp, struct socket *sock, bool abort);
	void (*free)(struct kwarp_llp *llp);
	void (*halt)(struct kwarp_llp *llp);
	int (*over)(const struct kwarp_llp *llp, u32 *left);
	int (*begin)(struct kwarp_llp *llp);
	void (*end)(struct kwarp_llp *llp);
	bool (*pull_begin)(struct kwarp_llp *llp);
	enum kwarp_pull (*pull)(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
	void (*pull_end)(struct kwarp_llp *llp, bool last,
			 struct kwarp_llp_counts *counts);
	void (*discard)(struct kwarp_llp *llp);
	bool (*early_begin)(struct kwarp_llp *llp);
	enum kwarp_pull (*early_pull)(struct kwarp_llp *llp,
				      struct kwarp_ulpdu *u,
				      struct kwarp_early *e);
	void (*early_end)(struct kwarp_llp *llp, bool all);
	int (*batch_begin)(struct kwarp_llp *llp);
	int (*put)(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		   const struct kwarp_ulpdu_want *want,
		   struct kwarp_payload_source *src, struct kwarp_fpdu *frame);
	u32 (*batch_end)(struct kwarp_llp *llp,
			 struct kwarp_llp_counts *counts);
	int (*push)(struct kwarp_llp *llp);
	void (*drop)(struct kwarp_llp *llp);
	void (*poll)(struct kwarp_llp *llp);
	bool (*writeable)(const struct kwarp_llp *llp);
	void (*want_space)(struct kwarp_llp *llp);
	bool (*in_flight)(const struct kwarp_llp *llp);
	void (*shutdown)(struct kwarp_llp *llp);
	void (*watch)(struct kwarp_llp *llp, bool on);
	void (*where)(const struct kwarp_llp *llp, u32 *tx_pos, u32 *rx_pos);
};

/*
 * The payload of a ULPDU after a header of @hdr_len bytes; @flat is storage for a reader.
 */
static inline void kwarp_ulpdu_payload(const struct kwarp_ulpdu *u, u32 hdr_len,
				       struct kwarp_payload *pl,
				       struct kwarp_reader *flat)
{
	if (u->flat)
		kwarp_payload_flat(pl, flat, u->flat, &u->frame, hdr_len);
	else
		kwarp_payload_init(pl, u->r, &u->frame, hdr_len);
}

#endif /* _KWARP_LLP_ULPDU_H */
