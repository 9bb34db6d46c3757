/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Send and receive queues: rings, slots, in-order completion, flush. */
#ifndef _KWARP_CORE_WQ_H
#define _KWARP_CORE_WQ_H

#include <rdma/kwarp-abi.h>
#include "../kwarp.h"

struct kwarp_qp;

enum kwarp_slot_state {
	KWARP_SLOT_PENDING,	/* fetched, in work */
	KWARP_SLOT_BUILT,	/* its payload is copied, success to be reported */
	KWARP_SLOT_DONE,	/* completed, perhaps behind one that is not */
};

/**
 * struct kwarp_slot - what the kernel remembers of a fetched SQ element
 * @wr_id:	consumer's tag
 * @len:	octets, for the completion
 * @opcode:	enum kwarp_opcode
 * @signaled:	completion wanted on success
 * @state:	enum kwarp_slot_state
 * @status:	enum kwarp_wc_status once done
 */
struct kwarp_slot {
	u64 wr_id;
	u32 len;
	u8 opcode;
	u8 signaled : 1;
	u8 state;
	u8 status;
};

/**
 * struct kwarp_sqe_copy - the one copy of a SQ element that is worked on
 * @hdr:	header
 * @sge:	hdr.num_sge elements, validated in number only
 * @data:	or hdr.inline_len octets, in a kernel copy
 *
 * An engine's has only the ring's stride of memory behind it: what an element of
 * the queue can have.
 */
struct kwarp_sqe_copy {
	struct kwarp_sqe hdr;
	union {
		struct kwarp_sge sge[KWARP_MAX_SGE];
		u8 data[KWARP_MAX_INLINE];
	};
};

struct kwarp_rqe_copy {
	struct kwarp_rqe hdr;
	struct kwarp_sge sge[KWARP_MAX_SGE];
};

/**
 * struct kwarp_sq - send queue
 * @lock:	protects the indices, @slots and, with the socket lock, qp->state
 * @ctl:	control block (user: shared)
 * @ring:	elements, @stride apart (user: shared)
 * @stride:	octets between elements
 * @size:	elements, power of two
 * @max_sge:	granted at creation
 * @max_inline:	granted at creation
 * @sig_all:	every element is signalled
 * @slots:	@size entries, kernel memory
 * @done:	elements before it are completed; @ctl->kern_idx is its copy
 * @fetched:	elements before it were copied out
 * @built:	elements before it are not in state BUILT
 * @reaping:	somebody delivers completions: leave the rest to him
 * @blame:	status of the oldest element in the flush that is to come, or 0
 * @closed:	the QP's state allows no posts; @ctl->closed is its copy
 * @prod:	producer index of a kernel QP (a user's is @ctl->user_idx)
 */
struct kwarp_sq {
	spinlock_t lock;	/* see above */
	struct kwarp_ring_ctl *ctl;
	void *ring;
	u32 stride;
	u32 size;
	u16 max_sge;
	u16 max_inline;
	bool sig_all;
	struct kwarp_slot *slots;
	u32 done;
	u32 fetched;
	u32 built;
	u32 prod;
	bool reaping;
	bool closed;
	u8 blame;
};

/**
 * struct kwarp_rq - receive queue
 * @lock:	protects the indices
 * @ctl:	control block (user: shared)
 * @ring:	elements, @stride apart (user: shared)
 * @stride:	octets between elements
 * @size:	elements, power of two, or zero
 * @max_sge:	granted at creation
 * @user:	@ctl and @ring are shared with user space
 * @fetched:	elements before it were copied out; @ctl->kern_idx is its copy
 * @prod:	producer index of a kernel consumer (a user's is @ctl->user_idx)
 * @reaping:	somebody flushes: leave the rest to him
 * @closed:	as of a send queue; a shared one's never
 */
