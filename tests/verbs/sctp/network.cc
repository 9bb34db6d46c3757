// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "network.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "rdma/eventually.h"

namespace sctp {

Dropped::Dropped(const lab::Host &host, Chunk type, uint32_t ppid) : host_(host)
{
	filter("add",
	       " protocol ip u32 match ip protocol 132 0xff match u8 " + std::to_string(type) +
		       " 0xff at 32" +
		       (ppid ? " match u32 " + std::to_string(ppid) + " 0xffffffff at 44" : "") +
		       " action drop");
}

void Dropped::filter(const std::string &what, const std::string &of) const
{
	lab::shell(host_, "tc filter " + what + " dev " + host_.netdev + " egress pref 7" + of);
}

std::vector<Listed> associations()
{
	lab::Inside inside(lab::b());
	std::ifstream in("/proc/thread-self/net/sctp/assocs");
	std::vector<Listed> all;
	std::string line, skipped;
	std::getline(in, line); // names of the columns
	while (std::getline(in, line)) {
		std::istringstream words(line);
		Listed a{};
		words >> skipped >> skipped >> skipped >> a.socket_state >> a.state;
		for (int i = 0; i < 6; i++)
			words >> skipped;
		words >> a.port;
		all.push_back(a);
	}
	return all;
}

size_t associations(uint16_t port)
{
	return static_cast<size_t>(std::ranges::count_if(associations(), [&](const Listed &a) {
		return a.port == port && a.state != closed;
	}));
}

bool all_end(uint16_t port)
{
	return rdma::eventually([&] {
		return std::ranges::none_of(associations(), [&](const Listed &a) {
			return a.port == port && a.state == established;
		});
	});
}

} // namespace sctp
