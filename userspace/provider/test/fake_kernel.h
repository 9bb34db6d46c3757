/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The provider without a kernel: its files on a memory file that stands for the
 * device, with this header in place of the kernel and libibverbs, and TAP. Each
 * test program includes it once.
 */
#ifndef KWARP_FAKE_KERNEL_H
#define KWARP_FAKE_KERNEL_H

#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ccan/array_size.h>
#include <rdma/ib_user_verbs.h>

#include "../kwarp.h"
#include "../kwarp_provider_abi.h"

enum {
	SQ_CTL = 0, RQ_CTL = 128, SQ_OFF = 256, NUM_SQE = 8, NUM_RQE = 4,
	MAX_SGE = 4, MAX_INLINE = 100,
	SQ_STRIDE = 176, RQ_STRIDE = 80,
	RQ_OFF = SQ_OFF + NUM_SQE * SQ_STRIDE,
	QP_BYTES = 4096,
	CQ_OFF = 128, NUM_CQE = 8, CQ_BYTES = 4096,
	/* room for one more object, or for a queue that was moved */
	MORE = QP_BYTES + CQ_BYTES, MORE_BYTES = 8192,
	DEV_BYTES = MORE + MORE_BYTES,
	GONE_HANDLE = 63,	/* of no queue pair */
};

/* ---- the kernel's side ------------------------------------------------ */

static struct kwarp_context kwarp;
static struct ibv_context *const context = &kwarp.vctx.context;
static struct ibv_pd pd = { .context = &kwarp.vctx.context };
static uint8_t *dev_mem;	/* QP at 0, CQ at QP_BYTES, more at MORE */
static struct kwarp_uresp_create_qp qp_resp;
static struct ibv_qp_cap granted;
static struct kwarp_uresp_create_srq srq_resp;
static struct kwarp_uresp_create_cq resize_resp;
static int modify_errno;
static atomic_int send_doorbells, recv_doorbells, doorbell_errno;
static int late_arms;
static int network_polls, arrivals;
static int system_calls;	/* that wrote commands */
static int doorbell_interrupts;
static unsigned int doorbell_us;	/* that a system call for doorbells takes */
static atomic_int doorbells_in_progress;
static uint64_t rung;		/* handles of doorbells, a bit for each */
static bool foreign;		/* the credentials have changed: no write() */
static atomic_bool awake;

#define sq_ctl	((struct kwarp_ring_ctl *)(dev_mem + SQ_CTL))
#define rq_ctl	((struct kwarp_ring_ctl *)(dev_mem + RQ_CTL))
#define cq_ctl	((struct kwarp_ring_ctl *)(dev_mem + QP_BYTES))

static inline struct kwarp_sqe *sqe_at(uint32_t idx)
{
	return (struct kwarp_sqe *)(dev_mem + SQ_OFF +
				    idx % NUM_SQE * SQ_STRIDE);
}

static struct kwarp_cqe *cqe_at(uint32_t idx)
{
	return (struct kwarp_cqe *)(dev_mem + QP_BYTES + CQ_OFF) +
	       idx % NUM_CQE;
}

static void complete(const struct kwarp_cqe *cqe)
{
	*cqe_at(cq_ctl->kern_idx) = *cqe;
	kwarp_store_release(&cq_ctl->kern_idx, cq_ctl->kern_idx + 1);
}

/* Replaces libibverbs' function. */
int ibv_cmd_create_cq(struct ibv_context *ctx, int cqe,
		      struct ibv_comp_channel *channel, int vector,
		      struct ibv_cq *cq, struct ibv_create_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_create_cq_resp *resp,
		      size_t resp_size)
{
	struct kwarp_create_cq_resp *out = (struct kwarp_create_cq_resp *)resp;

	cq->context = ctx;
	cq->cqe = NUM_CQE;
	out->drv_payload = (struct kwarp_uresp_create_cq){
		.mmap_key = QP_BYTES, .mmap_size = CQ_BYTES,
		.cqe_offset = CQ_OFF, .num_cqe = NUM_CQE,
	};
	return 0;
}

#if IBVERBS_PABI_VERSION >= 60
int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_create_cq_prov_attr *prov_attr,
			 struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
