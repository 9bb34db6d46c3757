/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Per-CPU blocks of pages for FPDUs. TCP holds references to a block until the peer has
 * acknowledged its bytes. We use released blocks again, because new pages are expensive: a
 * kernel with init_on_alloc (Debian's) clears each page on allocation.
 */
#ifndef _KWARP_LLP_MPA_PAGES_H
#define _KWARP_LLP_MPA_PAGES_H

#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/sizes.h>

enum kwarp_tx_pages_limits {
	/* Bytes of a block; if memory is short, a block is a single page. */
	KWARP_TX_PAGE_SIZE	= MAX(SZ_32K, PAGE_SIZE),
	/* Blocks kept per CPU. */
	KWARP_TX_PAGES		= SZ_2M / KWARP_TX_PAGE_SIZE,
};

struct page_frag *kwarp_tx_pages_begin(void);
void kwarp_tx_pages_end(void);
bool kwarp_tx_pages_refill(struct page_frag *frag);

/* Register and remove the shrinker, which frees unused blocks; exit frees all. */
int kwarp_tx_pages_init(void);
void kwarp_tx_pages_exit(void);

#endif /* _KWARP_LLP_MPA_PAGES_H */
