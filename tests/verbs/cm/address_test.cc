// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Each form of address, with one device, two devices and none: whether a program may listen on the
// address, in which namespaces the sockets are, and whether a program can connect to it.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <vector>

#include <net/if.h>
#include <netinet/in.h>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr const char *namespaces[] = {"hostA", "hostB", "hostC"};

lab::Host program_in(const std::string &netns)
{
	lab::Host host = lab::a();
	host.netns = netns;
	return host;
}

// Number of sockets in the namespace that listen on the port.
int sockets(const std::string &netns, uint16_t port)
{
	const lab::Host host = program_in(netns);
	lab::Inside inside(host);
	int n = 0;
	std::ifstream endpoints("/proc/thread-self/net/sctp/eps");
	for (std::string line; std::getline(endpoints, line);) {
		unsigned at;
		n += sscanf(line.c_str(), "%*s %*s %*d %*d %*d %u", &at) == 1 && at == port;
	}
	for (const char *path : {"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"}) {
		std::ifstream table(path);
		for (std::string line; std::getline(table, line);) {
			char local[64];
			unsigned at, state;
			n += sscanf(line.c_str(), " %*d: %63[0-9A-F]:%x %*[0-9A-F]:%*x %x", local,
				    &at, &state) == 3 &&
			     at == port && state == 10;
		}
	}
	return n;
}

// The link-local address of vA, in the same notation as the other addresses.
std::string link_local()
{
	lab::Inside inside(lab::a());
	std::ifstream table("/proc/thread-self/net/if_inet6");
	std::string hex, index, length, scope, flags, name;
	while (table >> hex >> index >> length >> scope >> flags >> name) {
		if (name != lab::a().netdev || scope != "20")
			continue;
		for (int i = 28; i > 0; i -= 4)
			hex.insert(static_cast<size_t>(i), ":");
		return hex;
	}
	throw Failure("no link-local address");
}

Address make(const lab::Host &from, const std::string &ip, uint16_t port)
{
	Address address(ip, port);
	lab::Inside inside(from);
	if (ip.starts_with("fe80"))
		reinterpret_cast<sockaddr_in6 *>(&address.storage)->sin6_scope_id =
			if_nametoindex(from.netdev.c_str());
	return address;
}

std::string name_of(int error)
{
	const char *name = strerrorname_np(error < 0 ? -error : error);
	return name ? name : std::to_string(error);
}

// An attempt to listen, and its outcome: an errno, or the namespaces of the sockets.
struct Listening {
	Channel channel;
	CmId id;
	uint16_t port = 0;
	std::string outcome;

	Listening(const lab::Host &host, const std::string &ip) : id(create_id(host, channel))
	{
		Address at = make(host, ip, 0);
		if (rdma_bind_addr(id.get(), at.get())) {
			outcome = "bind: " + name_of(errno);
			return;
		}
		if (rdma_listen(id.get(), 4)) {
			outcome = "listen: " + name_of(errno);
			return;
		}
		port = ntohs(rdma_get_src_port(id.get()));
		outcome = "listens";
		for (const char *netns : namespaces)
			for (int n = sockets(netns, port); n > 0; n--)
				outcome += std::string(" ") + netns[4];
	}
};

// Connects to the listener, if there is one, or else to a port where nobody listens.
std::string connects(const lab::Host &host, const std::string &ip, Listening &to)
{
	Endpoint client(host);
	Address address = make(host, ip, to.port ? to.port : 9);
	if (rdma_resolve_addr(client.id(), nullptr, address.get(), resolve_ms))
		return "resolve: " + name_of(errno);
	Event event = client.channel().next().value();
	if (event.type != RDMA_CM_EVENT_ADDR_RESOLVED)
		return "address: " + name_of(event.status);
	client.resolve_rest();
	if (int error = client.try_connect())
		return "connect: " + name_of(error);
	// Either side may get an event first.
	std::optional<Event> request, answer;
	const auto until = std::chrono::steady_clock::now() + patience;
	while (!request && !answer && std::chrono::steady_clock::now() < until) {
		if (to.port)
			request = to.channel.next(Milliseconds(20));
		if (!request)
			answer = client.channel().next(Milliseconds(20));
	}
	if (!request)
		return "fails: " + name_of(answer.value().status);
	if (request->type != RDMA_CM_EVENT_CONNECT_REQUEST)
		return "no request";
	Endpoint server(std::move(*request));
	server.accept();
	client.established();
	return "connects";
}

struct Row {
	std::string address;
	std::string listens;
	std::optional<std::string> connects = {};
};

