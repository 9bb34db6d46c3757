// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The provider's rings without a kernel: work queues, completion queues, and
 * both sides concurrently. Tests are named function__case.
 */
#include "fake_kernel.h"

static struct kwarp_rqe *rqe_at(uint32_t idx)
{
	return (struct kwarp_rqe *)(dev_mem + RQ_OFF +
				    idx % NUM_RQE * RQ_STRIDE);
}

/* ---- qp.c ------------------------------------------------------------- */

static struct ibv_qp *create_qp_with_resp(void)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq, .recv_cq = cq };

	errno = 0;
	return kwarp_create_qp(&pd, &attr);
}

static void create_qp__unsound_layout(void)
{
	static const struct {
		size_t off;
		uint32_t val;
	} wrong[] = {
#define FIELD(f, v) { offsetof(struct kwarp_uresp_create_qp, f), v }
		FIELD(num_sqe, 0), FIELD(num_sqe, 6), FIELD(num_sqe, 1 << 31),
		FIELD(num_rqe, 3), FIELD(num_rqe, 1 << 20),
		FIELD(sq_stride, 64), FIELD(sq_stride, 177),
		FIELD(rq_stride, 72), FIELD(sq_offset, QP_BYTES - 8),
		FIELD(rq_offset, 4), FIELD(sq_ctl_offset, QP_BYTES),
		FIELD(rq_ctl_offset, UINT32_MAX - 3),
	};
	struct kwarp_uresp_create_qp good = qp_resp;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		qp_resp = good;
		memcpy((uint8_t *)&qp_resp + wrong[i].off, &wrong[i].val, 4);
		check(!create_qp_with_resp() && errno == EPROTO);
	}
}

static void create_qp__no_receives(void)
{
	struct ibv_recv_wr wr = {}, *bad_wr = NULL;
	struct ibv_qp *small;

	qp_resp.num_rqe = 0;
	granted.max_recv_wr = 0;
	small = create_qp_with_resp();
	check(small);
	check(kwarp_post_recv(small, &wr, &bad_wr) == ENOMEM && bad_wr == &wr);
	check(!kwarp_destroy_qp(small));
}

static void destroy_qp__forgets_completions(void)
{
	struct kwarp_cqe mine = { .qp_num = 7, .wr_id = 1 };
	struct kwarp_cqe other = { .qp_num = 8, .wr_id = 2 };
	struct ibv_wc wc[4];

	complete(&mine);
	complete(&other);
	complete(&mine);
	check(!kwarp_destroy_qp(qp));
	qp = NULL;
	check(cq_ctl->user_idx == 2);
	check(kwarp_poll_cq(cq, 4, wc) == 1 && wc[0].wr_id == 2);
	check(kwarp_poll_cq(cq, 4, wc) == 0);
	check(cq_ctl->user_idx == 3);
}

/* Another QP may use their room before the next poll. */
static void destroy_qp__frees_the_room_of_completions(void)
{
	struct kwarp_cqe mine = { .qp_num = 7 }, other = { .qp_num = 8 };
	struct ibv_wc wc[2 * NUM_CQE];
	int i, n;

	for (i = 0; i < NUM_CQE; i++) {
		other.wr_id = i;
		complete(i % 3 ? &mine : &other);
	}
	check(!kwarp_destroy_qp(qp));
	qp = NULL;
	check(cq_ctl->user_idx == NUM_CQE - 3);
	for (other.wr_id = NUM_CQE; other.wr_id < 2 * NUM_CQE - 3; other.wr_id++)
		complete(&other);
	n = kwarp_poll_cq(cq, 2 * NUM_CQE, wc);
	check(n == NUM_CQE);
	for (i = 0; i < n; i++)
		check(wc[i].wr_id == (i < 3 ? 3 * i : NUM_CQE + i - 3));
	check(cq_ctl->user_idx == cq_ctl->kern_idx);
}

