// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bursts. A program that posts repeatedly, on one or more queue pairs, without
 * polling their completion queues has more to post. The provider passes this
 * hint to the kernel, whose send engine then sleeps without asking for a
 * doorbell, because a timer wakes the engine. A program that finds nothing to
 * poll, or asks for an event, waits for the kernel: then the provider rings the
 * deferred doorbells.
 *
 * A burst is KWARP_BURST posts; the posts between the next two polls belong to
 * it, too: most programs post as many requests as they have polled completions.
 *
 * Event-driven programs get no bursts: they block without notice to the
 * provider, and many (perftest) rely on few completions per event.
 */
#include <unistd.h>

#include <ccan/list.h>

#include "kwarp.h"

static struct kwarp_context *context_of(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct kwarp_context, vctx.context);
}

void kwarp_burst_init(struct kwarp_context *ctx)
{
	pthread_spin_init(&ctx->lock, PTHREAD_PROCESS_PRIVATE);
	list_head_init(&ctx->deferred);
	ctx->any_deferred = false;
}

void kwarp_burst_exit(struct kwarp_context *ctx)
{
	pthread_spin_destroy(&ctx->lock);
}

/*
 * Counts a post. Posts in other threads may get lost, or survive a poll: the
 * result is a hint. Return: true if the post is part of a burst.
 */
static bool count_post(struct kwarp_cq *cq)
{
	uint32_t posts = kwarp_load_relaxed(&cq->posts);

	if (kwarp_load_relaxed(&cq->events))
		return false;
	if (posts < KWARP_BURST)
		__atomic_store_n(&cq->posts, ++posts, __ATOMIC_RELAXED);
	return posts == KWARP_BURST ||
	       __atomic_load_n(&cq->bursts, __ATOMIC_RELAXED);
}

uint32_t kwarp_sq_publish(struct kwarp_qp *qp)
{
	struct kwarp_cq *scq = to_kcq(qp->vqp.qp.send_cq);
	struct kwarp_cq *rcq = to_kcq(qp->vqp.qp.recv_cq);
	bool burst = count_post(scq);
	uint32_t hint;

	if (rcq != scq)
		burst &= count_post(rcq);
	hint = burst ? KWARP_SQ_BURST : KWARP_SQ_SINGLE;
	if (kwarp_load_relaxed(&qp->sq.ctl->arm) != hint)
		__atomic_store_n(&qp->sq.ctl->arm, hint, __ATOMIC_RELAXED);
	return kwarp_wq_publish(&qp->sq);
}

void kwarp_ring_later(struct kwarp_qp *qp)
{
	struct kwarp_context *ctx = context_of(qp->vqp.qp.context);

	if (__atomic_load_n(&qp->deferred, __ATOMIC_RELAXED))
		return;
	pthread_spin_lock(&ctx->lock);
	if (!qp->deferred) {
		list_add_tail(&ctx->deferred, &qp->link);
		__atomic_store_n(&qp->deferred, true, __ATOMIC_RELAXED);
		__atomic_store_n(&ctx->any_deferred, true, __ATOMIC_RELAXED);
	}
	pthread_spin_unlock(&ctx->lock);
}

/* Call under the lock. */
static void drop_deferred(struct kwarp_context *ctx, struct kwarp_qp *qp)
{
	list_del(&qp->link);
	__atomic_store_n(&qp->deferred, false, __ATOMIC_RELAXED);
	__atomic_store_n(&ctx->any_deferred, !list_empty(&ctx->deferred),
			 __ATOMIC_RELAXED);
}

/*
 * Return: true if a doorbell is still needed. If the kernel no longer coalesces,
 * it has woken up and reads the ring by itself.
 */
static bool take_deferred(struct kwarp_context *ctx, struct kwarp_qp *qp)
{
	drop_deferred(ctx, qp);
	return kwarp_load_relaxed(&qp->sq.ctl->flags) & KWARP_RING_COALESCE;
}

void kwarp_ring_now(struct kwarp_qp *qp)
{
	struct kwarp_context *ctx = context_of(qp->vqp.qp.context);
	bool ring;

	/* With the lock in any case: then no other thread is in between. */
	pthread_spin_lock(&ctx->lock);
	ring = qp->deferred && take_deferred(ctx, qp);
	pthread_spin_unlock(&ctx->lock);
	if (ring)
		kwarp_doorbell(qp->vqp.qp.context, qp->vqp.qp.handle);
}

/*
 * The queue pairs may belong to other threads, which wait in kwarp_ring_end()
 * before they destroy one. Errors are ignored here: the next post or poll
 * reports them.
 */
void kwarp_ring_all(struct ibv_context *ibctx)
{
	struct kwarp_context *ctx = context_of(ibctx);
	struct kwarp_qp *qps[KWARP_DOORBELLS];
	uint32_t handles[KWARP_DOORBELLS];
	struct kwarp_qp *qp;
	int num, i;

	do {
		num = 0;
		pthread_spin_lock(&ctx->lock);
		while (num < KWARP_DOORBELLS &&
		       (qp = list_top(&ctx->deferred, struct kwarp_qp, link))) {
			if (!take_deferred(ctx, qp))
				continue;
			__atomic_fetch_add(&qp->ringing, 1, __ATOMIC_RELAXED);
			qps[num] = qp;
			handles[num++] = qp->vqp.qp.handle;
		}
		pthread_spin_unlock(&ctx->lock);
		kwarp_doorbells(ibctx, handles, num);
		for (i = 0; i < num; i++)
			__atomic_fetch_sub(&qps[i]->ringing, 1,
					   __ATOMIC_RELEASE);
	} while (num == KWARP_DOORBELLS);
}

/*
 * While the kernel handles a doorbell, it refuses to destroy the queue pair
 * (EBUSY).
 */
void kwarp_ring_end(struct kwarp_qp *qp)
{
	kwarp_ring_now(qp);
	while (__atomic_load_n(&qp->ringing, __ATOMIC_ACQUIRE))
		usleep(20);
}
