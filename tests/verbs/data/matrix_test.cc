// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The same short transfer with each policy that changes the format on the wire.
#include <gtest/gtest.h>

#include <memory>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

// Revision, CRC and markers, the same on both sides.
struct Wire {
	int rev;
	bool crc;
	bool markers;
};

std::string name(const testing::TestParamInfo<Wire> &info)
{
	return "rev" + std::to_string(info.param.rev) + (info.param.crc ? "_crc" : "_nocrc") +
	       (info.param.markers ? "_markers" : "_nomarkers");
}

class wire : public testing::TestWithParam<Wire> {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

void round_trip(Pair &pair, size_t size, unsigned int seed)
{
	Endpoint &c = pair.client, &s = pair.server;
	size_t half = c.memory().size() / 2;

	fill(c.memory().span(1, size), seed);
	memset(s.memory().data(), 0, s.memory().size());
	post_recv(s.qp(), 1, {s.memory().sge(3, size)});
	post(c.qp(), send(1, {c.memory().sge(1, size)}));
	post(c.qp(), write(2, {c.memory().sge(1, size)}, s.remote(half + 1)));
	wait_ok(c.scq(), 2);
	EXPECT_EQ(wait_ok(s.rcq()).byte_len, size);
	EXPECT_TRUE(filled(s.memory().span(3, size), seed));
	post(c.qp(), read(3, {c.memory().sge(half + 2, size)}, s.remote(half + 1)));
	wait_ok(c.scq());
	EXPECT_TRUE(filled(c.memory().span(half + 2, size), seed));
}

} // namespace

TEST_P(wire, transfer__sizes_around_markers_and_segments)
{
	const Wire &w = GetParam();
	lab::Policy rev_a(lab::a(), "mpa_rev", w.rev), rev_b(lab::b(), "mpa_rev", w.rev);
	lab::Policy crc_a(lab::a(), "crc", w.crc), crc_b(lab::b(), "crc", w.crc);
	lab::Policy markers_a(lab::a(), "markers", w.markers),
		markers_b(lab::b(), "markers", w.markers);
	uint64_t sent = lab::a().counter("tx_markers");
	uint64_t received = lab::a().counter("rx_markers");
	Config config;
	config.memory = 2 * 65600;
	Pair pair(both(config));
	unsigned int seed = 0;

	for (size_t size : {0,	  1,	2,    3,    4,	  5,	489,  490,  491,   492,
			    493,  494,	495,  496,  507,  508,	512,  1000, 1400,  1420,
			    1424, 1427, 1428, 1429, 1440, 1446, 2900, 4096, 65536, 65537})
		round_trip(pair, size, ++seed);
	EXPECT_EQ(pair.client.state(), IBV_QPS_RTS);
	// revision 0 always has markers (RFC 5044 figure 14), SCTP never
	const bool has = lab::a().is_mpa() && (w.markers || !w.rev);
	EXPECT_EQ(lab::a().counter("tx_markers") > sent, has);
	EXPECT_EQ(lab::a().counter("rx_markers") > received, has);
	if (lab::a().is_mpa()) { // as has revision 0
		EXPECT_EQ(crcs(pair), w.crc || !w.rev ? "11" : "00");
	}
}

INSTANTIATE_TEST_SUITE_P(policy, wire,
			 testing::Values(Wire{2, true, false}, Wire{2, false, false},
					 Wire{2, true, true}, Wire{2, false, true},
					 Wire{1, true, false}, Wire{1, false, false},
					 Wire{1, true, true}, Wire{1, false, true},
					 Wire{0, true, true}, Wire{0, false, false}),
			 name);

TEST(wire_mixed, markers__one_direction_only)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	if (!lab::a().is_mpa())
		GTEST_SKIP() << "MPA only";
	for (bool at_a : {true, false}) {
		lab::Policy markers_a(lab::a(), "markers", at_a),
			markers_b(lab::b(), "markers", !at_a);
		const lab::Host &asks = at_a ? lab::a() : lab::b(),
				&obeys = at_a ? lab::b() : lab::a();
		uint64_t got = asks.counter("rx_markers"), sent = obeys.counter("tx_markers");
		uint64_t unasked = asks.counter("tx_markers");
		Config config;
		config.memory = 2 * 65600;
		Pair pair(both(config));
		round_trip(pair, 65536, 1);
		round_trip(pair, 1429, 2);
		EXPECT_GT(asks.counter("rx_markers"), got);
		EXPECT_GT(obeys.counter("tx_markers"), sent);
		EXPECT_EQ(asks.counter("tx_markers"), unasked);
	}
}

