// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The administrator's policy in sysfs. A value is validated when it is written and
 * applies to later connections, poll_us to all.
 */
#include "dev/policy.h"

#include <linux/capability.h>
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>

#include "cm/cm.h"
#include "dev/addr.h"
#include "kwarp.h"
#include "llp/llp.h"
#include "proto/mpa_negotiate.h"
#include "proto/mpa_startup.h"
#include "trace.h"

enum policy_limits {
	TIMEOUT_MIN_MS	= 100,
	TIMEOUT_MAX_MS	= 600 * 1000,
	BACKLOG_MAX	= 65535,
	/* TCP's maximum. */
	KEEPALIVE_MAX_S	= 32767,
	POLL_MAX_US	= 1000,
};

static struct kwarp_device *to_kwarp(struct device *d)
{
	return rdma_device_to_drv_device(d, struct kwarp_device, ibdev);
}

static struct kwarp_policy *to_policy(struct device *d)
{
	return &to_kwarp(d)->policy;
}

/*
 * Write permission on the file is not enough: the root user of a container may have it for
 * devices of other namespaces. As for the netdev itself, the capability is checked in the
 * user namespace that owns the network namespace.
 */
static bool policy_write_allowed(struct device *d)
{
	struct kwarp_device *dev = to_kwarp(d);
	struct net_device *netdev;
	bool may;

	netdev = ib_device_get_netdev(&dev->ibdev, KWARP_PORT);
	if (!netdev)
		return capable(CAP_NET_ADMIN);
	/* The netdev may move to another namespace at any time. */
	rcu_read_lock();
	may = ns_capable(dev_net(netdev)->user_ns, CAP_NET_ADMIN);
	rcu_read_unlock();
	dev_put(netdev);
	return may;
}

/* ---- numbers -------------------------------------------------------------- */

/**
 * struct uint_attr - a number in the policy
 * @attr:	sysfs file
 * @offset:	offset in struct kwarp_policy
 * @size:	size of the field in bytes
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

	if (!policy_write_allowed(d))
		return -EPERM;
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
	trace_kwarp_policy(to_kwarp(d), attr->attr.name, v);
	return len;
}

static_assert(sizeof(bool) == sizeof(u8));

static struct uint_attr answer_timeout_ms_attr = {
	.attr = __ATTR(answer_timeout_ms, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, answer_timeout_ms),
	.size = sizeof_field(struct kwarp_policy, answer_timeout_ms),
	.min = TIMEOUT_MIN_MS,
	.max = TIMEOUT_MAX_MS,
};

static struct uint_attr backlog_attr = {
	.attr = __ATTR(backlog, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, backlog),
	.size = sizeof_field(struct kwarp_policy, backlog),
	.min = 1,
	.max = BACKLOG_MAX,
};

static struct uint_attr ird_attr = {
	.attr = __ATTR(ird, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, ird),
	.size = sizeof_field(struct kwarp_policy, ird),
	.max = KWARP_MAX_IRD,
};

static struct uint_attr keepalive_s_attr = {
	.attr = __ATTR(keepalive_s, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, keepalive_s),
	.size = sizeof_field(struct kwarp_policy, keepalive_s),
	.max = KEEPALIVE_MAX_S,
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

static struct uint_attr ooo_attr = {
	.attr = __ATTR(ooo, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, ooo),
	.size = sizeof_field(struct kwarp_policy, ooo),
	.max = 1,
};

static struct uint_attr ord_attr = {
	.attr = __ATTR(ord, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, ord),
	.size = sizeof_field(struct kwarp_policy, ord),
	.max = KWARP_MAX_ORD,
};

static struct uint_attr permissive_attr = {
	.attr = __ATTR(permissive, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, permissive),
	.size = sizeof_field(struct kwarp_policy, permissive),
	.max = 1,
};

static struct uint_attr poll_us_attr = {
	.attr = __ATTR(poll_us, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, poll_us),
	.size = sizeof_field(struct kwarp_policy, poll_us),
	.max = POLL_MAX_US,
};

static struct uint_attr rendezvous_ack_attr = {
	.attr = __ATTR(rendezvous_ack, 0644, uint_show, uint_store),
	.offset = offsetof(struct kwarp_policy, rendezvous_ack),
	.size = sizeof_field(struct kwarp_policy, rendezvous_ack),
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

/* ---- rendezvous_port ------------------------------------------------------- */