#else
int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
#endif
{
	struct kwarp_create_cq_ex_resp *out =
		(struct kwarp_create_cq_ex_resp *)resp;

	vcq->cq.context = ctx;
	vcq->cq.cqe = NUM_CQE;
	out->drv_payload = (struct kwarp_uresp_create_cq){
		.mmap_key = QP_BYTES, .mmap_size = CQ_BYTES,
		.cqe_offset = CQ_OFF, .num_cqe = NUM_CQE,
	};
	return 0;
}

/* The test decides what the real one would do with the elements. */
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct kwarp_resize_cq_resp *out = (struct kwarp_resize_cq_resp *)resp;

	if (modify_errno)
		return modify_errno;
	cq->cqe = cqe;
	out->drv_payload = resize_resp;
	return 0;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      struct ibv_modify_cq *cmd, size_t cmd_size)
{
	return modify_errno;
}

int ibv_cmd_create_srq(struct ibv_pd *ibpd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr,
		       struct ibv_create_srq *cmd, size_t cmd_size,
		       struct ib_uverbs_create_srq_resp *resp,
		       size_t resp_size)
{
	struct kwarp_create_srq_resp *out =
		(struct kwarp_create_srq_resp *)resp;

	srq->context = ibpd->context;
	attr->attr.max_wr = NUM_RQE;
	attr->attr.max_sge = MAX_SGE;
	out->drv_payload = srq_resp;
	return 0;
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		       int mask, struct ibv_modify_srq *cmd, size_t cmd_size)
{
	const struct kwarp_modify_srq *in = (struct kwarp_modify_srq *)cmd;

	if (modify_errno)
		return modify_errno;
	if (mask & IBV_SRQ_MAX_WR)
		memcpy((void *)(uintptr_t)in->drv_payload.resp_addr, &srq_resp,
		       sizeof(srq_resp));
	return 0;
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
		      struct ibv_query_srq *cmd, size_t cmd_size)
{
	return 0;
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

int ibv_cmd_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	late_arms++;
	return 0;
}

int ibv_cmd_create_qp(struct ibv_pd *ibpd, struct ibv_qp *qp,
		      struct ibv_qp_init_attr *attr, struct ibv_create_qp *cmd,
		      size_t cmd_size, struct ib_uverbs_create_qp_resp *resp,
		      size_t resp_size)
{
	struct kwarp_create_qp_resp *out = (struct kwarp_create_qp_resp *)resp;

	qp->context = ibpd->context;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->qp_num = 7;
	attr->cap = granted;
	out->drv_payload = qp_resp;
	return 0;
}

int ibv_cmd_create_qp_ex(struct ibv_context *ctx, struct verbs_qp *vqp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size)
{
	struct ibv_qp_init_attr plain = { .send_cq = attr->send_cq,
					  .recv_cq = attr->recv_cq };
	int ret = ibv_cmd_create_qp(attr->pd, &vqp->qp, &plain, cmd, cmd_size,
				    resp, resp_size);

	attr->cap = plain.cap;
	return ret;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return doorbells_in_progress ? EBUSY : 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_modify_qp *cmd, size_t cmd_size)
{
	return 0;
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr,
		     struct ibv_query_qp *cmd, size_t cmd_size)
{
	return 0;
}

/* The first @doorbell_interrupts doorbells are interrupted by a signal. */
static int take_doorbell(uint32_t handle)
{
	send_doorbells++;
	if (doorbell_interrupts) {
		doorbell_interrupts--;
		return EINTR;
	}
	if (handle == GONE_HANDLE)
		return EINVAL;
	rung |= 1ull << handle % 64;
	awake = true;
	return doorbell_errno;
}

/* Each poll of the network brings a completion while there are arrivals. */
static void take_network_poll(void)
{
	const struct kwarp_cqe cqe = { .wr_id = 77 };

	network_polls++;
	if (arrivals) {
		arrivals--;
		complete(&cqe);
	}
}

static int take_command(const void *command, size_t len)
{
	const struct ib_uverbs_cmd_hdr *hdr = command;
	const struct ib_uverbs_post_send *send = (const void *)(hdr + 1);

	if (foreign)
		return EACCES;
	if (len != hdr->in_words * 4)
		return EINVAL;
	if (hdr->command == IB_USER_VERBS_CMD_POST_SEND)
		return take_doorbell(send->qp_handle);
	if (hdr->command == IB_USER_VERBS_CMD_POLL_CQ) {
		take_network_poll();
		return 0;
	}
	return EOPNOTSUPP;
}

