// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection to the rendezvous port from a host that is not a partner gets no data and does not
// keep resources for long; one from a partner is accepted. The peer of tests/peer plays both parts.
#include "player.h"

#include <thread>

#include "iwarp/peer.h"
#include "rdma/endpoint.h"

using namespace rdma;
using namespace ib_style;

namespace {

constexpr uint32_t peer_qpn = 4711, peer_psn = 0x654321;

// The private data of the request: Documentation/wire.rst, "Rendezvous".
struct Card {
	uint32_t magic = 0x6b575276;
	uint8_t version = 1;
	uint8_t flags = 0x80;
	uint32_t qpn = peer_qpn;
	uint32_t partner = 0;
	uint32_t sq_psn = peer_psn;
	uint32_t rq_psn = 0;
	ibv_gid gid = gid_of(lab::a().ip4);
	ibv_gid partner_gid = gid_of(lab::b().ip4);

	iwarp::Bytes encode() const
	{
		iwarp::Bytes o;
		iwarp::put32(o, magic);
		iwarp::put8(o, version);
		iwarp::put8(o, flags);
		iwarp::put16(o, 0);
		for (uint32_t v : {qpn, partner, sq_psn, rq_psn})
			iwarp::put32(o, v);
		iwarp::put(o, gid.raw);
		iwarp::put(o, partner_gid.raw);
		return o;
	}
};

Card card_for(const Name &partner)
{
	Card card;
	card.partner = partner.qpn;
	card.rq_psn = partner.psn;
	return card;
}

Name peer_name(const lab::Host &host)
{
	return {peer_qpn, gid_of(host.ip4), peer_psn};
}

iwarp::StartupFrame request(const iwarp::Bytes &pd)
{
	return iwarp::StartupFrame::request(2, iwarp::Enhanced{4, 4, true, true, true, true}, pd);
}

iwarp::Address door()
{
	return {lab::b().ip4, port};
}

const iwarp::PeerOptions host_a{"/run/netns/hostA"};

iwarp::Peer knock()
{
	return iwarp::Peer(iwarp::Socket::connect(door(), host_a.netns));
}

// The stream ends without data.
void closed_silently(iwarp::Socket &socket, iwarp::Millis limit = patience)
{
	iwarp::Bytes got;
	iwarp::Event event = socket.receive(got, limit);
	EXPECT_TRUE(event == iwarp::Event::fin || event == iwarp::Event::reset);
	EXPECT_TRUE(got.empty());
}

void gets_in(Player &b, const Card &card, iwarp::Socket socket)
{
	iwarp::Peer peer(std::move(socket));
	peer.send_request(request(card.encode()));
	EXPECT_FALSE(peer.receive_reply().r);
	b.post_recv(1, 0, 64);
	peer.send_message({1, 2, 3});
	EXPECT_EQ(wait_ok(b.rcq()).byte_len, 3u);
}

void gets_in(Player &b, const Card &card)
{
	gets_in(b, card, iwarp::Socket::connect(door(), host_a.netns));
}

// A connection whose reply has arrived, with nothing sent after the request. Retries until the
// device has noticed that an earlier one has closed.
iwarp::Socket answered(const Card &card)
{
	auto end = std::chrono::steady_clock::now() + patience;
	while (std::chrono::steady_clock::now() < end) {
		iwarp::Peer peer = knock();
		iwarp::Bytes reply;
		peer.send_request(request(card.encode()));
		while (reply.size() < iwarp::startup_header_len &&
		       peer.socket.receive(reply, patience) == iwarp::Event::data)
			;
		if (reply.size() >= iwarp::startup_header_len)
			return std::move(peer.socket);
	}
	throw Failure("no reply");
}

// Gives the host an address until the end of the scope.
class ExtraAddress {
public:
	ExtraAddress(const lab::Host &host, const std::string &prefix)
		: host_(host), prefix_(prefix)
	{
		lab::shell(host_, "ip addr add " + prefix_ + " dev " + host_.netdev);
	}
	~ExtraAddress() { lab::shell(host_, "ip addr del " + prefix_ + " dev " + host_.netdev); }
	ExtraAddress(const ExtraAddress &) = delete;
	ExtraAddress &operator=(const ExtraAddress &) = delete;

private:
	const lab::Host &host_;
	std::string prefix_;
};

// Connects from host A, with one of its addresses as source.
iwarp::Socket connect_by(const std::string &from, const std::string &to)
{
	lab::Inside inside(lab::a());
	iwarp::Address source(from, 0), destination(to, port);
	iwarp::Socket socket(::socket(destination.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (!socket || ::bind(socket.fd(), source.sa(), source.len()) ||
	    ::connect(socket.fd(), destination.sa(), destination.len()))
		throw Failure("no connection from " + from + " to " + to);
	return socket;
}

struct stranger : Rendezvous {
	// Startup does not time out during a test.
	lab::Policy patient_a{lab::a(), "startup_timeout_ms", 600000};
	lab::Policy patient_b{lab::b(), "startup_timeout_ms", 600000};

	uint64_t refused() { return lab::b().counter("rendezvous_refused"); }
};

} // namespace

TEST_F(stranger, partner__gets_in)
{
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	gets_in(b, card_for(b.name()));
}

TEST_F(stranger, request__wrong_card)
{
	struct Case {
		const char *what;
		void (*change)(Card &);
	};
	const Case cases[] = {
		{"magic", [](Card &c) { c.magic ^= 1; }},
		{"version", [](Card &c) { c.version = 2; }},
		{"sender's number", [](Card &c) { c.qpn++; }},
		{"number of the partner", [](Card &c) { c.partner += 1000; }},
		{"number 0", [](Card &c) { c.partner = 0; }},
		{"number beyond all", [](Card &c) { c.partner = 0xffffffff; }},
		{"first PSN sent", [](Card &c) { c.sq_psn ^= 1; }},
		{"first PSN expected", [](Card &c) { c.rq_psn ^= 0x800000; }},
		{"no PSN sent, wrong one expected",
		 [](Card &c) {
			 c.flags = 0;
			 c.rq_psn ^= 1;
		 }},
		{"sender's GID", [](Card &c) { c.gid = gid_of("10.0.0.9"); }},
		{"GID of the partner", [](Card &c) { c.partner_gid = gid_of("10.0.0.9"); }},
		{"no GID", [](Card &c) { c.gid = c.partner_gid = {}; }},
	};
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	for (const Case &c : cases) {
		SCOPED_TRACE(c.what);
		uint64_t before = refused();
		Card card = card_for(b.name());
		c.change(card);
		iwarp::Peer peer = knock();
		peer.send_request(request(card.encode()));
		closed_silently(peer.socket);
		EXPECT_EQ(refused(), before + 1);
	}
	gets_in(b, card_for(b.name()));
}

// The request is correct in every bit (many programs use constant PSNs), but its source address
// does not belong to its GID.
TEST_F(stranger, address__is_not_the_gid)
{
	const lab::Host &a = lab::a(), &b = lab::b();
	struct Case {
		const char *what;
		ibv_gid gid; // claimed and expected
		std::string gid_of_b;
		std::string from, to;
		std::string partner; // address of the real partner, which then connects
	};
	const Case cases[] = {
		{"IPv4", gid_of(a.ip4), b.ip4, "10.0.0.9", b.ip4, a.ip4},
		{"IPv6", gid_of(a.ip6), b.ip6, "fd00::9", b.ip6, a.ip6},
		{"link-local", link_local(a), b.ip6, a.ip6, b.ip6, {}},
		{"IPv4, by IPv6", gid_of(a.ip4), b.ip4, a.ip6, b.ip6, a.ip4},
		{"IPv6, by IPv4", gid_of(a.ip6), b.ip6, a.ip4, b.ip4, a.ip6},
		{"the device's own", gid_of(b.ip4), b.ip4, a.ip4, b.ip4, {}},
	};
	ExtraAddress ip4(a, "10.0.0.9/24"), ip6(a, "fd00::9/64");
	for (const Case &c : cases) {
		SCOPED_TRACE(c.what);
		Settings settings;
		settings.psn = 0;
		settings.gid_index = index_of(b, gid_of(c.gid_of_b));
		Player player(b, settings);
		player.bring_up({peer_qpn, c.gid, 0});
		Card card = card_for(player.name());
		card.sq_psn = 0;
		card.gid = c.gid;
		card.partner_gid = player.name().gid;
		uint64_t before = refused(), wrong = b.counter("rendezvous_address_errors");
		// more often than the limit for wrong PSNs
		for (int i = 0; i < 70; i++) {
			iwarp::Peer peer(connect_by(c.from, c.to));
			peer.send_request(request(card.encode()));
			closed_silently(peer.socket);
		}
		// the device also tries to connect to its partner, and may be refused
		EXPECT_GE(refused(), before + 70);
		EXPECT_EQ(b.counter("rendezvous_address_errors"), wrong + 70);
		if (c.partner.empty())
			continue;
		gets_in(player, card, connect_by(c.partner, c.gid_of_b));
	}
}

// A stranger with the address of the partner could guess PSNs: the number of attempts is limited.
TEST_F(stranger, psn__few_guesses)
{
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	uint64_t wrong = lab::b().counter("rendezvous_psn_errors");
	Card card = card_for(b.name());
	auto guess = [&](uint32_t sq_psn) {
		card.sq_psn = sq_psn;
		iwarp::Peer peer = knock();
		peer.send_request(request(card.encode()));
		closed_silently(peer.socket);
	};
	for (uint32_t i = 0; i < 63; i++)
		guess(i);
	EXPECT_EQ(lab::b().counter("rendezvous_psn_errors"), wrong + 63);
	guess(63);
	for (int i = 0; i < 3; i++)
		guess(peer_psn);
	EXPECT_EQ(lab::b().counter("rendezvous_psn_errors"), wrong + 64);
	// the limit is that of one bring-up
	ASSERT_EQ(b.modify(IBV_QPS_RESET), 0);
	b.bring_up(peer_name(lab::a()));
	gets_in(b, card_for(b.name()));
}

// Our first PSN is not known before RTS. If a connection was accepted before, the PSN that its
// request expected is compared at RTS.
TEST_F(stranger, psn__known_later)
{
	for (bool right : {false, true}) {
		SCOPED_TRACE(right);
		Player b(lab::b());
		b.to_init();
		b.to_rtr(peer_name(lab::a()));
		Card card = card_for(b.name());
		card.rq_psn ^= right ? 0 : 1;
		uint64_t wrong = lab::b().counter("rendezvous_psn_errors");
		iwarp::Peer peer = iwarp::Peer::connect(door(), request(card.encode()), host_a);
		b.post_recv(1, 0, 64);
		if (right) {
			b.to_rts();
			peer.send_message({1});
			EXPECT_EQ(wait_ok(b.rcq()).byte_len, 1u);
			continue;
		}
		EXPECT_EQ(b.try_rts(b.rts()), EINVAL);
		EXPECT_EQ(b.state(), IBV_QPS_ERR);
		EXPECT_EQ(wait(b.rcq()).status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_TRUE(peer.end().closed());
		EXPECT_EQ(lab::b().counter("rendezvous_psn_errors"), wrong + 1);
	}
}

TEST_F(stranger, request__wrong_form)
{
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	iwarp::Bytes good = card_for(b.name()).encode();
	iwarp::Bytes shorter(good.begin(), good.end() - 1), longer = good;
	longer.push_back(0);
	const iwarp::StartupFrame requests[] = {
		request({}),
		request(shorter),
		request(longer),
		request(iwarp::Bytes(508, 0x6b)),
		iwarp::StartupFrame::request(1, {}, good),
		iwarp::StartupFrame::request(0, {}, good),
		iwarp::StartupFrame::reply(2, iwarp::Enhanced{}, good),
	};
	for (const iwarp::StartupFrame &r : requests) {
		iwarp::Peer peer = knock();
		peer.send_request(r);
		closed_silently(peer.socket);
	}
	// bytes after it
	iwarp::Peer peer = knock();
	iwarp::Bytes more = request(good).encode();
	more.push_back(0);
	peer.socket.send(more);
	closed_silently(peer.socket);
	// invalid data
	iwarp::Peer other = knock();
	other.socket.send(iwarp::bytes("GET / HTTP/1.0\r\n\r\n"));
	closed_silently(other.socket);
	gets_in(b, card_for(b.name()));
}

TEST_F(stranger, silence__ends)
{
	lab::Policy soon(lab::b(), "startup_timeout_ms", 300);
	Player b(lab::b());
	uint64_t before = lab::b().counter("startup_timeouts");
	iwarp::Bytes whole = request(card_for(b.name()).encode()).encode();
	for (size_t bytes : {size_t{0}, size_t{1}, size_t{20}, size_t{24}, whole.size() - 1}) {
		iwarp::Peer peer = knock();
		// the device may have closed the connection already
		peer.socket.try_send(iwarp::View(whole).first(bytes));
		closed_silently(peer.socket);
	}
	EXPECT_EQ(lab::b().counter("startup_timeouts"), before + 5);
}

TEST_F(stranger, flood__displaces_itself)
{
	lab::Policy few(lab::b(), "backlog", 4);
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	uint64_t before = lab::b().counter("backlog_drops");
	std::vector<iwarp::Peer> crowd;
	for (int i = 0; i < 20; i++)
		crowd.push_back(knock());
	for (int i = 0; i < 16; i++)
		closed_silently(crowd[static_cast<size_t>(i)].socket);
	EXPECT_EQ(lab::b().counter("backlog_drops"), before + 16);
	gets_in(b, card_for(b.name()));
}

TEST_F(stranger, replay__on_a_connection)
{
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	Card card = card_for(b.name());
	iwarp::Peer partner = iwarp::Peer::connect(door(), request(card.encode()), host_a);
	for (int i = 0; i < 3; i++) {
		iwarp::Peer again = knock();
		again.send_request(request(card.encode()));
		closed_silently(again.socket);
	}
	b.post_recv(1, 0, 64);
	partner.send_message({1});
	EXPECT_EQ(wait_ok(b.rcq()).byte_len, 1u);
}

TEST_F(stranger, queue_pair__of_rdma_cm)
{
	Pair pair;
	Card card;
	card.partner = pair.server.qp()->qp_num;
	iwarp::Peer peer = knock();
	peer.send_request(request(card.encode()));
	closed_silently(peer.socket);
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 64)});
	post(pair.client.qp(), send(2, {pair.client.memory().sge(0, 64)}));
	wait_ok(pair.client.scq());
	wait_ok(pair.server.rcq());
}

