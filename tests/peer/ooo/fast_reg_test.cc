// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Regions of fast registration (REG_MR, LOCAL_INV), which only the kernel's consumers have: what is
// placed in them early, and what is not when they are closed or registered elsewhere before its
// turn. The target is tests/kernel/serve.c, loaded by the suite.
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

// Has the target do something. Return: what it answers.
std::string command(const std::string &word)
{
	char answer[64];
	if (write(File("command", O_WRONLY).fd, word.data(), word.size()) < 0)
		throw std::system_error(errno, std::generic_category(), word);
	ssize_t n = read(File("command", O_RDONLY).fd, answer, sizeof(answer));
	return {answer, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

// The target's region, and its end of the connection; it goes after the peer's.
class Served {
public:
	Served()
	{
		// with the device's far end attached, the port is up
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
		// the responder's send queue waits for the peer's first FPDU
		s.send(s.add(write_segment(0, 0, {})));
		std::istringstream(command("reg")) >> stag >> to;
		s.counted();
	}

	// A Write into the region, early.
	void early()
	{
		s.add(write_segment(0, 0, {}));
		s.send(s.add(write_segment(stag, to, pattern(len, 2))));
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		ASSERT_TRUE(same(s.memory(0, len), pattern(len, 2)));
	}
	// The second half of what the target reads, early.
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
	// after the invalidation nothing is placed early, either
	s.send(s.add(write_segment(stag, to + 2000, pattern(len, 3))));
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	s.fill();
	auto t = s.terminate();
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, ddp::tagged_stag);
	nothing_there();
}

// The same STag and TO, other pages: what was delivered has to be there.
TEST_F(FastReg, registered_elsewhere)
{
	ASSERT_NO_FATAL_FAILURE(early());
	command("inv");
	command("reg_elsewhere");
	command("wipe");
	s.fill();
	ASSERT_EQ(s.counted(), (Counted{0, 0, 1}));
	EXPECT_TRUE(same(s.memory(page, len), pattern(len, 2))) << "delivered, and not there";
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

// The target takes its own sink away.
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
