// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The provider's newer queues without a kernel: shared receive queues, resized
 * queues, ibv_wr_*() and extended completion queues. Tests are named
 * function__case.
 */
#include "fake_kernel.h"

/* ---- srq.c ------------------------------------------------------------ */

#define srq_ctl	((struct kwarp_ring_ctl *)(dev_mem + MORE))

static struct ibv_srq *create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr.max_wr = NUM_RQE };

	srq_resp = (struct kwarp_uresp_create_srq){
		.mmap_key = MORE, .mmap_size = 4096, .rq_offset = 128,
		.num_rqe = NUM_RQE, .rq_stride = RQ_STRIDE,
	};
	return kwarp_create_srq(&pd, &attr);
}

static void create_srq__unsound_layout(void)
{
	static const struct {
		size_t off;
		uint32_t val;
	} wrong[] = {
#define SRQ_FIELD(f, v) { offsetof(struct kwarp_uresp_create_srq, f), v }
		SRQ_FIELD(num_rqe, 0), SRQ_FIELD(num_rqe, 3),
		SRQ_FIELD(num_rqe, 1 << 20), SRQ_FIELD(rq_stride, 72),
		SRQ_FIELD(rq_offset, 4), SRQ_FIELD(ctl_offset, 4096),
	};
	struct ibv_srq_init_attr attr = { .attr.max_wr = NUM_RQE };
	struct ibv_srq *good = create_srq();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct kwarp_uresp_create_srq keep = srq_resp;

		memcpy((uint8_t *)&srq_resp + wrong[i].off, &wrong[i].val, 4);
		errno = 0;
		check(!kwarp_create_srq(&pd, &attr) && errno == EPROTO);
		srq_resp = keep;
	}
	check(!kwarp_destroy_srq(good));
}

static void post_srq_recv__fields_full_dead(void)
{
	struct ibv_sge sge = { 0x1000, 10, 11 };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad_wr = NULL;
	struct ibv_srq *srq = create_srq();
	struct kwarp_rqe *rqe = (struct kwarp_rqe *)(dev_mem + MORE + 128);
	int i;

	for (i = 0; i < NUM_RQE; i++)
		check(!kwarp_post_srq_recv(srq, &wr, &bad_wr) && !bad_wr);
	check(rqe->wr_id == 5 && rqe->num_sge == 1);
	check(!memcmp(rqe + 1, &sge, sizeof(sge)));
	check(srq_ctl->user_idx == NUM_RQE && recv_doorbells == 0);
	check(kwarp_post_srq_recv(srq, &wr, &bad_wr) == ENOMEM);
	check(bad_wr == &wr);

	srq_ctl->kern_idx = 1;
	wr.num_sge = MAX_SGE + 1;
	check(kwarp_post_srq_recv(srq, &wr, &bad_wr) == EINVAL);
	wr.num_sge = 1;
	check(!kwarp_post_srq_recv(srq, &wr, &bad_wr));
	srq_ctl->kern_idx = 2;
	srq_ctl->flags = KWARP_RING_ERROR;
	check(kwarp_post_srq_recv(srq, &wr, &bad_wr) == EIO);
	check(!kwarp_destroy_srq(srq));
}

