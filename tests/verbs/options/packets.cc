// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "packets.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "rdma/failure.h"

namespace options {
namespace {

constexpr int dscp = 0xfc; // without ECN

struct Tcp {
	int service;
	uint16_t source;
	uint16_t destination;
};

std::optional<Tcp> parse(const uint8_t *packet, size_t size)
{
	size_t header = sizeof(ip6_hdr);
	int service, protocol;

	if (size < header + 4)
		return {};
	if (packet[0] >> 4 == 4) {
		const auto *ip = reinterpret_cast<const iphdr *>(packet);
		header = ip->ihl * 4u;
		service = ip->tos;
		protocol = ip->protocol;
	} else {
		const auto *ip = reinterpret_cast<const ip6_hdr *>(packet);
		service = ntohl(ip->ip6_flow) >> 20 & 0xff;
		protocol = ip->ip6_nxt;
	}
	if (protocol != IPPROTO_TCP || size < header + 4)
		return {};
	uint16_t ports[2];
	memcpy(ports, packet + header, sizeof(ports));
	return Tcp{service & dscp, ntohs(ports[0]), ntohs(ports[1])};
}

} // namespace

Packets::Packets(const lab::Host &host)
{
	lab::Inside inside(host);
	fd_ = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
	if (fd_ < 0)
		throw rdma::Failure("packet socket", errno);
	sockaddr_ll netdev{};
	netdev.sll_family = AF_PACKET;
	netdev.sll_protocol = htons(ETH_P_ALL);
	netdev.sll_ifindex = static_cast<int>(if_nametoindex(host.netdev.c_str()));
	rdma::check(bind(fd_, reinterpret_cast<sockaddr *>(&netdev), sizeof(netdev)),
		    "bind to a netdev");
}

Packets::~Packets()
{
	close(fd_);
}

Packets::Seen Packets::services(uint16_t port)
{
	Seen seen;
	uint8_t packet[128];
	sockaddr_ll from{};
	for (;;) {
		socklen_t length = sizeof(from);
		ssize_t n = recvfrom(fd_, packet, sizeof(packet), 0,
				     reinterpret_cast<sockaddr *>(&from), &length);
		if (n < 0)
			return seen;
		std::optional<Tcp> tcp = parse(packet, n);
		if (!tcp || (tcp->source != port && tcp->destination != port))
			continue;
		(from.sll_pkttype == PACKET_OUTGOING ? seen.sent : seen.received)
			.insert(tcp->service);
	}
}

} // namespace options