/* One command. Return: its length; or -1 with errno set. */
static long write_one(const void *command, size_t len)
{
	errno = take_command(command, len);
	return errno ? -1 : (long)len;
}

/* As the kernel does with a file that has no function for a whole vector. */
static long write_vector(const struct iovec *vec, size_t num)
{
	long done = 0;
	int err = 0;
	size_t i;

	doorbells_in_progress++;
	usleep(doorbell_us);
	for (i = 0; i < num && !err; i++) {
		err = take_command(vec[i].iov_base, vec[i].iov_len);
		if (!err)
			done += vec[i].iov_len;
	}
	doorbells_in_progress--;
	errno = err;
	return err && !done ? -1 : done;
}

/*
 * Replaces libc's function. Its write() and writev() are not replaced: they fail, because they are
 * cancellation points.
 */
long __wrap_syscall(long number, ...)
{
	const void *what;
	va_list args;
	size_t num;

	va_start(args, number);
	(void)va_arg(args, int);
	what = va_arg(args, const void *);
	num = va_arg(args, size_t);
	va_end(args);

	system_calls++;
	return number == SYS_write ? write_one(what, num) : write_vector(what, num);
}

int ibv_cmd_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		      struct ibv_send_wr **bad_wr)
{
	return take_doorbell(qp->handle);
}

int ibv_cmd_poll_cq(struct ibv_cq *ibcq, int ne, struct ibv_wc *wc)
{
	take_network_poll();
	return 0;
}

int ibv_cmd_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	recv_doorbells++;
	return doorbell_errno;
}

/* ---- TAP -------------------------------------------------------------- */

static int tests, failures, bad;

#define check(cond)							\
	do {								\
		if (!(cond)) {						\
			printf("# line %d: %s\n", __LINE__, #cond);	\
			bad++;						\
		}							\
	} while (0)

static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void set_up(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	memset(dev_mem, 0, DEV_BYTES);
	send_doorbells = recv_doorbells = doorbell_errno = modify_errno = 0;
	network_polls = arrivals = system_calls = doorbell_interrupts = 0;
	rung = 0;
	doorbell_us = 0;
	foreign = false;
	granted = (struct ibv_qp_cap){ NUM_SQE, NUM_RQE, MAX_SGE, MAX_SGE,
				       MAX_INLINE };
	qp_resp = (struct kwarp_uresp_create_qp){
		.mmap_size = QP_BYTES, .sq_ctl_offset = SQ_CTL,
		.rq_ctl_offset = RQ_CTL, .sq_offset = SQ_OFF,
		.rq_offset = RQ_OFF, .num_sqe = NUM_SQE, .num_rqe = NUM_RQE,
		.sq_stride = SQ_STRIDE, .rq_stride = RQ_STRIDE,
	};
	cq = kwarp_create_cq(context, NUM_CQE, NULL, 0);
	attr.send_cq = attr.recv_cq = cq;
	qp = kwarp_create_qp(&pd, &attr);
	if (!cq || !qp) {
		printf("Bail out! no queues\n");
		exit(1);
	}
}

static void tear_down(void)
{
	if (qp)
		check(!kwarp_destroy_qp(qp));
	check(!kwarp_destroy_cq(cq));
}

/* ---- all of them ------------------------------------------------------ */

struct test {
	void (*run)(void);
	const char *name;
};

#define TEST(f) { f, #f }

static int run_tests(const struct test *all, size_t num)
{
	size_t i;
	int fd;

	fd = memfd_create("kwarp", 0);
	if (fd < 0 || ftruncate(fd, DEV_BYTES))
		return 1;
	dev_mem = mmap(NULL, DEV_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);
	if (dev_mem == MAP_FAILED)
		return 1;
	context->cmd_fd = fd;
	kwarp_burst_init(&kwarp);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%zu\n", num);
	for (i = 0; i < num; i++) {
		bad = 0;
		set_up();
		all[i].run();
		tear_down();
		failures += !!bad;
		printf("%sok %d - %s\n", bad ? "not " : "", ++tests,
		       all[i].name);
	}
	return !!failures;
}

#endif /* KWARP_FAKE_KERNEL_H */