/* After a move the ring is elsewhere, and indices continue. */
static void modify_srq__moves(void)
{
	struct kwarp_ring_ctl *to =
		(struct kwarp_ring_ctl *)(dev_mem + MORE + 4096);
	struct ibv_recv_wr wr = { .wr_id = 9 }, *bad_wr = NULL;
	struct ibv_srq_attr attr = { .max_wr = 2 * NUM_RQE };
	struct ibv_srq *srq = create_srq();
	struct kwarp_rqe *rqe;
	int i;

	for (i = 0; i < NUM_RQE; i++)
		check(!kwarp_post_srq_recv(srq, &wr, &bad_wr));
	modify_errno = EINVAL;
	check(kwarp_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EINVAL);
	check(kwarp_post_srq_recv(srq, &wr, &bad_wr) == ENOMEM);

	modify_errno = 0;
	srq_resp.mmap_key = MORE + 4096;
	srq_resp.num_rqe = 2 * NUM_RQE;
	to->user_idx = NUM_RQE;
	check(!kwarp_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	check(!kwarp_post_srq_recv(srq, &wr, &bad_wr));
	rqe = (struct kwarp_rqe *)((uint8_t *)to + 128 + NUM_RQE * RQ_STRIDE);
	check(rqe->wr_id == 9 && to->user_idx == NUM_RQE + 1);
	check(srq_ctl->user_idx == NUM_RQE);

	/*
	 * The reply cannot be used: the queue is dead, and the call reports it.
	 */
	srq_resp.num_rqe = 3;
	check(kwarp_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EPROTO);
	check(kwarp_post_srq_recv(srq, &wr, &bad_wr) == EIO);
	check(!kwarp_destroy_srq(srq));
}

/* ---- cq.c ------------------------------------------------------------- */

static void resize_cq__goes_on_in_the_new_ring(void)
{
	struct kwarp_ring_ctl *to = (struct kwarp_ring_ctl *)(dev_mem + MORE);
	struct kwarp_cqe *ring = (struct kwarp_cqe *)(dev_mem + MORE + 128);
	struct kwarp_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc[8];
	int i;

	for (i = 0; i < 5; i++) {
		cqe.wr_id = i;
		complete(&cqe);
	}
	check(kwarp_poll_cq(cq, 2, wc) == 2);
	modify_errno = EINVAL;
	check(kwarp_resize_cq(cq, 2) == EINVAL);
	check(kwarp_poll_cq(cq, 1, wc) == 1 && wc[0].wr_id == 2);

	modify_errno = 0;
	resize_resp = (struct kwarp_uresp_create_cq){
		.mmap_key = MORE, .mmap_size = 4096, .cqe_offset = 128,
		.num_cqe = 16,
	};
	for (i = 3; i < 12; i++)
		ring[i] = (struct kwarp_cqe){ .wr_id = i };
	to->user_idx = 3;
	to->kern_idx = 12;
	check(!kwarp_resize_cq(cq, 16) && cq->cqe == 16);
	check(kwarp_poll_cq(cq, 1, wc) == 1 && wc[0].wr_id == 3);
	while (kwarp_poll_cq(cq, 1, wc) == 1)
		cqe.wr_id = wc[0].wr_id;
	check(cqe.wr_id == 11 && to->user_idx == 12);
	check(!kwarp_req_notify_cq(cq, 0));
	check(to->arm == KWARP_CQ_ARM_ANY && cq_ctl->arm == KWARP_CQ_ARM_NONE);
}

static void resize_cq__unsound_reply(void)
{
	struct kwarp_cqe cqe = { .wr_id = 1 };
	struct ibv_wc wc;

	complete(&cqe);
	resize_resp = (struct kwarp_uresp_create_cq){
		.mmap_key = MORE, .mmap_size = 4096, .cqe_offset = 128,
		.num_cqe = 15,
	};
	check(kwarp_resize_cq(cq, 15) == EPROTO);
	check(kwarp_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 1);
	check(kwarp_poll_cq(cq, 1, &wc) < 0);
}

/* ---- wr.c ------------------------------------------------------------- */

static struct ibv_qp_ex *create_qp_ex(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq, .recv_cq = cq, .pd = &pd,
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = KWARP_SEND_OPS,
	};
	struct ibv_qp *made = kwarp_create_qp_ex(context, &attr);

	check(made && attr.cap.max_send_wr == NUM_SQE);
	return &container_of(made, struct verbs_qp, qp)->qp_ex;
}

static void create_qp_ex__refused(void)
{
	static const struct {
		uint32_t mask;
		uint64_t ops;
		uint32_t flags;
		int err;
	} wrong[] = {
		{ 0, 0, 0, EINVAL },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  IBV_QP_EX_WITH_TSO, 0, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		  KWARP_SEND_OPS | 1ULL << 40, 0, EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, 0, 1,
		  EOPNOTSUPP },
		{ IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH, 0, 0,
		  EOPNOTSUPP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct ibv_qp_init_attr_ex attr = {
			.send_cq = cq, .recv_cq = cq, .pd = &pd,
			.comp_mask = wrong[i].mask,
			.send_ops_flags = wrong[i].ops,
			.create_flags = wrong[i].flags,
		};

		errno = 0;
		check(!kwarp_create_qp_ex(context, &attr));
		check(errno == wrong[i].err);
	}
}

