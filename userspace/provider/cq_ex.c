// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended completion queues: between start_poll and end_poll, under the lock, a
 * completion is read from a copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "compat.h"
#include "kwarp.h"
#include "kwarp_provider_abi.h"

#define WC_FLAGS                                                               \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |         \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct kwarp_cq *to_kcq_ex(struct ibv_cq_ex *ibcq)
{
	return container_of(ibcq, struct kwarp_cq, vcq.cq_ex);
}

static const struct kwarp_cqe *current_cqe(struct ibv_cq_ex *ibcq)
{
	return &to_kcq_ex(ibcq)->cur;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	struct kwarp_cq *cq = to_kcq_ex(ibcq);
	const struct kwarp_cqe *cqe = kwarp_cq_head(cq);

	if (!cqe)
		return ENOENT;
	/*
	 * Each completion makes room at once, because the program may post a new
	 * request for it before end_poll.
	 */
	cq->cur = *cqe;
	cq->cons++;
	kwarp_cq_release(cq);
	ibcq->wr_id = cq->cur.wr_id;
	ibcq->status = cq->cur.status;
	return 0;
}

/*
 * Takes the lock, and keeps it if there is a completion. @again: set if the CQ is
 * empty and the network is to be polled.
 */
static int begin_poll(struct ibv_cq_ex *ibcq, bool *again)
{
	struct kwarp_cq *cq = to_kcq_ex(ibcq);
	int ret;

	kwarp_cq_lock(cq);
	kwarp_cq_polled(cq);
	ret = next_poll(ibcq);
	*again = false;
	if (!ret) {
		__atomic_store_n(&cq->poller, pthread_self(), __ATOMIC_RELAXED);
		return 0;
	}
	if (kwarp_cq_is_dead(cq))
		ret = EIO;
	else
		*again = kwarp_cq_polls_network(cq);
	kwarp_cq_unlock(cq);
	return ret;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct kwarp_cq *cq = to_kcq_ex(ibcq);
	bool again;
	int ret;

	if (attr->comp_mask)
		return EINVAL;
	ret = begin_poll(ibcq, &again);
	if (ret)
		kwarp_waits(cq->vcq.cq.context);
	if (again) {
		kwarp_poll_network(&cq->vcq.cq);
		ret = begin_poll(ibcq, &again);
	}
	return ret;
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct kwarp_cq *cq = to_kcq_ex(ibcq);

	__atomic_store_n(&cq->poller, (pthread_t)0, __ATOMIC_RELAXED);
	kwarp_cq_unlock(cq);
}

/* ---- readers -------------------------------------------------------------- */

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return kwarp_cqe_opcode(current_cqe(ibcq));
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq)->vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	unsigned int flags = current_cqe(ibcq)->flags;

	return (flags & KWARP_CQE_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
	       (flags & KWARP_CQE_WITH_INV ? IBV_WC_WITH_INV : 0);
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq)->byte_len;
}

/* Also reads the invalidated R_Key. */
static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__force __be32)current_cqe(ibcq)->ex;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq)->qp_num;
}

/* A reliable connection has no source QP, and iWARP no InfiniBand path. */
static uint32_t read_src_qp(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint32_t read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq)->timestamp;
}

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec ts = {};

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Uses the clocks' current offset, so it includes steps of the wall clock. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq)->timestamp - nanoseconds(CLOCK_MONOTONIC) +
	       nanoseconds(CLOCK_REALTIME);
}

/* ---- creation ------------------------------------------------------------- */

static void set_ops(struct ibv_cq_ex *ibcq, uint64_t wc_flags)
{
	ibcq->start_poll = start_poll;
	ibcq->next_poll = next_poll;
	ibcq->end_poll = end_poll;
	ibcq->read_opcode = read_opcode;
	ibcq->read_vendor_err = read_vendor_err;
	ibcq->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ibcq->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ibcq->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ibcq->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ibcq->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ibcq->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ibcq->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ibcq->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ibcq->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ibcq->read_completion_wallclock_ns =
			read_completion_wallclock_ns;
}

/*
 * IGNORE_OVERRUN is refused, because overruns are always detected. A parent
 * domain has no effect.
 */
static bool attr_supported(const struct ibv_cq_init_attr_ex *attr)
{
	return !(attr->wc_flags & ~WC_FLAGS) &&
	       !(attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS |
				     IBV_CQ_INIT_ATTR_MASK_PD)) &&
	       (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
		!(attr->flags & ~IBV_CREATE_CQ_ATTR_SINGLE_THREADED));
}

struct ibv_cq_ex *kwarp_create_cq_ex(struct ibv_context *ctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct kwarp_create_cq_ex_resp resp = {};
	struct kwarp_create_cq_ex cmd = {};
	struct kwarp_cq *cq;
	int ret;

	if (!attr_supported(attr)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = kwarp_cmd_create_cq_ex(ctx, attr, &cq->vcq, &cmd.ibv_cmd,
				     sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;
	ret = kwarp_cq_init(cq, ctx, &resp.drv_payload);
	if (ret)
		goto err_destroy;

	cq->single_threaded =
		(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
		(attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	set_ops(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}
