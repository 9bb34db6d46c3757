// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The events of rdma_cm when a device is removed, in each state of an id; and the cleanup.
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"
#include "rdma/endpoint.h"
#include "rdma/failure.h"
#include "rdma/raw_listener.h"

using namespace rdma;

namespace {

// The wanted event arrives, perhaps after an event about the end of the connection.
testing::AssertionResult receives(Channel &channel, rdma_cm_event_type wanted)
{
	while (std::optional<Event> event = channel.next())
		if (event->type == wanted)
			return testing::AssertionSuccess();
	return testing::AssertionFailure() << "no " << rdma_event_str(wanted);
}

// A TCP connection to a listener of rdma_cm.
class RawConnection {
public:
	RawConnection(const lab::Host &host, const Listener &listener)
	{
		lab::Inside inside(host);
		Address to(listener.ip(), listener.port());
		fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		check(connect(fd_, to.get(), sizeof(sockaddr_in)), "connect");
	}
	~RawConnection() { close(fd_); }
	RawConnection(const RawConnection &) = delete;
	RawConnection &operator=(const RawConnection &) = delete;

	void send(const Bytes &data)
	{
		check(::send(fd_, data.data(), data.size(), 0) < 0, "send");
	}
	Bytes receive(size_t size)
	{
		Bytes data(size);
		if (!readable(fd_, patience))
			return {};
		ssize_t n = recv(fd_, data.data(), size, MSG_WAITALL);
		data.resize(n < 0 ? 0 : static_cast<size_t>(n));
		return data;
	}

private:
	int fd_;
};

struct cm_removal : removal::Devices {};

} // namespace

TEST_F(cm_removal, connected__initiator)
{
	Pair pair;
	removal::remove(lab::a());
	EXPECT_TRUE(receives(pair.client.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
	EXPECT_TRUE(receives(pair.server.channel(), RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
}

TEST_F(cm_removal, connected__responder)
{
	Pair pair;
	removal::remove(lab::b());
	EXPECT_TRUE(receives(pair.server.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
	EXPECT_TRUE(receives(pair.client.channel(), RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
}

TEST_F(cm_removal, connected__work_in_flight_comes_back)
{
	Pair pair;
	for (int i = 0; i < 10; i++)
		post_recv(pair.client.qp(), i, {pair.client.memory().sge(0, 64)});
	removal::remove(lab::a());
	std::vector<ibv_wc> all = wait(pair.client.rcq(), 10);
	for (const ibv_wc &wc : all)
		EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(cm_removal, disconnected__not_destroyed_yet)
{
	Pair pair;
	pair.client.disconnect();
	pair.client.disconnected();
	pair.server.disconnected();
	removal::remove(lab::a());
	removal::remove(lab::b());
	EXPECT_TRUE(receives(pair.client.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
	EXPECT_TRUE(receives(pair.server.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
}

TEST_F(cm_removal, resolved)
{
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	removal::remove(lab::a());
	EXPECT_TRUE(receives(client.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
	EXPECT_NE(client.try_connect(), 0);
}

// Removal does not wait for the startup timeout.
TEST_F(cm_removal, connecting__peer_says_nothing)
{
	lab::Policy patient(lab::a(), "startup_timeout_ms", 600000);
	RawListener silent(lab::b());
	Endpoint client(lab::a());
	client.resolve(lab::b().ip4, silent.port());
	client.connect();
	removal::remove(lab::a());
	EXPECT_TRUE(receives(client.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
}

TEST_F(cm_removal, listening)
{
	Listener listener(lab::b());
	removal::remove(lab::b());
	EXPECT_TRUE(receives(listener.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
}

// Peers that were rejected and do not close their connections.
TEST_F(cm_removal, refused__peers_stay)
{
	lab::Policy patient(lab::b(), "startup_timeout_ms", 600000);
	Listener listener(lab::b());
	std::vector<std::unique_ptr<RawConnection>> crowd;
	for (int i = 0; i < 30; i++) {
		crowd.push_back(std::make_unique<RawConnection>(lab::a(), listener));
		// more private data than an event can carry
		Bytes request = {'M', 'P', 'A', ' ', 'I', 'D', ' ',  'R', 'e', 'q',
				 ' ', 'F', 'r', 'a', 'm', 'e', 0x40, 1,	  1,   44};
		request.resize(request.size() + 300);
		crowd.back()->send(request);
		Bytes reply = crowd.back()->receive(20);
		ASSERT_EQ(reply.size(), 20u);
		EXPECT_TRUE(reply[16] & 0x20) << "not rejected";
	}
	removal::remove(lab::b());
	EXPECT_TRUE(receives(listener.channel(), RDMA_CM_EVENT_DEVICE_REMOVAL));
}

// While the programs learn of the end, a listener must not begin in the netdev's next namespace.
TEST_F(cm_removal, netdev_moves__no_listener_in_the_next_namespace)
{
	const std::string ip = "192.168.77.1";
	const lab::Host moving{lab::b().netns, "moving", "moving", ip, ""};
	lab::shell(lab::b(), "ip link add moving type dummy && ip addr add " + ip +
				     "/24 dev moving && ip link set moving up && "
				     "rdma link add moving type kwarp netdev moving");
	{
		Listener listener(moving);
		Endpoint client(moving);
		client.resolve(listener);
		client.connect();
		Endpoint server(listener.request());
		server.accept();
		client.established();

		Channel channel;
		CmId id = create_id(moving, channel);
		Address address(ip, 0);
		check(rdma_bind_addr(id.get(), address.get()), "rdma_bind_addr");
		lab::shell(lab::a(), "ip addr add " + ip + "/32 dev lo");
		lab::shell(lab::b(), "ip link set moving netns " + lab::a().netns);
		EXPECT_EQ(rdma_listen(id.get(), 1) ? errno : 0, ENODEV);
		// the device hinders nobody from using others, in either namespace
		for (const lab::Host *host : {&lab::a(), &lab::b()}) {
			CmId wild = create_id(*host, channel);
			Address any("0.0.0.0", 0);
			check(rdma_bind_addr(wild.get(), any.get()), "rdma_bind_addr");
			EXPECT_EQ(rdma_listen(wild.get(), 1) ? errno : 0, 0) << host->device;
		}
	}
	lab::shell(lab::a(), "ip addr del " + ip + "/32 dev lo; ip link del moving");
}

TEST_F(cm_removal, requested__not_answered)
{
	const uint64_t fallbacks = lab::a().counter("revision_fallbacks");
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	Event request = listener.request();
	Endpoint server(request);
	removal::remove(lab::b());
	// rdma_cm has no event for an id that was not accepted; accept fails after the removal.
	EXPECT_NE(server.try_accept(), 0);
	std::optional<Event> end = client.channel().next();
	ASSERT_TRUE(end);
	EXPECT_NE(end->type, RDMA_CM_EVENT_ESTABLISHED);
	// the device does not pretend to know no revision 2
	EXPECT_EQ(lab::a().counter("revision_fallbacks"), fallbacks);
}
