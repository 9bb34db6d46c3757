// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup frames that the listening victim receives: malformed, unusual, slow, cut off.
#include "../session/frames.h"
#include "../session/traffic.h"

namespace peer {
namespace {

constexpr auto short_timeout = "500"; // ms, of the victim where it can be set
constexpr auto timed_out = "startup_timeouts";

enum class Outcome {
	closes,		    // no reply, no connection request to the consumer
	accepts,	    // a correct reply, data flow
	accepts_or_rejects, // that, or a reply with R: what the consumer's interface cannot carry
	either,
};

struct StartupCase : Row {
	Outcome outcome;
	Bytes bytes;
	bool fin = false; // after the bytes
	const char *counter = nullptr;
};

class Startup : public testing::TestWithParam<StartupCase> {
protected:
	static void expect_closed(Peer &p, Victim &v)
	{
		expect_silent_end(p.socket);
		EXPECT_EQ(v.connections(), 0U) << "the consumer was told of it";
	}

	static void expect_works(Peer &p, Victim &v)
	{
		p.send_message(pattern(50));
		expect_received(v, v.connection(0), pattern(50));
	}
};

TEST_P(Startup, is_taken_as_the_rfc_says)
{
	const StartupCase &c = GetParam();
	const uint64_t errors = lab().device.errors();
	const uint64_t counter = c.counter ? lab().device.counter(c.counter).value_or(0) : 0;
	Victim v;
	std::optional<PolicyScope> timeout;
	if (c.counter == timed_out)
		timeout.emplace(lab().device, "startup_timeout_ms", short_timeout);
	Peer p(Socket::connect(v.address(), lab().peer_socket()));

	p.socket.try_send(c.bytes);
	if (c.fin)
		p.socket.finish();
	if (c.outcome == Outcome::closes) {
		expect_closed(p, v);
		if (lab().device.has_counters()) {
			EXPECT_TRUE(soon([&] { return lab().device.errors() > errors; }))
				<< "no error counter moved";
			auto moved = [&] {
				return lab().device.counter(c.counter).value_or(0) > counter;
			};
			EXPECT_TRUE(!c.counter || soon(moved)) << c.counter;
		}
	} else {
		bool replied = true;
		p.request =
			StartupFrame::decode(View(c.bytes).first(StartupFrame::length(c.bytes)));
		try {
			p.receive_reply();
		} catch (const std::runtime_error &) {
			replied = false;
		}
		EXPECT_TRUE(replied || c.outcome == Outcome::either)
			<< "no reply to a correct request";
		bool rejected = replied && p.reply.r && c.outcome == Outcome::accepts_or_rejects;
		if (replied && !rejected && c.outcome != Outcome::either) {
			EXPECT_EQ(p.reply.key, bytes(reply_key));
			EXPECT_FALSE(p.reply.r);
			EXPECT_EQ(p.reply.s, p.request.s && p.request.rev >= 2); // RFC 6581 10
			expect_works(p, v);
		}
	}
	p.socket.close();
	timeout.reset();
	expect_healthy(v);
}

Bytes with(const Change &change, uint8_t rev = 1)
{
	StartupFrame f = StartupFrame::request(rev);
	if (rev >= 2) {
		f.s = true;
		f.enhanced = Enhanced{};
	}
	return changed(f, change).encode();
}

Bytes cut(size_t len, size_t pd = 0)
{
	Bytes o = StartupFrame::request(1, {}, pattern(pd)).encode();
	o.resize(len);
	return o;
}

void add_malformed(std::vector<StartupCase> &c)
{
	const char *key = "RFC 5044 7.1.2 rule 5, 7.1.1 Key",
		   *len = "RFC 5044 7.1.1 PD_Length, 7.1.2 rule 9", *rev = "RFC 5044 7.1.1 Rev",
		   *closed = "RFC 5044 7.1.1 PD_Length, 8 code 1", *late = "RFC 5044 7.1.2 rule 10";
	const auto closes = Outcome::closes;
	auto bad_key = [&](std::string name, std::string_view k) {
		c.push_back({name, key, closes, with([k](StartupFrame &f) { f.key = bytes(k); }),
			     false, "startup_key_errors"});
	};
	bad_key("key_of_a_reply", reply_key);
	bad_key("key_first_byte", "mPA ID Req Frame");
	bad_key("key_last_byte", "MPA ID Req FramE");
	bad_key("key_in_lower_case", "mpa id req frame");
	bad_key("key_zeros", std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
	c.push_back({"garbage", key, closes, pattern(2000, 3), false, "startup_key_errors"});
	c.push_back({"garbage_of_20", key, closes, pattern(20, 3), false, "startup_key_errors"});
	c.push_back({"http", key, closes, bytes("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		     false, "startup_key_errors"});
	c.push_back({"byte_before_the_request", key, closes, join({Bytes(1), with([](auto &) {})}),
		     false, "startup_key_errors"});
	c.push_back({"100000_bytes", key, closes, Bytes(100000, 'x'), false, "startup_key_errors"});
	for (uint8_t r : {3, 4, 127, 128, 255})
		c.push_back({"rev_" + std::to_string(r), rev, closes,
			     with([r](StartupFrame &f) { f.rev = r; }), false,
			     "startup_revision_errors"});
	for (uint16_t n : {513, 514, 1024, 32768, 65535}) {
		c.push_back({"private_data_" + std::to_string(n) + "_announced", len, closes,
			     with([n](StartupFrame &f) { f.pd_length = n; }), false,
			     "startup_length_errors"});
		c.push_back({"private_data_" + std::to_string(n), len, closes,
			     with([n](StartupFrame &f) { f.private_data = pattern(n); }), false,
			     "startup_length_errors"});
	}
	for (uint16_t n : {0, 1, 2, 3})
		c.push_back({"rev_2_enhanced_data_of_" + std::to_string(n),
			     "RFC 6581 6: MUST begin with enhanced data", closes,
			     with(
				     [n](StartupFrame &f) {
					     f.enhanced.reset();
					     f.private_data = pattern(n);
				     },
				     2),
			     false, "startup_length_errors"});
	for (size_t n : {0, 1, 15, 16, 19})
		c.push_back({"cut_after_" + std::to_string(n) + "_then_fin", closed, closes, cut(n),
			     true, "startup_closed"});
	for (size_t n : {20, 21, 119})
		c.push_back({"private_data_cut_after_" + std::to_string(n) + "_then_fin", closed,
			     closes, cut(n, 100), true, "startup_closed"});
	for (size_t n : {0, 1, 16, 19})
		c.push_back({"silence_after_" + std::to_string(n), late, closes, cut(n), false,
			     timed_out});
	c.push_back({"silence_in_private_data", late, closes, cut(70, 100), false, timed_out});
}

void add_legal(std::vector<StartupCase> &c)
{
	const auto accepts = Outcome::accepts;
	// rdma_cm's length is one byte: beyond 255 "not acceptable" is the honest answer.
	for (size_t n : {1, 255, 256, 511, 512})
		c.push_back({"private_data_of_" + std::to_string(n), "RFC 5044 7.1.1, 7.1.2 rule 2",
			     n > 255 ? Outcome::accepts_or_rejects : accepts,
			     with([n](StartupFrame &f) { f.private_data = pattern(n); })});
	for (uint8_t bits = 1; bits < 16; bits = static_cast<uint8_t>(bits << 1))
		c.push_back({"reserved_bit_" + std::to_string(bits),
			     "RFC 5044 7.1.1 Res: not checked", accepts,
			     with([bits](StartupFrame &f) { f.reserved = bits; })});
	c.insert(c.end(),
		 {
			 {"r_bit_in_request", "RFC 5044 7.1.1 R: not checked", accepts,
			  with([](StartupFrame &f) { f.r = true; })},
			 {"m_bit", "RFC 5044 7.1.1 M", accepts,
			  with([](StartupFrame &f) { f.m = true; })},
			 {"c_bit_off", "RFC 5044 7.1.1 C", accepts,
			  with([](StartupFrame &f) { f.c = false; })},
			 {"rev_2", "RFC 6581 6", accepts, with([](auto &) {}, 2)},
			 {"rev_2_private_data_508", "RFC 6581 9, RFC 5044 7.1.2 rule 2",
			  Outcome::accepts_or_rejects,
			  with([](StartupFrame &f) { f.private_data = pattern(508); }, 2)},
			 {"rev_2_unenhanced", "RFC 6581 10", accepts,
			  with(
				  [](StartupFrame &f) {
					  f.s = false;
					  f.enhanced.reset();
				  },
				  2)},
			 {"rev_2_ird_ord_0", "RFC 6581 9.1", accepts,
			  with([](StartupFrame &f) { f.enhanced = Enhanced{.ird = 0, .ord = 0}; },
			       2)},
			 {"rev_2_ird_ord_3fff", "RFC 6581 9.1", accepts,
			  with(
				  [](StartupFrame &f) {
					  f.enhanced = Enhanced{.ird = 0x3FFF, .ord = 0x3FFF};
				  },
				  2)},
			 {"rev_2_ird_ord_3ffe", "RFC 6581 9.1", accepts,
			  with(
				  [](StartupFrame &f) {
					  f.enhanced = Enhanced{.ird = 0x3FFE, .ord = 0x3FFE};
				  },
				  2)},
			 {"rev_2_flags_without_a", "RFC 6581 9.2: B, C, D ignored", accepts,
			  with(
				  [](StartupFrame &f) {
					  f.enhanced = Enhanced{.b = true, .c = true, .d = true};
				  },
				  2)},
			 {"rev_2_peer_to_peer_write", "RFC 6581 9.2", accepts,
			  with([](StartupFrame &f) { f.enhanced = Enhanced{.a = true, .c = true}; },
			       2)},
			 {"rev_2_peer_to_peer_read", "RFC 6581 9.2", accepts,
			  with([](StartupFrame &f) { f.enhanced = Enhanced{.a = true, .d = true}; },
			       2)},
			 // No document: rev 0 is RDMAC's (RFC 5044 appendix C, permissive); rev 1
			 // with S the 2007 proposal's.
			 {"rev_0", "RFC 5044 appendix C", Outcome::either,
			  with([](StartupFrame &f) { f.rev = 0; })},
			 {"rev_1_with_s", "RFC 5044 7.1.1 Res: not checked", Outcome::either,
			  with([](StartupFrame &f) { f.s = true; })},
			 {"rev_2_peer_to_peer_no_rtr", "RFC 6581 9.2", Outcome::either,
			  with([](StartupFrame &f) { f.enhanced = Enhanced{.a = true}; }, 2)},
			 {"rev_2_peer_to_peer_send", "RFC 6581 9.2", Outcome::either,
			  with([](StartupFrame &f) { f.enhanced = Enhanced{.a = true, .b = true}; },
			       2)},
			 {"request_twice", "RFC 5044 7.1.2: nothing before the reply",
			  Outcome::either, join({with([](auto &) {}), with([](auto &) {})})},
			 {"fpdu_before_the_reply", "RFC 5044 7.1.2 note", Outcome::either,
			  join({with([](auto &) {}),
				FpduEncoder().encode(send_segment(1, pattern(40)).encode())})},
			 {"terminate_before_the_reply", "RFC 5044 7.1.2 note", Outcome::either,
			  join({with([](auto &) {}),
				FpduEncoder().encode(
					terminate_segment(Terminate{}.encode()).encode())})},
			 {"request_then_fin", "RFC 5044 8 code 1", Outcome::either,
			  with([](auto &) {}), true},
		 });
}

INSTANTIATE_TEST_SUITE_P(request, Startup, rows(add_malformed, add_legal),
			 [](const auto &info) { return info.param.name; });

// A frame that comes in pieces is the same frame.
TEST_F(Startup, request_byte_by_byte)
{
	Victim v;
	Peer p(Socket::connect(v.address(), lab().peer_socket()));
	p.request = StartupFrame::request(2, Enhanced{}, pattern(30));
	for (uint8_t o : p.request.encode())
		p.socket.send(View(&o, 1));
	p.receive_reply();
	EXPECT_EQ(v.connection(0).happened.request_data, pattern(30));
	expect_works(p, v);
}

TEST_F(Startup, reply_carries_the_consumers_private_data)
{
	Victim v({.private_data = pattern(77)});
	Peer p = Peer::connect(v.address(), StartupFrame::request(1, {}, pattern(33)),
			       lab().peer_socket());
	EXPECT_EQ(p.reply.private_data, pattern(77));
	EXPECT_EQ(v.connection(0).happened.request_data, pattern(33));
	expect_works(p, v);
}

// RFC 5044 7.1.2 rule 2: R and the consumer's private data.
TEST_F(Startup, reject_carries_the_consumers_private_data)
{
	Victim v({.answer = Answer::reject, .private_data = pattern(77)});
	for (uint8_t rev : {1, 2}) {
		StartupFrame f = StartupFrame::request(rev);
		if (rev == 2) {
			f.s = true;
			f.enhanced = Enhanced{};
		}
		Peer p = Peer::connect(v.address(), f, lab().peer_socket());
		EXPECT_TRUE(p.reply.r);
		EXPECT_EQ(p.reply.private_data, pattern(77));
	}
}

// Connections that never say anything must not keep others out for ever.
TEST_F(Startup, silent_connections_do_not_shut_out_others)
{
	constexpr unsigned silent = 200;
	Victim v;
	{
		PolicyScope timeout(lab().device, "startup_timeout_ms", short_timeout);
		std::vector<Socket> sockets;
		// What the backlog does not take fails.
		for (unsigned i = 0; i < silent; i++)
			try {
				sockets.push_back(Socket::connect(v.address(),
								  lab().peer_socket()));
			} catch (const std::system_error &) {
			}
		for (Socket &s : sockets)
			expect_silent_end(s);
	}
	expect_healthy(v);
}

} // namespace
} // namespace peer