TEST_F(stranger, queue_pair__in_init)
{
	Player b(lab::b());
	b.to_init();
	iwarp::Peer peer = knock();
	peer.send_request(request(card_for(b.name()).encode()));
	closed_silently(peer.socket);
	EXPECT_EQ(b.state(), IBV_QPS_INIT);
}

// In RTR the queue pair has no PSN of its own yet, so the peer cannot prove that it knows the PSN.
TEST_F(stranger, queue_pair__in_rtr)
{
	Player b(lab::b());
	b.to_init();
	b.to_rtr(peer_name(lab::a()));
	Card card = card_for(b.name());
	card.flags = 0;
	iwarp::Peer peer = knock();
	peer.send_request(request(card.encode()));
	closed_silently(peer.socket);
	gets_in(b, card_for(b.name()));
}

// The partner answers and closes before the first message. No message was sent, so the partner may
// connect again.
TEST_F(stranger, partner__leaves_at_once)
{
	Player b(lab::b());
	b.bring_up(peer_name(lab::a()));
	for (int round = 0; round < 4; round++) {
		iwarp::Socket socket = answered(card_for(b.name()));
		if (round % 2)
			socket.reset();
		else
			socket.close();
	}
	answered(card_for(b.name())).close();
	EXPECT_EQ(b.state(), IBV_QPS_RTS);
}

