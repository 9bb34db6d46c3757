/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Out-of-order placement: FPDUs behind a gap of the stream are verified and placed
 * when they come, and only delivered in their turn. Why that may skip CRC and copy:
 * Documentation/design.rst. Everything here runs with the socket lock held.
 */
#ifndef _KWARP_RX_OOO_H
#define _KWARP_RX_OOO_H

#include <linux/tcp.h>

#include "../core/wq.h"
#include "../proto/early.h"
#include "../proto/mpa_fpdu.h"
#include "rx.h"

struct kwarp_mr;
struct kwarp_rx_pass;
struct kwarp_stream;

/**
 * struct kwarp_tcp_past - what TCP had done to segments at some moment
 * @drops:	thrown away, of the socket
 * @rcv_nxt:	where the gap began
 * @dropped:	something was, before that gap, since the next two were counted
 * @collapsed:	copied together, in the namespace
 * @removed:	reneged or covered by others, events in the namespace
 */
struct kwarp_tcp_past {
	u32 drops;
	u32 rcv_nxt;
	bool dropped;
	unsigned long collapsed;
	unsigned long removed;
};

/**
 * struct kwarp_ooo - what a connection with out-of-order placement has besides
 * @ledger:	early FPDUs
 * @past:	when they were last known to be what TCP still holds
 * @wqe:	a receive that is looked at
 * @run:	runs behind a gap, as last searched: stream positions
 * @next_run:	which of them is forgotten next
 * @e:		room of @ledger
 */
struct kwarp_ooo {
	struct kwarp_ledger ledger;
	struct kwarp_tcp_past past;
	struct kwarp_rqe_copy wqe;
	struct {
		u32 from;
		u32 to;
	} run[TCP_NUM_SACKS];
	u32 next_run;
	struct kwarp_early e[];
};

/* If policy and connection have it. Process context. Return: 0 or -ENOMEM. */
int kwarp_ooo_init(struct kwarp_qp *qp);
void kwarp_ooo_free(struct kwarp_rx *rx);

/**
 * kwarp_ooo_begin() - before a pass in order
 * @pass:	of a queue pair with out-of-order placement
 *
 * Sets pass->ooo if there is anything in the ledger.
 */
void kwarp_ooo_begin(struct kwarp_rx_pass *pass);

/* Behind it, when TCP has been told what was consumed. */
void kwarp_ooo_end(struct kwarp_qp *qp);

/**
 * kwarp_ooo_find() - was an FPDU whose turn has come placed early?
 * @pass:	with pass->ooo
 * @st:		at its first octet
 * @f:		the FPDU, complete
 *
 * Return: its entry if the octets are those that were verified; it may be delivered
 * without another look at its CRC. Else NULL.
 */
const struct kwarp_early *kwarp_ooo_find(struct kwarp_rx_pass *pass,
					 const struct kwarp_stream *st,
					 const struct kwarp_fpdu *f);

/**
 * kwarp_ooo_recall() - is the payload in its place already?
 * @pass:	with pass->ooo and the FPDU in work
 * @mr:		where it belongs now, access checked
 * @addr:	address in it
 * @len:	octets
 *
 * Return: true if nothing is left to do. Else it is to be copied, and what the copy
 * will overwrite is not believed any more.
 */
bool kwarp_ooo_recall(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
		      u64 addr, u32 len);

/* The FPDU in work writes there; arguments as above. */
void kwarp_ooo_written(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
		       u64 addr, u32 len);

/* Which octets of this machine a checked range is. */
void kwarp_ooo_extent(const struct kwarp_mr *mr, u64 addr, u32 len,
		      struct kwarp_extent *mem);

/**
 * kwarp_ooo_place() - place one FPDU before its turn (ooo_place.c)
 * @pass:	with pass->ooo
 * @st:		at its first octet, in the out-of-order queue
 * @f:		the FPDU, complete
 * @e:		@e->pos and @e->len are set; receives the rest
 *
 * Return: false if it turns out to be incomplete; then @e is not valid.
 */
bool kwarp_ooo_place(struct kwarp_rx_pass *pass, const struct kwarp_stream *st,
		     const struct kwarp_fpdu *f, struct kwarp_early *e);

#endif /* _KWARP_RX_OOO_H */