/* The kernel empties the queues of a failed QP that becomes INIT. */
static void modify_qp__init_forgets_completions(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct kwarp_cqe mine = { .qp_num = 7 };
	struct ibv_wc wc;

	complete(&mine);
	check(!kwarp_modify_qp(qp, &attr, IBV_QP_STATE));
	check(kwarp_poll_cq(cq, 1, &wc) == 0 && cq_ctl->user_idx == 1);
}

/* Else a program that has overwritten it polls, or searches, 2^32 elements. */
static void poll_cq__an_index_that_cannot_be(void)
{
	struct kwarp_cqe mine = { .qp_num = 7, .wr_id = 1 };
	struct ibv_wc wc;

	complete(&mine);
	cq_ctl->kern_idx = NUM_CQE + 1;
	check(kwarp_poll_cq(cq, 1, &wc) == 0);
	check(!kwarp_destroy_qp(qp));
	qp = NULL;
	cq_ctl->kern_idx = 1;
	check(kwarp_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 1);
}

/* ---- post.c ----------------------------------------------------------- */

static void post_send__fields(void)
{
	struct ibv_sge sge[2] = { { 0x1000, 10, 11 }, { 0x2000, 20, 21 } };
	struct ibv_send_wr atomic = {
		.wr_id = 3, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .sg_list = sge,
		.num_sge = 1, .wr.atomic = { 0x77, 5, 6, 0x88 },
	};
	struct ibv_send_wr inv = {
		.wr_id = 2, .opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = 0x99, .send_flags = IBV_SEND_SOLICITED,
		.next = &atomic,
	};
	struct ibv_send_wr imm = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = sge, .num_sge = 2, .imm_data = htobe32(0x01020304),
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.wr.rdma = { 0x123456789, 0x42 }, .next = &inv,
	};
	struct ibv_send_wr *bad_wr = NULL;
	struct kwarp_sqe *sqe;

	check(!kwarp_post_send(qp, &imm, &bad_wr) && !bad_wr);
	check(sq_ctl->user_idx == 3 && send_doorbells == 0);

	sqe = sqe_at(0);
	check(sqe->wr_id == 1 && sqe->opcode == KWARP_OP_WRITE_IMM);
	check(sqe->flags == (KWARP_WQE_SIGNALED | KWARP_WQE_FENCE));
	check(sqe->raddr == 0x123456789 && sqe->rkey == 0x42);
	check(!memcmp(&sqe->ex, "\1\2\3\4", 4) && sqe->num_sge == 2);
	check(!memcmp(sqe + 1, sge, sizeof(sge)));

	sqe = sqe_at(1);
	check(sqe->opcode == KWARP_OP_SEND_INV && sqe->ex == 0x99);
	check(sqe->flags == KWARP_WQE_SOLICITED && sqe->num_sge == 0);

	sqe = sqe_at(2);
	check(sqe->opcode == KWARP_OP_CMP_SWAP && sqe->raddr == 0x77);
	check(sqe->arg[0] == 5 && sqe->arg[1] == 6 && sqe->rkey == 0x88);
}

static void post_send__bind(void)
{
	struct ibv_mr mr = { .lkey = 0x55 };
	struct ibv_mw mw = { .rkey = 0x6600 };
	struct ibv_send_wr unbind = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = &mw, .rkey = 0x6602 },
	};
	struct ibv_send_wr bind = {
		.opcode = IBV_WR_BIND_MW, .next = &unbind,
		.bind_mw = { .mw = &mw, .rkey = 0x6601,
			     .bind_info = { &mr, 0x123456789, 0x987654321,
					    IBV_ACCESS_REMOTE_READ } },
	};
	struct ibv_send_wr *bad_wr = NULL;
	struct kwarp_sqe *sqe;

	check(!kwarp_post_send(qp, &bind, &bad_wr) && !bad_wr);
	sqe = sqe_at(0);
	check(sqe->opcode == KWARP_OP_BIND_MW && sqe->num_sge == 0);
	check(sqe->ex == 0x6600 && sqe->rkey == 0x6601);
	check(sqe->raddr == 0x123456789 && sqe->arg[0] == 0x55);
	check(sqe->arg[1] == 0x987654321);
	check(sqe->arg[2] == IBV_ACCESS_REMOTE_READ);
	sqe = sqe_at(1);
	check(sqe->rkey == 0x6602 && sqe->arg[0] == 0 && sqe->arg[1] == 0);
}

