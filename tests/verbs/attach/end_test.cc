// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup that fails, and the end of attached connections: by the peer, by the program, by the end
// of the process; and sockets of other network namespaces.
#include "side.h"

#include <csignal>
#include <net/if.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "iwarp/peer.h"

using namespace attach;

namespace {

Attr plain_attr(kwarp_attach_role role)
{
	Attr attr = attr_with_reads(KWARP_ATTACH_REQ_REP, role);
	attr.mpa_rev = 1;
	return attr;
}

void reset(Fd &fd)
{
	linger now{1, 0};
	ASSERT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	fd.close();
}

struct WaitingState {
	const char *name;
	Attr attr;
	size_t sends; // bytes that the peer receives before it has sent anything
};

// Every state in which startup waits for the peer.
std::vector<WaitingState> waiting_states()
{
	return {{"request", plain_attr(KWARP_ATTACH_INITIATOR), 20},
		{"responder", plain_attr(KWARP_ATTACH_RESPONDER), 0},
		{"passive", key_attr(KWARP_ATTACH_INITIATOR), 16},
		{"active", key_attr(KWARP_ATTACH_RESPONDER), 0}};
}

class AttachStartup : public testing::TestWithParam<WaitingState> {
protected:
	Side side{lab::a()};
	Connection c = connect();

	void start(uint32_t timeout_ms = 0)
	{
		Attr attr = GetParam().attr;
		attr.timeout_ms = timeout_ms;
		ASSERT_EQ(side.start(c.a.get(), attr), 0);
		read_exactly(c.b.get(), GetParam().sends);
	}
	// The QP is unchanged and can be used again.
	void expect_usable_qp()
	{
		EXPECT_EQ(side.state(), IBV_QPS_INIT);
		Side other(lab::b());
		Connection d = connect();
		ASSERT_EQ(side.start(d.a.get(), key_attr(KWARP_ATTACH_INITIATOR)), 0);
		ASSERT_EQ(other.attach(d.b.get(), key_attr(KWARP_ATTACH_RESPONDER)), 0);
		ASSERT_EQ(side.wait(), 0);
		transfers(side, other);
	}
};

std::string state_name(const testing::TestParamInfo<WaitingState> &info)
{
	return info.param.name;
}

} // namespace

TEST_P(AttachStartup, times_out)
{
	start(50);
	EXPECT_EQ(side.wait(), ETIMEDOUT);
	EXPECT_TRUE(closed(c.b.get()));
	expect_usable_qp();
}

TEST_P(AttachStartup, ends_with_the_peers_fin)
{
	start();
	ASSERT_EQ(shutdown(c.b.get(), SHUT_WR), 0);
	EXPECT_EQ(side.wait(), ECONNRESET);
	expect_usable_qp();
}

TEST_P(AttachStartup, ends_with_a_reset)
{
	start();
	reset(c.b);
	EXPECT_EQ(side.wait(), ECONNRESET);
	expect_usable_qp();
}

// RFC 5044 7.1.2, 2 and 8; draft -03, 8.1, 6: closed without an answer.
TEST_P(AttachStartup, ends_with_bytes_that_are_no_frame)
{
	start();
	write_all(c.b.get(), "MPA was not meant by that");
	EXPECT_EQ(side.wait(), EPROTO);
	EXPECT_TRUE(closed(c.b.get()));
	expect_usable_qp();
}

TEST_P(AttachStartup, ends_with_the_qp)
{
	start();
	side.destroy_qp();
	EXPECT_TRUE(closed(c.b.get()));
}

// The QP fails during startup, so the socket cannot be attached.
TEST_P(AttachStartup, ends_with_an_error_of_the_qp)
{
	start();
	EXPECT_EQ(kwarpdv_attach_wait(side.qp(), 0, nullptr), EAGAIN);
	ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_ERR), 0);
	side.destroy_qp();
	EXPECT_TRUE(closed(c.b.get()));
}

