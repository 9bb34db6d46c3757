// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send and receive MPA startup frames. Nothing beyond the end of a frame is received, so
 * that the FPDUs after the frame stay in TCP's queue.
 */
#include <linux/slab.h>

#include "llp/mpa/mpa.h"

int kwarp_mpa_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			 enum kwarp_mpa_type type)
{
	int ret;

	for (;;) {
		u32 need = kwarp_mpa_need(hello->rx, hello->have);

		if (WARN_ON_ONCE(need <= hello->have || need > sizeof(hello->rx)))
			return -EPROTO;
		ret = kwarp_llp_recv(llp, hello->rx + hello->have,
				     need - hello->have);
		if (ret == -EAGAIN)
			return 0;
		if (ret == 0 || ret == -ENOTCONN || ret == -EPIPE)
			return -ECONNRESET;
		if (ret < 0)
			return ret;
		hello->have += ret;
		ret = kwarp_mpa_decode(hello->rx, hello->have, type, &hello->f);
		if (ret > 0)
			return 1;
		if (ret < 0) {
			hello->err = -ret;
			return -EPROTO;
		}
	}
}

int kwarp_mpa_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			 const void *pd)
{
	u8 *buf;
	int len, ret;

	buf = kmalloc(KWARP_MPA_FRAME_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	len = kwarp_mpa_encode(f, buf);
	if (len < 0) {
		ret = -EINVAL;
		goto out;
	}
	if (f->pd_len)
		memcpy(buf + len, pd, f->pd_len);
	len += f->pd_len;
	/* No retry: the send buffer of a new connection has room for a frame. */
	ret = kwarp_llp_send(llp, buf, len);
	if (ret >= 0)
		ret = ret == len ? 0 : -ENOBUFS;
out:
	kfree(buf);
	return ret;
}

int kwarp_mpa_hello_more(struct kwarp_llp *llp)
{
	u8 byte;

	return kwarp_llp_recv(llp, &byte, 1);
}
