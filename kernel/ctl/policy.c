// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The administrator's policy in sysfs. A value is checked when it is written
 * and holds for connections made later.
 */
#include "policy.h"

#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../kwarp.h"
#include "../proto/mpa_startup.h"

enum policy_limits {
	TIMEOUT_MIN_MS	= 100,
	TIMEOUT_MAX_MS	= 600 * 1000,
	BACKLOG_MAX	= 65535,
};

static struct kwarp_policy *to_policy(struct device *d)
{
	struct kwarp_device *dev =
		rdma_device_to_drv_device(d, struct kwarp_device, ibdev);

	return &dev->policy;
}

/* ---- numbers -------------------------------------------------------------- */

/**
 * struct uint_attr - a number in the policy
 * @attr:	sysfs file
 * @offset:	where in struct kwarp_policy
 * @size:	octets there
 * @min:	smallest value
 * @max:	largest value
 */
struct uint_attr {
	struct device_attribute attr;
	size_t offset;
	size_t size;
	u32 min;
	u32 max;
};

static struct uint_attr *to_uint(struct device_attribute *attr)
{
	return container_of(attr, struct uint_attr, attr);
}

static ssize_t uint_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	const struct uint_attr *a = to_uint(attr);
	const void *field = (void *)to_policy(d) + a->offset;
	u32 v;

	switch (a->size) {
	case sizeof(u8):
		v = READ_ONCE(*(const u8 *)field);
		break;
	case sizeof(u16):
		v = READ_ONCE(*(const u16 *)field);
		break;
	default:
		v = READ_ONCE(*(const u32 *)field);
		break;
	}
	return sysfs_emit(buf, "%u\n", v);
}

static ssize_t uint_store(struct device *d, struct device_attribute *attr,
			  const char *buf, size_t len)
{
	const struct uint_attr *a = to_uint(attr);
	void *field = (void *)to_policy(d) + a->offset;
	u32 v;
	int ret;

	ret = kstrtou32(buf, 0, &v);
	if (ret)
		return ret;
	if (v < a->min || v > a->max)
		return -EINVAL;
	switch (a->size) {
	case sizeof(u8):
		WRITE_ONCE(*(u8 *)field, v);
		break;
	case sizeof(u16):
		WRITE_ONCE(*(u16 *)field, v);
		break;
	default:
		WRITE_ONCE(*(u32 *)field, v);
		break;
	}
	return len;
}

static_assert(sizeof(bool) == sizeof(u8));

static struct uint_attr backlog_attr = {
	.attr = __ATTR(backlog, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, backlog),
	.size = sizeof_field(struct kwarp_policy, backlog),
	.min = 1,
	.max = BACKLOG_MAX,
};

static struct uint_attr crc_attr = {
	.attr = __ATTR(crc, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, crc),
	.size = sizeof_field(struct kwarp_policy, crc),
	.max = 1,
};

static struct uint_attr ird_attr = {
	.attr = __ATTR(ird, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, ird),
	.size = sizeof_field(struct kwarp_policy, ird),
	.max = KWARP_MAX_IRD,
};

static struct uint_attr markers_attr = {
	.attr = __ATTR(markers, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, markers),
	.size = sizeof_field(struct kwarp_policy, markers),
	.max = 1,
};

static struct uint_attr mpa_rev_attr = {
	.attr = __ATTR(mpa_rev, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, mpa_rev),
	.size = sizeof_field(struct kwarp_policy, mpa_rev),
	.min = KWARP_MPA_REV_RDMAC,
	.max = KWARP_MPA_REV_MAX,
};

static struct uint_attr ord_attr = {
	.attr = __ATTR(ord, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, ord),
	.size = sizeof_field(struct kwarp_policy, ord),
	.max = KWARP_MAX_ORD,
};

static struct uint_attr p2p_attr = {
	.attr = __ATTR(p2p, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, p2p),
	.size = sizeof_field(struct kwarp_policy, p2p),
	.max = 1,
};

static struct uint_attr send_imm_attr = {
	.attr = __ATTR(send_imm, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, send_imm),
	.size = sizeof_field(struct kwarp_policy, send_imm),
	.max = 1,
};

