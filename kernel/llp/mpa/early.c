// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Early placement: find FPDUs in TCP's out-of-order queue, and recognize those that were
 * placed when their bytes are in order. Why the CRC check and the copy may then be skipped
 * is explained in Documentation/design.rst, "Out-of-order placement".
 */
#include "llp/mpa/mpa.h"

#include <net/tcp.h>

#include "proto/early.h"
#include "proto/mpa_find.h"

/*
 * Maximum number of bytes that are searched for a marker that points to an FPDU in them. An
 * FPDU has at most half as many, so valid data contain such a marker.
 */
#define EARLY_FIND_MAX	(128 * 1024)

/* ---- in-order processing ------------------------------------------------------ */

/*
 * Do length, headers and CRC field equal those of the FPDU that was placed? The payload
 * need not be compared: the payload in memory was verified with the same CRC.
 */
static bool same_fpdu(const struct kwarp_mpa_rx *rx, const struct kwarp_fpdu *f,
		      const struct kwarp_early *e, struct kwarp_ulpdu *u)
{
	struct kwarp_cursor tmp = rx->at;
	u32 crc;

	if (e->len != f->len || e->hdr_len > f->ulpdu_len ||
	    kwarp_fpdu_verify(&tmp.r, f, false, u->seg, sizeof(u->seg)) ||
	    memcmp(u->seg, e->hdr, e->hdr_len))
		return false;
	tmp = rx->at;
	return kwarp_fpdu_crc(&tmp.r, f, &crc) && crc == e->crc;
}

/**
 * kwarp_mpa_placed_early() - was this FPDU placed early?
 * @rx:		receive side; @rx->ledger is set
 * @f:		a complete FPDU at @rx->at
 * @u:		receives the beginning of the ULPDU
 *
 * Return: the ledger's entry if length, headers and CRC field equal those of the FPDU that
 * was verified and placed, so that this FPDU may be delivered; otherwise NULL, and the FPDU
 * must be verified and placed.
 */
const struct kwarp_early *kwarp_mpa_placed_early(struct kwarp_mpa_rx *rx,
						 const struct kwarp_fpdu *f,
						 struct kwarp_ulpdu *u)
{
	struct kwarp_early *e = kwarp_ledger_find(rx->ledger, f->pos);

	if (!e || e->kind != KWARP_EARLY_PLACED)
		return NULL;
	if (same_fpdu(rx, f, e, u))
		return e;
	kwarp_ledger_unplace(rx->ledger, e);
	rx->replaced++;
	return NULL;
}

/* ---- searching -------------------------------------------------------------- */

static bool run_was_searched(const struct kwarp_mpa_rx *rx)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rx->run); i++)
		if (rx->run[i].from == rx->search.from &&
		    rx->run[i].to == rx->search.end)
			return true;
	return false;
}

static void search_remember(struct kwarp_mpa_rx *rx)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rx->run); i++)
		if (rx->run[i].from == rx->search.from)
			break;
	if (i == ARRAY_SIZE(rx->run))
		i = rx->next_run++ % ARRAY_SIZE(rx->run);
	rx->run[i].from = rx->search.from;
	rx->run[i].to = rx->search.end;
}

/*
 * Advance the search to the next FPDU: the one that a marker points to, or the next entry
 * of the ledger. Return: false if there is neither.
 */
static bool find_start(struct kwarp_llp *llp)
{
	struct kwarp_mpa_search *s = &llp->mpa->rx.search;
	const struct kwarp_early *e = kwarp_ledger_next(llp->ledger, s->at);
	bool known = e && before(e->pos, s->end);
	u32 limit = known ? e->pos : s->end;
	struct kwarp_cursor at;

	if (!kwarp_cursor_early(&at, llp->sk, s->at + s->base))
		return false;
	s->marked = kwarp_fpdu_find(&at.r, s->at,
				    min(limit - s->at, EARLY_FIND_MAX), &s->at,
				    &s->marker);
	if (s->marked)
		return true;
	s->at = limit;
	return known;
}

