// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Atomic Operations (RFC 7306 5). The receive engine executes a request on delivery, with
 * the CPU's atomic instructions, so the operation is atomic with respect to other
 * connections, other kwarp devices and local programs. The response is queued in order
 * with RDMA Read Responses.
 */
#include "rdmap/place.h"

#include <linux/atomic.h>

#include "rdmap/early.h"

static_assert(sizeof(atomic64_t) == sizeof(u64));

/* Return: the value before the operation. */
static u64 atomic_execute(const struct kwarp_rdmap_atomic *a, void *where)
{
	atomic64_t *target = where;
	s64 old;

	if (a->aop == KWARP_AOP_FETCH_ADD && !a->mask)
		return atomic64_fetch_add(a->data, target);
	old = atomic64_read(target);
	while (!atomic64_try_cmpxchg(target, &old,
				     kwarp_rdmap_atomic_value(a, old)))
		;
	return old;
}

enum kwarp_err kwarp_rx_atomic_request(struct kwarp_rx_pass *pass)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_mr_range target = {
		.pd = qp->ibqp.pd,
		.access = IB_ACCESS_REMOTE_ATOMIC,
		.len = sizeof(u64),
	};
	struct kwarp_rdmap_atomic req;
	u32 len = sizeof(u64);
	struct kwarp_ird_entry *in;
	enum kwarp_mem_err merr;
	enum kwarp_err err;
	const struct kwarp_mr *mr;
	void *where;

	err = kwarp_rx_check_request(pass);
	if (err)
		return err;
	if (!kwarp_rdmap_atomic_parse(pass->u.seg + pass->hdr.len, &req))
		return KWARP_ERR_RDMAP_OPCODE;
	target.stag = req.stag;
	target.addr = req.to;
	merr = kwarp_mr_access(&pass->cache, &target);
	if (merr)
		return kwarp_rx_request_err(merr);
	if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_ATOMIC))
		return KWARP_ERR_RDMAP_ACCESS;
	mr = pass->cache.mr;
	/* RFC 7306 8.2: the memory address must be aligned; the tagged offset need not. */
	where = kwarp_mr_ptr(mr, req.to, &len);
	if (!IS_ALIGNED((uintptr_t)where, sizeof(u64)))
		return KWARP_ERR_RDMAP_STREAM;

	/* The operation may overwrite payload placed early: withdraw the records of it. */
	if (unlikely(pass->early))
		kwarp_early_withdraw(pass, mr, req.to, sizeof(u64));

	in = kwarp_rx_queue_answer(pass);
	in->atomic = true;
	in->sink_stag = req.req_id;
	in->src_to = atomic_execute(&req, where);
	return KWARP_ERR_NONE;
}

/* Atomic Responses arrive in the order of the requests (RFC 7306 7). */
enum kwarp_err kwarp_rx_atomic_response(struct kwarp_rx_pass *pass)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_rx *rx = &pass->qp->rx;
	struct kwarp_read *rd;
	enum kwarp_err err;
	u64 value;
	u32 id;

	if (h->msn != rx->atomic_msn)
		return KWARP_ERR_UNTAGGED_MSN;
	/* Queue 3 has a buffer only while a request is outstanding. */
	if (rx->read_head == rx->read_tail)
		return KWARP_ERR_UNTAGGED_NO_BUFFER;
	rd = kwarp_rx_read(rx, rx->read_head);
	kwarp_rdmap_atomic_reply_parse(pass->u.seg + h->len, &id, &value);
	if (!rd->atomic)
		return KWARP_ERR_RDMAP_OPCODE;
	if (id != rd->sink_stag)
		return KWARP_ERR_RDMAP_STREAM;
	rx->atomic_msn++;
	/* The value is stored in the consumer's memory in host byte order. */
	pass->plain = (const u8 *)&value;
	err = kwarp_rx_read_place(pass, rd, sizeof(value));
	pass->plain = NULL;
	return err ? : kwarp_rx_read_done(pass, rd);
}
