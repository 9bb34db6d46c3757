/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// RDMA devices and their connections, as the RDMA core's netlink shows them (rdma-link(8),
// rdma-resource(8)).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct nlmsghdr;

namespace kwarpctl {

struct Link {
	std::uint32_t index;
	std::string name;
	std::string netdev; // empty if it has none
	bool active;
	std::uint32_t netdev_index = 0;
};

struct Connection {
	std::uint32_t qpn;
	std::string local, remote; // address and port
	std::string llp;
	std::string role; // initiator or responder
	std::uint32_t retransmits;
};

using Counters = std::map<std::string, std::uint64_t>;

class Rdma {
public:
	virtual ~Rdma() = default;

	// Whether the kernel has the RDMA core, or can load it.
	virtual bool has_core() = 0;
	// None without the RDMA core.
	virtual std::vector<Link> links() = 0;
	// Both throw std::system_error with the kernel's errno.
	virtual void add(const std::string &name, const std::string &netdev) = 0;
	virtual void remove(const Link &link) = 0;
	virtual std::vector<Connection> connections(const Link &link) = 0;
	// The counters of the device's only port. Unlike those in sysfs, they are visible in each
	// network namespace.
	virtual Counters counters(const Link &link) = 0;
	// The index of a netdev, by its name or an alternative name; 0 if there is none.
	virtual std::uint32_t netdev_index(const std::string &name) = 0;
	// Its name, never an alternative one; empty if there is no netdev of this index.
	virtual std::string netdev_name(std::uint32_t index) = 0;

	std::optional<Link> find(const std::string &name);
};

std::unique_ptr<Rdma> make_rdma();

using EachMessage = std::function<void(const nlmsghdr *)>;

// Calls @each for the messages in a part of a netlink reply. Return: whether more parts follow.
// Throws std::system_error with the kernel's errno; a dump may end with one, too.
bool read_part(std::span<const char> part, unsigned int sequence, unsigned int port,
	       const EachMessage &each);

} // namespace kwarpctl