struct kwarp_rq {
	spinlock_t lock;	/* see above */
	struct kwarp_ring_ctl *ctl;
	void *ring;
	u32 stride;
	u32 size;
	u16 max_sge;
	bool user;
	u32 fetched;
	u32 prod;
	bool reaping;
	bool closed;
};

static inline void *kwarp_sq_elem(const struct kwarp_sq *sq, u32 idx)
{
	return sq->ring + (size_t)(idx & (sq->size - 1)) * sq->stride;
}

static inline void *kwarp_rq_elem(const struct kwarp_rq *rq, u32 idx)
{
	return rq->ring + (size_t)(idx & (rq->size - 1)) * rq->stride;
}

static inline bool kwarp_op_inline_ok(u8 opcode)
{
	return opcode <= KWARP_OP_SEND_INV;
}

static inline bool kwarp_op_atomic(u8 opcode)
{
	return opcode == KWARP_OP_CMP_SWAP || opcode == KWARP_OP_FETCH_ADD;
}

/* Does it take a place among the outbound reads? */
static inline bool kwarp_op_read(u8 opcode)
{
	return opcode == KWARP_OP_READ || opcode == KWARP_OP_READ_INV ||
	       kwarp_op_atomic(opcode);
}

/* Work requests that send nothing and have no payload. */
static inline bool kwarp_op_local(u8 opcode)
{
	return opcode == KWARP_OP_LOCAL_INV || opcode == KWARP_OP_BIND_MW ||
	       opcode == KWARP_OP_REG_MR;
}

/**
 * kwarp_sq_fetch() - copy the next send element out of the ring
 * @qp:		queue pair, socket lock held
 * @wqe:	receives the copy
 * @slot:	receives its index for kwarp_sq_complete()
 *
 * Counts, sizes and opcode are checked here, on the copy; addresses and keys
 * are checked where they are used.
 *
 * Return: 1 if there was one, 0 if the queue is empty or the QP does not send,
 * negative errno if the element is malformed (it has been fetched; @slot is
 * valid; complete it with KWARP_WC_LOC_QP_OP_ERR or what the error says:
 * -EMSGSIZE length, -EINVAL anything else).
 */
int kwarp_sq_fetch(struct kwarp_qp *qp, struct kwarp_sqe_copy *wqe, u32 *slot);

/* Is something there that kwarp_sq_fetch() would return? Socket lock held. */
bool kwarp_sq_pending(struct kwarp_qp *qp);

/**
 * kwarp_sq_idle() - the engine is about to sleep: ask for a doorbell
 * @qp:		queue pair
 * @linger:	do not ask: a timer will wake the engine
 *
 * Return: true if the engine may sleep, false if an element came in meanwhile.
 * Socket lock held.
 */
bool kwarp_sq_idle(struct kwarp_qp *qp, bool linger);

/* A user who posts again and again without looking for completions? His word. */
bool kwarp_sq_bursts(const struct kwarp_qp *qp);

/* The engine works: posts need no doorbell from here on. Socket lock held. */
void kwarp_sq_busy(struct kwarp_qp *qp);

/**
 * kwarp_sq_complete() - an element is done; deliver what is now in order
 * @qp:		queue pair
 * @slot:	from kwarp_sq_fetch()
 * @status:	enum kwarp_wc_status; an error is delivered even if unsignalled
 *
 * Does nothing if the queue has been flushed meanwhile. Takes sq.lock.
 */
void kwarp_sq_complete(struct kwarp_qp *qp, u32 slot, u8 status);

/**
 * kwarp_sq_blame() - what the oldest element that is not complete has come to
 * @qp:		queue pair that is about to enter ERR
 * @status:	enum kwarp_wc_status, in place of the flush's
 */
void kwarp_sq_blame(struct kwarp_qp *qp, u8 status);

/* The payload of @slot is copied: kwarp_sq_complete_built() may report it. */
void kwarp_sq_mark_built(struct kwarp_qp *qp, u32 slot);

/* Complete with success all that is marked. Socket lock held. */
void kwarp_sq_complete_built(struct kwarp_qp *qp);

