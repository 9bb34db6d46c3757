// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Commands of the data path, by the shortest way into the kernel that uverbs
 * has: the doorbell of a send queue, which carries no work request but makes the
 * kernel read the ring, and the poll of the network for an empty CQ.
 *
 * libibverbs would send the commands by ioctl(), which wraps and unwraps them
 * once more. write() is refused (EACCES) to a process whose credentials differ
 * from those with which the device was opened; then use libibverbs.
 *
 * syscall(), because the library's write() is a cancellation point: a thread that
 * ended there would leave its queue pairs marked as being rung. No other function
 * of the data path is a cancellation point.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "kwarp.h"

struct doorbell {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
};

struct poll_network {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_poll_cq cmd;
};

/* Write a command of @len bytes. Return: 0 or an errno. */
static int write_command(const struct ibv_context *ibctx, const void *command,
			 size_t len)
{
	ssize_t ret;

	do
		ret = syscall(SYS_write, ibctx->cmd_fd, command, len);
	while (ret < 0 && errno == EINTR);
	if (ret == (ssize_t)len)
		return 0;
	return ret < 0 ? errno : EIO;
}

static void init_doorbell(struct doorbell *db, uint32_t qp_handle,
			  struct ib_uverbs_post_send_resp *resp)
{
	*db = (struct doorbell){
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(*db) / 4,
			.out_words = sizeof(*resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)resp,
			.qp_handle = qp_handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};
}

int kwarp_doorbell(struct ibv_context *ibctx, uint32_t qp_handle)
{
	struct ib_uverbs_post_send_resp resp = {};
	struct ibv_qp qp = { .context = ibctx, .handle = qp_handle };
	struct ibv_send_wr *none = NULL;
	struct doorbell db;
	int ret;

	init_doorbell(&db, qp_handle, &resp);
	ret = write_command(ibctx, &db, sizeof(db));
	return ret == EACCES ? ibv_cmd_post_send(&qp, NULL, &none) : ret;
}

/*
 * One system call for several commands: the kernel takes each element of a
 * vector for a command, in order, and stops at one that fails. That one is rung
 * again by itself, since the reason may have been a signal.
 */
void kwarp_doorbells(struct ibv_context *ibctx, const uint32_t *qp_handles,
		     int num)
{
	struct ib_uverbs_post_send_resp resp = {};
	struct doorbell db[KWARP_DOORBELLS];
	struct iovec vec[KWARP_DOORBELLS];
	ssize_t ret;
	int i;

	for (i = 0; i < num; i++) {
		init_doorbell(&db[i], qp_handles[i], &resp);
		vec[i] = (struct iovec){ &db[i], sizeof(db[i]) };
	}
	for (i = 0; num - i > 1;) {
		ret = syscall(SYS_writev, ibctx->cmd_fd, &vec[i],
			      (size_t)(num - i));
		if (ret >= (ssize_t)sizeof(db[0]))
			i += ret / sizeof(db[0]);
		else
			kwarp_doorbell(ibctx, qp_handles[i++]);
	}
	if (i < num)
		kwarp_doorbell(ibctx, qp_handles[i]);
}

/* Errors are ignored here: the next poll reports them. */
void kwarp_poll_network(struct ibv_cq *ibcq)
{
	struct ib_uverbs_poll_cq_resp resp = {};
	struct poll_network poll = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POLL_CQ,
			.in_words = sizeof(poll) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.cq_handle = ibcq->handle,
			.ne = 1,
		},
	};
	struct ibv_wc none;

	if (write_command(ibcq->context, &poll, sizeof(poll)) == EACCES)
		ibv_cmd_poll_cq(ibcq, 1, &none);
}
