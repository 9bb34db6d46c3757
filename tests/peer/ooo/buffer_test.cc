// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The device enlarges the receive buffer only if the window would stay closed otherwise.
#include <cstdio>
#include <memory>

#include "session.h"

namespace ooo {
namespace {

// Returns sk_rcvbuf of the target's socket.
unsigned long receive_buffer(Session &s)
{
	const std::string command = "ss -tmnH state established sport = :" +
				    std::to_string(ntohs(rdma_get_src_port(s.c().id())));
	std::unique_ptr<FILE, int (*)(FILE *)> out(popen(command.c_str(), "r"), pclose);
	char line[512];
	while (out && fgets(line, sizeof(line), out.get())) {
		const std::string text = line;
		if (size_t at = text.find(",rb"); at != std::string::npos)
			return std::stoul(text.substr(at + 3));
	}
	throw std::runtime_error("no such socket: " + command);
}

// Sends Writes, from offset @from on, until the window is full; the last FPDU is incomplete. With
// segments of 600 bytes the window holds no more than one pass of the receive engine processes.
void use_up_the_window(Session &s, uint32_t from)
{
	do {
		while (s.end() < s.edge() + 2000)
			s.write(1000, 1000, 1);
		const uint32_t to = s.edge();
		s.send(from, to, 600);
		from = to;
	} while (from != s.edge());
}

// When the gap closes, all FPDUs are read at once, which opens the window.
TEST(Buffer, stays_when_all_is_read)
{
	FixedBuffers fixed(false);
	Session s({.ooo = false, .markers = false});
	const unsigned long before = receive_buffer(s);
	Span first = s.write(0, 40, 1);
	use_up_the_window(s, first.to);
	s.send(first);
	s.fill();
	s.message(30, 3);
	s.fill();
	s.delivers(30, 3);
	// TCP itself may enlarge it for the segment that exceeded it.
	EXPECT_LT(receive_buffer(s), 2 * before);
}

} // namespace
} // namespace ooo
