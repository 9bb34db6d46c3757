// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "nldev.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace victim {
namespace {

using Buffer = std::vector<uint8_t>;
using Visit = std::function<void(uint16_t type, const uint8_t *data, size_t len)>;

void put_u32(Buffer &b, uint16_t type, uint32_t value)
{
	nlattr a{NLA_HDRLEN + sizeof(value), type};
	auto *h = reinterpret_cast<const uint8_t *>(&a);
	auto *v = reinterpret_cast<const uint8_t *>(&value);
	b.insert(b.end(), h, h + sizeof(a));
	b.insert(b.end(), v, v + sizeof(value));
}

void each(const uint8_t *p, size_t len, const Visit &visit)
{
	nlattr a;
	while (len >= sizeof(a)) {
		memcpy(&a, p, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > len)
			return;
		visit(a.nla_type & NLA_TYPE_MASK, p + NLA_HDRLEN, a.nla_len - NLA_HDRLEN);
		size_t step = std::min<size_t>(NLA_ALIGN(a.nla_len), len);
		p += step;
		len -= step;
	}
}

// Parses a nested table whose entries each have a name and a 64-bit number, and adds them to a map.
void table(const uint8_t *p, size_t len, uint16_t name_type, uint16_t value_type, Counts &to)
{
	each(p, len, [&](uint16_t, const uint8_t *entry, size_t n) {
		std::string name;
		uint64_t value = 0;
		each(entry, n, [&](uint16_t type, const uint8_t *d, size_t m) {
			if (type == name_type)
				name.assign(reinterpret_cast<const char *>(d),
					    strnlen(reinterpret_cast<const char *>(d), m));
			else if (type == value_type && m == sizeof(value))
				memcpy(&value, d, sizeof(value));
		});
		to[name] = value;
	});
}

} // namespace

std::string difference(const Counts &got, const Counts &wanted)
{
	std::string text;
	for (const auto &[name, n] : got) {
		auto w = wanted.find(name);
		uint64_t want = w == wanted.end() ? 0 : w->second;
		if (n != want)
			text += name + " is " + std::to_string(n) + ", not " +
				std::to_string(want) + "; ";
	}
	for (const auto &[name, n] : wanted)
		if (n && !got.contains(name))
			text += name + " is missing, not " + std::to_string(n) + "; ";
	return text;
}

Nldev::Nldev(const std::string &device)
	: fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA))
{
	if (fd_ < 0)
		throw std::system_error(errno, std::generic_category(), "netlink");
	Counts devices = ask(dev_get);
	auto found = devices.find(device);
	if (found == devices.end())
		throw std::runtime_error("no RDMA device " + device);
	index_ = static_cast<uint32_t>(found->second);
}

Nldev::~Nldev()
{
	close(fd_);
}

Counts Nldev::ask(Command c)
{
	static constexpr uint16_t commands[] = {RDMA_NLDEV_CMD_GET, RDMA_NLDEV_CMD_STAT_GET,
						RDMA_NLDEV_CMD_RES_GET};
	Buffer out(sizeof(nlmsghdr));
	nlmsghdr h{};
	h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, commands[c]);
	h.nlmsg_flags = NLM_F_REQUEST | (c == dev_get ? NLM_F_DUMP : NLM_F_ACK);
	h.nlmsg_seq = ++seq_;
	if (c != dev_get)
		put_u32(out, RDMA_NLDEV_ATTR_DEV_INDEX, index_);
	if (c == stat_get)
		put_u32(out, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	h.nlmsg_len = static_cast<uint32_t>(out.size());
	memcpy(out.data(), &h, sizeof(h));
	if (send(fd_, out.data(), out.size(), 0) < 0)
		throw std::system_error(errno, std::generic_category(), "netlink send");

	Counts result;
	for (Buffer in(65536);;) {
		ssize_t n = recv(fd_, in.data(), in.size(), 0);
		if (n < 0)
			throw std::system_error(errno, std::generic_category(), "netlink receive");
		for (size_t at = 0; at + sizeof(h) <= static_cast<size_t>(n);
		     at += NLMSG_ALIGN(h.nlmsg_len)) {
			memcpy(&h, in.data() + at, sizeof(h));
			const uint8_t *p = in.data() + at + sizeof(h);
			if (h.nlmsg_type == NLMSG_DONE)
				return result;
			if (h.nlmsg_type == NLMSG_ERROR) {
				int error;
				memcpy(&error, p, sizeof(error));
				if (error)
					throw std::system_error(-error, std::generic_category(),
								"netlink answer");
				return result;
			}
			std::string name;
			each(p, h.nlmsg_len - sizeof(h),
			     [&](uint16_t type, const uint8_t *d, size_t m) {
				     uint32_t number = 0;
				     if (type == RDMA_NLDEV_ATTR_DEV_INDEX)
					     memcpy(&number, d, sizeof(number));
				     if (c == dev_get && type == RDMA_NLDEV_ATTR_DEV_INDEX)
					     result["#"] = number;
				     else if (c == dev_get && type == RDMA_NLDEV_ATTR_DEV_NAME)
					     result[std::string(reinterpret_cast<const char *>(
						     d))] = result["#"];
				     else if (c == stat_get &&
					      type == RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
					     table(d, m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
						   RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
						   result);
				     else if (c == res_get && type == RDMA_NLDEV_ATTR_RES_SUMMARY)
					     table(d, m, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
						   RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, result);
			     });
		}
	}
}

} // namespace victim
