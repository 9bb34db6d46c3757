// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: poll and arm are memory accesses only, as a rule. */
#include <errno.h>
#include <stdlib.h>

#include <ccan/array_size.h>

#include "kwarp.h"
#include "kwarp_provider_abi.h"

/* Our mark on an element that is not to be polled; the kernel reads none. */
#define CQE_VOID	0xff

static_assert((int)KWARP_WC_SUCCESS == (int)IBV_WC_SUCCESS &&
	      (int)KWARP_WC_LOC_PROT_ERR == (int)IBV_WC_LOC_PROT_ERR &&
	      (int)KWARP_WC_WR_FLUSH_ERR == (int)IBV_WC_WR_FLUSH_ERR &&
	      (int)KWARP_WC_REM_OP_ERR == (int)IBV_WC_REM_OP_ERR &&
	      (int)KWARP_WC_FATAL_ERR == (int)IBV_WC_FATAL_ERR &&
	      (int)KWARP_WC_GENERAL_ERR == (int)IBV_WC_GENERAL_ERR,
	      "the status of a completion is passed on as it is");

/* A received Send is RECV, with or without immediate; RECV_IMM is a Write's. */
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

static int map_cq(struct kwarp_cq *cq, struct ibv_context *ctx,
		  const struct kwarp_uresp_create_cq *resp)
{
	int ret;

	ret = kwarp_map(&cq->map, ctx, resp->mmap_key, resp->mmap_size);
	if (ret)
		return ret;

	if (!kwarp_map_has_ctl(&cq->map, 0) ||
	    !kwarp_map_has_ring(&cq->map, resp->cqe_offset, resp->num_cqe,
				sizeof(struct kwarp_cqe))) {
		kwarp_unmap(&cq->map);
		return EPROTO;
	}

	cq->ctl = (struct kwarp_ring_ctl *)cq->map.base;
	cq->ring = (struct kwarp_cqe *)(cq->map.base + resp->cqe_offset);
	cq->mask = resp->num_cqe - 1;
	return 0;
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

	ret = map_cq(cq, ctx, &resp.drv_payload);
	if (ret)
		goto err_destroy;

	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return &cq->vcq.cq;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

int kwarp_destroy_cq(struct ibv_cq *ibcq)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	int ret;

	/* While the kernel refuses (a QP uses it), the CQ must keep working. */
	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	kwarp_unmap(&cq->map);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}

/* The next completion, or NULL; the kernel's cache line is read when we run dry. */
static const struct kwarp_cqe *cq_head(struct kwarp_cq *cq)
{
	const struct kwarp_cqe *cqe;

	for (;; cq->cons++) {
		if (cq->cons == cq->prod) {
			cq->prod = kwarp_load_acquire(&cq->ctl->kern_idx);
			if (cq->cons == cq->prod)
				return NULL;
		}
		cqe = &cq->ring[cq->cons & cq->mask];
		if (cqe->opcode != CQE_VOID)
			return cqe;
	}
}

static void fill_wc(struct ibv_wc *wc, const struct kwarp_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp_num = cqe->qp_num,
	};
	if (cqe->opcode < ARRAY_SIZE(wc_opcode))
		wc->opcode = wc_opcode[cqe->opcode];

	if (cqe->flags & KWARP_CQE_WITH_IMM) {
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = (__force __be32)cqe->ex;
	} else if (cqe->flags & KWARP_CQE_WITH_INV) {
		wc->wc_flags = IBV_WC_WITH_INV;
		wc->invalidated_rkey = cqe->ex;
	}
}

/*
 * A dead CQ is reported once all it holds has been polled. The flag is read
 * before the last look, so that nothing that came before it is missed.
 */
static bool cq_is_dead(struct kwarp_cq *cq)
{
	return (kwarp_load_acquire(&cq->ctl->flags) & KWARP_RING_ERROR) &&
	       !cq_head(cq);
}

int kwarp_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	const struct kwarp_cqe *cqe;
	uint32_t start;
	int n;

	pthread_spin_lock(&cq->lock);
	start = cq->cons;
	for (n = 0; n < num; n++, cq->cons++) {
		cqe = cq_head(cq);
		if (!cqe)
			break;
		fill_wc(&wc[n], cqe);
	}
	if (!n && num > 0 && cq_is_dead(cq))
		n = -EIO;
	/* Release: the kernel may overwrite what has been read. */
	if (cq->cons != start)
		kwarp_store_release(&cq->ctl->user_idx, cq->cons);
	pthread_spin_unlock(&cq->lock);
	return n;
}

/* Are there completions that were neither polled nor told of by an event? */
static bool untold(const struct kwarp_cq *cq)
{
	__u32 end = kwarp_load_acquire(&cq->ctl->kern_idx);

	return end != __atomic_load_n(&cq->ctl->event_idx, __ATOMIC_RELAXED) &&
	       end != __atomic_load_n(&cq->ctl->user_idx, __ATOMIC_RELAXED);
}

/*
 * The kernel looks at the word after each completion and takes it back when it
 * fires. A request for solicited events does not weaken one for any event. The
 * barrier orders the request before the look at the ring, here and in the
 * caller's next poll. Only for what came before the request, and without an
 * event, the kernel is asked: programs that arm for the first time when their
 * peer already sends would else wait for ever.
 */
int kwarp_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	__u32 *arm = &cq->ctl->arm;
	__u32 none = KWARP_CQ_ARM_NONE;

	if (solicited_only)
		__atomic_compare_exchange_n(arm, &none, KWARP_CQ_ARM_SOLICITED,
					    false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	else
		__atomic_store_n(arm, KWARP_CQ_ARM_ANY, __ATOMIC_RELAXED);
	kwarp_full_barrier();
	return untold(cq) ? ibv_cmd_req_notify_cq(ibcq, solicited_only) : 0;
}

void kwarp_cq_forget_qp(struct kwarp_cq *cq, uint32_t qp_num)
{
	struct kwarp_cqe *cqe;
	uint32_t end;
	uint32_t i;

	pthread_spin_lock(&cq->lock);
	end = kwarp_load_acquire(&cq->ctl->kern_idx);
	for (i = cq->cons; i != end; i++) {
		cqe = &cq->ring[i & cq->mask];
		if (cqe->qp_num == qp_num)
			cqe->opcode = CQE_VOID;
	}
	pthread_spin_unlock(&cq->lock);
}