static void post_send__inline(void)
{
	char text[MAX_INLINE + 1] = "abcdefgh";
	struct ibv_sge sge[6] = {
		{ (uintptr_t)text, 1, 0 }, { (uintptr_t)text + 1, 1, 0 },
		{ (uintptr_t)text + 2, 1, 0 }, { (uintptr_t)text + 3, 1, 0 },
		{ 0, 0, 0 }, { (uintptr_t)text + 4, 2, 0 },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE,
		.sg_list = sge, .num_sge = 6,
	};
	struct ibv_send_wr *bad_wr = NULL;

	check(!kwarp_post_send(qp, &wr, &bad_wr));
	memset(text, 'x', sizeof(text));
	check(sqe_at(0)->flags == KWARP_WQE_INLINE);
	check(sqe_at(0)->inline_len == 6);
	check(!memcmp(sqe_at(0) + 1, "abcdef", 6));

	sge[0].length = MAX_INLINE;
	wr.num_sge = 1;
	check(!kwarp_post_send(qp, &wr, &bad_wr) && !bad_wr);
	check(sqe_at(1)->inline_len == MAX_INLINE);

	sge[0].length = MAX_INLINE + 1;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EINVAL && bad_wr == &wr);
	sge[0].length = UINT32_MAX;
	wr.num_sge = 2;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	sge[0].length = 1;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EINVAL);
	check(sq_ctl->user_idx == 2);
}

static void post_send__bad_request_ends_the_chain(void)
{
	static const struct ibv_send_wr wrong[] = {
		{ .opcode = IBV_WR_SEND, .num_sge = MAX_SGE + 1 },
		{ .opcode = IBV_WR_SEND, .num_sge = -1 },
		{ .opcode = IBV_WR_TSO },
		{ .opcode = IBV_WR_BIND_MW },
		{ .opcode = IBV_WR_LOCAL_INV, .num_sge = 1 },
		{ .opcode = (enum ibv_wr_opcode)1000 },
		{ .opcode = (enum ibv_wr_opcode)-1 },
	};
	struct ibv_send_wr last = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr mid, first, *bad_wr;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		mid = wrong[i];
		mid.next = &last;
		first = (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
					      .next = &mid };
		bad_wr = NULL;
		check(kwarp_post_send(qp, &first, &bad_wr) == EINVAL);
		check(bad_wr == &mid && sq_ctl->user_idx == i + 1);
	}
}

static void post_send__full(void)
{
	struct ibv_send_wr wr[NUM_SQE + 1] = {}, *bad_wr = NULL;
	int i;

	for (i = 0; i <= NUM_SQE; i++) {
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i < NUM_SQE ? &wr[i + 1] : NULL;
	}
	check(kwarp_post_send(qp, wr, &bad_wr) == ENOMEM);
	check(bad_wr == &wr[NUM_SQE] && sq_ctl->user_idx == NUM_SQE);

	sq_ctl->kern_idx = 2;
	wr[1].next = NULL;
	check(!kwarp_post_send(qp, wr, &bad_wr));
	check(kwarp_post_send(qp, &wr[1], &bad_wr) == ENOMEM);
	check(bad_wr == &wr[1]);
}

static void post_send__granted_less_than_the_ring(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad_wr;
	struct ibv_qp *small;
	int i;

	granted.max_send_wr = 5;
	small = create_qp_with_resp();
	for (i = 0; i < 5; i++)
		check(!kwarp_post_send(small, &wr, &bad_wr));
	check(kwarp_post_send(small, &wr, &bad_wr) == ENOMEM);
	check(!kwarp_destroy_qp(small));
}

