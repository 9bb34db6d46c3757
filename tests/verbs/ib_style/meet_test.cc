// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Partners connect in any order and by any address.
#include "player.h"

#include <thread>

using namespace rdma;
using namespace ib_style;

namespace {

struct meet : Rendezvous {};

// Settings to use the IPv6 address of the host.
Settings by_ip6(const lab::Host &host)
{
	Context context = open_device(host.device);
	Settings settings;
	settings.gid_index = gid_index(context.get(), host.ip6);
	return settings;
}

} // namespace

// The administrator ends the listening sockets ("ss -K").
TEST_F(meet, listener_was_ended)
{
	for (const lab::Host *host : {&lab::a(), &lab::b()})
		lab::shell(*host, "ss -K state listening 'sport = :" + std::to_string(port) +
					  "' >/dev/null");
	Player a(lab::a()), b(lab::b());
	introduce(a, b);
	transfers(a, b);
}

// The early revisions have no RTR indication, which a rendezvous needs, whatever the policy is.
TEST_F(meet, policy__of_early_revisions)
{
	for (int rev : {0, 1}) {
		SCOPED_TRACE(rev);
		lab::Policy policy_a(lab::a(), "mpa_rev", rev), policy_b(lab::b(), "mpa_rev", rev);
		Player a(lab::a()), b(lab::b());
		introduce(a, b);
		transfers(a, b);
	}
}

// ---- order of events ----

TEST_F(meet, order__a_first)
{
	Player a(lab::a()), b(lab::b());
	introduce(a, b);
	transfers(a, b);
}

TEST_F(meet, order__b_first)
{
	Player a(lab::a()), b(lab::b());
	introduce(b, a);
	transfers(b, a);
}

TEST_F(meet, order__at_once)
{
	for (int round = 0; round < 10; round++) {
		Player a(lab::a()), b(lab::b());
		Name name_a = a.name(), name_b = b.name();
		std::thread other([&] { b.bring_up(name_a); });
		a.bring_up(name_b);
		other.join();
		transfers(a, b);
	}
}

TEST_F(meet, order__rtr_both_then_rts)
{
	Player a(lab::a()), b(lab::b());
	a.to_init();
	b.to_init();
	a.to_rtr(b.name());
	b.to_rtr(a.name());
	b.to_rts();
	a.to_rts();
	transfers(a, b);
}

TEST_F(meet, order__partner_comes_later)
{
	for (bool a_waits : {true, false}) {
		Player a(lab::a()), b(lab::b());
		Player &early = a_waits ? a : b, &late = a_waits ? b : a;
		Name late_name = late.name();
		early.bring_up(late_name);
		early.post_recv(1, 0, 64);
		early.post_send(2, 64, 64);
		std::this_thread::sleep_for(Milliseconds(300));
		EXPECT_EQ(early.state(), IBV_QPS_RTS);
		EXPECT_TRUE(drain(early.scq()).empty());
		late.to_init();
		late.post_recv(3, 0, 64);
		late.to_rtr(early.name());
		late.to_rts();
		late.post_send(4, 64, 64);
		EXPECT_EQ(wait_ok(early.scq()).wr_id, 2u);
		EXPECT_EQ(wait_ok(early.rcq()).wr_id, 1u);
		EXPECT_EQ(wait_ok(late.scq()).wr_id, 4u);
		EXPECT_EQ(wait_ok(late.rcq()).wr_id, 3u);
	}
}

// perftest's server in a one-way test never sends.
TEST_F(meet, order__one_side_stays_in_rtr)
{
	for (bool a_sends : {true, false}) {
		Player a(lab::a()), b(lab::b());
		Player &sender = a_sends ? a : b, &receiver = a_sends ? b : a;
		receiver.to_init();
		receiver.to_rtr(sender.name());
		sender.bring_up(receiver.name());
		transfer(sender, receiver, 5);
		EXPECT_EQ(receiver.state(), IBV_QPS_RTR);
		// but may move to RTS later
		receiver.to_rts();
		transfer(receiver, sender, 6);
	}
}

TEST_F(meet, again__after_reset)
{
	Player a(lab::a()), b(lab::b());
	for (int round = 0; round < 5; round++) {
		introduce(a, b);
		transfers(a, b);
		ASSERT_EQ(a.modify(IBV_QPS_RESET), 0);
		ASSERT_EQ(b.modify(IBV_QPS_RESET), 0);
		EXPECT_EQ(a.state(), IBV_QPS_RESET);
	}
}

// ---- addresses ----

TEST_F(meet, address__ipv6)
{
	Player a(lab::a(), by_ip6(lab::a())), b(lab::b(), by_ip6(lab::b()));
	introduce(a, b);
	transfers(a, b);
}

