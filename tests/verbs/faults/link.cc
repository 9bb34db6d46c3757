// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "link.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../peer/patience.h"

namespace faults {
namespace {

void append(std::vector<char> &message, const void *data, size_t size)
{
	const char *bytes = static_cast<const char *>(data);
	message.insert(message.end(), bytes, bytes + size);
	message.resize(NLMSG_ALIGN(message.size()));
}

void append(std::vector<char> &message, uint16_t type, const std::string &text)
{
	nlattr attr{static_cast<uint16_t>(NLA_HDRLEN + text.size() + 1), type};
	append(message, &attr, sizeof(attr));
	append(message, text.c_str(), text.size() + 1);
}

// The error in the kernel's answer; 0 for success.
int answer(int fd)
{
	struct {
		nlmsghdr header;
		nlmsgerr error;
		char rest[4096];
	} reply{};

	if (recv(fd, &reply, sizeof(reply), 0) < 0)
		return errno;
	return reply.header.nlmsg_type == NLMSG_ERROR ? -reply.error.error : EPROTO;
}

int ask(int fd, const std::vector<char> &message)
{
	timeval limit{machine::one_event.count() / 1000, 0};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return send(fd, message.data(), message.size(), 0) < 0 ? errno : answer(fd);
}

} // namespace

int link_add(const std::string &name, const std::string &netdev)
{
	nlmsghdr header{};
	std::vector<char> message;

	header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
	header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	append(message, &header, sizeof(header));
	append(message, RDMA_NLDEV_ATTR_DEV_NAME, name);
	append(message, RDMA_NLDEV_ATTR_LINK_TYPE, "kwarp");
	append(message, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	header.nlmsg_len = message.size();
	memcpy(message.data(), &header, sizeof(header));

	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (fd < 0)
		return errno;
	int error = ask(fd, message);
	close(fd);
	return error;
}

} // namespace faults