static struct uint_attr startup_timeout_ms_attr = {
	.attr = __ATTR(startup_timeout_ms, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, startup_timeout_ms),
	.size = sizeof_field(struct kwarp_policy, startup_timeout_ms),
	.min = TIMEOUT_MIN_MS,
	.max = TIMEOUT_MAX_MS,
};

/* ---- rtr: words, one or more, separated by blanks or commas --------------- */

static const struct {
	const char *name;
	u8 bit;
} rtr_kinds[] = {
	{ "send", KWARP_RTR_SEND },
	{ "write", KWARP_RTR_WRITE },
	{ "read", KWARP_RTR_READ },
	{ "frame", KWARP_RTR_FRAME },
};

static ssize_t rtr_show(struct device *d, struct device_attribute *attr,
			char *buf)
{
	u8 rtr = READ_ONCE(to_policy(d)->rtr);
	int i, len = 0;

	for (i = 0; i < ARRAY_SIZE(rtr_kinds); i++)
		if (rtr & rtr_kinds[i].bit)
			len += sysfs_emit_at(buf, len, "%s%s", len ? " " : "",
					     rtr_kinds[i].name);
	len += sysfs_emit_at(buf, len, "\n");
	return len;
}

static u8 rtr_bit(const char *word)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rtr_kinds); i++)
		if (!strcmp(word, rtr_kinds[i].name))
			return rtr_kinds[i].bit;
	return 0;
}

static ssize_t rtr_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t len)
{
	char copy[64], *rest = copy, *word;
	u8 rtr = 0, bit;

	if (strscpy(copy, buf, sizeof(copy)) < 0)
		return -EINVAL;
	while ((word = strsep(&rest, " ,\n"))) {
		if (!*word)
			continue;
		bit = rtr_bit(word);
		if (!bit)
			return -EINVAL;
		rtr |= bit;
	}
	if (!rtr)
		return -EINVAL;
	WRITE_ONCE(to_policy(d)->rtr, rtr);
	return len;
}
static DEVICE_ATTR_RW(rtr);

/* ---- fpdu ---------------------------------------------------------------- */

static ssize_t fpdu_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(to_policy(d)->fpdu_large) ?
			  "large" : "emss");
}

static ssize_t fpdu_store(struct device *d, struct device_attribute *attr,
			  const char *buf, size_t len)
{
	static const char * const names[] = { "emss", "large" };
	int i = sysfs_match_string(names, buf);

	if (i < 0)
		return i;
	WRITE_ONCE(to_policy(d)->fpdu_large, i);
	return len;
}
static DEVICE_ATTR_RW(fpdu);

static struct attribute *policy_attrs[] = {
	&backlog_attr.attr.attr,
	&crc_attr.attr.attr,
	&dev_attr_fpdu.attr,
	&ird_attr.attr.attr,
	&markers_attr.attr.attr,
	&mpa_rev_attr.attr.attr,
	&ord_attr.attr.attr,
	&p2p_attr.attr.attr,
	&dev_attr_rtr.attr,
	&send_imm_attr.attr.attr,
	&startup_timeout_ms_attr.attr.attr,
	NULL,
};

const struct attribute_group kwarp_policy_group = {
	.name = "kwarp",
	.attrs = policy_attrs,
};

void kwarp_policy_init(struct kwarp_policy *policy)
{
	*policy = (struct kwarp_policy) {
		.mpa_rev = KWARP_MPA_REV_2,
		.crc = true,
		/* Not every peer can send or receive them. */
		.markers = false,
		/*
		 * Programs written for other RDMA networks let either side send
		 * first; hardware asks for it by default, too. A peer that knows
		 * no revision 2 is met without it.
		 */
		.p2p = true,
		.rtr = KWARP_RTR_ALL,
		.ird = 32,
		.ord = 32,
		.startup_timeout_ms = 10 * 1000,
		.backlog = 128,
		.fpdu_large = false,
		/* Reserved opcodes stay so unless the administrator wants them. */
		.send_imm = false,
	};
}