/* The kernel reports that the queue pair's state takes no posts. */
static void post__closed(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad_wr = NULL;
	struct ibv_recv_wr recv = {}, *bad_recv = NULL;

	sq_ctl->closed = 1;
	sq_ctl->flags = KWARP_RING_NEED_WAKEUP;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EINVAL && bad_wr == &wr);
	sq_ctl->flags = KWARP_RING_ERROR;
	check(kwarp_post_send(qp, &wr, &bad_wr) == EIO && bad_wr == &wr);
	check(sq_ctl->user_idx == 0 && send_doorbells == 0);
	sq_ctl->flags = 0;
	check(!kwarp_post_recv(qp, &recv, &bad_recv) && !bad_recv);

	rq_ctl->closed = 1;
	check(kwarp_post_recv(qp, &recv, &bad_recv) == EINVAL);
	check(bad_recv == &recv && rq_ctl->user_idx == 1);
	sq_ctl->closed = 0;
	check(!kwarp_post_send(qp, &wr, &bad_wr) && sq_ctl->user_idx == 1);
}

static void post_recv__fields_full_doorbell(void)
{
	struct ibv_sge sge = { 0x1000, 10, 11 };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr empty = {}, *bad_wr = NULL;

	check(!kwarp_post_recv(qp, &wr, &bad_wr) && recv_doorbells == 0);
	check(rqe_at(0)->wr_id == 5 && rqe_at(0)->num_sge == 1);
	check(!memcmp(rqe_at(0) + 1, &sge, sizeof(sge)));
	check(rq_ctl->user_idx == 1);

	rq_ctl->flags = KWARP_RING_NEED_WAKEUP;
	check(!kwarp_post_recv(qp, &empty, &bad_wr) && recv_doorbells == 1);
	wr.num_sge = MAX_SGE + 1;
	check(kwarp_post_recv(qp, &wr, &bad_wr) == EINVAL && bad_wr == &wr);
	wr.num_sge = -1;
	check(kwarp_post_recv(qp, &wr, &bad_wr) == EINVAL);

	wr.num_sge = 1;
	check(!kwarp_post_recv(qp, &wr, &bad_wr));
	check(!kwarp_post_recv(qp, &wr, &bad_wr));
	check(kwarp_post_recv(qp, &wr, &bad_wr) == ENOMEM && bad_wr == &wr);
}

/* ---- cq.c ------------------------------------------------------------- */