static ssize_t rendezvous_port_store(struct device *d,
				     struct device_attribute *attr,
				     const char *buf, size_t len)
{
	struct kwarp_device *dev =
		rdma_device_to_drv_device(d, struct kwarp_device, ibdev);
	u16 port;
	int ret;

	if (!policy_write_allowed(d))
		return -EPERM;
	ret = kstrtou16(buf, 0, &port);
	if (!ret)
		ret = kwarp_rdv_set_port(dev, port);
	if (ret)
		return ret;
	if (port)
		kwarp_addr_follow(dev);
	trace_kwarp_policy(dev, attr->attr.name, port);
	return len;
}

static struct uint_attr rendezvous_port_attr = {
	.attr = __ATTR(rendezvous_port, 0644, uint_show,
		       rendezvous_port_store),
	.offset = offsetof(struct kwarp_policy, rendezvous_port),
	.size = sizeof_field(struct kwarp_policy, rendezvous_port),
};

/* ---- keywords ------------------------------------------------------------- */

/**
 * struct words_attr - a policy with a choice of keywords
 * @attr:	sysfs file
 * @offset:	offset in struct kwarp_policy; a u8 or bool
 * @words:	the keywords
 * @nr:		number of keywords
 * @set:	the value is a set of keywords, bit i for keyword i, or "off"; otherwise one
 *		keyword, value i for keyword i
 * @one:	value of "1", for scripts that expect a switch; "0" then means zero. If this
 *		is 0, neither is accepted
 *
 * Reading shows all keywords, the active ones in brackets. Such output can be written
 * back.
 */
struct words_attr {
	struct device_attribute attr;
	size_t offset;
	const char * const *words;
	int nr;
	bool set;
	u8 one;
};

static struct words_attr *to_words(struct device_attribute *attr)
{
	return container_of(attr, struct words_attr, attr);
}

static u8 *words_field(struct device *d, const struct words_attr *a)
{
	return (u8 *)to_policy(d) + a->offset;
}

static int show_word(char *buf, int len, const char *word, bool chosen)
{
	return sysfs_emit_at(buf, len, chosen ? "%s[%s]" : "%s%s",
			     len ? " " : "", word);
}

static ssize_t words_show(struct device *d, struct device_attribute *attr,
			  char *buf)
{
	const struct words_attr *a = to_words(attr);
	u8 v = READ_ONCE(*words_field(d, a));
	int i, len = 0;

	if (a->set)
		len += show_word(buf, len, "off", !v);
	for (i = 0; i < a->nr; i++)
		len += show_word(buf, len, a->words[i],
				 a->set ? v & BIT(i) : v == i);
	len += sysfs_emit_at(buf, len, "\n");
	return len;
}

/* The word in brackets, or NULL if there are none. */
static char *word_in_brackets(char *word)
{
	size_t n = strlen(word);

	if (n < 3 || word[0] != '[' || word[n - 1] != ']')
		return NULL;
	word[n - 1] = '\0';
	return word + 1;
}

static int word_value(const struct words_attr *a, const char *word)
{
	int i;

	if (a->one && !strcmp(word, "1"))
		return a->one;
	if ((a->one && !strcmp(word, "0")) || (a->set && !strcmp(word, "off")))
		return 0;
	i = __sysfs_match_string(a->words, a->nr, word);
	return i < 0 || !a->set ? i : (int)BIT(i);
}

/* Return: the value that @buf names, or -EINVAL. */
static int words_parse(const struct words_attr *a, const char *buf)
{
	char copy[64], *rest = copy, *word;
	bool brackets, any = false;
	u8 sum = 0;
	int v;

	if (strscpy(copy, buf, sizeof(copy)) < 0)
		return -EINVAL;
	brackets = strchr(copy, '[');
	while ((word = strsep(&rest, " ,\n"))) {
		if (brackets)
			word = word_in_brackets(word);
		if (!word || !*word)
			continue;
		v = word_value(a, word);
		if (v < 0)
			return v;
		/* Reject a second word unless the two can be combined. */
		if (any && (!a->set || !sum || !v))
			return -EINVAL;
		any = true;
		sum |= v;
	}
	return any ? sum : -EINVAL;
}

static ssize_t words_store(struct device *d, struct device_attribute *attr,
			   const char *buf, size_t len)
{
	const struct words_attr *a = to_words(attr);
	int v;

	if (!policy_write_allowed(d))
		return -EPERM;
	v = words_parse(a, buf);
	if (v < 0)
		return v;
	WRITE_ONCE(*words_field(d, a), v);
	trace_kwarp_policy(to_kwarp(d), attr->attr.name, v);
	return len;
}

