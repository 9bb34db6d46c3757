/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* MPA over TCP (RFC 5044): a lower layer of DDP. Context: socket lock held. */
#ifndef _KWARP_LLP_MPA_MPA_H
#define _KWARP_LLP_MPA_MPA_H

#include <linux/tcp.h>

#include "llp/llp.h"
#include "llp/mpa/buf.h"
#include "llp/mpa/cursor.h"
#include "proto/mpa_writer.h"

/* Bytes of FPDUs that one search verifies; the last FPDU may exceed this limit. */
#define KWARP_MPA_EARLY_BYTES	(256 * 1024)

/**
 * struct kwarp_mpa_segment - the TCP segment to which the next FPDU belongs
 * @max:	maximum FPDU length: the EMSS
 * @off:	bytes of the segment already used
 * @ends:	end the segment after the next FPDU
 */
struct kwarp_mpa_segment {
	u32 max;
	u32 off;
	bool ends;
};

/**
 * struct kwarp_mpa_search - a search for FPDUs in a run of TCP's out-of-order queue
 * @base:	TCP sequence number minus stream position
 * @from:	stream position at which the run begins
 * @at:		stream position that the search has reached
 * @end:	stream position at which the run ends
 * @bytes:	bytes of the FPDUs verified
 * @marker:	stream position of the marker that points to @at, if @marked
 * @len:	bytes of the FPDU at @at, if @pending
 * @marked:	a marker points to @at
 * @pending:	the FPDU at @at was pulled: continue after it
 */
struct kwarp_mpa_search {
	u32 base;
	u32 from;
	u32 at;
	u32 end;
	u32 bytes;
	u32 marker;
	u32 len;
	bool marked;
	bool pending;
};

/**
 * struct kwarp_mpa_rx - receive side
 * @pos:	stream position of the next byte since Full Operation, modulo 2^32
 * @at:		cursor at @pos
 * @payload:	cursor at the FPDU that was pulled, if the FPDU is not contiguous
 * @avail:	bytes in the receive queue at the start of the pass
 * @used:	bytes of @avail that were consumed
 * @len:	length of the FPDU that was pulled and not consumed yet; 0: none
 * @need:	bytes required of the incomplete FPDU at the end of the queue; 0: none
 * @frames:	FPDUs consumed in this pass
 * @replaced:	FPDUs that were placed early, but whose header, length or CRC differs now
 * @ledger:	during a pass: llp->ledger, or NULL if no FPDUs were placed early
 * @search:	search for FPDUs to be placed early
 * @run:	stream positions of the SACK blocks that were searched to the end
 * @next_run:	entry of @run to replace next
 */
struct kwarp_mpa_rx {
	u32 pos;
	struct kwarp_cursor at;
	struct kwarp_cursor payload;
	u32 avail;
	u32 used;
	u32 len;
	u32 need;
	u32 frames;
	u32 replaced;
	struct kwarp_ledger *ledger;
	struct kwarp_mpa_search search;
	struct {
		u32 from;
		u32 to;
	} run[TCP_NUM_SACKS];
	u32 next_run;
};

/**
 * struct kwarp_mpa_tx - send side
 * @pos:	stream position of the next byte since Full Operation, modulo 2^32
 * @start:	@pos at the beginning of the batch
 * @limit:	number of bytes at which the batch is full
 * @frames:	FPDUs in the batch
 * @segment:	TCP segment of the next FPDU
 * @writer:	state of the FPDU being written
 * @buf:	batch: FPDUs that TCP has not accepted yet, or NULL
 * @frag:	while the batch is built: this CPU's current block of pages
 */
struct kwarp_mpa_tx {
	u32 pos;
	u32 start;
	u32 limit;
	u32 frames;
	struct kwarp_mpa_segment segment;
	struct kwarp_fpdu_writer writer;
	struct kwarp_tx_buf *buf;
	struct page_frag *frag;
};

/**
 * struct kwarp_mpa - the data path of a connection
 * @rx:		receive side
 * @tx:		send side
 */
struct kwarp_mpa {
	struct kwarp_mpa_rx rx;
	struct kwarp_mpa_tx tx;
};

/* Operations of struct kwarp_llp_ops: hello.c, info.c, rx.c, early.c, tx.c, tcp.c. */
int kwarp_mpa_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			 const void *pd);
int kwarp_mpa_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			 enum kwarp_mpa_type type);
int kwarp_mpa_hello_more(struct kwarp_llp *llp);
void kwarp_mpa_info(const struct kwarp_llp *llp, struct kwarp_llp_info *info);
int kwarp_mpa_begin(struct kwarp_llp *llp);
void kwarp_mpa_end(struct kwarp_llp *llp);
bool kwarp_mpa_pull_begin(struct kwarp_llp *llp);
enum kwarp_pull kwarp_mpa_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
void kwarp_mpa_pull_end(struct kwarp_llp *llp, enum kwarp_last_ulpdu last,
			struct kwarp_llp_counts *counts);
void kwarp_mpa_discard(struct kwarp_llp *llp);
bool kwarp_mpa_early_begin(struct kwarp_llp *llp);
enum kwarp_pull kwarp_mpa_early_pull(struct kwarp_llp *llp,
				     struct kwarp_ulpdu *u,
				     struct kwarp_early *e);
void kwarp_mpa_early_end(struct kwarp_llp *llp);
int kwarp_mpa_batch_begin(struct kwarp_llp *llp);
int kwarp_mpa_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		  struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src);
u32 kwarp_mpa_batch_end(struct kwarp_llp *llp, struct kwarp_llp_counts *counts);
int kwarp_mpa_push(struct kwarp_llp *llp);
void kwarp_mpa_drop(struct kwarp_llp *llp);
void kwarp_mpa_where(const struct kwarp_llp *llp, u32 *tx_pos, u32 *rx_pos);
const struct kwarp_early *kwarp_mpa_placed_early(struct kwarp_mpa_rx *rx,
						 const struct kwarp_fpdu *f,
						 struct kwarp_ulpdu *u);

#endif /* _KWARP_LLP_MPA_MPA_H */