TEST(wire_mixed, crc__one_side_wants_it)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	for (bool at_a : {true, false}) {
		lab::Policy crc_a(lab::a(), "crc", at_a), crc_b(lab::b(), "crc", !at_a);
		Pair pair;
		round_trip(pair, 20000, 1);
		if (lab::a().is_mpa()) {
			EXPECT_EQ(crcs(pair), "11");
		}
	}
}

TEST(wire_mixed, fpdu__large)
{
	if (!lab::a().policy("fpdu"))
		GTEST_SKIP() << "no such policy";
	lab::Policy fpdu_a(lab::a(), "fpdu", "large"), fpdu_b(lab::b(), "fpdu", "large");
	Config config;
	config.memory = 2 * 400000;
	Pair pair(both(config));
	for (size_t size : {0, 1, 1429, 64700, 64768, 65536, 300001})
		round_trip(pair, size, size);
}

// ---- the layers below ----

namespace {

// Changes the MTU on both ends of the wire until the end of the scope.
struct Mtu {
	explicit Mtu(int mtu) { set(mtu); }
	~Mtu() { set(1500); }
	static void set(int mtu)
	{
		for (const lab::Host *host : {&lab::a(), &lab::b()})
			lab::shell(*host,
				   "ip link set " + host->netdev + " mtu " + std::to_string(mtu));
	}
};

Config roomy()
{
	Config config;
	config.memory = 2 * 200100;
	return config;
}

// Applies tc netem to the packets of host A until the end of the scope.
struct BadNetwork : lab::Netem {
	explicit BadNetwork(const std::string &how) : Netem(lab::a(), how) {}
	static uint64_t dropped()
	{
		return number(lab::a(), "tc -s qdisc show dev " + lab::a().netdev +
						" | grep -oE 'dropped [0-9]+' | cut -d' ' -f2");
	}
	// Segments that host B has received with a wrong checksum.
	static uint64_t corrupted()
	{
		return number(lab::b(), R"(awk '
			/^Tcp:/ && at { n += $at; next }
			/^Tcp:/ { while ($++at != "InCsumErrors"); }
			/^SctpChecksumErrors/ { n += $2 }
			END { print n + 0 }
			' /proc/net/snmp $(ls /proc/net/sctp/snmp 2>/dev/null))");
	}
	static uint64_t number(const lab::Host &host, const std::string &command)
	{
		return std::stoull(lab::output(host, command));
	}
};

// Round trips of all sizes, again until the network has made an error.
void over_bad_network(uint64_t (*errors)())
{
	const uint64_t before = errors();
	const auto end = std::chrono::steady_clock::now() + patience;
	Pair pair(both(roomy()));
	do
		for (size_t size : {1, 1429, 65536, 200000})
			round_trip(pair, size, size);
	while (errors() == before && std::chrono::steady_clock::now() < end);
	EXPECT_GT(errors(), before) << "the network makes no errors";
}

// Limits TCP's segments until the end of the scope; 12 of these bytes are timestamps.
struct SmallSegments {
	explicit SmallSegments(int bytes) { each("add", " advmss " + std::to_string(bytes)); }
	~SmallSegments() { each("del", ""); }
	static void each(const std::string &verb, const std::string &what)
	{
		route(lab::a(), lab::b(), verb, what);
		route(lab::b(), lab::a(), verb, what);
	}
	static void route(const lab::Host &from, const lab::Host &to, const std::string &verb,
			  const std::string &what)
	{
		lab::shell(from, "ip route " + verb + " " + to.ip4 + "/32 dev " + from.netdev +
					 " src " + from.ip4 + what);
	}
};

} // namespace

TEST(wire_below, mtu__each)
{
	// including MTUs whose EMSS is not a multiple of four
	for (bool markers : {false, true}) {
		if (markers && !lab::both_kwarp())
			break;
		std::unique_ptr<lab::Policy> a, b;
		if (markers) {
			a = std::make_unique<lab::Policy>(lab::a(), "markers", 1);
			b = std::make_unique<lab::Policy>(lab::b(), "markers", 1);
		}
		for (int mtu : {1280, 1281, 1499, 9000, 65535}) {
			SCOPED_TRACE("MTU " + std::to_string(mtu) + (markers ? ", markers" : ""));
			Mtu scope(mtu);
			Pair pair(both(roomy()));
			for (size_t size : {1, 1200, 1500, 9001, 200000})
				round_trip(pair, size, size + mtu);
		}
	}
}

// RFC 5044 4.5: MULPDU stays at 128 however small TCP's segments are.
TEST(wire_below, mtu__smaller_than_the_least_mulpdu)
{
	constexpr uint32_t size = 114000, write_header = 14, least_mulpdu = 128;
	if (!lab::a().is_mpa())
		GTEST_SKIP() << "about TCP's segments";
	SmallSegments scope(100);
	for (bool markers : {false, true}) {
		SCOPED_TRACE(markers ? "markers" : "no markers");
		std::unique_ptr<lab::Policy> policy;
		if (lab::both_kwarp())
			policy = std::make_unique<lab::Policy>(lab::b(), "markers", markers);
		Pair pair(both(roomy()));
		for (size_t length : {1, 127, 128, 129, 5000, 70000})
			round_trip(pair, length, length);
		if (!lab::both_kwarp())
			continue;
		uint64_t before = lab::a().counter("tx_fpdus");
		post(pair.client.qp(),
		     write(1, {pair.client.memory().sge(0, size)}, pair.server.remote()));
		wait_ok(pair.client.scq());
		uint64_t fpdus = lab::a().counter("tx_fpdus") - before;
		EXPECT_LE(fpdus, size / (least_mulpdu - write_header) + 1);
		EXPECT_GT(fpdus, size / 200) << "the segments are not small";
	}
}

// RFC 5044 4.5: an EMSS of 148 has room for the least MULPDU, so it limits the MULPDU.
TEST(wire_below, mtu__of_the_least_mulpdu)
{
	constexpr uint32_t size = 114000, write_header = 14, emss = 148, overhead = 6;
	if (!lab::a().is_mpa())
		GTEST_SKIP() << "about TCP's segments";
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	SmallSegments scope(emss + 12);
	Pair pair(both(roomy()));
	uint64_t before = lab::a().counter("tx_fpdus");
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, size)}, pair.server.remote()));
	wait_ok(pair.client.scq());
	EXPECT_GE(lab::a().counter("tx_fpdus") - before, size / (emss - overhead - write_header));
}

