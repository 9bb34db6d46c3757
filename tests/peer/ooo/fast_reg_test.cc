// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Early placement in regions of fast registration (REG_MR, LOCAL_INV), which only kernel consumers
// can use: regions that stay, and regions that are invalidated, or registered with other memory,
// before delivery. The target is tests/kernel/serve.c, which the suite loads.
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <system_error>
#include <unistd.h>

#include "../victim/lab.h"
#include "wire.h"

namespace ooo {
namespace {

constexpr size_t len = 1000;
constexpr size_t page = 4096;
constexpr uint16_t port = 7999;
constexpr int wc_success = 0, wc_loc_prot_err = 4;

class File {
public:
	File(const std::string &name, int flags)
		: fd(open(("/sys/kernel/debug/kwarp_ktest/" + name).c_str(), flags | O_CLOEXEC))
	{
		if (fd < 0)
			throw std::system_error(errno, std::generic_category(), name);
	}
	~File() { close(fd); }
	File(const File &) = delete;
	File &operator=(const File &) = delete;

	const int fd;
};

// Executes a command of the target. Returns its answer; throws if the command fails.
std::string command(const std::string &word)
{
	char answer[64];
	if (write(File("command", O_WRONLY).fd, word.data(), word.size()) < 0)
		throw std::system_error(errno, std::generic_category(), word);
	ssize_t n = read(File("command", O_RDONLY).fd, answer, sizeof(answer));
	return {answer, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

// The target's region and its end of the connection. It is destroyed after the peer's end.
class Served {
public:
	Served()
	{
		// the port is up only while the user-space end of the tun device is attached
		Tun::the();
		command("listen");
	}
	~Served() { command("close"); }
	Served(const Served &) = delete;
	Served &operator=(const Served &) = delete;

	static Bytes memory(size_t at, size_t n)
	{
		Bytes o(n);
		File f("memory", O_RDONLY);
		if (pread(f.fd, o.data(), n, static_cast<off_t>(at)) != static_cast<ssize_t>(n))
			throw std::system_error(errno, std::generic_category(), "memory");
		return o;
	}
};

struct Connected : Served, Wire {
	Connected() : Wire(Address(lab().victim_ip, port), {}) {}
};

struct FastReg : testing::Test {
	Connected s;
	uint32_t stag = 0;
	uint64_t to = 0;

	void SetUp() override
	{
		command("accepted");
		// a responder's send queue starts with the peer's first FPDU
		s.send(s.add(write_segment(0, 0, {})));
		std::istringstream(command("reg")) >> stag >> to;
		s.counted();
	}

	// A Write into the region is placed early.
	void early()
	{
		s.add(write_segment(0, 0, {}));
		s.send(s.add(write_segment(stag, to, pattern(len, 2))));
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		ASSERT_TRUE(same(s.memory(0, len), pattern(len, 2)));
	}
	// The target reads; the second half of the response is placed early.
	void early_response()
	{
		command("read");
		auto r = ReadRequest::decode(s.receive().payload);
		ASSERT_EQ(r.size, 2 * len);
		s.add(read_response_segment(r.sink_stag, r.sink_to, pattern(len, 1), false));
		s.send(s.add(read_response_segment(r.sink_stag, r.sink_to + len, pattern(len, 2))));
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		ASSERT_TRUE(same(s.memory(len, len), pattern(len, 2)));
	}
	void nothing_there()
	{
		EXPECT_TRUE(same(s.memory(0, page), Bytes(page))) << "written to after LOCAL_INV";
		EXPECT_EQ(s.counted().delivered, 0U);
	}
};

TEST_F(FastReg, write)
{
	ASSERT_NO_FATAL_FAILURE(early());
	s.fill();
	ASSERT_EQ(s.counted(), (Counted{0, 1, 0}));
	EXPECT_TRUE(same(s.memory(0, len), pattern(len, 2)));
}

TEST_F(FastReg, invalidated)
{
	ASSERT_NO_FATAL_FAILURE(early());
	command("inv");
	command("wipe");
	// after the invalidation nothing is placed early
	s.send(s.add(write_segment(stag, to + 2000, pattern(len, 3))));
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	s.fill();
	auto t = s.terminate();
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, ddp::tagged_stag);
	nothing_there();
}

// Registered with the same STag and TO, but other pages: the delivered payload must be in these.
TEST_F(FastReg, registered_elsewhere)
{
	ASSERT_NO_FATAL_FAILURE(early());
	command("inv");
	command("reg_elsewhere");
	command("wipe");
	s.fill();
	ASSERT_EQ(s.counted(), (Counted{0, 0, 1}));
	EXPECT_TRUE(same(s.memory(page, len), pattern(len, 2))) << "delivered, but not placed";
	EXPECT_TRUE(same(s.memory(0, page), Bytes(page))) << "written to after LOCAL_INV";
}

TEST_F(FastReg, read_response)
{
	ASSERT_NO_FATAL_FAILURE(early_response());
	s.fill();
	EXPECT_EQ(std::stoi(command("wait")), wc_success);
	ASSERT_EQ(s.counted(), (Counted{0, 1, 0}));
	EXPECT_TRUE(same(s.memory(0, len), pattern(len, 1)));
	EXPECT_TRUE(same(s.memory(len, len), pattern(len, 2)));
}

// The target invalidates the sink of its own read.
TEST_F(FastReg, sink_invalidated)
{
	ASSERT_NO_FATAL_FAILURE(early_response());
	command("inv_tell");
	EXPECT_EQ(s.receive().opcode, op_send);
	command("wipe");
	s.fill();
	EXPECT_EQ(std::stoi(command("wait")), wc_loc_prot_err);
	nothing_there();
}

} // namespace
} // namespace ooo
