// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rdma.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <libmnl/libmnl.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>

namespace kwarpctl {
namespace {

using Table = std::array<const nlattr *, RDMA_NLDEV_ATTR_MAX>;

[[noreturn]] void throw_errno(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

using EachAttribute = std::function<void(const nlattr *)>;

int call_each(const nlattr *attr, void *data)
{
	(*static_cast<const EachAttribute *>(data))(attr);
	return MNL_CB_OK;
}

void for_each(const nlattr *nest, const EachAttribute &each)
{
	mnl_attr_parse_nested(nest, call_each, const_cast<EachAttribute *>(&each));
}

EachAttribute put_into(Table &table)
{
	return [&table](const nlattr *attr) {
		if (mnl_attr_get_type(attr) < table.size())
			table[mnl_attr_get_type(attr)] = attr;
	};
}

Table attributes(const nlmsghdr *message)
{
	Table table{};
	EachAttribute each = put_into(table);
	mnl_attr_parse(message, 0, call_each, &each);
	return table;
}

Table attributes(const nlattr *nest)
{
	Table table{};
	for_each(nest, put_into(table));
	return table;
}

std::string text(const nlattr *attr)
{
	return attr && mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0 ? mnl_attr_get_str(attr) :
									   "";
}

std::uint32_t number(const nlattr *attr)
{
	return attr && mnl_attr_validate(attr, MNL_TYPE_U32) >= 0 ? mnl_attr_get_u32(attr) : 0;
}

class Request {
public:
	Request(std::uint16_t command, std::uint16_t flags)
		: header_(mnl_nlmsg_put_header(buffer_.data()))
	{
		header_->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
		header_->nlmsg_flags = NLM_F_REQUEST | flags;
	}
	Request &put(std::uint16_t type, std::uint32_t value)
	{
		mnl_attr_put_u32(header_, type, value);
		return *this;
	}
	Request &put(std::uint16_t type, const std::string &value)
	{
		if (!mnl_attr_put_strz_check(header_, buffer_.size(), type, value.c_str())) {
			errno = ENAMETOOLONG;
			throw_errno("name");
		}
		return *this;
	}
	nlmsghdr *get() { return header_; }

private:
	alignas(nlmsghdr) std::array<char, 1024> buffer_{};
	nlmsghdr *header_;
};

// NLMSG_ERROR and NLMSG_DONE begin with an errno. libmnl does not read that of NLMSG_DONE.
int last_message(const nlmsghdr *message, void *)
{
	int error = 0;
	if (mnl_nlmsg_get_payload_len(message) >= sizeof(error))
		std::memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
	errno = -error;
	return error ? MNL_CB_ERROR : MNL_CB_STOP;
}

class NetlinkRdma : public Rdma {
public:
	bool has_core() override;
	std::vector<Link> links() override;
	void add(const std::string &name, const std::string &netdev) override;
	void remove(const Link &link) override;
	std::vector<Connection> connections(const Link &link) override;
	Counters counters(const Link &link) override;
	std::uint32_t netdev_index(const std::string &name) override
	{
		return if_nametoindex(name.c_str());
	}
	std::string netdev_name(std::uint32_t index) override
	{
		std::array<char, IF_NAMESIZE> name{};
		return if_indextoname(index, name.data()) ? name.data() : "";
	}

private:
	void talk(Request &request, const EachMessage &each = {});
	void read_port(Link &link);
	mnl_socket *socket();

	struct Close {
		void operator()(mnl_socket *s) const { mnl_socket_close(s); }
	};
	std::unique_ptr<mnl_socket, Close> socket_;
	unsigned int sequence_ = 0;
};

mnl_socket *NetlinkRdma::socket()
{
	if (!socket_) {
		socket_.reset(mnl_socket_open2(NETLINK_RDMA, SOCK_CLOEXEC));
		if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0)
			throw_errno("the RDMA core's netlink");
	}
	return socket_.get();
}

bool NetlinkRdma::has_core()
{
	try {
		socket();
	} catch (const std::system_error &error) {
		return error.code() != std::errc::protocol_not_supported;
	}
	return true;
}

void NetlinkRdma::talk(Request &request, const EachMessage &each)
{
	std::vector<char> buffer(static_cast<std::size_t>(MNL_SOCKET_DUMP_SIZE));
	mnl_socket *s = socket();
	request.get()->nlmsg_seq = ++sequence_;
	if (mnl_socket_sendto(s, request.get(), request.get()->nlmsg_len) < 0)
		throw_errno("the RDMA core's netlink");
	bool more = true;
	while (more) {
		const ssize_t got = mnl_socket_recvfrom(s, buffer.data(), buffer.size());
		if (got < 0)
			throw_errno("the RDMA core's netlink");
		more = read_part({buffer.data(), static_cast<std::size_t>(got)}, sequence_,
				 mnl_socket_get_portid(s), each);
	}
}

void NetlinkRdma::read_port(Link &link)
{
	Request ports(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP);
	ports.put(RDMA_NLDEV_ATTR_DEV_INDEX, link.index);
	talk(ports, [&](const nlmsghdr *message) {
		constexpr std::uint8_t port_active = 4; // enum ib_port_state
		const Table a = attributes(message);
		const nlattr *state = a[RDMA_NLDEV_ATTR_PORT_STATE];
		link.netdev = text(a[RDMA_NLDEV_ATTR_NDEV_NAME]);
		link.netdev_index = number(a[RDMA_NLDEV_ATTR_NDEV_INDEX]);
		link.active = state && mnl_attr_get_u8(state) == port_active;
	});
}

std::vector<Link> NetlinkRdma::links()
{
	if (!has_core())
		return {};
	std::vector<Link> listed, links;
	Request devices(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	talk(devices, [&](const nlmsghdr *message) {
		const Table a = attributes(message);
		listed.push_back({number(a[RDMA_NLDEV_ATTR_DEV_INDEX]),
				  text(a[RDMA_NLDEV_ATTR_DEV_NAME]),
				  {},
				  false,
				  0});
	});
	for (Link &link : listed) {
		try {
			read_port(link);
			links.push_back(link);
		} catch (const std::system_error &error) {
			// The device has been removed since the first dump.
			if (error.code() != std::errc::invalid_argument)
				throw;
		}
	}
	return links;
}

void NetlinkRdma::add(const std::string &name, const std::string &netdev)
{
	Request request(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
	request.put(RDMA_NLDEV_ATTR_DEV_NAME, name)
		.put(RDMA_NLDEV_ATTR_LINK_TYPE, std::string("kwarp"))
		.put(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	talk(request);
}

void NetlinkRdma::remove(const Link &link)
{
	Request request(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
	request.put(RDMA_NLDEV_ATTR_DEV_INDEX, link.index);
	talk(request);
}

void set(Connection &c, const std::string &name, const nlattr *value)
{
	if (name == "local")
		c.local = text(value);
	else if (name == "remote")
		c.remote = text(value);
	else if (name == "llp")
		c.llp = text(value);
	else if (name == "role")
		c.role = text(value);
	else if (name == "retransmits")
		c.retransmits = number(value);
}

// The driver's attributes are a sequence: for each the name, optionally the print type, the value.
void read_driver(const nlattr *table, Connection &c)
{
	std::string name;
	for_each(table, [&](const nlattr *attr) {
		if (mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE)
			return;
		if (name.empty()) {
			name = text(attr);
			return;
		}
		set(c, name, attr);
		name.clear();
	});
}

std::vector<Connection> NetlinkRdma::connections(const Link &link)
{
	std::vector<Connection> all;
	Request request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP);
	request.put(RDMA_NLDEV_ATTR_DEV_INDEX, link.index);
	talk(request, [&](const nlmsghdr *message) {
		const nlattr *list = attributes(message)[RDMA_NLDEV_ATTR_RES_QP];
		if (!list)
			return;
		for_each(list, [&](const nlattr *entry) {
			const Table a = attributes(entry);
			Connection c{};
			c.qpn = number(a[RDMA_NLDEV_ATTR_RES_LQPN]);
			if (a[RDMA_NLDEV_ATTR_DRIVER])
				read_driver(a[RDMA_NLDEV_ATTR_DRIVER], c);
			if (!c.remote.empty())
				all.push_back(c);
		});
	});
	return all;
}

Counters NetlinkRdma::counters(const Link &link)
{
	Counters counters;
	Request request(RDMA_NLDEV_CMD_STAT_GET, NLM_F_ACK);
	request.put(RDMA_NLDEV_ATTR_DEV_INDEX, link.index).put(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	talk(request, [&](const nlmsghdr *message) {
		const nlattr *list = attributes(message)[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS];
		if (!list)
			return;
		for_each(list, [&](const nlattr *entry) {
			const Table a = attributes(entry);
			const nlattr *value = a[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE];
			if (value && mnl_attr_validate(value, MNL_TYPE_U64) >= 0)
				counters[text(a[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME])] =
					mnl_attr_get_u64(value);
		});
	});
	return counters;
}

} // namespace

std::optional<Link> Rdma::find(const std::string &name)
{
	const std::vector<Link> all = links();
	const auto found = std::ranges::find(all, name, &Link::name);
	return found == all.end() ? std::nullopt : std::optional(*found);
}

bool read_part(std::span<const char> part, unsigned int sequence, unsigned int port,
	       const EachMessage &each)
{
	const auto call = [](const nlmsghdr *message, void *data) {
		const EachMessage &each_one = *static_cast<const EachMessage *>(data);
		if (each_one)
			each_one(message);
		return MNL_CB_OK;
	};
	std::array<mnl_cb_t, NLMSG_DONE + 1> control{};
	control[NLMSG_ERROR] = last_message;
	control[NLMSG_DONE] = last_message;
	const int more = mnl_cb_run2(part.data(), part.size(), sequence, port, call,
				     const_cast<EachMessage *>(&each), control.data(),
				     control.size());
	if (more == MNL_CB_ERROR)
		throw_errno("the RDMA core");
	return more == MNL_CB_OK;
}

std::unique_ptr<Rdma> make_rdma()
{
	return std::make_unique<NetlinkRdma>();
}

} // namespace kwarpctl
