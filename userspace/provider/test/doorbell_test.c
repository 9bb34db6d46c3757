// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The provider's doorbells without a kernel: when they are rung, deferred and combined, and what
 * the send queue's ring tells of bursts. Tests are named function__case.
 */
#include "fake_kernel.h"

static void post_send__doorbell(void)
{
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .next = &second };
	struct ibv_send_wr *bad_wr = NULL;

	sq_ctl->flags = KWARP_RING_NEED_WAKEUP;
	check(!kwarp_post_send(qp, &wr, &bad_wr) && send_doorbells == 1);
	sq_ctl->flags = 0;
	check(!kwarp_post_send(qp, &wr, &bad_wr) && send_doorbells == 1);

	sq_ctl->flags = KWARP_RING_NEED_WAKEUP;
	doorbell_errno = EIO;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EIO && bad_wr == &wr);
	sq_ctl->flags = KWARP_RING_ERROR;
	bad_wr = NULL;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EIO && bad_wr == &wr);
	check(send_doorbells == 2);
}

static void post_sends(int num)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_wr = NULL;

	while (num--) {
		check(!kwarp_post_send(qp, &wr, &bad_wr));
		sq_ctl->kern_idx = sq_ctl->user_idx;
	}
}

static void post_send__tells_of_bursts(void)
{
	struct ibv_wc wc;
	int i;

	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	for (i = 0; i < 2; i++) {
		post_sends(2);
		check(sq_ctl->arm == KWARP_SQ_SINGLE);
		check(kwarp_poll_cq(cq, 1, &wc) == 0);
	}
	post_sends(2);
	check(sq_ctl->arm == KWARP_SQ_SINGLE);
	post_sends(1);
	check(sq_ctl->arm == KWARP_SQ_BURST);
}

/* A program that has posted a burst, and polls, is expected to post another. */
static void post_send__expects_the_next_burst(void)
{
	struct ibv_wc wc;
	int i;

	post_sends(3);
	for (i = 0; i < 3; i++) {
		check(kwarp_poll_cq(cq, 1, &wc) == 0);
		check(kwarp_poll_cq(cq, 1, &wc) == 0);
		post_sends(1);
		check(sq_ctl->arm == KWARP_SQ_BURST);
		post_sends(2);
	}
	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	post_sends(2);
	check(sq_ctl->arm == KWARP_SQ_BURST);
	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	post_sends(2);
	check(sq_ctl->arm == KWARP_SQ_SINGLE);
}

/* Posts on all queue pairs of a CQ count, because the program polls it for all. */
static void post_send__tells_of_bursts_over_queue_pairs(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_cq *own = kwarp_create_cq(context, NUM_CQE, NULL, 0);
	struct ibv_send_wr *bad_wr = NULL;
	struct ibv_qp *mixed;
	struct ibv_wc wc;
	int i;

	attr.send_cq = cq;
	attr.recv_cq = own;
	mixed = kwarp_create_qp(&pd, &attr);
	check(own && mixed);
	post_sends(2);
	/* The program may have polled the other CQ. */
	check(!kwarp_post_send(mixed, &wr, &bad_wr));
	check(sq_ctl->arm == KWARP_SQ_SINGLE);
	post_sends(1);
	check(sq_ctl->arm == KWARP_SQ_BURST);
	check(!kwarp_post_send(mixed, &wr, &bad_wr));
	check(sq_ctl->arm == KWARP_SQ_SINGLE);
	/* The burst on one CQ has ended, two posts on the other are none. */
	check(kwarp_poll_cq(own, 1, &wc) == 0);
	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	for (i = 0; i < 2; i++)
		check(!kwarp_post_send(mixed, &wr, &bad_wr));
	check(sq_ctl->arm == KWARP_SQ_SINGLE);
	check(!kwarp_post_send(mixed, &wr, &bad_wr));
	check(sq_ctl->arm == KWARP_SQ_BURST);
	check(!kwarp_destroy_qp(mixed));
	check(!kwarp_destroy_cq(own));
}

