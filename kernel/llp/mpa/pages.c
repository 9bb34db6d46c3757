// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Per-CPU caches: recycled pages for FPDUs (pages.h), and batches (buf.h). */
#include "llp/mpa/pages.h"

#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

#include "llp/mpa/buf.h"

/* The shrinker counts pages. */
static_assert(KWARP_TX_PAGE_SIZE % PAGE_SIZE == 0);

/**
 * struct tx_pages - one CPU's blocks of pages
 * @lock:	guards @frag and @next where bottom halves can be preempted (PREEMPT_RT)
 * @frag:	current block, with a reference to its page
 * @slot:	ring of filled blocks, each with a reference; taken by xchg(), because the
 *		shrinker runs on any CPU
 * @next:	slot of the oldest filled block, which the current block will replace
 */
struct tx_pages {
	local_lock_t lock;	/* frag, next */
	struct page_frag frag;
	struct page *slot[KWARP_TX_PAGES];
	unsigned int next;
};

static DEFINE_PER_CPU(struct tx_pages, tx_pages) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/* An empty batch, or NULL; taken by xchg(). */
static DEFINE_PER_CPU(struct kwarp_tx_buf *, tx_buf);

static struct shrinker *shrinker;

/**
 * kwarp_tx_buf_get() - get an empty batch
 *
 * Each CPU caches one batch, so queue pairs with nothing to send need no memory for one.
 * Context: any.
 * Return: the batch, or NULL if there is no memory.
 */
struct kwarp_tx_buf *kwarp_tx_buf_get(void)
{
	struct kwarp_tx_buf *b = this_cpu_xchg(tx_buf, NULL);

	return b ?: kzalloc(sizeof(*b), GFP_ATOMIC | __GFP_NOWARN);
}

/* Free a batch, whose page references the caller has put or passed on. Context: any. */
void kwarp_tx_buf_put(struct kwarp_tx_buf *b)
{
	b->nr = 0;
	b->first = 0;
	b->nr_runs = 0;
	b->first_run = 0;
	b->len = 0;
	kfree(this_cpu_xchg(tx_buf, b));
}

static void slot_put(struct page **slot, struct page *page)
{
	page = xchg(slot, page);
	if (page)
		put_page(page);
}

/**
 * kwarp_tx_pages_begin() - get this CPU's current block for writing
 *
 * Context: bottom halves disabled until kwarp_tx_pages_end(); does not sleep.
 * Return: the current block; it has a page only after kwarp_tx_pages_refill().
 */
struct page_frag *kwarp_tx_pages_begin(void)
{
	local_lock_nested_bh(&tx_pages.lock);
	return &this_cpu_ptr(&tx_pages)->frag;
}

void kwarp_tx_pages_end(void)
{
	local_unlock_nested_bh(&tx_pages.lock);
}

/* Take the oldest block. Return: NULL if there is none, or if TCP has references to it. */
static struct page *oldest_page(struct tx_pages *tp)
{
	struct page *page = xchg(&tp->slot[tp->next], NULL);

	if (!page || page_ref_count(page) == 1)
		return page;
	put_page(page);
	return NULL;
}

/**
 * kwarp_tx_pages_refill() - replace the current block by an unused one
 * @frag:	from kwarp_tx_pages_begin()
 *
 * Context: between begin and end.
 * Return: false if there is no memory.
 */
bool kwarp_tx_pages_refill(struct page_frag *frag)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct tx_pages *tp = container_of(frag, struct tx_pages, frag);
	struct page *page = frag->page;

	frag->page = NULL;
	frag->offset = 0;
	if (page) {
		/* Do not keep single pages, nor pages of the emergency reserves. */
		if (frag->size == KWARP_TX_PAGE_SIZE && !page_is_pfmemalloc(page))
			slot_put(&tp->slot[tp->next], page);
		else
			put_page(page);
		tp->next = (tp->next + 1) % KWARP_TX_PAGES;
	}
	frag->size = KWARP_TX_PAGE_SIZE;
	page = oldest_page(tp);
	if (!page)
		page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP |
				   __GFP_NORETRY, get_order(frag->size));
	if (!page) {
		page = alloc_page(gfp);
		frag->size = PAGE_SIZE;
	}
	frag->page = page;
	return page;
}

static unsigned long pages_count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = 0;
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < KWARP_TX_PAGES; i++)
			n += !!READ_ONCE(per_cpu(tx_pages, cpu).slot[i]);
	return n * (KWARP_TX_PAGE_SIZE / PAGE_SIZE) ?: SHRINK_EMPTY;
}

static unsigned long pages_scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long freed = 0;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < KWARP_TX_PAGES; i++) {
			struct page *page =
				xchg(&per_cpu(tx_pages, cpu).slot[i], NULL);

			if (!page)
				continue;
			put_page(page);
			freed += KWARP_TX_PAGE_SIZE / PAGE_SIZE;
			if (freed >= sc->nr_to_scan)
				return freed;
		}
	}
	return freed ?: SHRINK_STOP;
}

int kwarp_tx_pages_init(void)
{
	shrinker = shrinker_alloc(0, "kwarp-tx");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = pages_count;
	shrinker->scan_objects = pages_scan;
	shrinker_register(shrinker);
	return 0;
}

void kwarp_tx_pages_exit(void)
{
	int cpu, i;

	shrinker_free(shrinker);
	for_each_possible_cpu(cpu) {
		struct tx_pages *tp = per_cpu_ptr(&tx_pages, cpu);

		for (i = 0; i < KWARP_TX_PAGES; i++)
			slot_put(&tp->slot[i], NULL);
		if (tp->frag.page)
			put_page(tp->frag.page);
		kfree(per_cpu(tx_buf, cpu));
	}
}

void kwarp_tx_rewind(struct kwarp_tx_buf *b, const struct kwarp_tx_mark *m)
{
	while (b->nr > m->nr)
		put_page(b->bv[--b->nr].bv_page);
	if (b->nr)
		b->bv[b->nr - 1].bv_len = m->last_len;
	b->len = m->len;
}
