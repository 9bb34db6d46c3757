// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Atomic Operations (RFC 7306 5). A request is executed when it is delivered,
 * with one atomic instruction of the processor: so it is atomic towards other
 * connections, other devices and the local program. Its answer keeps its place
 * among those to read requests.
 */
#include "place.h"

#include <linux/atomic.h>

#include "../core/qp.h"
#include "ooo.h"
#include "rx.h"

static_assert(sizeof(atomic64_t) == sizeof(u64));

/* Return: the value found. */
static u64 execute(const struct kwarp_rdmap_atomic *a, void *where)
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
	struct kwarp_rdmap_atomic req;
	u32 len = sizeof(u64);
	struct kwarp_inread *in;
	enum kwarp_mem_err merr;
	enum kwarp_err err;
	struct kwarp_mr *mr;
	void *where;

	err = kwarp_rx_check_request(pass);
	if (err)
		return err;
	if (!kwarp_rdmap_atomic_parse(pass->seg + pass->hdr.len, &req))
		return KWARP_ERR_RDMAP_OPCODE;
	merr = kwarp_mr_access(qp->dev, &pass->cache, qp->ibqp.pd, req.stag,
			       req.to, len, IB_ACCESS_REMOTE_ATOMIC, &mr);
	if (merr)
		return kwarp_rx_source_err(merr);
	if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_ATOMIC))
		return KWARP_ERR_RDMAP_ACCESS;
	/* RFC 7306 8.2: the address counts, not the offset in the region. */
	where = kwarp_mr_ptr(mr, req.to, &len);
	if (!IS_ALIGNED((uintptr_t)where, sizeof(u64)))
		return KWARP_ERR_RDMAP_STREAM;

	/* What comes later in the stream and lies there already was too early. */
	if (unlikely(pass->ooo))
		kwarp_ooo_written(pass, mr, req.to, sizeof(u64));

	in = kwarp_rx_queue_answer(pass);
	in->atomic = true;
	in->sink_stag = req.req_id;
	in->src_to = execute(&req, where);
	return KWARP_ERR_NONE;
}

/* Answers come in the order of the requests (RFC 7306 7). */
enum kwarp_err kwarp_rx_atomic_response(struct kwarp_rx_pass *pass)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_rx *rx = &pass->qp->rx;
	struct kwarp_payload pl;
	struct kwarp_reader r;
	struct kwarp_read *rd;
	enum kwarp_err err;
	u64 value;
	u32 id;

	if (h->msn != rx->atomic_msn)
		return KWARP_ERR_UNTAGGED_MSN;
	/* Each outstanding request has a buffer on this queue. */
	if (rx->read_head == rx->read_tail)
		return KWARP_ERR_UNTAGGED_NO_BUFFER;
	rd = kwarp_rx_read(rx, rx->read_head);
	kwarp_rdmap_atomic_reply_parse(pass->seg + h->len, &id, &value);
	if (!rd->atomic)
		return KWARP_ERR_RDMAP_OPCODE;
	if (id != rd->sink_stag)
		return KWARP_ERR_RDMAP_STREAM;
	rx->atomic_msn++;
	/* In the consumer's memory it is a number of this machine. */
	kwarp_payload_mem(&pl, &r, (const u8 *)&value, sizeof(value));
	err = kwarp_rx_read_place(pass, rd, &pl, sizeof(value));
	return err ? : kwarp_rx_read_done(pass, rd);
}
