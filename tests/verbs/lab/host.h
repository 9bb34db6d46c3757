// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The two hosts of tests/vm/lib.sh: network namespaces with an RDMA device each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lab {

enum class Family { ipv4, ipv6 };

struct Host {
	std::string netns; // name under /run/netns
	std::string netdev;
	std::string device; // RDMA device
	std::string ip4;
	std::string ip6;

	const std::string &ip(Family f) const { return f == Family::ipv4 ? ip4 : ip6; }
	// Whether kwarp's own attributes exist.
	bool is_kwarp() const;
	// Whether its connections use MPA, so that framing, markers and CRCs have a meaning.
	bool is_mpa() const;
	std::optional<std::string> policy(const std::string &name) const;
	// Throws if the device has no such counter.
	uint64_t counter(const std::string &name) const;
	// A detail of a connected queue pair, as "rdma resource" shows it.
	std::string qp_detail(uint32_t qpn, const std::string &name) const;
	std::string sysfs() const { return "/sys/class/infiniband/" + device; }
};

// From the environment: DEV_A, IP_A, IP6_A and DEV_B, IP_B, IP6_B.
const Host &a();
const Host &b();

// Whether both devices are kwarp's.
bool both_kwarp();

// The number of repetitions of a test whose course is random: few with KWARP_SHORT, which "make
// check" sets.
int repetitions(int many, int few);

// Puts the calling thread into the host's network namespace until the end of the scope.
class Inside {
public:
	explicit Inside(const Host &host);
	~Inside();
	Inside(const Inside &) = delete;
	Inside &operator=(const Inside &) = delete;

private:
	int home_;
};

// Sets a policy of the device until the end of the scope.
class Policy {
public:
	Policy(const Host &host, const std::string &name, const std::string &value);
	Policy(const Host &host, const std::string &name, int value)
		: Policy(host, name, std::to_string(value))
	{
	}
	~Policy();
	Policy(const Policy &) = delete;
	Policy &operator=(const Policy &) = delete;

private:
	std::string path_;
	std::string before_;
};

// Applies tc netem to the packets that a network device of the host sends, until the end of the
// scope.
class Netem {
public:
	Netem(const Host &host, const std::string &how, const std::string &netdev);
	Netem(const Host &host, const std::string &how) : Netem(host, how, host.netdev) {}
	~Netem();
	Netem(const Netem &) = delete;
	Netem &operator=(const Netem &) = delete;

private:
	const Host &host_;
	std::string netdev_;
};

// Runs a shell command in the host's network namespace; throws if it fails.
void shell(const Host &host, const std::string &command);

// What a shell command prints in the host's network namespace; throws if it fails. Only the last
// command of a pipeline can fail.
std::string output(const Host &host, const std::string &command);

} // namespace lab
