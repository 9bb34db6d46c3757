// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rdma_set_option() of ids, according to its manual page.
#include <gtest/gtest.h>

#include "packets.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

using lab::Family;

template <class T>
int set(rdma_cm_id *id, int option, T value)
{
	return rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof(value)) ? errno : 0;
}

// A listener whose id is available before it listens.
struct Passive {
	Channel channel;
	CmId id = create_id(lab::b(), channel);

	int bind(const std::string &ip, uint16_t port = 0)
	{
		lab::Inside inside(lab::b());
		Address address(ip, port);
		return rdma_bind_addr(id.get(), address.get()) ? errno : 0;
	}
	int listen()
	{
		lab::Inside inside(lab::b());
		return rdma_listen(id.get(), 8) ? errno : 0;
	}
	uint16_t port() const { return ntohs(rdma_get_src_port(id.get())); }
};

// Connects, moves data in both directions, and disconnects; returns the types of service of the
// packets on the wire at host A.
options::Packets::Seen talk(Passive &passive, Endpoint &client, Family family)
{
	options::Packets wire(lab::a());
	client.resolve(lab::b().ip(family), passive.port());
	client.connect();
	Endpoint server(passive.channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST));
	server.accept();
	client.established();
	server.established();
	fill(client.memory().span(0, 20000), 1);
	post(client.qp(), write(1, {client.memory().sge(0, 20000)}, server.remote()));
	post(client.qp(), read(2, {client.memory().sge(20000, 20000)}, server.remote()));
	wait_ok(client.scq(), 2);
	EXPECT_TRUE(filled(client.memory().span(20000, 20000), 1));
	client.disconnect();
	client.disconnected();
	server.disconnected();
	return wire.services(passive.port());
}

struct service : testing::TestWithParam<Family> {};

} // namespace

TEST_P(service, default_is_zero)
{
	Passive passive;
	ASSERT_EQ(passive.bind(lab::b().ip(GetParam())), 0);
	ASSERT_EQ(passive.listen(), 0);
	Endpoint client(lab::a());
	options::Packets::Seen seen = talk(passive, client, GetParam());
	EXPECT_EQ(seen.sent, std::set{0});
	EXPECT_EQ(seen.received, std::set{0});
}

// Each side marks all of its own packets, from the SYN and its answer to the FIN.
TEST_P(service, each_side_has_its_own)
{
	Passive passive;
	ASSERT_EQ(passive.bind(lab::b().ip(GetParam())), 0);
	ASSERT_EQ(set<uint8_t>(passive.id.get(), RDMA_OPTION_ID_TOS, 0x48), 0);
	ASSERT_EQ(passive.listen(), 0);
	Endpoint client(lab::a());
	ASSERT_EQ(set<uint8_t>(client.id(), RDMA_OPTION_ID_TOS, 0x28), 0);
	options::Packets::Seen seen = talk(passive, client, GetParam());
	EXPECT_EQ(seen.sent, std::set{0x28});
	EXPECT_EQ(seen.received, std::set{0x48});
}

// The second connection, which is made if the peer supports revision 1 only, has the same type of
// service.
TEST_P(service, of_the_connection_that_falls_back)
{
	lab::Policy old(lab::b(), "mpa_rev", 1);
	Passive passive;
	ASSERT_EQ(passive.bind(lab::b().ip(GetParam())), 0);
	ASSERT_EQ(passive.listen(), 0);
	Endpoint client(lab::a());
	ASSERT_EQ(set<uint8_t>(client.id(), RDMA_OPTION_ID_TOS, 0x28), 0);
	options::Packets::Seen seen = talk(passive, client, GetParam());
	EXPECT_EQ(seen.sent, std::set{0x28});
}

INSTANTIATE_TEST_SUITE_P(option, service, testing::Values(Family::ipv4, Family::ipv6),
			 [](const auto &info) {
				 return info.param == Family::ipv4 ? "ipv4" : "ipv6";
			 });

TEST(option, reuseaddr__two_ids_bind_one_port)
{
	Passive one, without;
	ASSERT_EQ(set<int>(one.id.get(), RDMA_OPTION_ID_REUSEADDR, 1), 0);
	ASSERT_EQ(one.bind(lab::b().ip4), 0);
	EXPECT_EQ(without.bind(lab::b().ip4, one.port()), EADDRINUSE);
	{
		Passive two;
		ASSERT_EQ(set<int>(two.id.get(), RDMA_OPTION_ID_REUSEADDR, 1), 0);
		EXPECT_EQ(two.bind(lab::b().ip4, one.port()), 0);
		// An id can listen only if no other id is bound to the port.
		EXPECT_EQ(one.listen(), EADDRINUSE);
	}
	EXPECT_EQ(one.listen(), 0);
}

// The server closes first, so that its port has connections in TIME_WAIT.
TEST(option, reuseaddr__a_server_that_is_started_again)
{
	uint16_t port;
	{
		Passive passive;
		ASSERT_EQ(passive.bind(lab::b().ip4), 0);
		ASSERT_EQ(passive.listen(), 0);
		port = passive.port();
		Endpoint client(lab::a());
		client.resolve(lab::b().ip4, port);
		client.connect();
		Endpoint server(passive.channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST));
		server.accept();
		client.established();
		server.established();
		server.disconnect();
		client.disconnected();
		server.disconnected();
	}
	Passive again;
	ASSERT_EQ(again.bind(lab::b().ip4, port), 0);
	EXPECT_EQ(again.listen(), 0);
}

// A listener on :: serves IPv6 only with the option, and both families without.
TEST(option, afonly__ipv4_client)
{
	for (int afonly : {0, 1}) {
		Passive passive;
		ASSERT_EQ(set<int>(passive.id.get(), RDMA_OPTION_ID_AFONLY, afonly), 0);
		ASSERT_EQ(passive.bind("::"), 0);
		ASSERT_EQ(passive.listen(), 0);
		Endpoint client(lab::a());
		client.resolve(lab::b().ip4, passive.port());
		client.connect();
		if (afonly) {
			EXPECT_EQ(client.channel().expect(RDMA_CM_EVENT_REJECTED).status,
				  -ECONNREFUSED);
		} else {
			Endpoint server(passive.channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST));
			server.accept();
			client.established();
			server.established();
		}
	}
}

TEST(option, afonly__one_port_for_each_family)
{
	Passive v6, v4;
	ASSERT_EQ(set<int>(v6.id.get(), RDMA_OPTION_ID_AFONLY, 1), 0);
	ASSERT_EQ(v6.bind("::"), 0);
	ASSERT_EQ(v6.listen(), 0);
	ASSERT_EQ(v4.bind("0.0.0.0", v6.port()), 0);
	EXPECT_EQ(v4.listen(), 0);
}

// This timeout belongs to InfiniBand's transport: the option is accepted and has no effect.
TEST(option, ack_timeout__is_accepted)
{
	Passive passive;
	ASSERT_EQ(passive.bind(lab::b().ip4), 0);
	ASSERT_EQ(passive.listen(), 0);
	Endpoint client(lab::a());
	ASSERT_EQ(set<uint8_t>(client.id(), RDMA_OPTION_ID_ACK_TIMEOUT, 14), 0);
	talk(passive, client, Family::ipv4);
}

TEST(option, unknown__is_refused)
{
	Passive passive;
	EXPECT_EQ(set<uint8_t>(passive.id.get(), 4711, 0), ENOSYS);
	EXPECT_EQ(set<uint32_t>(passive.id.get(), RDMA_OPTION_ID_TOS, 0), EINVAL);
}
