// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: poll and arm normally need only memory accesses. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <ccan/array_size.h>

#include "kwarp.h"
#include "kwarp_provider_abi.h"

static_assert((int)KWARP_WC_SUCCESS == (int)IBV_WC_SUCCESS &&
	      (int)KWARP_WC_LOC_PROT_ERR == (int)IBV_WC_LOC_PROT_ERR &&
	      (int)KWARP_WC_WR_FLUSH_ERR == (int)IBV_WC_WR_FLUSH_ERR &&
	      (int)KWARP_WC_REM_OP_ERR == (int)IBV_WC_REM_OP_ERR &&
	      (int)KWARP_WC_FATAL_ERR == (int)IBV_WC_FATAL_ERR &&
	      (int)KWARP_WC_GENERAL_ERR == (int)IBV_WC_GENERAL_ERR,
	      "the status of a completion is passed on as it is");

/* RECV: a received Send, with or without immediate data. RECV_IMM: a Write. */
static const uint8_t wc_opcode[] = {
	[KWARP_OP_WRITE]	= IBV_WC_RDMA_WRITE,
	[KWARP_OP_WRITE_IMM]	= IBV_WC_RDMA_WRITE,
	[KWARP_OP_SEND]		= IBV_WC_SEND,
	[KWARP_OP_SEND_IMM]	= IBV_WC_SEND,
	[KWARP_OP_SEND_INV]	= IBV_WC_SEND,
	[KWARP_OP_READ]		= IBV_WC_RDMA_READ,
	[KWARP_OP_READ_INV]	= IBV_WC_RDMA_READ,
	[KWARP_OP_CMP_SWAP]	= IBV_WC_COMP_SWAP,
	[KWARP_OP_FETCH_ADD]	= IBV_WC_FETCH_ADD,
	[KWARP_OP_LOCAL_INV]	= IBV_WC_LOCAL_INV,
	[KWARP_OP_BIND_MW]	= IBV_WC_BIND_MW,
	[KWARP_OP_RECV]		= IBV_WC_RECV,
	[KWARP_OP_RECV_IMM]	= IBV_WC_RECV_RDMA_WITH_IMM,
};

/* Map the rings of a new or resized CQ; a resized one keeps its indices. */
static int map_cq(struct kwarp_cq *cq, struct ibv_context *ctx,
		  const struct kwarp_uresp_create_cq *resp)
{
	struct kwarp_map map;
	int ret;

	ret = kwarp_map(&map, ctx, resp->mmap_key, resp->mmap_size);
	if (ret)
		return ret;

	if (!kwarp_map_has_ctl(&map, 0) ||
	    !kwarp_map_has_ring(&map, resp->cqe_offset, resp->num_cqe,
				sizeof(struct kwarp_cqe))) {
		kwarp_unmap(&map);
		return EPROTO;
	}

	kwarp_unmap(&cq->map);
	cq->map = map;
	cq->ctl = (struct kwarp_ring_ctl *)map.base;
	cq->ring = (struct kwarp_cqe *)(map.base + resp->cqe_offset);
	cq->mask = resp->num_cqe - 1;
	return 0;
}

int kwarp_cq_init(struct kwarp_cq *cq, struct ibv_context *ctx,
		  const struct kwarp_uresp_create_cq *resp)
{
	int ret = map_cq(cq, ctx, resp);

	if (!ret)
		pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return ret;
}

struct ibv_cq *kwarp_create_cq(struct ibv_context *ctx, int cqe,
			       struct ibv_comp_channel *channel, int vector)
{
	struct kwarp_create_cq_resp resp = {};
	struct kwarp_create_cq cmd = {};
	struct kwarp_cq *cq;
	int ret;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = ibv_cmd_create_cq(ctx, cqe, channel, vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret)
		goto err_free;

	ret = kwarp_cq_init(cq, ctx, &resp.drv_payload);
	if (ret)
		goto err_destroy;
	return &cq->vcq.cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

/*
 * The kernel copies elements that were not polled into the new ring; no thread
 * polls or arms meanwhile. If the new ring cannot be mapped, later completions
 * are lost: the CQ is dead once those of the old ring have been polled.
 */
int kwarp_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct kwarp_resize_cq_resp resp = {};
	struct kwarp_cq *cq = to_kcq(ibcq);
	struct kwarp_resize_cq cmd = {};
	int ret;

	kwarp_cq_lock(cq);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (!ret) {
		ret = map_cq(cq, ibcq->context, &resp.drv_payload);
		if (ret)
			cq->ctl->flags = KWARP_RING_ERROR;
	}
	kwarp_cq_unlock(cq);
	/* The lock is not fair: give waiting threads a chance to take it. */
	sched_yield();
	return ret;
}

/* Moderation of events. */
int kwarp_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int kwarp_destroy_cq(struct ibv_cq *ibcq)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	int ret;

	/* If the kernel refuses (a QP uses it), the CQ must keep working. */
	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	kwarp_unmap(&cq->map);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}

