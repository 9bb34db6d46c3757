// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The environment of a case of kwarp_seam. */
#include "seam.h"

#include <linux/delay.h>
#include <linux/slab.h>

#include "rdmap/stream.h"
#include "verbs/verbs.h"

void seam_close(struct seam *e)
{
	if (e->m.llp.owner) {
		kwarp_qp_detach(&e->m.llp);
		mock_close(&e->m);
	}
	if (!IS_ERR_OR_NULL(e->qp))
		ib_destroy_qp(e->qp);
	if (!IS_ERR_OR_NULL(e->cq))
		ib_free_cq(e->cq);
	if (!IS_ERR_OR_NULL(e->pd))
		ib_dealloc_pd(e->pd);
	kvfree(e->local);
	kvfree(e->remote);
	kfree(e);
}

/* The queue pair is attached; the send engine waits for kwarp_qp_start(). */
struct seam *seam_open_stopped(void)
{
	const struct kwarp_qp_params params = {
		.ird = 4, .ord = 4, .user_ord = 4, .mpa_rev = 2,
		.ext = KWARP_RDMAP_EXT_7306, .initiator = true,
	};
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = WRS, .max_recv_wr = WRS,
			.max_send_sge = 4, .max_recv_sge = 4,
		},
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
	};
	struct seam *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int i;

	if (!e)
		return NULL;
	e->local = kmalloc(BYTES, GFP_KERNEL);
	e->remote = kzalloc(BYTES, GFP_KERNEL);
	e->pd = ib_alloc_pd(seam_ibdev, IB_PD_UNSAFE_GLOBAL_RKEY);
	e->cq = ib_alloc_cq(seam_ibdev, NULL, 4 * WRS, 0, IB_POLL_DIRECT);
	if (!e->local || !e->remote || IS_ERR(e->pd) || IS_ERR(e->cq))
		goto err;
	for (i = 0; i < BYTES; i++)
		e->local[i] = prandom_u32_state(&seam_rnd);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = ib_create_qp(e->pd, &attr);
	if (IS_ERR(e->qp) ||
	    mock_open(&e->m, to_kdev(seam_ibdev), prandom_u32_state(&seam_rnd)) ||
	    kwarp_qp_attach(to_kqp(e->qp), &e->m.llp, &params))
		goto err;
	return e;

err:
	seam_close(e);
	return NULL;
}

struct seam *seam_open(void)
{
	struct seam *e = seam_open_stopped();

	if (e)
		kwarp_qp_start(to_kqp(e->qp));
	return e;
}

int seam_post(struct seam *e, enum ib_wr_opcode opcode, u32 at, u32 len)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)(opcode == IB_WR_RDMA_READ ? e->remote : e->local) + at,
		.length = len, .lkey = e->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = opcode, .wr.sg_list = &sge, .wr.num_sge = !!len,
		.remote_addr = PEER_TO + at, .rkey = PEER_STAG,
	};

	return ib_post_send(e->qp, &wr.wr, NULL);
}

int seam_post_recv(struct seam *e, u32 at, u32 len)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)e->remote + at, .length = len,
		.lkey = e->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(e->qp, &wr, NULL);
}

void seam_poll(struct seam *e)
{
	struct ib_wc wc;

	while (ib_poll_cq(e->cq, 1, &wc) == 1) {
		if (wc.status == IB_WC_SUCCESS) {
			e->done++;
			e->wc = wc;
		} else {
			e->flushed++;
		}
	}
}

/* Wait for completions, since the engine may continue in a worker, or when there is room. */
int seam_wait(struct seam *e, int done, int flushed)
{
	int ms;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		seam_poll(e);
		if (e->done >= done && e->flushed >= flushed)
			break;
		mock_room(&e->m);
		fsleep(1000);
	}
	return e->done == done && e->flushed == flushed ? 0 : -ETIMEDOUT;
}

/* Wait for FIN, which a worker may send. */
int seam_wait_fin(struct seam *e)
{
	int ms;

	for (ms = 0; !READ_ONCE(e->m.shut); ms++) {
		if (ms == PATIENCE_MS)
			return -ETIMEDOUT;
		fsleep(1000);
	}
	return 0;
}