/**
 * kwarp_sq_ack() - the peer has what was sent: complete what is marked
 * @qp:		queue pair, socket lock held
 * @end:	slot behind the last; all before it are sent
 */
void kwarp_sq_ack(struct kwarp_qp *qp, u32 end);

/**
 * kwarp_sq_refused() - the peer complains of a message that is not acknowledged
 * @qp:		queue pair that is about to enter ERR, socket lock held
 * @opcodes:	mask of BIT(enum kwarp_opcode) that it can be of
 * @status:	enum kwarp_wc_status of the oldest such element; those before it are
 *		complete
 */
void kwarp_sq_refused(struct kwarp_qp *qp, u32 opcodes, u8 status);

/* Everything fetched and everything posted is completed. Socket lock held. */
bool kwarp_sq_drained(struct kwarp_qp *qp);

/* Elements posted and not taken. @rq->lock held. */
u32 kwarp_rq_posted(const struct kwarp_rq *rq);

/**
 * kwarp_rq_take() - copy the next element out of a receive queue
 * @rq:		receive queue, of a QP or shared; its lock held
 * @wqe:	receives the copy
 *
 * Return: as kwarp_rq_fetch().
 */
int kwarp_rq_take(struct kwarp_rq *rq, struct kwarp_rqe_copy *wqe);

/**
 * kwarp_rq_post() - a kernel consumer's receives into the ring
 * @rq:		receive queue, of a QP or shared
 * @wr:		list of work requests
 * @bad_wr:	set to the first that was not posted, if there is one
 *
 * Return: 0, -ENOMEM if the queue is full, -EINVAL, also in RESET. Context: any.
 */
int kwarp_rq_post(struct kwarp_rq *rq, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);

/**
 * kwarp_rq_fetch() - take the next receive element, of the QP's own queue or of
 * the shared one
 * @qp:		queue pair, socket lock held
 * @wqe:	receives the copy
 *
 * Return: 0; -ENOBUFS if none is posted; -EINVAL if it is malformed (it has
 * been taken, wr_id is valid: complete it with KWARP_WC_LOC_QP_OP_ERR).
 */
int kwarp_rq_fetch(struct kwarp_qp *qp, struct kwarp_rqe_copy *wqe);

/**
 * kwarp_rq_peek() - look at a posted element without taking it
 * @qp:		queue pair with a receive queue of its own, socket lock held
 * @ahead:	0 for the one that kwarp_rq_fetch() would take next
 * @wqe:	receives the copy
 *
 * Until it is taken a user may change it, against the rules: believe nothing of it
 * then.
 *
 * Return: true if there is a well-formed one.
 */
bool kwarp_rq_peek(struct kwarp_qp *qp, u32 ahead,
		   struct kwarp_rqe_copy *wqe);

/**
 * kwarp_rq_complete() - deliver a receive completion
 * @qp:		queue pair
 * @cqe:	wr_id, opcode, status, byte_len, flags, ex filled in by the caller
 * @solicited:	the message asked for an event
 */
void kwarp_rq_complete(struct kwarp_qp *qp, struct kwarp_cqe *cqe,
		       bool solicited);

/**
 * kwarp_wq_flush() - complete all that is posted with KWARP_WC_WR_FLUSH_ERR
 * @qp:		queue pair in state ERR (rx and tx have stopped for good)
 *
 * Leaves the rings in need-wakeup state: later posts ring the doorbell and are
 * flushed by it. A receive that was being filled is returned by
 * kwarp_rx_stop(), not here. Context: any.
 */
void kwarp_wq_flush(struct kwarp_qp *qp);

/* ERR -> RESET: empty rings, indices at zero. No connection is attached. */
void kwarp_wq_reset(struct kwarp_qp *qp);

/* ib_post_send, ib_post_recv. A user's doorbell arrives with @wr NULL. */
int kwarp_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int kwarp_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);

#endif /* _KWARP_CORE_WQ_H */