static void wr__fields(void)
{
	struct ibv_qp_ex *qpx = create_qp_ex();
	struct ibv_mr mr = { .lkey = 0x33 };
	struct ibv_mw mw = { .rkey = 0x44 };
	struct ibv_mw_bind_info info = { &mr, 0x5000, 60, 7 };
	struct kwarp_sqe *sqe;

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_rdma_write_imm(qpx, 0x42, 0x123456789, htobe32(0x01020304));
	ibv_wr_set_sge(qpx, 9, 0x1000, 10);
	qpx->wr_id = 2;
	qpx->wr_flags = IBV_SEND_FENCE;
	ibv_wr_atomic_cmp_swp(qpx, 0x42, 0x77, 5, 6);
	ibv_wr_set_sge(qpx, 9, 0x2000, 8);
	ibv_wr_atomic_fetch_add(qpx, 0x42, 0x78, 11);
	ibv_wr_set_sge(qpx, 9, 0x2000, 8);
	ibv_wr_send_inv(qpx, 0x99);
	ibv_wr_send_imm(qpx, htobe32(0x05060708));
	ibv_wr_local_inv(qpx, 0x98);
	ibv_wr_bind_mw(qpx, &mw, 0x45, &info);
	check(sq_ctl->user_idx == 0);
	check(!ibv_wr_complete(qpx) && sq_ctl->user_idx == 7);

	sqe = sqe_at(0);
	check(sqe->wr_id == 1 && sqe->opcode == KWARP_OP_WRITE_IMM);
	check(sqe->flags == KWARP_WQE_SIGNALED && sqe->num_sge == 1);
	check(sqe->raddr == 0x123456789 && sqe->rkey == 0x42);
	check(!memcmp(&sqe->ex, "\1\2\3\4", 4));
	check(((struct kwarp_sge *)(sqe + 1))->addr == 0x1000);
	sqe = sqe_at(1);
	check(sqe->wr_id == 2 && sqe->opcode == KWARP_OP_CMP_SWAP);
	check(sqe->flags == KWARP_WQE_FENCE && sqe->raddr == 0x77);
	check(sqe->arg[0] == 5 && sqe->arg[1] == 6);
	check(sqe->arg[2] == UINT64_MAX && sqe->arg[3] == UINT64_MAX);
	check(sqe_at(2)->opcode == KWARP_OP_FETCH_ADD);
	check(sqe_at(2)->arg[0] == 11 && sqe_at(2)->raddr == 0x78);
	check(sqe_at(3)->opcode == KWARP_OP_SEND_INV && sqe_at(3)->ex == 0x99);
	check(sqe_at(4)->opcode == KWARP_OP_SEND_IMM);
	check(!memcmp(&sqe_at(4)->ex, "\5\6\7\10", 4));
	check(sqe_at(5)->opcode == KWARP_OP_LOCAL_INV && sqe_at(5)->ex == 0x98);
	sqe = sqe_at(6);
	check(sqe->opcode == KWARP_OP_BIND_MW && sqe->raddr == 0x5000);
	check(sqe->rkey == 0x45 && sqe->ex == 0x44 && sqe->num_sge == 0);
	check(sqe->arg[0] == 0x33 && sqe->arg[1] == 60 && sqe->arg[2] == 7);
	check(!kwarp_destroy_qp(&qpx->qp_base));
}

static void wr__all_or_nothing(void)
{
	struct ibv_qp_ex *qpx = create_qp_ex();
	char text[MAX_INLINE + 1] = "abc";
	struct ibv_sge many[MAX_SGE + 1] = {};
	struct ibv_data_buf bufs[] = { { text, 1 }, { text + 1, SIZE_MAX } };
	int i;

	for (i = 0; i < 6; i++) {
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_set_inline_data(qpx, text, MAX_INLINE);
		ibv_wr_send(qpx);
		if (i == 0)
			ibv_wr_set_inline_data(qpx, text, MAX_INLINE + 1);
		else if (i == 1)
			ibv_wr_set_sge_list(qpx, MAX_SGE + 1, many);
		else if (i == 2)
			ibv_wr_set_inline_data_list(qpx, 2, bufs);
		if (i == 3) {
			ibv_wr_rdma_read(qpx, 1, 2);
			ibv_wr_set_inline_data(qpx, text, 1);
		}
		if (i < 4) {
			/* Requests after an error write nowhere. */
			ibv_wr_send(qpx);
			ibv_wr_set_sge(qpx, 1, 2, 3);
			check(ibv_wr_complete(qpx) == EINVAL);
		} else {
			ibv_wr_abort(qpx);
		}
		check(sq_ctl->user_idx == 0 && send_doorbells == 0);
	}

	ibv_wr_start(qpx);
	for (i = 0; i <= NUM_SQE; i++)
		ibv_wr_send(qpx);
	check(ibv_wr_complete(qpx) == ENOMEM && sq_ctl->user_idx == 0);
	ibv_wr_start(qpx);
	check(!ibv_wr_complete(qpx));

	ibv_wr_start(qpx);
	for (i = 0; i < NUM_SQE; i++)
		ibv_wr_send(qpx);
	sq_ctl->flags = KWARP_RING_NEED_WAKEUP;
	check(!ibv_wr_complete(qpx) && sq_ctl->user_idx == NUM_SQE);
	check(send_doorbells == 1);
	check(!kwarp_destroy_qp(&qpx->qp_base));
}

