// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A socket can be attached only if no other process has it and no other call uses it: such a call
// could hold the socket lock for any time, while it sleeps in a page that the program provides.
#include "side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include <linux/filter.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"
#include "rdma/endpoint.h"

using namespace attach;

namespace {

struct AttachShared : testing::Test {
	Side side{lab::a()};
	Connection c = connect();

	int attach() { return attach(c.a.get()); }
	int attach(int fd)
	{
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		return side.attach(fd, attr);
	}
	// Attaches when the other user of the socket is gone, which may take the kernel a moment.
	int attach_at_last()
	{
		const auto end = std::chrono::steady_clock::now() + rdma::patience;
		int ret;
		do {
			ret = attach();
		} while (ret == EBUSY && std::chrono::steady_clock::now() < end);
		return ret;
	}
};

bool sleeps(pid_t thread)
{
	std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
	std::string word; // number, name, state
	stat >> word >> word >> word;
	return word == "S";
}

// Calls that sleep in a page that the program provides.
struct AttachSharedCall : AttachShared {
	void SetUp() override
	{
		if (!have_fuse())
			GTEST_SKIP() << "the kernel has no FUSE";
	}
	// The attempt is refused at once, without waiting for the other call.
	void refused(int fd)
	{
		auto ret = std::async(std::launch::async, [&] { return attach(fd); });
		ASSERT_EQ(ret.wait_for(rdma::patience), std::future_status::ready);
		EXPECT_EQ(ret.get(), EBUSY);
	}
};

} // namespace

// The call sleeps without the socket lock, and then with it. Other connections are not delayed.
TEST_F(AttachSharedCall, option__refused)
{
	Stuck stuck(c.a.get());
	refused(c.a.get());
	stuck.take_lock();
	refused(c.a.get());
	rdma::Pair others;
	stuck.release();
	EXPECT_EQ(attach_at_last(), 0);
}

TEST_F(AttachSharedCall, send__refused)
{
	Fault fault;
	std::thread thread([&] { send(c.a.get(), fault.memory(), 100, MSG_NOSIGNAL); });
	fault.wait();
	refused(c.a.get());
	fault.serve();
	thread.join();
	EXPECT_EQ(read_exactly(c.b.get(), 100).size(), 100u);
	EXPECT_EQ(attach_at_last(), 0);
}

// The call continues after its descriptor was closed.
TEST_F(AttachSharedCall, descriptor_is_closed__refused)
{
	Fd copy(dup(c.a.get()));
	Stuck stuck(copy.get());
	copy.close();
	refused(c.a.get());
	stuck.take_lock();
	refused(c.a.get());
	stuck.release();
	EXPECT_EQ(attach_at_last(), 0);
}

// These options replace the same operations of the socket that attaching replaces.
TEST_F(AttachSharedCall, changes_the_socket__refused)
{
	struct {
		int level, option;
		const char *value;
		socklen_t length;
	} const calls[] = {
		{SOL_IPV6, IPV6_ADDRFORM, "\2\0\0\0", 4}, // AF_INET, in the order of x86 and ARM
		{SOL_TCP, TCP_ULP, "tls", 4},
	};
	for (const auto &call : calls) {
		SCOPED_TRACE(call.option);
		c = connect_mapped();
		const int fd = c.a.get();
		Fault fault;
		std::thread thread([&] {
			setsockopt(fd, call.level, call.option, fault.memory(), call.length);
		});
		fault.wait();
		refused(fd);
		fault.serve(call.value, call.length);
		thread.join();
		write_all(fd, "ping");
		EXPECT_EQ(read_exactly(c.b.get(), 4), "ping");
	}
}

TEST_F(AttachShared, poll__refused)
{
	std::atomic<pid_t> tid = 0;
	std::thread thread([&] {
		pollfd fd{c.a.get(), POLLIN, 0};
		tid = gettid();
		poll(&fd, 1, static_cast<int>(rdma::patience.count()));
	});
	while (!tid || !sleeps(tid))
		std::this_thread::yield();
	EXPECT_EQ(attach(), EBUSY);
	write_all(c.b.get(), "x");
	thread.join();
	EXPECT_EQ(read_exactly(c.a.get(), 1), "x");
	EXPECT_EQ(attach_at_last(), 0);
}

TEST_F(AttachShared, other_process__refused)
{
	const pid_t other = fork();
	if (!other) {
		pause();
		_exit(0);
	}
	EXPECT_EQ(attach(), EBUSY);
	kill(other, SIGKILL);
	ASSERT_EQ(waitpid(other, nullptr, 0), other);
	EXPECT_EQ(attach_at_last(), 0);
}

TEST_F(AttachShared, in_flight__refused)
{
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	Fd one(ends[0]), other(ends[1]);
	pass(one.get(), c.a.get());
	EXPECT_EQ(attach(), EBUSY);
	Fd copy(passed(other.get()));
	EXPECT_EQ(attach(), 0);
}

// A request of io_uring for a registered file takes no reference to the file.
TEST_F(AttachShared, registered_with_io_uring__refused)
{
	io_uring_params params{};
	Fd ring(static_cast<int>(syscall(SYS_io_uring_setup, 1, &params)));
	if (ring.get() < 0)
		GTEST_SKIP() << "no io_uring: " << strerror(errno);
	const int fd = c.a.get();
	ASSERT_EQ(syscall(SYS_io_uring_register, ring.get(), IORING_REGISTER_FILES, &fd, 1), 0);
	EXPECT_EQ(attach(), EBUSY);
	ring.close();
	EXPECT_EQ(attach_at_last(), 0);
}

// Attaching removes a socket filter: it could drop segments, and getsockopt() copies it to user
// memory under the socket lock.
TEST_F(AttachShared, filter__is_removed)
{
	sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	sock_fprog program{1, &all};
	const int fd = c.a.get();
	ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
	socklen_t length = 0;
	ASSERT_EQ(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, nullptr, &length), 0);
	ASSERT_EQ(length, 1u);
	EXPECT_EQ(attach(), 0);
	length = 0;
	EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, nullptr, &length), 0);
	EXPECT_EQ(length, 0u);
}

TEST_F(AttachShared, locked_filter__refused)
{
	sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	sock_fprog program{1, &all};
	const int fd = c.a.get(), on = 1;
	ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
	ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &on, sizeof(on)), 0);
	EXPECT_EQ(attach(), EOPNOTSUPP);
	write_all(fd, "ping");
	EXPECT_EQ(read_exactly(c.b.get(), 4), "ping");
}
