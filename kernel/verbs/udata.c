// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Driver-private data of commands. Context of all functions: process, may sleep. */
#include "verbs/verbs.h"

#include <linux/minmax.h>
#include <linux/uaccess.h>

/**
 * kwarp_udata_empty() - check that a command has no private input, or only zeros
 * @udata:	udata of the command, NULL for a kernel consumer
 *
 * Return: 0, or -EOPNOTSUPP if the provider requests an unknown extension.
 */
int kwarp_udata_empty(struct ib_udata *udata)
{
	if (!udata || !udata->inlen)
		return 0;
	return ib_is_udata_cleared(udata, 0, udata->inlen) ? 0 : -EOPNOTSUPP;
}

/**
 * kwarp_udata_request() - read private input of an older or newer provider
 * @udata:	udata of the command
 * @req:	receives the input, padded with zeros
 * @len:	bytes of @req
 * @min:	bytes in the first version of the input
 *
 * Return: 0, -EINVAL if the input is shorter than @min, -EOPNOTSUPP if bytes after @len
 * are not zero, -EFAULT.
 */
int kwarp_udata_request(struct ib_udata *udata, void *req, size_t len, size_t min)
{
	memset(req, 0, len);
	if (udata->inlen < min)
		return -EINVAL;
	if (udata->inlen > len &&
	    !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EOPNOTSUPP;
	return ib_copy_from_udata(req, udata, min(udata->inlen, len));
}

/**
 * kwarp_respond() - send a reply to an older or newer provider
 * @to:		destination
 * @room:	bytes available there
 * @resp:	reply
 * @len:	bytes of @resp
 *
 * Copies as much of @resp as fits, and fills the room after it with zeros.
 * Return: 0 or -EFAULT.
 */
int kwarp_respond(void __user *to, size_t room, const void *resp, size_t len)
{
	if (copy_to_user(to, resp, min(room, len)))
		return -EFAULT;
	if (room > len && clear_user(to + len, room - len))
		return -EFAULT;
	return 0;
}

/* Send the private output of a command; @udata is NULL for a kernel consumer. */
int kwarp_udata_respond(struct ib_udata *udata, const void *resp, size_t len)
{
	return udata ? kwarp_respond(udata->outbuf, udata->outlen, resp, len) :
		       0;
}
