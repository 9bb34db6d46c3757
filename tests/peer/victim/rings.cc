// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <rdma/ib_user_verbs.h>
#include <sstream>
#include <unistd.h>

namespace victim {

std::vector<Mapping> device_mappings()
{
	std::vector<Mapping> all;
	std::ifstream maps("/proc/self/maps");
	for (std::string line; std::getline(maps, line);) {
		if (line.find("/dev/infiniband/uverbs") == std::string::npos)
			continue;
		unsigned long from, to, offset;
		char perms[5];
		if (sscanf(line.c_str(), "%lx-%lx %4s %lx", &from, &to, perms, &offset) == 4 &&
		    perms[1] == 'w' && perms[3] == 's')
			all.push_back({reinterpret_cast<uint8_t *>(from), to - from,
				       static_cast<off_t>(offset)});
	}
	return all;
}

std::vector<Mapping> added(const std::vector<Mapping> &before, const std::vector<Mapping> &after)
{
	std::vector<Mapping> fresh;
	for (const Mapping &m : after)
		if (std::find(before.begin(), before.end(), m) == before.end())
			fresh.push_back(m);
	return fresh;
}

int ring_doorbell(ibv_qp *qp, bool receive)
{
	struct {
		ib_uverbs_cmd_hdr hdr;
		ib_uverbs_post_send cmd;
	} c{};
	ib_uverbs_post_send_resp resp{};
	c.hdr.command = receive ? IB_USER_VERBS_CMD_POST_RECV : IB_USER_VERBS_CMD_POST_SEND;
	c.hdr.in_words = sizeof(c) / 4;
	c.hdr.out_words = sizeof(resp) / 4;
	c.cmd.response = reinterpret_cast<uintptr_t>(&resp);
	c.cmd.qp_handle = qp->handle;
	c.cmd.wqe_size = receive ? sizeof(ib_uverbs_recv_wr) : sizeof(ib_uverbs_send_wr);
	return write(qp->context->cmd_fd, &c, sizeof(c)) == sizeof(c) ? 0 : errno;
}

void Pupil::before_post()
{
	lesson_.image.assign(map_.addr, map_.addr + map_.len);
}

void Pupil::after_post()
{
	for (size_t at = 0; at + 4 <= map_.len; at += 4) {
		uint32_t before, now;
		memcpy(&before, lesson_.image.data() + at, 4);
		memcpy(&now, map_.addr + at, 4);
		auto &c = lesson_.counters;
		if (now == before + 1 && std::find(c.begin(), c.end(), at) == c.end())
			c.push_back(at);
	}
	before_post();
}

// Returns a boundary value, at which checks often fail, or a random value.
uint32_t Scribbler::value()
{
	static constexpr uint32_t edges[] = {
		0,	1,	 2,	     3,		 15,	     16,	 17,
		255,	256,	 511,	     512,	 513,	     4095,	 4096,
		0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFF00, 0xFFFFFFFE, 0xFFFFFFFF};
	return below(2) ? edges[below(std::size(edges))] : static_cast<uint32_t>(random_());
}

void Scribbler::mutate()
{
	size_t at = below(map_.len);
	switch (below(5)) {
	case 0:
		map_.addr[at] ^= static_cast<uint8_t>(1U << below(8));
		break;
	case 1:
		map_.addr[at] = static_cast<uint8_t>(value());
		break;
	case 2:
		*word(at) = value();
		break;
	case 3:
		*word(at) = *word(at) + static_cast<uint32_t>(below(16));
		break;
	default:
		for (size_t n = below(128); n && at < map_.len; n--, at++)
			map_.addr[at] = static_cast<uint8_t>(random_());
	}
	if (!lesson_.counters.empty() && !below(4))
		*word(lesson_.counters[below(lesson_.counters.size())]) = value();
}

void Scribbler::mutate_elements()
{
	if (lesson_.image.empty())
		return mutate();
	std::vector<uint32_t> counts;
	for (size_t c : lesson_.counters) {
		uint32_t count = *word(c);
		counts.push_back(count);
	}
	memcpy(map_.addr, lesson_.image.data(), map_.len);
	for (size_t n = below(map_.len / 128); n; n--) {
		size_t at = below(map_.len);
		if (below(2))
			map_.addr[at] = static_cast<uint8_t>(value());
		else
			*word(at) = value();
	}
	for (size_t i = 0; i < counts.size(); i++)
		*word(lesson_.counters[i]) = counts[i] + static_cast<uint32_t>(below(8));
}

void Scribbler::fill()
{
	for (size_t at = 0; at < map_.len; at += 4)
		*word(at) = static_cast<uint32_t>(random_());
}

} // namespace victim