/* Static, because the compiler does not inline an exported function (-fPIC). */
static enum ibv_wc_opcode opcode_of(const struct kwarp_cqe *cqe)
{
	if (cqe->opcode >= ARRAY_SIZE(wc_opcode))
		return IBV_WC_SEND;
	return wc_opcode[cqe->opcode];
}

enum ibv_wc_opcode kwarp_cqe_opcode(const struct kwarp_cqe *cqe)
{
	return opcode_of(cqe);
}

static void fill_wc(struct ibv_wc *wc, const struct kwarp_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = opcode_of(cqe),
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp_num = cqe->qp_num,
	};
	if (cqe->flags & KWARP_CQE_WITH_IMM) {
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = (__force __be32)cqe->ex;
	} else if (cqe->flags & KWARP_CQE_WITH_INV) {
		wc->wc_flags = IBV_WC_WITH_INV;
		wc->invalidated_rkey = cqe->ex;
	}
}

/*
 * A dead CQ is reported once all of its elements have been polled. The flag is
 * read before the ring, so that no element written before the flag is missed.
 */
bool kwarp_cq_is_dead(struct kwarp_cq *cq)
{
	return (kwarp_load_acquire(&cq->ctl->flags) & KWARP_RING_ERROR) &&
	       !kwarp_cq_head(cq);
}

/* @again: set if the CQ is empty and the network is to be polled. */
static int poll_ring(struct kwarp_cq *cq, int num, struct ibv_wc *wc,
		     bool *again)
{
	const struct kwarp_cqe *cqe;
	uint32_t start;
	int n;

	kwarp_cq_lock(cq);
	kwarp_cq_polled(cq);
	start = cq->cons;
	for (n = 0; n < num; n++, cq->cons++) {
		cqe = kwarp_cq_head(cq);
		if (!cqe)
			break;
		fill_wc(&wc[n], cqe);
	}
	if (!n && num > 0 && kwarp_cq_is_dead(cq))
		n = -EIO;
	*again = !n && num > 0 && kwarp_cq_polls_network(cq);
	if (cq->cons != start)
		kwarp_cq_release(cq);
	kwarp_cq_unlock(cq);
	return n;
}

int kwarp_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	bool again;
	int n = poll_ring(cq, num, wc, &again);

	if (!n)
		kwarp_waits(ibcq->context);
	if (again) {
		kwarp_poll_network(ibcq);
		n = poll_ring(cq, num, wc, &again);
	}
	return n;
}

/* Are there completions that were neither polled nor announced by an event? */
static bool event_missed(const struct kwarp_cq *cq)
{
	__u32 end = kwarp_load_acquire(&cq->ctl->kern_idx);

	return end != __atomic_load_n(&cq->ctl->event_idx, __ATOMIC_RELAXED) &&
	       end != __atomic_load_n(&cq->ctl->user_idx, __ATOMIC_RELAXED);
}

/*
 * The kernel reads @arm after each completion and clears it when the event is
 * raised. A request for solicited events does not weaken one for any event. The
 * barrier orders the request before reads of the ring, here and in the caller's
 * next poll. The kernel is called only for completions that came before the
 * request and have had no event: otherwise programs that arm for the first time
 * when their peer already sends would wait for ever.
 */
int kwarp_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	__u32 none = KWARP_CQ_ARM_NONE;
	bool late, locked;
	__u32 *arm;

	/* The lock keeps the ring mapped: kwarp_resize_cq() holds it. */
	locked = kwarp_cq_enter(cq);
	if (kwarp_load_relaxed(&cq->ctl->flags) & KWARP_RING_ERROR) {
		/* No event will follow: the CQ or its device is dead. */
		kwarp_cq_leave(cq, locked);
		return EIO;
	}
	kwarp_cq_armed(cq);
	arm = &cq->ctl->arm;
	if (solicited_only)
		__atomic_compare_exchange_n(arm, &none, KWARP_CQ_ARM_SOLICITED,
					    false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	else
		__atomic_store_n(arm, KWARP_CQ_ARM_ANY, __ATOMIC_RELAXED);
	kwarp_full_barrier();
	late = event_missed(cq);
	kwarp_cq_leave(cq, locked);
	kwarp_waits(ibcq->context);
	return late ? ibv_cmd_req_notify_cq(ibcq, solicited_only) : 0;
}

/*
 * Moves the other completions to the end of the ring, so that the kernel gets
 * the room of the forgotten ones now: the program may post as many requests on
 * another queue pair before the next poll. The kernel does not write to these
 * elements before it sees the new index.
 */
void kwarp_cq_forget_qp(struct kwarp_cq *cq, uint32_t qp_num)
{
	bool locked = kwarp_cq_enter(cq);
	const struct kwarp_cqe *cqe;
	uint32_t end, from, to;

	end = kwarp_cq_kernel_index(cq);
	for (from = to = end; from != cq->cons;) {
		cqe = &cq->ring[--from & cq->mask];
		if (cqe->qp_num != qp_num)
			cq->ring[--to & cq->mask] = *cqe;
	}
	cq->cons = to;
	cq->prod = end;
	kwarp_cq_release(cq);
	kwarp_cq_leave(cq, locked);
}