// hostC has no netdev but lo, and no device.
struct address_form : KwarpOnly {
	void SetUp() override
	{
		KwarpOnly::SetUp();
		lab::shell(lab::a(), "ip link set lo up");
		lab::shell(lab::a(), "ip netns add hostC && ip -n hostC link set lo up");
	}
	void TearDown() override { lab::shell(lab::a(), "ip netns del hostC"); }

	static void expect(const std::string &netns, const std::vector<Row> &rows)
	{
		const lab::Host host = program_in(netns);
		for (const Row &row : rows) {
			SCOPED_TRACE(row.address);
			Listening listening(host, row.address);
			EXPECT_EQ(listening.outcome, row.listens);
			if (row.connects) {
				EXPECT_EQ(connects(host, row.address, listening), *row.connects);
			}
		}
	}
	// The expected outcome for a program without a device on lo in its namespace.
	static std::vector<Row> loopback()
	{
		std::vector<Row> rows;
		for (const char *address : {"127.0.0.1", "127.1.2.3", "::1"})
			rows.push_back({address, "listens", "fails: ECONNREFUSED"});
		return rows;
	}
	// The expected outcome with devices, none of them on lo. @wildcard: outcome of a wildcard
	// listener, which has as many sockets as there are devices.
	static std::vector<Row> with_devices(const std::string &wildcard)
	{
		const lab::Host &a = lab::a(), &b = lab::b();
		// SCTP sends to broadcast addresses, and waits for an answer: do not try.
		std::optional<std::string> broadcast;
		if (a.is_mpa())
			broadcast = "connect: ENETUNREACH";
		const std::string multicast = a.is_mpa() ? "connect: ENETUNREACH" :
							   "connect: EINVAL";
		return {
			{"0.0.0.0", wildcard, "fails: ECONNREFUSED"},
			{"::", wildcard, "fails: ECONNREFUSED"},
			{"::ffff:127.0.0.1", "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"},
			{a.ip4, "listens A", "connects"},
			{a.ip6, "listens A", "connects"},
			{link_local(), "listens A", "connects"},
			{"::ffff:" + a.ip4, "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"},
			// broadcast: of the subnet, and limited
			{"10.0.0.255", "bind: EADDRNOTAVAIL", broadcast},
			{"255.255.255.255", "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"},
			{"224.0.0.1", "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"},
			{"ff02::1", "bind: EINVAL", multicast},
			{b.ip4, "bind: EADDRNOTAVAIL", "fails: ECONNREFUSED"},
			{b.ip6, "bind: EADDRNOTAVAIL", "fails: ECONNREFUSED"},
			{"10.0.0.77", "bind: EADDRNOTAVAIL"}, // a neighbour that does not exist
			{"192.0.2.1", "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"},
			{"2001:db8::1", "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"},
		};
	}
};

} // namespace

TEST_F(address_form, one_device)
{
	expect("hostA", with_devices("listens A"));
	expect("hostA", loopback());
}

TEST_F(address_form, two_devices)
{
	lab::shell(lab::a(), "ip link add addrX type veth peer name addrY && "
			     "ip link set addrX up && ip addr add 10.5.0.1/24 dev addrX && "
			     "rdma link add kwarpX type kwarp netdev addrX");
	expect("hostA", with_devices("listens A A"));
	expect("hostA", loopback());
	lab::shell(lab::a(), "rdma link delete kwarpX && ip link del addrX");
}

TEST_F(address_form, device_on_lo)
{
	lab::shell(lab::a(), "rdma link add kwarpL type kwarp netdev lo");
	expect("hostA", {{"0.0.0.0", "listens A A", "connects"},
			 {"::", "listens A A", "connects"},
			 {"127.0.0.1", "listens A", "connects"},
			 {"127.1.2.3", "listens A", "connects"},
			 {"::1", "listens A", "connects"},
			 {lab::a().ip4, "listens A", "connects"},
			 {lab::a().ip6, "listens A", "connects"}});
	// A program in another namespace cannot reach the device.
	expect("hostC", loopback());
	lab::shell(lab::a(), "rdma link delete kwarpL");
}

// A program in a namespace without devices: rdma_cm lets it listen, but it gets no requests and has
// no sockets.
TEST_F(address_form, no_device)
{
	std::vector<Row> rows = loopback();
	for (const char *any : {"0.0.0.0", "::"})
		rows.push_back({any, "listens", "fails: ECONNREFUSED"});
	for (const std::string &other :
	     {lab::a().ip4, lab::a().ip6, "::ffff:" + lab::a().ip4, lab::b().ip4,
	      std::string("10.0.0.255"), std::string("255.255.255.255"), std::string("224.0.0.1"),
	      std::string("192.0.2.1")})
		rows.push_back({other, "bind: EADDRNOTAVAIL", "resolve: ENETUNREACH"});
	expect("hostC", rows);
}