/* ---- cq_ex.c ---------------------------------------------------------- */

static struct ibv_cq_ex *create_cq_ex(uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = NUM_CQE,
					    .wc_flags = wc_flags };

	return kwarp_create_cq_ex(context, &attr);
}

static void create_cq_ex__refused(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = NUM_CQE };

	check(!create_cq_ex(IBV_WC_EX_WITH_CVLAN) && errno == EOPNOTSUPP);
	check(!create_cq_ex(IBV_WC_EX_WITH_TM_INFO) && errno == EOPNOTSUPP);
	attr.comp_mask = 1 << 7;
	check(!kwarp_create_cq_ex(context, &attr) && errno == EOPNOTSUPP);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	check(!kwarp_create_cq_ex(context, &attr) && errno == EOPNOTSUPP);
}

static void poll_ex__fields(void)
{
	struct ibv_cq_ex *cqx = create_cq_ex(
		IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	struct ibv_poll_cq_attr attr = {};
	struct kwarp_cqe cqe = {
		.wr_id = 5, .qp_num = 7, .byte_len = 99, .timestamp = 1234,
		.opcode = KWARP_OP_RECV_IMM, .flags = KWARP_CQE_WITH_IMM,
		.ex = htobe32(0x01020304),
	};

	check(ibv_start_poll(cqx, &attr) == ENOENT);
	attr.comp_mask = 1;
	check(ibv_start_poll(cqx, &attr) == EINVAL);
	attr.comp_mask = 0;
	complete(&cqe);
	cqe = (struct kwarp_cqe){ .wr_id = 6, .opcode = KWARP_OP_RECV,
				  .flags = KWARP_CQE_WITH_INV, .ex = 0x99,
				  .status = KWARP_WC_LOC_LEN_ERR,
				  .vendor_err = 0x1203 };
	complete(&cqe);

	check(!ibv_start_poll(cqx, &attr));
	check(cqx->wr_id == 5 && cqx->status == IBV_WC_SUCCESS);
	check(ibv_wc_read_opcode(cqx) == IBV_WC_RECV_RDMA_WITH_IMM);
	check(ibv_wc_read_wc_flags(cqx) == IBV_WC_WITH_IMM);
	check(ibv_wc_read_imm_data(cqx) == htobe32(0x01020304));
	check(ibv_wc_read_byte_len(cqx) == 99 && ibv_wc_read_qp_num(cqx) == 7);
	check(ibv_wc_read_completion_ts(cqx) == 1234);
	check(ibv_wc_read_src_qp(cqx) == 0 && ibv_wc_read_slid(cqx) == 0);
	check(!ibv_next_poll(cqx));
	check(cq_ctl->user_idx == 2);
	check(cqx->wr_id == 6 && cqx->status == IBV_WC_LOC_LEN_ERR);
	check(ibv_wc_read_vendor_err(cqx) == 0x1203);
	check(ibv_wc_read_wc_flags(cqx) == IBV_WC_WITH_INV);
	check(ibv_wc_read_invalidated_rkey(cqx) == 0x99);
	check(ibv_next_poll(cqx) == ENOENT);
	ibv_end_poll(cqx);
	check(cq_ctl->user_idx == 2);
	check(!kwarp_destroy_cq(ibv_cq_ex_to_cq(cqx)));
}

static void poll_ex__skipped_and_dead(void)
{
	struct ibv_cq_ex *cqx = create_cq_ex(0);
	struct kwarp_cqe mine = { .qp_num = 7 };
	struct ibv_poll_cq_attr attr = {};

	complete(&mine);
	complete(&mine);
	kwarp_cq_forget_qp(container_of(cqx, struct kwarp_cq, vcq.cq_ex), 7);
	check(ibv_start_poll(cqx, &attr) == ENOENT);
	check(cq_ctl->user_idx == 2);
	complete(&mine);
	cq_ctl->flags = KWARP_RING_ERROR;
	check(!ibv_start_poll(cqx, &attr));
	ibv_end_poll(cqx);
	check(ibv_start_poll(cqx, &attr) == EIO);
	check(!kwarp_destroy_cq(ibv_cq_ex_to_cq(cqx)));
}

/* Calls of the thread that is between start_poll and end_poll. */
static void poll_ex__other_calls_within_a_batch(void)
{
	struct kwarp_cqe mine = { .qp_num = 7 }, other = { .qp_num = 8 };
	struct ibv_cq_ex *cqx = create_cq_ex(IBV_WC_EX_WITH_QP_NUM);
	struct ibv_poll_cq_attr attr = {};

	for (other.wr_id = 1; other.wr_id < 4; other.wr_id++) {
		complete(&other);
		complete(&mine);
	}
	check(!ibv_start_poll(cqx, &attr) && cqx->wr_id == 1);
	check(!kwarp_req_notify_cq(ibv_cq_ex_to_cq(cqx), 0));
	check(cq_ctl->arm == KWARP_CQ_ARM_ANY);
	check(cq_ctl->user_idx == 1);
	kwarp_cq_forget_qp(container_of(cqx, struct kwarp_cq, vcq.cq_ex), 7);
	/* the kernel may overwrite the element of the current one */
	check(cq_ctl->user_idx == 4);
	memset(container_of(cqx, struct kwarp_cq, vcq.cq_ex)->ring, 0xff,
	       sizeof(struct kwarp_cqe));
	check(ibv_wc_read_qp_num(cqx) == 8);
	check(!ibv_next_poll(cqx) && cqx->wr_id == 2);
	check(!ibv_next_poll(cqx) && cqx->wr_id == 3);
	check(ibv_next_poll(cqx) == ENOENT);
	ibv_end_poll(cqx);
	check(cq_ctl->user_idx == 6);
	check(!kwarp_destroy_cq(ibv_cq_ex_to_cq(cqx)));
}

static void poll_ex__polls_the_network_if_empty(void)
{
	struct ibv_cq_ex *cqx = create_cq_ex(0);
	struct ibv_poll_cq_attr attr = {};

	check(ibv_start_poll(cqx, &attr) == ENOENT && network_polls == 0);
	cq_ctl->flags = KWARP_RING_POLL;
	check(ibv_start_poll(cqx, &attr) == ENOENT && network_polls == 1);
	arrivals = 1;
	check(!ibv_start_poll(cqx, &attr) && network_polls == 2);
	check(cqx->wr_id == 77);
	/* within a batch of completions, the network is not polled */
	check(ibv_next_poll(cqx) == ENOENT && network_polls == 2);
	ibv_end_poll(cqx);
	cq_ctl->flags = KWARP_RING_POLL | KWARP_RING_ERROR;
	check(ibv_start_poll(cqx, &attr) == EIO && network_polls == 2);
	check(!kwarp_destroy_cq(ibv_cq_ex_to_cq(cqx)));
}

static const struct test all_tests[] = {
	TEST(create_srq__unsound_layout),
	TEST(post_srq_recv__fields_full_dead),
	TEST(modify_srq__moves),
	TEST(resize_cq__goes_on_in_the_new_ring),
	TEST(resize_cq__unsound_reply),
	TEST(create_qp_ex__refused),
	TEST(wr__fields),
	TEST(wr__all_or_nothing),
	TEST(create_cq_ex__refused),
	TEST(poll_ex__fields),
	TEST(poll_ex__skipped_and_dead),
	TEST(poll_ex__other_calls_within_a_batch),
	TEST(poll_ex__polls_the_network_if_empty),
};

int main(void)
{
	return run_tests(all_tests, ARRAY_SIZE(all_tests));
}
