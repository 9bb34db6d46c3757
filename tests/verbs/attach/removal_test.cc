// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Waits for startup, which a signal or a limit ends, and removal of the device during startup and
// afterwards.
#include <atomic>
#include <csignal>
#include <future>

#include "fault.h"
#include "removal/device.h"
#include "side.h"

using namespace attach;

namespace {

// A signal handler that interrupts calls, until the end of the scope.
class Interrupting {
public:
	explicit Interrupting(int signal) : signal_(signal)
	{
		struct sigaction action{};
		action.sa_handler = [](int) {};
		sigaction(signal, &action, &before_);
	}
	~Interrupting() { sigaction(signal_, &before_, nullptr); }
	Interrupting(const Interrupting &) = delete;
	Interrupting &operator=(const Interrupting &) = delete;

private:
	int signal_;
	struct sigaction before_{};
};

struct AttachRemoval : removal::Devices {
	// The call that waits returns, or the next one finds no device.
	static void expect_gone(int error)
	{
		EXPECT_TRUE(error == ECONNABORTED || error == EIO) << strerror(error);
	}
};

} // namespace

TEST(AttachWait, limit__one_second)
{
	Side side(lab::a());
	Connection c = connect();
	Attr attr = key_attr(KWARP_ATTACH_INITIATOR);
	attr.timeout_ms = 10000;
	ASSERT_EQ(side.start(c.a.get(), attr), 0);
	// A longer wait would return when startup times out.
	EXPECT_EQ(kwarpdv_attach_wait(side.qp(), 60000, nullptr), EAGAIN);
	EXPECT_EQ(side.wait(), ETIMEDOUT);
}

TEST(AttachWait, signal__startup_continues)
{
	const Interrupting interrupting(SIGUSR1);
	Side side(lab::a()), other(lab::b());
	Connection c = connect();
	ASSERT_EQ(side.start(c.a.get(), key_attr(KWARP_ATTACH_INITIATOR)), 0);
	int error = EAGAIN;
	std::atomic<bool> over = false;
	std::thread waiter([&] {
		while (error == EAGAIN)
			error = kwarpdv_attach_wait(side.qp(), KWARP_ATTACH_WAIT_MAX_MS, nullptr);
		over = true;
	});
	while (!over) {
		pthread_kill(waiter.native_handle(), SIGUSR1);
		std::this_thread::sleep_for(rdma::Milliseconds(1));
	}
	waiter.join();
	EXPECT_EQ(error, EINTR);
	ASSERT_EQ(other.attach(c.b.get(), key_attr(KWARP_ATTACH_RESPONDER)), 0);
	ASSERT_EQ(side.wait(), 0);
	transfers(side, other);
}

TEST_F(AttachRemoval, startup__ends)
{
	for (kwarp_attach_role role : {KWARP_ATTACH_INITIATOR, KWARP_ATTACH_RESPONDER}) {
		SCOPED_TRACE(role);
		Side side(lab::a());
		Connection c = connect();
		ASSERT_EQ(side.start(c.a.get(), key_attr(role)), 0);
		auto wait = std::async(std::launch::async, [&] { return side.wait(); });
		removal::remove(lab::a());
		expect_gone(wait.get());
		if (role == KWARP_ATTACH_INITIATOR)
			read_exactly(c.b.get(), 16); // its key
		EXPECT_TRUE(closed(c.b.get()));
		TearDown();
	}
}

TEST_F(AttachRemoval, connection__ends)
{
	Side side(lab::a()), other(lab::b());
	Connection c = connect();
	ASSERT_EQ(side.start(c.a.get(), key_attr(KWARP_ATTACH_INITIATOR)), 0);
	ASSERT_EQ(other.attach(c.b.get(), key_attr(KWARP_ATTACH_RESPONDER)), 0);
	ASSERT_EQ(side.wait(), 0);
	transfers(side, other);
	removal::remove(lab::a());
	EXPECT_TRUE(other.reaches(IBV_QPS_ERR));
	// The descriptor stays inoperative.
	char byte;
	EXPECT_EQ(read(c.a.get(), &byte, 1), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

// A call that holds the lock of the socket does not delay the removal.
TEST_F(AttachRemoval, call_on_the_socket__is_not_awaited)
{
	if (!have_fuse())
		GTEST_SKIP() << "the kernel has no FUSE";
	Side side(lab::a());
	Connection c = connect();
	Stuck stuck(c.a.get());
	stuck.take_lock();
	EXPECT_EQ(side.start(c.a.get(), key_attr(KWARP_ATTACH_INITIATOR)), EBUSY);
	removal::remove(lab::a());
	stuck.release();
}