// GIDs of different families are refused, because the source address of the connection could not
// identify the partner.
TEST_F(meet, address__of_both_families)
{
	Player a(lab::a()), b(lab::b(), by_ip6(lab::b()));
	a.to_init();
	b.to_init();
	EXPECT_EQ(a.try_rtr(a.rtr(b.name())), EINVAL);
	EXPECT_EQ(b.try_rtr(b.rtr(a.name())), EINVAL);
	EXPECT_EQ(a.state(), IBV_QPS_INIT);
	EXPECT_EQ(b.state(), IBV_QPS_INIT);
}

TEST_F(meet, address__link_local)
{
	Settings of_a, of_b;
	of_a.gid_index = index_of(lab::a(), link_local(lab::a()));
	of_b.gid_index = index_of(lab::b(), link_local(lab::b()));
	Player a(lab::a(), of_a), b(lab::b(), of_b);
	introduce(a, b);
	transfers(a, b);
	// with an address of a wider scope
	Player c(lab::a(), of_a), d(lab::b(), by_ip6(lab::b()));
	introduce(c, d);
	transfers(c, d);
}

TEST_F(meet, address__every_gid)
{
	Context context = open_device(lab::b().device);
	ibv_gid gid;
	int tried = 0;
	for (int i = 0; !ibv_query_gid(context.get(), 1, i, &gid); i++) {
		if (!gid.global.interface_id)
			continue;
		Settings settings;
		settings.gid_index = i;
		bool ip4 = !memcmp(gid.raw, gid_of("0.0.0.0").raw, 12);
		Player a(lab::a(), ip4 ? Settings{} : by_ip6(lab::a())), b(lab::b(), settings);
		introduce(a, b);
		transfer(a, b, static_cast<unsigned int>(i), 100);
		tried++;
	}
	// IPv4, IPv6, link-local
	EXPECT_GE(tried, 3);
}

TEST_F(meet, one_device__same_gid)
{
	Player a(lab::a());
	Player b(a);
	introduce(a, b);
	transfers(a, b);
	Player c(a);
	Player d(a);
	introduce(d, c);
	transfers(c, d);
}

TEST_F(meet, one_device__each_its_own_gid)
{
	// as rdma-core's tests do: each uses its own GID as that of the partner
	Player a(lab::a()), b(lab::a(), by_ip6(lab::a()));
	Name name_a = a.name(), name_b = b.name();
	std::swap(name_a.gid, name_b.gid);
	a.bring_up(name_b);
	b.bring_up(name_a);
	transfers(a, b);
}

TEST_F(meet, one_device__both_families)
{
	Player a(lab::a()), b(lab::a(), by_ip6(lab::a()));
	introduce(a, b);
	transfers(a, b);
	Player c(lab::a(), by_ip6(lab::a())), d(lab::a());
	introduce(c, d);
	transfers(c, d);
}

TEST_F(meet, many__at_once)
{
	constexpr int pairs = 24;
	std::vector<std::unique_ptr<Player>> as, bs;
	as.push_back(std::make_unique<Player>(lab::a()));
	bs.push_back(std::make_unique<Player>(lab::b()));
	for (int i = 1; i < pairs; i++) {
		as.push_back(std::make_unique<Player>(*as[0]));
		bs.push_back(std::make_unique<Player>(*bs[0]));
	}
	for (auto &a : as)
		a->bring_up(bs[static_cast<size_t>(&a - &as[0])]->name());
	for (auto &b : bs)
		b->bring_up(as[static_cast<size_t>(&b - &bs[0])]->name());
	for (size_t i = 0; i < pairs; i++)
		transfer(*as[i], *bs[i], static_cast<unsigned int>(i), 500);
	while (as.size() > 1) {
		as.pop_back();
		bs.pop_back();
	}
}

// ---- the table of GIDs ----

TEST_F(meet, gid__follows_the_netdev)
{
	Context context = open_device(lab::a().device);
	const std::string ip = "10.0.0.77";
	auto becomes = [&](bool there) {
		auto end = std::chrono::steady_clock::now() + patience;
		while ((gid_index(context.get(), ip) >= 0) != there &&
		       std::chrono::steady_clock::now() < end)
			std::this_thread::sleep_for(Milliseconds(10));
		return (gid_index(context.get(), ip) >= 0) == there;
	};
	ibv_gid first, now;
	ASSERT_EQ(ibv_query_gid(context.get(), 1, 0, &first), 0);
	lab::shell(lab::a(), "ip addr add " + ip + "/24 dev vA");
	EXPECT_TRUE(becomes(true));
	{
		Settings settings;
		settings.gid_index = gid_index(context.get(), ip);
		Player a(lab::a(), settings), b(lab::b());
		introduce(a, b);
		transfers(a, b);
	}
	lab::shell(lab::a(), "ip addr del " + ip + "/24 dev vA");
	EXPECT_TRUE(becomes(false));
	// an entry keeps its index
	ASSERT_EQ(ibv_query_gid(context.get(), 1, 0, &now), 0);
	EXPECT_EQ(memcmp(&first, &now, sizeof(now)), 0);
}
