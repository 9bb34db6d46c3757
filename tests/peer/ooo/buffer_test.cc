// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The receive buffer grows where the window would stay closed, and only there.
#include <cstdio>
#include <memory>

#include "session.h"

namespace ooo {
namespace {

// sk_rcvbuf of the target's end.
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

// Up to the last byte of it, and the last FPDU is not complete. Of segments as short it holds no
// more than one pass of the receive engine takes.
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

// TCP gets all at once; the window is open again when it has been read.
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
	// TCP itself lets it grow by the segment that was too much.
	EXPECT_LT(receive_buffer(s), 2 * before);
}

} // namespace
} // namespace ooo