/*
 * A program that waits for events does not announce it, until it has polled for
 * long without.
 */
static void post_send__no_bursts_with_events(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_wr = NULL;
	struct ibv_wc wc;
	int i;

	check(!kwarp_req_notify_cq(cq, 0));
	for (i = 0; i < 4; i++)
		check(!kwarp_post_send(qp, &wr, &bad_wr));
	check(sq_ctl->arm == KWARP_SQ_SINGLE);
	for (i = 0; i < KWARP_EVENT_POLLS; i++)
		check(kwarp_poll_cq(cq, 1, &wc) == 0);
	sq_ctl->kern_idx = 4;
	for (i = 0; i < 4; i++)
		check(!kwarp_post_send(qp, &wr, &bad_wr));
	check(sq_ctl->arm == KWARP_SQ_BURST);
}

/* A deferred doorbell is rung at the latest when the program waits. */
static void post_send__rings_when_the_program_waits(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_wr = NULL;
	const struct kwarp_cqe cqe = { .qp_num = 7 };
	struct ibv_wc wc;

	sq_ctl->flags = KWARP_RING_COALESCE;
	check(!kwarp_post_send(qp, &wr, &bad_wr));
	check(!kwarp_post_send(qp, &wr, &bad_wr) && send_doorbells == 0);
	complete(&cqe);
	check(kwarp_poll_cq(cq, 1, &wc) == 1 && send_doorbells == 0);
	check(kwarp_poll_cq(cq, 1, &wc) == 0 && send_doorbells == 1);
	check(kwarp_poll_cq(cq, 1, &wc) == 0 && send_doorbells == 1);

	check(!kwarp_post_send(qp, &wr, &bad_wr) && send_doorbells == 1);
	check(!kwarp_req_notify_cq(cq, 0) && send_doorbells == 2);

	check(!kwarp_post_send(qp, &wr, &bad_wr) && send_doorbells == 2);
	check(!kwarp_modify_qp(qp, &attr, IBV_QP_STATE) && send_doorbells == 3);

	/* Its time was up: it has looked, or it asks. */
	check(!kwarp_post_send(qp, &wr, &bad_wr));
	sq_ctl->flags = KWARP_RING_NEED_WAKEUP;
	check(kwarp_poll_cq(cq, 1, &wc) == 0 && send_doorbells == 3);
	sq_ctl->flags = KWARP_RING_COALESCE;
	check(!kwarp_post_send(qp, &wr, &bad_wr));
	sq_ctl->flags = 0;
	check(kwarp_poll_cq(cq, 1, &wc) == 0 && send_doorbells == 3);

	sq_ctl->flags = KWARP_RING_COALESCE;
	check(!kwarp_post_send(qp, &wr, &bad_wr) && send_doorbells == 3);
	check(!kwarp_destroy_qp(qp) && send_doorbells == 4);
	qp = NULL;
	check(kwarp_poll_cq(cq, 1, &wc) == 0 && send_doorbells == 4);
}

/* Queue pairs with deferred doorbells, handles 0 to @num - 1; the queues are the same. */
static void defer_doorbells(struct ibv_qp **qps, int num)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_wr = NULL;
	int i;

	rung = system_calls = 0;
	for (i = 0; i < num; i++) {
		qps[i] = kwarp_create_qp(&pd, &attr);
		check(qps[i]);
		qps[i]->handle = i;
		memset(sq_ctl, 0, sizeof(*sq_ctl));
		sq_ctl->flags = KWARP_RING_COALESCE;
		check(!kwarp_post_send(qps[i], &wr, &bad_wr));
	}
	check(system_calls == 0);
}

/* The program waits: doorbells for @handles, a bit for each. */
static void expect_doorbells(struct ibv_qp **qps, int num, uint64_t handles)
{
	struct ibv_wc wc;
	int i;

	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	check(rung == handles);
	for (i = 0; i < num; i++)
		check(!kwarp_destroy_qp(qps[i]));
}

