/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A lower layer that consists of two lists: received and sent ULPDUs. It segments and
 * fails as configured. The socket is used only for its lock.
 */
#ifndef _KTEST_MOCK_LLP_H
#define _KTEST_MOCK_LLP_H

#include <linux/prandom.h>
#include <linux/completion.h>
#include <linux/list.h>

#include "llp/llp.h"

#define MOCK_MULPDU_MAX	2048

/* Calls that can fail. */
enum mock_call {
	MOCK_BATCH_BEGIN,	/* -ENOMEM */
	MOCK_PUT,		/* -ENOMEM */
	MOCK_PUSH,		/* -EAGAIN */
	MOCK_CALLS,
};

/**
 * struct mock_ulpdu - a received or sent ULPDU
 * @link:	in one of the lists
 * @len:	bytes
 * @data:	two bytes of framing, then the ULPDU
 */
struct mock_ulpdu {
	struct list_head link;
	u32 len;
	u8 data[2 + MOCK_MULPDU_MAX];
};

/**
 * struct mock_reader - reader of a ULPDU in pieces
 * @r:		reader at the current piece
 * @left:	bytes after it
 * @piece:	bytes per piece
 */
struct mock_reader {
	struct kwarp_reader r;
	u32 left;
	u32 piece;
};

/**
 * struct mock - the lower layer
 * @llp:	connection
 * @in:		received, not yet pulled by the engine
 * @late:	arrive with the peer's FIN while the next batch is pushed
 * @fin:	the peer's FIN has arrived
 * @batch:	put, not pushed yet
 * @sent:	pushed
 * @batched:	number of ULPDUs in @batch
 * @rnd:	of random lengths
 * @mulpdu:	maximum length of a ULPDU; 0: random
 * @most:	maximum number of ULPDUs in a batch
 * @piece:	payload is received in pieces of this many bytes; 0: contiguous
 * @calls:	number of calls so far, of each kind
 * @fail_at:	number of the call of each kind that fails, counted from 1; 0: none
 * @revoke:	a region that becomes invalid when the next batch begins, or NULL
 * @starved:	number of calls of push() that find no memory, like those of TCP: there is room,
 *		and the engine is told so in the call
 * @broken:	push() fails permanently
 * @pull_err:	framing error after @in, to be returned by pull()
 * @writeable:	there is room to send
 * @wanted:	the engine waits for room
 * @shut:	our direction was shut down
 * @events:	bits of enum kwarp_llp_event
 * @reader:	reader of the pulled ULPDU
 * @pulled:	the pulled ULPDU, or NULL
 * @released:	the last reference was dropped
 */
struct mock {
	struct kwarp_llp llp;
	struct list_head in;
	struct list_head late;
	bool fin;
	struct list_head batch;
	struct list_head sent;
	u32 batched;
	struct rnd_state rnd;
	u32 mulpdu;
	u32 most;
	u32 piece;
	u32 calls[MOCK_CALLS];
	u32 fail_at[MOCK_CALLS];
	struct kwarp_mr *revoke;
	u32 starved;
	bool broken;
	enum kwarp_err pull_err;
	bool writeable;
	bool wanted;
	bool shut;
	unsigned long events;
	struct mock_reader reader;
	struct mock_ulpdu *pulled;
	struct completion released;
};

/* @seed: of random lengths. Return: 0 or -errno. Context: process. */
int mock_open(struct mock *m, struct kwarp_device *dev, u32 seed);
void mock_close(struct mock *m);

/* Receive one ULPDU: header and payload. mock_deliver() notifies the engine. */
int mock_come(struct mock *m, const struct kwarp_ddp_hdr *h, const void *payload,
	      u32 len);
void mock_deliver(struct mock *m);

/* What came and is not pulled, and FIN, arrive while the next batch is pushed. */
void mock_come_late(struct mock *m);

/* Is there received data that was not consumed? */
bool mock_pending(struct mock *m);

/* Make room, and notify the engine. */
void mock_room(struct mock *m);

/* End the stream; 0 means FIN. */
void mock_end(struct mock *m, int err);

/* Discard the sent ULPDUs. */
void mock_forget(struct mock *m);

/* window_cases.c: 0 or an error */
int kt_window_freed_while_moved(struct ib_device *ibdev);

#endif /* _KTEST_MOCK_LLP_H */
