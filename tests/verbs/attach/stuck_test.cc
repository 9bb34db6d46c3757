// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A program that holds its socket's lock, or gets it after the socket was attached, and sleeps in
// memory that it serves itself: neither side waits for the other.
#include "side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "fault.h"
#include "rdma/endpoint.h"
#include "removal/device.h"

using namespace attach;

namespace {

const auto limit = rdma::patience;

struct AttachStuck : removal::Devices {
	void SetUp() override
	{
		if (!have_fuse())
			GTEST_SKIP() << "the kernel has no FUSE";
		Devices::SetUp();
	}
	// Ends although the call has not ended.
	void passes(Stuck &stuck, const char *what, const std::function<void()> &act)
	{
		SCOPED_TRACE(what);
		auto done = std::async(std::launch::async, act);
		if (done.wait_for(limit) != std::future_status::ready) {
			ADD_FAILURE() << "waits for the program";
			stuck.release();
		}
		done.get();
	}
	// Attached, and a call of the program has held the lock since.
	struct Held {
		explicit Held(lab::Family family = lab::Family::ipv4)
			: c(connect(family)), stuck(c.a.get())
		{
			Attr attr{};
			attr.form = KWARP_ATTACH_NONE;
			rdma::check(side.attach(c.a.get(), attr), "attach");
			stuck.take_lock();
		}
		Side side{lab::a()};
		Connection c;
		Stuck stuck;
	};
};

void others_connect()
{
	rdma::Pair pair;
	Side side(lab::a());
	Connection c = connect();
	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	EXPECT_EQ(side.attach(c.a.get(), attr), 0);
}

} // namespace

TEST_F(AttachStuck, a_call_that_has_the_lock__refused)
{
	Side side(lab::a());
	Connection c = connect();
	Fault fault;
	std::thread thread([&] { send(c.a.get(), fault.memory(), 100, MSG_NOSIGNAL); });
	fault.wait();
	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	auto ret = std::async(std::launch::async, [&] { return side.start(c.a.get(), attr); });
	if (ret.wait_for(limit) != std::future_status::ready)
		ADD_FAILURE() << "waits for the program";
	fault.serve();
	EXPECT_EQ(ret.get(), EBUSY);
	thread.join();
}

// A call that has entered, and gets the lock when the socket is attached, does not put TCP's
// operations back, with which the socket could become a listener.
TEST_F(AttachStuck, a_call_that_changes_the_socket__fails)
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
		Side side(lab::a());
		Connection c = connect_mapped();
		const int fd = c.a.get();
		Fault fault;
		std::atomic<int> error = 0;
		std::thread thread([&] {
			if (setsockopt(fd, call.level, call.option, fault.memory(), call.length))
				error = errno;
		});
		fault.wait();
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		const int attached = side.attach(fd, attr);
		fault.serve(call.value, call.length);
		thread.join();
		ASSERT_EQ(attached, 0);
		EXPECT_NE(error, 0);
		sockaddr none{};
		none.sa_family = AF_UNSPEC;
		EXPECT_EQ(::connect(fd, &none, sizeof(none)), -1);
		EXPECT_EQ(listen(fd, 1), -1);
		EXPECT_EQ(errno, EOPNOTSUPP) << "not ours any more";
		EXPECT_EQ(side.state(), IBV_QPS_RTS);
	}
}

TEST_F(AttachStuck, modify__others_connect_meanwhile)
{
	Held held;
	passes(held.stuck, "others, before", [] { others_connect(); });
	passes(held.stuck, "modify",
	       [&] { EXPECT_EQ(rdma::modify_state(held.side.qp(), IBV_QPS_ERR), 0); });
	EXPECT_EQ(held.side.state(), IBV_QPS_ERR);
	passes(held.stuck, "others, behind", [] { others_connect(); });
	passes(held.stuck, "destroy", [&] { held.side.destroy_qp(); });
	held.stuck.release();
	EXPECT_TRUE(closed(held.c.b.get()));
}

// Both wait for the lock, for a bounded time.
TEST_F(AttachStuck, disconnect_and_doorbell__others_connect_meanwhile)
{
	Held held;
	Side &side = held.side;
	passes(held.stuck, "doorbell",
	       [&] { rdma::post(side.qp(), rdma::send(1, {side.memory().sge(0, 10)})); });
	passes(held.stuck, "flushed",
	       [&] { EXPECT_NE(rdma::wait(side.cq()).status, IBV_WC_SUCCESS); });
	passes(held.stuck, "disconnect",
	       [&] { EXPECT_EQ(rdma::modify_state(side.qp(), IBV_QPS_SQD), 0); });
	passes(held.stuck, "others", [] { others_connect(); });
	EXPECT_TRUE(side.reaches(IBV_QPS_ERR));
	held.stuck.release();
	EXPECT_TRUE(closed(held.c.b.get()));
}

// modify_qp waits for the program, with what guards the queue pair; whoever names its number does
// not wait for that.
TEST_F(AttachStuck, modify__is_not_waited_for_by_accept)
{
	Held held;
	rdma::Listener listener(lab::a());
	rdma::Endpoint client(lab::b());
	client.resolve(listener);
	client.connect();
	const rdma::Event request = listener.request();
	std::atomic<bool> over = false;
	std::thread modify([&] {
		EXPECT_EQ(rdma::modify_state(held.side.qp(), IBV_QPS_SQD), 0);
		over = true;
	});
	// It waits two seconds, unless it has not come so far yet.
	std::this_thread::sleep_for(std::chrono::milliseconds(500));
	rdma_conn_param param{};
	param.qp_num = held.side.qp()->qp_num;
	EXPECT_EQ(rdma_accept(request.id, &param), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_FALSE(over) << "it has waited";
	modify.join();
	rdma_destroy_id(request.id);
}

TEST_F(AttachStuck, many__destroyed)
{
	std::vector<std::unique_ptr<Held>> all;
	for (int i = 0; i < 8; i++)
		all.push_back(std::make_unique<Held>(i & 1 ? lab::Family::ipv6 :
							     lab::Family::ipv4));
	for (auto &one : all)
		passes(one->stuck, "destroy", [&] { one->side.destroy_qp(); });
	others_connect();
}

// Work that is due when the lock is released finds no connection.
TEST_F(AttachStuck, bytes_meanwhile__come_to_nobody)
{
	Held held;
	write_all(held.c.b.get(), std::string(2000, 'x'));
	passes(held.stuck, "destroy", [&] { held.side.destroy_qp(); });
	held.stuck.release();
	EXPECT_TRUE(closed(held.c.b.get()));
}

TEST_F(AttachStuck, device__goes)
{
	Held held;
	passes(held.stuck, "removal", [] { removal::remove(lab::a()); });
	held.stuck.release();
	EXPECT_TRUE(closed(held.c.b.get()));
}