static void poll_cq__fields(void)
{
	struct kwarp_cqe cqe = {
		.wr_id = 0x1122334455667788, .qp_num = 7, .byte_len = 99,
		.opcode = KWARP_OP_RECV_IMM, .flags = KWARP_CQE_WITH_IMM,
		.ex = htobe32(0x01020304),
	};
	struct ibv_wc wc[4];

	complete(&cqe);
	cqe.opcode = KWARP_OP_RECV;
	cqe.flags = KWARP_CQE_WITH_INV;
	cqe.ex = 0x99;
	complete(&cqe);
	cqe = (struct kwarp_cqe){ .status = KWARP_WC_REM_ACCESS_ERR,
				  .opcode = KWARP_OP_READ,
				  .vendor_err = 0x1203 };
	complete(&cqe);

	memset(wc, 0xff, sizeof(wc));
	check(kwarp_poll_cq(cq, 4, wc) == 3);
	check(wc[0].wr_id == 0x1122334455667788 && wc[0].qp_num == 7);
	check(wc[0].byte_len == 99 && wc[0].status == IBV_WC_SUCCESS);
	check(wc[0].opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	check(wc[0].wc_flags == IBV_WC_WITH_IMM);
	check(wc[0].imm_data == htobe32(0x01020304));
	check(wc[0].src_qp == 0 && wc[0].slid == 0 && wc[0].vendor_err == 0);
	check(wc[1].opcode == IBV_WC_RECV);
	check(wc[1].wc_flags == IBV_WC_WITH_INV);
	check(wc[1].invalidated_rkey == 0x99);
	check(wc[2].status == IBV_WC_REM_ACCESS_ERR);
	check(wc[2].opcode == IBV_WC_RDMA_READ && wc[2].vendor_err == 0x1203);
}

static void poll_cq__wraps(void)
{
	struct kwarp_cqe cqe = {};
	struct ibv_wc wc[3];
	uint64_t next = 0;
	int i;

	for (i = 0; i < 10 * NUM_CQE; i++) {
		cqe.wr_id = i;
		complete(&cqe);
		if (i % 3 == 2) {
			check(kwarp_poll_cq(cq, 2, wc) == 2);
			check(wc[0].wr_id == next && wc[1].wr_id == next + 1);
			check(kwarp_poll_cq(cq, 2, wc) == 1);
			check(wc[0].wr_id == next + 2);
			next += 3;
			check(cq_ctl->user_idx == next);
		}
	}
}

static void poll_cq__dead_after_the_last(void)
{
	struct kwarp_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc[2];

	complete(&cqe);
	cq_ctl->flags = KWARP_RING_ERROR;
	check(kwarp_poll_cq(cq, 2, wc) == 1);
	check(kwarp_poll_cq(cq, 2, wc) < 0);
	check(kwarp_poll_cq(cq, 0, wc) == 0);
}

static void poll_cq__polls_the_network_if_empty(void)
{
	struct kwarp_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc[2];

	check(kwarp_poll_cq(cq, 2, wc) == 0 && network_polls == 0);
	cq_ctl->flags = KWARP_RING_POLL;
	check(kwarp_poll_cq(cq, 2, wc) == 0 && network_polls == 1);
	arrivals = 1;
	check(kwarp_poll_cq(cq, 2, wc) == 1 && network_polls == 2);
	check(wc[0].wr_id == 77);
	complete(&cqe);
	check(kwarp_poll_cq(cq, 2, wc) == 1 && network_polls == 2);
	check(kwarp_poll_cq(cq, 0, wc) == 0 && network_polls == 2);
	cq_ctl->flags = KWARP_RING_POLL | KWARP_RING_ERROR;
	check(kwarp_poll_cq(cq, 2, wc) < 0 && network_polls == 2);
}

static void req_notify_cq__strongest_wins(void)
{
	check(!kwarp_req_notify_cq(cq, 1));
	check(cq_ctl->arm == KWARP_CQ_ARM_SOLICITED);
	check(!kwarp_req_notify_cq(cq, 0));
	check(cq_ctl->arm == KWARP_CQ_ARM_ANY);
	check(!kwarp_req_notify_cq(cq, 1));
	check(cq_ctl->arm == KWARP_CQ_ARM_ANY);
	cq_ctl->arm = KWARP_CQ_ARM_NONE;
	check(!kwarp_req_notify_cq(cq, 1));
	check(cq_ctl->arm == KWARP_CQ_ARM_SOLICITED);
}

static void req_notify_cq__late(void)
{
	struct kwarp_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc;

	late_arms = 0;
	check(!kwarp_req_notify_cq(cq, 0));
	check(late_arms == 0);
	complete(&cqe);
	/* There was no event for it. */
	check(!kwarp_req_notify_cq(cq, 0));
	check(late_arms == 1);
	/* There was one. */
	cq_ctl->event_idx = cq_ctl->kern_idx;
	check(!kwarp_req_notify_cq(cq, 0));
	check(late_arms == 1);
	/* There was none, but it is polled. */
	complete(&cqe);
	check(kwarp_poll_cq(cq, 1, &wc) == 1 && kwarp_poll_cq(cq, 1, &wc) == 1);
	check(!kwarp_req_notify_cq(cq, 0));
	check(late_arms == 1);
}

/* ---- both sides at once ----------------------------------------------- */

enum { STRESS = 200000, PATIENCE = 1000000 };

static atomic_bool stop;

static bool engine_has_work(uint32_t done)
{
	return kwarp_load_acquire(&sq_ctl->user_idx) != done;
}

/* Return: false if a request arrived and no doorbell was rung. */
static bool engine_sleep(uint32_t done)
{
	__u32 *flags = &sq_ctl->flags;
	volatile uint32_t delay = done % 512;
	int overdue = 0;

	/* Fall asleep at every possible moment of the other side's post. */
	while (delay)
		delay--;
	awake = false;
	__atomic_store_n(flags, KWARP_RING_NEED_WAKEUP, __ATOMIC_SEQ_CST);
	kwarp_full_barrier();
	if (!engine_has_work(done)) {
		while (!awake && !stop) {
			if (engine_has_work(done) && ++overdue == PATIENCE)
				return false;
			sched_yield();
		}
	}
	kwarp_store_release(flags, 0);
	return true;
}

/* Echo each element's wr_id as a completion; sleep whenever there is none. */
static void *engine(void *unused)
{
	struct kwarp_cqe cqe = {};
	uint32_t done = 0;

	while (!stop) {
		if (!engine_has_work(done)) {
			if (!engine_sleep(done))
				return "lost wake-up";
			continue;
		}
		while (!stop && cq_ctl->kern_idx - NUM_CQE ==
				kwarp_load_acquire(&cq_ctl->user_idx))
			sched_yield();
		cqe.wr_id = sqe_at(done)->wr_id;
		kwarp_store_release(&sq_ctl->kern_idx, ++done);
		complete(&cqe);
	}
	return NULL;
}

/* Post one or two at a time as long as fewer than @window are under way. */
static uint32_t post_some(uint32_t posted, uint32_t polled, uint32_t window)
{
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad_wr;

	if (posted - polled >= window || posted == STRESS)
		return 0;
	wr.wr_id = posted;
	second.wr_id = posted + 1;
	if (window > 1 && posted % 3 == 0 && posted + 1 < STRESS)
		wr.next = &second;
	if (!kwarp_post_send(qp, &wr, &bad_wr))
		return wr.next ? 2 : 1;
	return bad_wr == &second;
}

static void exchange(uint32_t window)
{
	uint32_t posted = 0, polled = 0;
	void *error = NULL;
	struct ibv_wc wc[4];
	pthread_t thread;
	int idle = 0;
	int i, n;

	stop = false;
	pthread_create(&thread, NULL, engine, NULL);
	while (polled != STRESS && !bad && idle < 2 * PATIENCE) {
		posted += post_some(posted, polled, window);
		n = kwarp_poll_cq(cq, 4, wc);
		check(n >= 0);
		for (i = 0; i < n; i++)
			check(wc[i].wr_id == polled++);
		idle = n ? 0 : idle + 1;
		if (idle > 100)
			sched_yield();
	}
	check(polled == STRESS);
	stop = true;
	pthread_join(thread, &error);
	if (error)
		printf("# %s\n", (char *)error);
	printf("# %d doorbells for %u requests\n", send_doorbells, posted);
}

static void post_and_poll__stream(void)
{
	exchange(UINT32_MAX);
}

/* Every request meets an engine that is just about to sleep. */
static void post_and_poll__ping_pong(void)
{
	exchange(1);
}

static const struct test all_tests[] = {
	TEST(create_qp__unsound_layout),
	TEST(create_qp__no_receives),
	TEST(destroy_qp__forgets_completions),
	TEST(poll_cq__an_index_that_cannot_be),
	TEST(destroy_qp__frees_the_room_of_completions),
	TEST(modify_qp__init_forgets_completions),
	TEST(post_send__fields),
	TEST(post_send__bind),
	TEST(post_send__inline),
	TEST(post_send__bad_request_ends_the_chain),
	TEST(post_send__full),
	TEST(post_send__granted_less_than_the_ring),
	TEST(post__closed),
	TEST(post_recv__fields_full_doorbell),
	TEST(poll_cq__fields),
	TEST(poll_cq__wraps),
	TEST(poll_cq__dead_after_the_last),
	TEST(poll_cq__polls_the_network_if_empty),
	TEST(req_notify_cq__strongest_wins),
	TEST(req_notify_cq__late),
	TEST(post_and_poll__stream),
	TEST(post_and_poll__ping_pong),
};

int main(void)
{
	return run_tests(all_tests, ARRAY_SIZE(all_tests));
}