TEST_P(AttachStartup, ends_with_the_process)
{
	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	Fd out(ends[0]), in(ends[1]);
	pid_t child = fork();
	if (!child) {
		Side own(lab::a());
		int ret;
		do // until the parent has closed its copy
			ret = own.start(c.a.get(), GetParam().attr);
		while (ret == EBUSY);
		if (ret || write(in.get(), "s", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	c.a.close();
	in.close();
	char started;
	ASSERT_EQ(read(out.get(), &started, 1), 1);
	read_exactly(c.b.get(), GetParam().sends);
	kill(child, SIGKILL);
	int status;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_TRUE(closed(c.b.get()));
}

INSTANTIATE_TEST_SUITE_P(waits_for, AttachStartup, testing::ValuesIn(waiting_states()), state_name);

// RFC 5044 7.1.1, R: refused, with the peer's private data.
TEST(AttachEnd, rejected)
{
	Side side(lab::a());
	Connection c = connect();
	ASSERT_EQ(side.start(c.a.get(), plain_attr(KWARP_ATTACH_INITIATOR)), 0);
	iwarp::Peer peer{iwarp::Socket(c.b.release())};
	peer.receive_request();
	iwarp::StartupFrame reply = iwarp::StartupFrame::reply(1, {}, iwarp::pattern(300));
	reply.r = true;
	peer.send_reply(reply);
	Result result;
	EXPECT_EQ(side.wait(&result), ECONNREFUSED);
	EXPECT_EQ(iwarp::bytes(private_data(result)), iwarp::pattern(300));
	EXPECT_TRUE(closed(peer.socket.fd()));
}

// RFC 6581 10: fallback needs a new TCP connection, which the module cannot make here.
TEST(AttachEnd, revision_2_refused_by_a_peer_of_revision_1)
{
	Side side(lab::a());
	Connection c = connect();
	Attr attr = plain_attr(KWARP_ATTACH_INITIATOR);
	attr.mpa_rev = 2;
	ASSERT_EQ(side.start(c.a.get(), attr), 0);
	c.b.close();
	EXPECT_NE(side.wait(), 0);
	EXPECT_EQ(side.state(), IBV_QPS_INIT);
}

// RFC 5044 7.1.2, 8: two initiators.
TEST(AttachEnd, both_initiators)
{
	Side a(lab::a()), b(lab::b());
	Connection c = connect();
	ASSERT_EQ(a.start(c.a.get(), plain_attr(KWARP_ATTACH_INITIATOR)), 0);
	ASSERT_EQ(b.start(c.b.get(), plain_attr(KWARP_ATTACH_INITIATOR)), 0);
	// the side that notices first closes the connection
	int ra = a.wait(), rb = b.wait();
	EXPECT_TRUE(ra == EPROTO || ra == ECONNRESET) << strerror(ra);
	EXPECT_TRUE(rb == EPROTO || rb == ECONNRESET) << strerror(rb);
	EXPECT_TRUE(ra == EPROTO || rb == EPROTO);
}

TEST(AttachEnd, both_responders)
{
	Side a(lab::a()), b(lab::b());
	Connection c = connect();
	Attr attr = plain_attr(KWARP_ATTACH_RESPONDER);
	ASSERT_EQ(b.start(c.b.get(), attr), 0);
	// when one side gives up, the other ends, too
	attr.timeout_ms = 100;
	ASSERT_EQ(a.start(c.a.get(), attr), 0);
	int ra = a.wait(), rb = b.wait();
	EXPECT_TRUE(ra == ETIMEDOUT || ra == ECONNRESET) << strerror(ra);
	EXPECT_TRUE(rb == ETIMEDOUT || rb == ECONNRESET) << strerror(rb);
}

// ---- established
// ----------------------------------------------------------------------------------

namespace {

struct Established {
	Side side{lab::a()};
	Connection c = connect();

	Established()
	{
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		EXPECT_EQ(side.attach(c.a.get(), attr), 0);
	}
};

} // namespace

TEST(AttachEnd, reset_is_an_asynchronous_event)
{
	Established e;
	rdma::AsyncEvents events(e.side.context());
	rdma::post_recv(e.side.qp(), 1, {});
	reset(e.c.b);
	EXPECT_EQ(events.of(e.side.qp()).event_type, IBV_EVENT_QP_FATAL);
	EXPECT_EQ(e.side.state(), IBV_QPS_ERR);
	EXPECT_EQ(rdma::wait(e.side.cq()).status, IBV_WC_WR_FLUSH_ERR);
}

// SO_ERROR takes the error from the socket; it is an option that can still be read.
TEST(AttachEnd, reset_is_an_event__although_the_program_takes_the_error)
{
	Established e;
	rdma::AsyncEvents events(e.side.context());
	std::atomic<int> taken = 0;
	std::jthread taker([&](std::stop_token stop) {
		while (!stop.stop_requested() && !taken) {
			int error = 0;
			socklen_t len = sizeof(error);
			getsockopt(e.c.a.get(), SOL_SOCKET, SO_ERROR, &error, &len);
			taken = error;
		}
	});
	reset(e.c.b);
	EXPECT_EQ(events.of(e.side.qp()).event_type, IBV_EVENT_QP_FATAL);
	EXPECT_EQ(e.side.state(), IBV_QPS_ERR);
}

TEST(AttachEnd, protocol_error_is_one_asynchronous_event)
{
	Established e;
	rdma::AsyncEvents events(e.side.context());
	write_all(e.c.b.get(), std::string(64, '\0')); // no FPDU: its CRC is wrong
	EXPECT_EQ(events.of(e.side.qp()).event_type, IBV_EVENT_QP_FATAL);
	EXPECT_EQ(e.side.state(), IBV_QPS_ERR);
	EXPECT_TRUE(closed(e.c.b.get()));
	EXPECT_FALSE(events.next(rdma::Milliseconds(0)));
}

TEST(AttachEnd, protocol_error_is_one_asynchronous_event__before_a_reset)
{
	for (int round = 0; round < lab::repetitions(50, 10); round++) {
		Established e;
		rdma::AsyncEvents events(e.side.context());
		write_all(e.c.b.get(), std::string(64, '\0')); // no FPDU: its CRC is wrong
		reset(e.c.b);
		EXPECT_EQ(events.of(e.side.qp()).event_type, IBV_EVENT_QP_FATAL);
		// RESET waits for the end of the connection.
		EXPECT_TRUE(e.side.reaches(IBV_QPS_ERR));
		EXPECT_EQ(rdma::modify_state(e.side.qp(), IBV_QPS_RESET), 0);
		ASSERT_FALSE(events.next(rdma::Milliseconds(0))) << "round " << round;
	}
}

TEST(AttachEnd, fin_flushes_receives)
{
	Established e;
	rdma::post_recv(e.side.qp(), 1, {});
	ASSERT_EQ(shutdown(e.c.b.get(), SHUT_WR), 0);
	EXPECT_EQ(rdma::wait(e.side.cq()).status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_TRUE(e.side.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(closed(e.c.b.get()));
}

TEST(AttachEnd, modify_qp_ends_it)
{
	for (ibv_qp_state state : {IBV_QPS_SQD, IBV_QPS_ERR}) {
		Established e;
		ASSERT_EQ(rdma::modify_state(e.side.qp(), state), 0);
		EXPECT_TRUE(closed(e.c.b.get()));
		// the peer answers; the QP can be used again
		e.c.b.close();
		EXPECT_TRUE(e.side.reaches(IBV_QPS_ERR));
	}
}

TEST(AttachEnd, with_the_process)
{
	Connection c = connect();
	pid_t child = fork();
	if (!child) {
		Side own(lab::a());
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		int ret;
		do // until the parent has closed its copy
			ret = own.attach(c.a.get(), attr);
		while (ret == EBUSY);
		if (ret)
			_exit(1);
		// the first FPDU tells the parent
		rdma::post(own.qp(), rdma::send(1, {own.memory().sge(0, 10)}));
		pause();
		_exit(0);
	}
	c.a.close();
	iwarp::Peer peer{iwarp::Socket(c.b.release())};
	peer.in = iwarp::FpduDecoder({true, true});
	EXPECT_TRUE(peer.receive());
	kill(child, SIGKILL);
	int status;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_TRUE(peer.end().closed());
}

// ---- namespaces
// ----------------------------------------------------------------------------------------

// A socket in another namespace than the devices, with the same owner.
TEST(AttachNamespace, another_one_of_the_same_owner)
{
	Connection c;
	std::thread elsewhere([&] {
		ASSERT_EQ(unshare(CLONE_NEWNET), 0);
		ASSERT_EQ(system("ip link set lo up"), 0);
		c = connect_here();
	});
	elsewhere.join();
	ASSERT_GE(c.a.get(), 0);
	Side a(lab::a()), b(lab::b());
	ASSERT_EQ(a.start(c.a.get(), key_attr(KWARP_ATTACH_INITIATOR)), 0);
	ASSERT_EQ(b.attach(c.b.get(), key_attr(KWARP_ATTACH_RESPONDER)), 0);
	ASSERT_EQ(a.wait(), 0);
	transfers(a, b);
}

// A socket in a namespace with another owner: only a process with privileges there may attach it.
TEST(AttachNamespace, one_of_another_owner)
{
	int pair[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	Fd one(pair[0]), other(pair[1]);
	pid_t owner = fork();
	if (!owner) {
		ifreq lo{{{"lo"}}, {}};
		lo.ifr_flags = IFF_UP;
		one.close();
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(errno);
		if (ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &lo))
			_exit(255);
		Connection c = connect_here();
		char go;
		if (write(other.get(), "r", 1) != 1 || read(other.get(), &go, 1) != 1)
			_exit(2);
		// the parent takes the descriptor with pidfd_getfd()
		int fd = c.a.get();
		if (write(other.get(), &fd, sizeof(fd)) != sizeof(fd))
			_exit(3);
		if (read(other.get(), &go, 1) != 1)
			_exit(4);
		c.a.close();
		if (write(other.get(), "c", 1) != 1)
			_exit(5);
		_exit(read(other.get(), &go, 1) != 1);
	}
	char ready;
	int status;
	other.close();
	if (read(one.get(), &ready, 1) != 1) {
		ASSERT_EQ(waitpid(owner, &status, 0), owner);
		ASSERT_EQ(WEXITSTATUS(status), EINVAL);
		GTEST_SKIP() << "the kernel has no user namespaces";
	}
	ASSERT_EQ(write(one.get(), "g", 1), 1);
	int number;
	ASSERT_EQ(read(one.get(), &number, sizeof(number)), static_cast<ssize_t>(sizeof(number)));
	Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, owner, 0)));
	Fd fd(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), number, 0)));
	ASSERT_GE(fd.get(), 0) << strerror(errno);
	ASSERT_EQ(write(one.get(), "g", 1), 1);
	ASSERT_EQ(read(one.get(), &ready, 1), 1);

	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	Side side(lab::a());
	pid_t nobody = fork();
	if (!nobody) {
		// drop all privileges; the verbs objects belong to the parent
		if (setresuid(65534, 65534, 65534))
			_exit(255);
		_exit(side.start(fd.get(), attr));
	}
	ASSERT_EQ(waitpid(nobody, &status, 0), nobody);
	EXPECT_EQ(WEXITSTATUS(status), EPERM);
	// root has privileges in all namespaces
	EXPECT_EQ(side.attach(fd.get(), attr), 0);
	ASSERT_EQ(write(one.get(), "x", 1), 1);
	ASSERT_EQ(waitpid(owner, &status, 0), owner);
	EXPECT_EQ(WEXITSTATUS(status), 0);
}