bool kwarp_mpa_early_begin(struct kwarp_llp *llp)
{
	const struct tcp_sock *tp = tcp_sk(llp->sk);
	const struct tcp_sack_block *sack = tp->selective_acks;
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	struct kwarp_mpa_search *s = &rx->search;

	kwarp_llp_assert_locked(llp);
	/* The first SACK block contains the newest segment (RFC 2018 4). */
	if (!tp->rx_opt.num_sacks)
		return false;
	memset(s, 0, sizeof(*s));
	s->base = tp->copied_seq - rx->pos;
	s->from = sack->start_seq - s->base;
	s->at = s->from;
	s->end = sack->end_seq - s->base;
	/* No new data in this run: the last segment was a duplicate or in order. */
	if (run_was_searched(rx))
		return false;
	if (find_start(llp))
		return true;
	search_remember(rx);
	return false;
}

/*
 * Examine the FPDU at @s->at, which is not in the ledger. Return: false if the FPDU is
 * incomplete, contradicts its marker, or cannot be recorded: then the search ends.
 */
static bool examine_fpdu(struct kwarp_llp *llp, struct kwarp_ulpdu *u,
			 struct kwarp_early *e)
{
	struct kwarp_mpa_rx *rx = &llp->mpa->rx;
	struct kwarp_mpa_search *s = &rx->search;
	struct kwarp_fpdu *f = &u->frame;
	const struct kwarp_early *next;
	struct kwarp_cursor tmp;
	int ret;

	if (!kwarp_cursor_early(&rx->payload, llp->sk, s->at + s->base))
		return false;
	tmp = rx->payload;
	if (kwarp_fpdu_peek(&tmp.r, s->end - s->at, s->at, true, f))
		return false;
	if (s->marked && !kwarp_fpdu_contains(f, s->marker))
		return false;
	next = kwarp_ledger_next(llp->ledger, s->at);
	if ((next && before(next->pos, s->at + f->len)) ||
	    kwarp_ledger_full(llp->ledger))
		return false;
	s->bytes += f->len;
	tmp = rx->payload;
	ret = kwarp_fpdu_verify(&tmp.r, f, true, u->seg, sizeof(u->seg));
	if (ret == KWARP_FPDU_NEED_MORE)
		return false;
	memset(e, 0, sizeof(*e));
	e->pos = f->pos;
	e->len = f->len;
	tmp = rx->payload;
	e->kind = ret || !kwarp_fpdu_crc(&tmp.r, f, &e->crc) ?
		  KWARP_EARLY_BAD : KWARP_EARLY_UNPLACED;
	return true;
}

/*
 * FPDUs beyond the limit of a pass are found when the next segment arrives, or in order.
 */
enum kwarp_pull kwarp_mpa_early_pull(struct kwarp_llp *llp,
				     struct kwarp_ulpdu *u,
				     struct kwarp_early *e)
{
	struct kwarp_mpa_search *s = &llp->mpa->rx.search;

	kwarp_llp_assert_locked(llp);
	if (s->pending) {
		s->at += s->len;
		s->marked = false;
		s->pending = false;
	}
	while (before(s->at, s->end)) {
		u32 at = s->at;

		if (s->bytes >= KWARP_MPA_EARLY_BYTES)
			return KWARP_PULL_ERR;
		if (!kwarp_ledger_skip(llp->ledger, &s->at))
			return KWARP_PULL_NONE;
		if (s->at != at) {
			s->marked = false;
			continue;
		}
		if (!examine_fpdu(llp, u, e))
			return KWARP_PULL_NONE;
		s->len = u->frame.len;
		s->pending = true;
		u->flat = NULL;
		u->r = &llp->mpa->rx.payload.r;
		u->len = u->frame.ulpdu_len;
		u->seg_len = min_t(u32, u->len, sizeof(u->seg));
		return KWARP_PULL_ULPDU;
	}
	return KWARP_PULL_NONE;
}

void kwarp_mpa_early_end(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	search_remember(&llp->mpa->rx);
}
