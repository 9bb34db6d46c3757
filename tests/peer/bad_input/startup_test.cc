// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup frames that a listening victim receives: malformed, unusual, slow, or cut off.
#include "../session/session.h"

namespace peer {
namespace {

constexpr auto short_timeout = "500"; // ms, of the victim
constexpr auto timed_out = "startup_timeouts";

enum class Outcome {
	closes,	 // no reply, and no event for the consumer
	accepts, // a correct reply, then Full Operation
	rejects, // a reply with R: an rdma_cm event carries at most 255 bytes of private data
	either,
};

struct StartupCase : Row {
	Outcome outcome;
	Bytes bytes;
	bool fin = false; // after the bytes
	const char *counter = nullptr;
};

class Startup : public testing::TestWithParam<StartupCase> {};

// Sends the bytes and allows any outcome. A new connection must work afterwards.
void expect_harmless(const StartupCase &c)
{
	Victim v;
	Peer p(Socket::connect(v.address(), lab().peer_netns));
	p.request = StartupFrame::decode(View(c.bytes).first(StartupFrame::length(c.bytes)));
	p.socket.try_send(c.bytes);
	if (c.fin)
		p.socket.finish();
	try {
		p.receive_reply();
	} catch (const std::runtime_error &) {
		// no reply
	}
	p.socket.close();
	expect_healthy(v);
}

TEST_P(Startup, is_taken_as_the_rfc_says)
{
	const StartupCase &c = GetParam();
	if (c.outcome == Outcome::either)
		return expect_harmless(c);
	Session s(Knobs{{"startup_timeout_ms", c.counter == timed_out ? short_timeout : "60000"}});
	if (c.outcome == Outcome::closes)
		return s.unanswered(c.bytes, c.fin ? Then::fin : Then::waits, c.counter);
	const StartupFrame request = StartupFrame::decode(c.bytes);
	if (c.outcome == Outcome::rejects)
		return s.rejected(request, {}, false);
	s.dial(request);
	EXPECT_EQ(s.p.reply.key, bytes(reply_key));
	EXPECT_FALSE(s.p.reply.r);
	EXPECT_EQ(s.p.reply.s, request.s && request.rev >= 2); // RFC 6581 10
	s.judge(lives());
}

StartupFrame right(uint8_t rev = 1)
{
	return rev < 2 ? StartupFrame::request(rev) : StartupFrame::request(rev, Enhanced{});
}

Bytes with(const Change &change, uint8_t rev = 1)
{
	return changed(right(rev), change).encode();
}

Bytes with(const Enhanced &e)
{
	return StartupFrame::request(2, e).encode();
}

Bytes cut(size_t len, size_t pd = 0)
{
	Bytes o = StartupFrame::request(1, {}, pattern(pd)).encode();
	o.resize(len);
	return o;
}

void add_keys(std::vector<StartupCase> &c)
{
	auto wrong = [&](const std::string &name, const Bytes &o) {
		c.push_back({{name, "RFC 5044 7.1.2 rule 5, 7.1.1 Key"},
			     Outcome::closes,
			     o,
			     false,
			     name == "key_of_a_reply" ? "startup_role_errors" :
							"startup_key_errors"});
	};
	for (auto [name, key] : {std::pair{"key_of_a_reply", bytes(reply_key)},
				 {"key_first_byte", bytes("mPA ID Req Frame")},
				 {"key_last_byte", bytes("MPA ID Req FramE")},
				 {"key_in_lower_case", bytes("mpa id req frame")},
				 {"key_zeros", Bytes(16)}})
		wrong(name, with([key = key](StartupFrame &f) { f.key = key; }));
	wrong("garbage", pattern(2000, 3));
	wrong("garbage_of_20", pattern(20, 3));
	wrong("http", bytes("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"));
	wrong("byte_before_the_request", join({Bytes(1), right().encode()}));
	wrong("100000_bytes", Bytes(100000, 'x'));
}

void add_malformed(std::vector<StartupCase> &c)
{
	auto closes = [&](std::string name, const char *rfc, const char *counter, const Bytes &o,
			  bool fin = false) {
		c.push_back({{std::move(name), rfc}, Outcome::closes, o, fin, counter});
	};
	const char *len = "RFC 5044 7.1.1 PD_Length, 7.1.2 rule 9",
		   *closed = "RFC 5044 7.1.1 PD_Length, 8 code 1", *late = "RFC 5044 7.1.2 rule 10";
	for (uint8_t r : {3, 4, 127, 128, 255})
		closes(std::format("rev_{}", r), "RFC 5044 7.1.1 Rev", "startup_revision_errors",
		       with([r](StartupFrame &f) { f.rev = r; }));
	for (uint16_t n : {513, 514, 1024, 32768, 65535}) {
		closes(std::format("private_data_{}_announced", n), len, "startup_length_errors",
		       with([n](StartupFrame &f) { f.pd_length = n; }));
		closes(std::format("private_data_{}", n), len, "startup_length_errors",
		       with([n](StartupFrame &f) { f.private_data = pattern(n); }));
	}
	for (size_t n : {0, 1, 2, 3}) {
		StartupFrame f = StartupFrame::request(2, {}, pattern(n));
		f.s = true;
		closes(std::format("rev_2_enhanced_data_of_{}", n),
		       "RFC 6581 6: MUST begin with enhanced data", "startup_length_errors",
		       f.encode());
	}
	for (size_t n : {0, 1, 15, 16, 19})
		closes(std::format("cut_after_{}_then_fin", n), closed, "startup_closed", cut(n),
		       true);
	for (size_t n : {20, 21, 119})
		closes(std::format("private_data_cut_after_{}_then_fin", n), closed,
		       "startup_closed", cut(n, 100), true);
	for (size_t n : {0, 1, 16, 19})
		closes(std::format("silence_after_{}", n), late, timed_out, cut(n));
	closes("silence_in_private_data", late, timed_out, cut(70, 100));
}

void add_legal(std::vector<StartupCase> &c)
{
	auto accepts = [&](std::string name, const char *rfc, const Bytes &o) {
		c.push_back({{std::move(name), rfc}, Outcome::accepts, o});
	};
	// rdma_cm's private_data_len is a u8, so the device rejects requests with more than 255
	// bytes.
	for (size_t n : {1, 255, 256, 511, 512})
		c.push_back({{std::format("private_data_of_{}", n), "RFC 5044 7.1.1, 7.1.2 rule 2"},
			     n > 255 ? Outcome::rejects : Outcome::accepts,
			     with([n](StartupFrame &f) { f.private_data = pattern(n); })});
	c.push_back({{"rev_2_private_data_508", "RFC 6581 9, RFC 5044 7.1.2 rule 2"},
		     Outcome::rejects,
		     with([](StartupFrame &f) { f.private_data = pattern(508); }, 2)});
	for (uint8_t bits : {1, 2, 4, 8})
		accepts(std::format("reserved_bit_{}", bits), "RFC 5044 7.1.1 Res: not checked",
			with([bits](StartupFrame &f) { f.reserved = bits; }));
	accepts("r_bit_in_request", "RFC 5044 7.1.1 R: not checked",
		with([](StartupFrame &f) { f.r = true; }));
	accepts("m_bit", "RFC 5044 7.1.1 M", with([](StartupFrame &f) { f.m = true; }));
	accepts("c_bit_off", "RFC 5044 7.1.1 C", with([](StartupFrame &f) { f.c = false; }));
	accepts("rev_2", "RFC 6581 6", right(2).encode());
	accepts("rev_2_unenhanced", "RFC 6581 10", StartupFrame::request(2).encode());
	for (uint16_t depth : {0, 0x3FFF, 0x3FFE})
		accepts(std::format("rev_2_ird_ord_{:x}", depth), "RFC 6581 9.1",
			with(Enhanced{.ird = depth, .ord = depth}));
	accepts("rev_2_flags_without_a", "RFC 6581 9.2: B, C, D ignored",
		with(Enhanced{.b = true, .c = true, .d = true}));
	accepts("rev_2_peer_to_peer_write", "RFC 6581 9.2", with(Enhanced{.a = true, .c = true}));
	accepts("rev_2_peer_to_peer_read", "RFC 6581 9.2", with(Enhanced{.a = true, .d = true}));
}

void add_either(std::vector<StartupCase> &c)
{
	auto either = [&](const char *name, const char *rfc, const Bytes &o, bool fin = false) {
		c.push_back({{name, rfc}, Outcome::either, o, fin});
	};
	const Bytes request = right().encode();
	auto then = [&](const Segment &g) {
		return join({request, FpduEncoder().encode(g.encode())});
	};
	// No RFC requires an outcome. Revision 0 is the RDMA Consortium's (RFC 5044 appendix C,
	// permissive); revision 1 with S is the 2007 proposal's.
	either("rev_0", "RFC 5044 appendix C", right(0).encode());
	either("rev_1_with_s", "RFC 5044 7.1.1 Res: not checked",
	       with([](StartupFrame &f) { f.s = true; }));
	either("rev_2_peer_to_peer_no_rtr", "RFC 6581 9.2", with(Enhanced{.a = true}));
	either("rev_2_peer_to_peer_send", "RFC 6581 9.2", with(Enhanced{.a = true, .b = true}));
	either("request_twice", "RFC 5044 7.1.2: nothing before the reply",
	       join({request, request}));
	either("fpdu_before_the_reply", "RFC 5044 7.1.2 note", then(send_segment(1, pattern(40))));
	either("terminate_before_the_reply", "RFC 5044 7.1.2 note",
	       then(terminate_segment(Terminate{}.encode())));
	either("request_then_fin", "RFC 5044 8 code 1", request, true);
}

INSTANTIATE_TEST_SUITE_P(request, Startup, rows(add_keys, add_malformed, add_legal, add_either),
			 RowName());

// A frame may arrive in any number of TCP segments.
TEST_F(Startup, request_byte_by_byte)
{
	Session s;
	s.p = Peer::reach(s.v.address(), lab().peer_socket());
	s.p.request = StartupFrame::request(2, Enhanced{}, pattern(30));
	for (uint8_t o : s.p.request.encode())
		s.p.socket.send(View(&o, 1));
	s.replied();
	EXPECT_EQ(s.c().happened.request_data, pattern(30));
	s.judge(lives());
}

TEST_F(Startup, reply_carries_the_consumers_private_data)
{
	Session s(Options{.private_data = pattern(77)});
	s.dial(StartupFrame::request(1, {}, pattern(33)));
	EXPECT_EQ(s.p.reply.private_data, pattern(77));
	EXPECT_EQ(s.c().happened.request_data, pattern(33));
	s.judge(lives());
}

// RFC 5044 7.1.2 rule 2: the reply has R and the consumer's private data.
TEST_F(Startup, reject_carries_the_consumers_private_data)
{
	for (uint8_t rev : {1, 2}) {
		Session s;
		s.v.answers(Answer::reject, pattern(77));
		s.rejected(right(rev), pattern(77), true);
		s.v.answers(Answer::accept);
	}
}

// Connections that send nothing must not block others beyond the startup timeout.
TEST_F(Startup, silent_connections_do_not_shut_out_others)
{
	constexpr unsigned silent = 200;
	Victim v;
	Policy policy;
	policy.must("startup_timeout_ms", short_timeout);
	std::vector<Socket> sockets;
	// Connections beyond the backlog fail.
	for (unsigned i = 0; i < silent; i++)
		try {
			sockets.push_back(Socket::connect(v.address(), lab().peer_netns));
		} catch (const std::system_error &) {
		}
	for (Socket &s : sockets)
		expect_silent_end(s);
	policy.restore();
	expect_healthy(v);
}

} // namespace
} // namespace peer
