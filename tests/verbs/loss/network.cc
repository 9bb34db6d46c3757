// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "network.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lab {
namespace {

void on_both(const std::string &before, const std::string &after)
{
	for (const Host *host : {&a(), &b()})
		shell(*host, before + host->netdev + after);
}

std::string path(const std::string &sysctl)
{
	return "/proc/sys/net/ipv4/" + sysctl;
}

// The words of the next line "Tcp:": the first has names, the second values.
std::vector<std::string> tcp_words(std::istream &in)
{
	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::vector<std::string> all;
		for (std::string word; words >> word;)
			all.push_back(word);
		if (!all.empty() && all[0] == "Tcp:")
			return all;
	}
	return {};
}

} // namespace

BadNetwork::BadNetwork(const std::string &how)
	: a_(a(), "limit 10000 " + how), b_(b(), "limit 10000 " + how)
{
	on_both("ethtool -K ", " tso off gso off");
}

BadNetwork::~BadNetwork()
{
	on_both("ethtool -K ", " tso on gso on");
}

Sysctl::Sysctl(std::string name, const std::string &value) : name_(std::move(name))
{
	Inside inside(a());
	std::ifstream file(path(name_));
	if (!std::getline(file, before_))
		throw std::runtime_error("no sysctl " + name_);
	set(value);
}

Sysctl::~Sysctl()
{
	set(before_);
}

void Sysctl::set(const std::string &value) const
{
	for (const Host *host : {&a(), &b()}) {
		Inside inside(*host);
		std::ofstream(path(name_)) << value << std::endl;
	}
}

void Mtu::set(int mtu)
{
	on_both("ip link set ", " mtu " + std::to_string(mtu));
}

void OneSegment::set(int segments) const
{
	shell(host_, "ip link set " + host_.netdev + " gso_max_segs " + std::to_string(segments));
}

void RouteMtu::set(int mtu)
{
	for (const Host *host : {&a(), &b()})
		shell(*host, "ip route replace 10.0.0.0/24 dev " + host->netdev +
				     " proto kernel scope link src " + host->ip4 +
				     (mtu ? " mtu " + std::to_string(mtu) : ""));
}

namespace {

// Chunks that SCTP has sent again, after a timeout or by fast retransmission.
uint64_t sctp_retransmitted()
{
	std::ifstream snmp("/proc/thread-self/net/sctp/snmp");
	uint64_t sum = 0, value;
	for (std::string name; snmp >> name >> value;)
		if (name == "SctpT3Retransmits" || name == "SctpFastRetransmits")
			sum += value;
	return sum;
}

} // namespace

uint64_t retransmitted(const Host &host)
{
	Inside inside(host);
	if (const char *llp = std::getenv("LLP"); llp && !std::strcmp(llp, "sctp"))
		return sctp_retransmitted();
	std::ifstream snmp("/proc/thread-self/net/snmp");
	std::vector<std::string> names = tcp_words(snmp), values = tcp_words(snmp);
	for (size_t i = 0; i < names.size() && i < values.size(); i++)
		if (names[i] == "RetransSegs")
			return std::stoull(values[i]);
	throw std::runtime_error("no RetransSegs");
}

} // namespace lab
