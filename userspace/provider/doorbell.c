// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The doorbell of a send queue: the shortest way into the kernel that uverbs
 * has. The command carries no work request, but makes the kernel read the ring.
 *
 * libibverbs would send the command by ioctl(), which wraps and unwraps the
 * command once more. write() is refused (EACCES) to a process whose credentials
 * differ from those with which the device was opened; then use libibverbs.
 */
#include <errno.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "kwarp.h"

struct doorbell {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
};

int kwarp_doorbell(struct ibv_context *ibctx, uint32_t qp_handle)
{
	struct ib_uverbs_post_send_resp resp = {};
	struct ibv_qp qp = { .context = ibctx, .handle = qp_handle };
	struct ibv_send_wr *none = NULL;
	struct doorbell db = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(db) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp_handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};
	ssize_t ret;

	do
		ret = write(ibctx->cmd_fd, &db, sizeof(db));
	while (ret < 0 && errno == EINTR);
	if (ret == (ssize_t)sizeof(db))
		return 0;
	if (ret < 0 && errno == EACCES)
		return ibv_cmd_post_send(&qp, NULL, &none);
	return ret < 0 ? errno : EIO;
}
