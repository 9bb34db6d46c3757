/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory for FPDUs, per CPU. TCP holds it by reference until the peer has
 * acknowledged it; pages that have come back are used again. New ones would
 * cost: a kernel that is built to do so (Debian's) clears each page it hands out.
 */
#ifndef _KWARP_TX_PAGES_H
#define _KWARP_TX_PAGES_H

#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/sizes.h>

enum kwarp_tx_pages_limits {
	/* Octets of a stretch, if there is memory; whole pages. */
	KWARP_TX_PAGE_SIZE	= MAX(SZ_32K, PAGE_SIZE),
	/* Stretches kept per CPU. */
	KWARP_TX_PAGES		= SZ_2M / KWARP_TX_PAGE_SIZE,
};

/**
 * kwarp_tx_pages_begin() - this CPU's memory, to be filled
 *
 * Context: bottom halves disabled until kwarp_tx_pages_end(); does not sleep.
 * Return: the stretch in work; it has a page only after kwarp_tx_pages_refill().
 */
struct page_frag *kwarp_tx_pages_begin(void);
void kwarp_tx_pages_end(void);

/**
 * kwarp_tx_pages_refill() - another stretch in place of the one in work
 * @frag:	from kwarp_tx_pages_begin()
 *
 * Context: between begin and end. Return: false if there is no memory.
 */
bool kwarp_tx_pages_refill(struct page_frag *frag);

/* The shrinker that gives the memory back when others need it. */
int kwarp_tx_pages_init(void);
void kwarp_tx_pages_exit(void);

#endif /* _KWARP_TX_PAGES_H */