// The device connects, and the reply is not that of the partner.
TEST_F(stranger, reply__wrong_card)
{
	lab::Policy off(lab::b(), "rendezvous_port", 0);
	iwarp::Socket listener = iwarp::Socket::listen({lab::b().ip4, port}, "/run/netns/hostB");
	Player a(lab::a());
	a.bring_up(peer_name(lab::b()));
	a.post_recv(1, 0, 64);
	Card good = card_for(a.name());
	std::swap(good.gid, good.partner_gid);
	Card wrong = good, other = good;
	wrong.sq_psn ^= 1;
	other.partner_gid = gid_of("10.0.0.9");
	// Replies to which any other connection answers by a Terminate: an IRD that is too small,
	// no RTR indication, no enhanced data, too much private data.
	const iwarp::Enhanced agreed{4, 4, true, true, true, true}, greedy{4, 0x3ffe, true, true},
		client_server{4, 4};
	const std::pair<std::optional<iwarp::Enhanced>, iwarp::Bytes> replies[] = {
		{agreed, {}},
		{agreed, wrong.encode()},
		{agreed, other.encode()},
		{greedy, good.encode()},
		{client_server, good.encode()},
		{{}, good.encode()},
		{agreed, iwarp::Bytes(300)},
		{agreed, good.encode()},
	};
	for (const auto &reply : replies) {
		iwarp::Peer peer(listener.accept(patience));
		peer.receive_request(patience);
		EXPECT_EQ(peer.request.private_data.size(), 56u);
		peer.send_reply(iwarp::StartupFrame::reply(2, reply.first, reply.second));
		if (&reply != std::end(replies) - 1) {
			closed_silently(peer.socket);
			continue;
		}
		peer.receive_rtr(patience);
		peer.send_message({1, 2});
		EXPECT_EQ(wait_ok(a.rcq()).byte_len, 2u);
	}
}