static const char * const llp_words[] = {
	[KWARP_LLP_TCP] = "tcp",
	[KWARP_LLP_TCP_SCTP] = "tcp+sctp",
	[KWARP_LLP_SCTP_TCP] = "sctp+tcp",
	[KWARP_LLP_SCTP] = "sctp",
};

static ssize_t llp_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t len);

static struct words_attr llp_attr = {
	.attr = __ATTR(llp, 0644, words_show, llp_store),
	.offset = offsetof(struct kwarp_policy, llp),
	.words = llp_words,
	.nr = ARRAY_SIZE(llp_words),
};

/*
 * Refuse SCTP if the kernel does not have it: every connection would fail later. Return: enum
 * kwarp_llp_policy, or -errno.
 */
static int llp_parse(const char *buf)
{
	int v = words_parse(&llp_attr, buf);
	int ret = v > KWARP_LLP_TCP ? kwarp_sctp_probe(&init_net) : 0;

	return ret ? : v;
}

static ssize_t llp_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t len)
{
	int ret;

	if (!policy_write_allowed(d))
		return -EPERM;
	ret = llp_parse(buf);
	return ret < 0 ? ret : words_store(d, attr, buf, len);
}

/*
 * The module parameter: policy llp of new devices. Wildcard listeners listen on a new device
 * at once, before its policy can be changed.
 */
static u8 llp_default = KWARP_LLP_TCP;

static int llp_param_set(const char *val, const struct kernel_param *kp)
{
	int v = llp_parse(val);

	if (v < 0)
		return v;
	llp_default = v;
	return 0;
}

static int llp_param_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", llp_words[llp_default]);
}

static const struct kernel_param_ops llp_param_ops = {
	.set = llp_param_set,
	.get = llp_param_get,
};

module_param_cb(llp, &llp_param_ops, NULL, 0444);
MODULE_PARM_DESC(llp, "policy llp of new devices: tcp, tcp+sctp, sctp+tcp, sctp");

static const char * const crc_words[] = {
	[KWARP_CRC_OFF] = "off",
	[KWARP_CRC_PREFERRED] = "preferred",
	[KWARP_CRC_REQUIRED] = "required",
};

static struct words_attr crc_attr = {
	.attr = __ATTR(crc, 0644, words_show, words_store),
	.offset = offsetof(struct kwarp_policy, crc),
	.words = crc_words,
	.nr = ARRAY_SIZE(crc_words),
	.one = KWARP_CRC_PREFERRED,
};

static const char * const fpdu_words[] = { "emss", "large" };

static struct words_attr fpdu_attr = {
	.attr = __ATTR(fpdu, 0644, words_show, words_store),
	.offset = offsetof(struct kwarp_policy, fpdu_large),
	.words = fpdu_words,
	.nr = ARRAY_SIZE(fpdu_words),
};

#define P2P_ALL	(KWARP_RTR_ALL | KWARP_RTR_FRAME)

static const char * const p2p_words[] = {
	[ilog2(KWARP_RTR_SEND)] = "send",
	[ilog2(KWARP_RTR_WRITE)] = "write",
	[ilog2(KWARP_RTR_READ)] = "read",
	[ilog2(KWARP_RTR_FRAME)] = "rtr-frame",
};

static struct words_attr p2p_attr = {
	.attr = __ATTR(p2p, 0644, words_show, words_store),
	.offset = offsetof(struct kwarp_policy, p2p),
	.words = p2p_words,
	.nr = ARRAY_SIZE(p2p_words),
	.set = true,
	.one = P2P_ALL,
};

/* ---- paths ---------------------------------------------------------------- */

static ssize_t paths_show(struct device *d, struct device_attribute *attr, char *buf)
{
	struct kwarp_paths paths;
	int i, len = 0;

	kwarp_cm_get_paths(to_kwarp(d), &paths);
	for (i = 0; i < kwarp_num_paths(&paths); i++)
		len += sysfs_emit_at(buf, len, "%s%s", i ? " " : "", paths.name[i]);
	return len + sysfs_emit_at(buf, len, len ? "\n" : "off\n");
}

/* Append a name. Return: as paths_parse(). */
static int add_path(struct kwarp_paths *paths, struct net *net, const char *name)
{
	int i, ret, num = kwarp_num_paths(paths);

	for (i = 0; i < num; i++)
		if (!strcmp(paths->name[i], name))
			return -EINVAL;
	if (num == KWARP_PATHS_MAX)
		return -E2BIG;
	if (strscpy(paths->name[num], name, IFNAMSIZ) < 0)
		return -ENODEV;
	rcu_read_lock();
	ret = PTR_ERR_OR_ZERO(kwarp_cm_path(net, name));
	rcu_read_unlock();
	return ret;
}