static void poll_cq__rings_many_by_one_call(void)
{
	enum { NUM = KWARP_DOORBELLS + 2 };
	struct ibv_qp *qps[NUM];

	defer_doorbells(qps, NUM);
	expect_doorbells(qps, NUM, (1 << NUM) - 1);
	check(send_doorbells == NUM && system_calls == 2);
}

/* The others are rung even so, whichever of them fails. */
static void poll_cq__one_of_many_doorbells_fails(void)
{
	enum { NUM = 4 };
	struct ibv_qp *qps[NUM];
	int gone;

	for (gone = 0; gone < NUM; gone++) {
		defer_doorbells(qps, NUM);
		qps[gone]->handle = GONE_HANDLE;
		expect_doorbells(qps, NUM, ((1 << NUM) - 1) & ~(1 << gone));
	}
}

static void poll_cq__a_signal_interrupts_doorbells(void)
{
	struct ibv_qp *qps[3];

	defer_doorbells(qps, 3);
	doorbell_interrupts = 3;
	expect_doorbells(qps, 3, 7);
}

/* Other credentials than those that have opened the device: no write(). */
static void poll_cq__doorbells_with_other_credentials(void)
{
	struct ibv_qp *qps[3];

	defer_doorbells(qps, 3);
	foreign = true;
	expect_doorbells(qps, 3, 7);
	check(send_doorbells == 3);
}

static void *poll_once(void *unused)
{
	struct ibv_wc wc;

	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	return NULL;
}

/* The kernel refuses to destroy a QP while it handles a doorbell. */
static void destroy_qp__while_another_thread_rings(void)
{
	struct ibv_qp *qps[2];
	pthread_t other;
	int i;

	defer_doorbells(qps, 2);
	doorbell_us = 20000;
	check(!pthread_create(&other, NULL, poll_once, NULL));
	while (!doorbells_in_progress)
		sched_yield();
	for (i = 0; i < 2; i++)
		check(!kwarp_destroy_qp(qps[i]));
	pthread_join(other, NULL);
	check(rung == 3);
}

static bool ringing_ended;

static void *end_ringing(void *ended_qp)
{
	kwarp_ring_end(to_kqp(ended_qp));
	__atomic_store_n(&ringing_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * A thread that holds the context's lock may be between taking the QP off the list and marking the
 * QP: its memory must not be freed, though no doorbell is deferred. The test cannot fail by chance.
 */
static void destroy_qp__while_another_thread_takes_doorbells(void)
{
	struct kwarp_context *ctx =
		container_of(qp->context, struct kwarp_context, vctx.context);
	pthread_t other;

	pthread_spin_lock(&ctx->lock);
	check(!pthread_create(&other, NULL, end_ringing, qp));
	usleep(20000);
	check(!__atomic_load_n(&ringing_ended, __ATOMIC_ACQUIRE));
	pthread_spin_unlock(&ctx->lock);
	pthread_join(other, NULL);
	check(ringing_ended);
}

static const struct test all_tests[] = {
	TEST(post_send__doorbell),
	TEST(post_send__tells_of_bursts),
	TEST(post_send__expects_the_next_burst),
	TEST(post_send__tells_of_bursts_over_queue_pairs),
	TEST(post_send__no_bursts_with_events),
	TEST(post_send__rings_when_the_program_waits),
	TEST(poll_cq__rings_many_by_one_call),
	TEST(poll_cq__one_of_many_doorbells_fails),
	TEST(poll_cq__a_signal_interrupts_doorbells),
	TEST(poll_cq__doorbells_with_other_credentials),
	TEST(destroy_qp__while_another_thread_rings),
	TEST(destroy_qp__while_another_thread_takes_doorbells),
};

int main(void)
{
	return run_tests(all_tests, ARRAY_SIZE(all_tests));
}