TEST(wire_below, mtu__changes_while_connected)
{
	Mtu scope(1500);
	Pair pair(both(roomy()));
	for (int mtu : {1500, 9000, 1280, 1499, 65535, 1500}) {
		Mtu::set(mtu);
		for (size_t size : {1, 9001, 200000})
			round_trip(pair, size, size + mtu);
	}
}

TEST(wire_below, network__drops_and_reorders)
{
	BadNetwork bad("delay 1ms loss 2% duplicate 3% reorder 20%");
	over_bad_network(BadNetwork::dropped);
}

TEST(wire_below, network__drops_and_reorders_with_markers)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	lab::Policy a(lab::a(), "markers", 1), b(lab::b(), "markers", 1);
	BadNetwork bad("delay 1ms loss 2% duplicate 3% reorder 20%");
	over_bad_network(BadNetwork::dropped);
}

TEST(wire_below, network__corrupts)
{
	// TCP's checksum detects the errors; no wrong data may arrive
	BadNetwork bad("corrupt 2%");
	over_bad_network(BadNetwork::corrupted);
}

TEST(wire_mixed, addresses__ipv6)
{
	PairConfig config;
	config.family = lab::Family::ipv6;
	Pair pair(config);
	for (size_t size : {1, 1408, 1409, 30000})
		round_trip(pair, size, size);
}