/*
 * Return: 0, or the error of a name: -ENODEV; -EINVAL: twice; -EBUSY: has a device of its
 * own, perhaps this one; -E2BIG.
 */
static int paths_parse(const char *buf, struct net *net, struct kwarp_paths *paths)
{
	char copy[(KWARP_PATHS_MAX + 1) * IFNAMSIZ], *rest = copy, *name;
	int ret = 0;

	memset(paths, 0, sizeof(*paths));
	if (sysfs_streq(buf, "off"))
		return 0;
	if (strscpy(copy, buf, sizeof(copy)) < 0)
		return -E2BIG;
	while (!ret && (name = strsep(&rest, " ,\n")))
		if (*name)
			ret = add_path(paths, net, name);
	return ret ? : *paths->name[0] ? 0 : -EINVAL;
}

static ssize_t paths_store(struct device *d, struct device_attribute *attr,
			   const char *buf, size_t len)
{
	struct kwarp_device *dev = to_kwarp(d);
	struct kwarp_paths paths;
	struct net *net;
	int ret;

	if (!policy_write_allowed(d))
		return -EPERM;
	net = kwarp_addr_net(dev, NULL);
	if (!net)
		return -ENODEV;
	ret = paths_parse(buf, net, &paths);
	if (!ret)
		kwarp_addr_set_paths(dev, net, &paths);
	put_net(net);
	if (ret)
		return ret;
	trace_kwarp_policy(dev, attr->attr.name, kwarp_num_paths(&paths));
	return len;
}

static DEVICE_ATTR_RW(paths);

/* ---- all ------------------------------------------------------------------ */

static struct attribute *policy_attrs[] = {
	&answer_timeout_ms_attr.attr.attr,
	&backlog_attr.attr.attr,
	&crc_attr.attr.attr,
	&fpdu_attr.attr.attr,
	&ird_attr.attr.attr,
	&keepalive_s_attr.attr.attr,
	&llp_attr.attr.attr,
	&markers_attr.attr.attr,
	&mpa_rev_attr.attr.attr,
	&ooo_attr.attr.attr,
	&ord_attr.attr.attr,
	&p2p_attr.attr.attr,
	&dev_attr_paths.attr,
	&permissive_attr.attr.attr,
	&poll_us_attr.attr.attr,
	&rendezvous_ack_attr.attr.attr,
	&rendezvous_port_attr.attr.attr,
	&send_imm_attr.attr.attr,
	&startup_timeout_ms_attr.attr.attr,
	NULL,
};

const struct attribute_group kwarp_policy_group = {
	.name = "kwarp",
	.attrs = policy_attrs,
};

/* Fill in the defaults. */
void kwarp_policy_init(struct kwarp_policy *policy)
{
	*policy = (struct kwarp_policy) {
		.llp = llp_default,
		.mpa_rev = KWARP_MPA_REV_2,
		/* RFC 5044 C.1 recommends this, for maximum interoperability. */
		.permissive = true,
		.crc = KWARP_CRC_PREFERRED,
		/* Not all peers can send or receive markers. */
		.markers = false,
		/* Requires markers; a path that keeps order gains nothing from it. */
		.ooo = false,
		/*
		 * Programs written for other RDMA networks let either side send first;
		 * hardware requests this by default, too. After a fallback to revision 1
		 * it is not requested.
		 */
		.p2p = P2P_ALL,
		.ird = 32,
		.ord = 32,
		.startup_timeout_ms = 10 * 1000,
		/* A server may register gigabytes before it accepts. */
		.answer_timeout_ms = 60 * 1000,
		/* rdma_cm's limit; a lower one would override what programs ask for. */
		.backlog = 1024,
		/* RFC 1122 4.2.3.6: at least two hours unless configured. */
		.keepalive_s = 2 * 60 * 60,
		.fpdu_large = false,
		/* Reserved opcodes stay unused unless the administrator enables them. */
		.send_imm = false,
		/* Only the administrator may open a port. */
		.rendezvous_port = 0,
		/* The meaning of a completion that InfiniBand programs expect. */
		.rendezvous_ack = true,
		/* Costs time of a processor, and needs a netdev with NAPI. */
		.poll_us = 0,
	};
}
