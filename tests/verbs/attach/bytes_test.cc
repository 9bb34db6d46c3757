// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Bytes that wait in the socket when it is attached: the independent peer of tests/peer splits its
// stream at every byte. No byte may be lost, duplicated or misinterpreted.
#include "side.h"

#include "iwarp/peer.h"

using namespace attach;

namespace {

const std::string hello = "hello"; // streaming mode, read by the program

iwarp::Bytes start_key(bool markers, bool crc)
{
	iwarp::Bytes key = iwarp::bytes("MPA ident frame");
	key.push_back(static_cast<uint8_t>((markers ? 0x80 : 0) | (crc ? 0x40 : 0)));
	return key;
}

// DDP and RDMAP version 0, as in the dumps of the drafts.
iwarp::Segment old_send(uint32_t msn, const iwarp::Bytes &payload)
{
	iwarp::Segment s = iwarp::send_segment(msn, payload);
	s.dv = 0;
	s.rv = 0;
	return s;
}

// Side A is under test, the peer holds host B's end.
struct Trial {
	Side side{lab::a()};
	Connection c = connect();
	iwarp::Peer peer{iwarp::Socket(c.b.release())};

	// The program reads the hello, and attaches when cut bytes of the stream have arrived.
	void attach_at(const iwarp::Bytes &stream, size_t cut, const Attr &attr)
	{
		iwarp::Bytes first = iwarp::bytes(hello);
		first.insert(first.end(), stream.begin(),
			     stream.begin() + static_cast<ptrdiff_t>(cut));
		peer.socket.send(first);
		// read the hello when all bytes have arrived
		auto end = std::chrono::steady_clock::now() + rdma::patience;
		std::string peeked(first.size(), '\0');
		while (recv(c.a.get(), peeked.data(), peeked.size(), MSG_PEEK) !=
		       static_cast<ssize_t>(first.size()))
			ASSERT_LT(std::chrono::steady_clock::now(), end);
		ASSERT_EQ(read_exactly(c.a.get(), hello.size()), hello);
		ASSERT_EQ(side.start(c.a.get(), attr), 0);
		if (cut < stream.size())
			peer.socket.send({stream.begin() + static_cast<ptrdiff_t>(cut),
					  stream.end()});
	}

	void expect_message(const iwarp::Bytes &payload)
	{
		ibv_wc wc = rdma::wait_ok(side.cq());
		ASSERT_EQ(wc.wr_id & 0xff00, 0x100);
		EXPECT_EQ(wc.byte_len, payload.size());
		std::span<uint8_t> got =
			side.memory().span((wc.wr_id & 0xff) * 1024, payload.size());
		EXPECT_TRUE(std::equal(got.begin(), got.end(), payload.begin())) << "wrong data";
	}
	void post_receives(unsigned int n)
	{
		for (unsigned int i = 0; i < n; i++)
			rdma::post_recv(side.qp(), 0x100 + i, {side.memory().sge(i * 1024, 1024)});
	}
	// The same in the other direction.
	void expect_answer(uint8_t version)
	{
		rdma::fill(side.memory().span(60000, 33), 7);
		rdma::post(side.qp(), rdma::send(9, {side.memory().sge(60000, 33)}));
		rdma::wait_ok(side.cq());
		std::optional<iwarp::Segment> s = peer.receive();
		ASSERT_TRUE(s);
		EXPECT_EQ(s->dv, version);
		EXPECT_EQ(s->rv, version);
		EXPECT_EQ(s->opcode, iwarp::op_send);
		EXPECT_TRUE(rdma::filled(s->payload, 7));
	}
};

std::vector<size_t> every(size_t length)
{
	std::vector<size_t> cuts;
	for (size_t i = 0; i <= length; i++)
		cuts.push_back(i);
	return cuts;
}

} // namespace

// Draft -02: only FPDUs, beginning with the first byte, which is a marker.
static void none_at(const std::vector<iwarp::Bytes> &messages, const std::vector<size_t> &cuts,
		    kwarp_attach_role role)
{
	iwarp::Bytes stream;
	iwarp::FpduEncoder encoder({true, true});
	for (uint32_t i = 0; i < messages.size(); i++)
		iwarp::put(stream, encoder.encode(old_send(i + 1, messages[i]).encode()));
	for (size_t cut : cuts) {
		if (cut > stream.size())
			continue;
		SCOPED_TRACE("cut at " + std::to_string(cut) + " of " +
			     std::to_string(stream.size()));
		Trial t;
		t.post_receives(static_cast<unsigned int>(messages.size()));
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		attr.role = role;
		t.attach_at(stream, cut, attr);
		ASSERT_EQ(t.side.wait(), 0);
		for (const iwarp::Bytes &m : messages)
			t.expect_message(m);
		t.peer.in = iwarp::FpduDecoder({true, true});
		t.expect_answer(0);
		if (testing::Test::HasFailure())
			return;
	}
}

TEST(AttachBytes, none_first_fpdus_cut_everywhere)
{
	std::vector<iwarp::Bytes> messages{iwarp::pattern(5, 1), iwarp::pattern(8, 2)};
	none_at(messages, every(2 * 4 + 2 * (2 + 18 + 4) + 16), KWARP_ATTACH_RESPONDER);
}

TEST(AttachBytes, none_markers_inside_and_between)
{
	// the second marker is inside the first FPDU, the third one inside the third
	std::vector<iwarp::Bytes> messages{iwarp::pattern(700, 1), iwarp::pattern(1, 2),
					   iwarp::pattern(900, 3)};
	std::vector<size_t> cuts{0, 3, 4, 6, 24};
	for (size_t at = 505; at < 520; at++)
		cuts.push_back(at);
	for (size_t at = 725; at < 770; at++)
		cuts.push_back(at);
	for (size_t at = 1020; at < 1032; at++)
		cuts.push_back(at);
	none_at(messages, cuts, KWARP_ATTACH_INITIATOR);
}

// Draft -03 8.1, 1 to 5: the peer is the passive side: it sends its key first, and an FPDU after
// it has received our key.
TEST(AttachBytes, start_key_cut_everywhere)
{
	for (bool markers : {false, true})
		for (size_t cut : every(16)) {
			SCOPED_TRACE("cut at " + std::to_string(cut));
			Trial t;
			t.post_receives(1);
			Attr attr{};
			attr.form = KWARP_ATTACH_START_KEY;
			attr.role = KWARP_ATTACH_RESPONDER;
			attr.crc = KWARP_ATTACH_ON;
			attr.markers = markers ? KWARP_ATTACH_ON : KWARP_ATTACH_OFF;
			t.attach_at(start_key(!markers, false), cut, attr);
			ASSERT_EQ(t.side.wait(), 0);
			std::string key = read_exactly(t.peer.socket.fd(), 16);
			EXPECT_EQ(iwarp::bytes(key), start_key(markers, true));

			t.peer.out = iwarp::FpduEncoder({true, markers});
			t.peer.in = iwarp::FpduDecoder({true, !markers});
			iwarp::Bytes payload = iwarp::pattern(100);
			t.peer.send(old_send(1, payload));
			t.expect_message(payload);
			t.expect_answer(0);
			if (HasFailure())
				return;
		}
}

// Draft -03 8.1, 5: the active side sends no FPDU before it has received one.
TEST(AttachBytes, start_key_active_waits_for_the_first_fpdu)
{
	Trial t;
	t.post_receives(1);
	Attr attr{};
	attr.form = KWARP_ATTACH_START_KEY;
	attr.role = KWARP_ATTACH_RESPONDER;
	t.attach_at(start_key(false, true), 16, attr);
	ASSERT_EQ(t.side.wait(), 0);
	read_exactly(t.peer.socket.fd(), 16);
	rdma::post(t.side.qp(), rdma::send(9, {t.side.memory().sge(60000, 10)}));
	EXPECT_FALSE(rdma::readable(t.peer.socket.fd(), iwarp::moment));
	iwarp::Bytes payload = iwarp::pattern(3);
	t.peer.send(old_send(1, payload));
	EXPECT_TRUE(t.peer.receive());
}

// We are the passive side and send our key first; the peer uses version 1 of DDP and RDMAP (IETF).
TEST(AttachBytes, start_key_passive_sends_first)
{
	lab::Policy crc(lab::a(), "crc", "off");
	Trial t;
	t.post_receives(1);
	Attr attr{};
	attr.form = KWARP_ATTACH_START_KEY;
	attr.flags = KWARP_ATTACH_IETF;
	attr.crc = KWARP_ATTACH_OFF;
	attr.markers = KWARP_ATTACH_OFF;
	t.attach_at({}, 0, attr);
	EXPECT_EQ(iwarp::bytes(read_exactly(t.peer.socket.fd(), 16)), start_key(false, false));
	EXPECT_FALSE(rdma::readable(t.peer.socket.fd(), iwarp::moment));
	EXPECT_EQ(kwarpdv_attach_wait(t.side.qp(), 0, nullptr), EAGAIN);
	for (uint8_t byte : start_key(false, false))
		t.peer.socket.send({&byte, 1});
	ASSERT_EQ(t.side.wait(), 0);
	t.peer.in = iwarp::FpduDecoder({false, false});
	t.peer.out = iwarp::FpduEncoder({false, false});
	t.expect_answer(1);
	iwarp::Bytes payload = iwarp::pattern(50);
	t.peer.send(iwarp::send_segment(1, payload));
	t.expect_message(payload);
}

// RFC 5044 7.1.3: the request may arrive before the responder attaches.
TEST(AttachBytes, request_cut_everywhere)
{
	iwarp::StartupFrame request = iwarp::StartupFrame::request(1, {}, iwarp::bytes("private"));
	iwarp::Bytes stream = request.encode();
	for (size_t cut : every(stream.size())) {
		SCOPED_TRACE("cut at " + std::to_string(cut));
		Trial t;
		t.post_receives(1);
		Attr attr{};
		attr.role = KWARP_ATTACH_RESPONDER;
		attr.private_data = "ok";
		attr.private_data_len = 2;
		t.attach_at(stream, cut, attr);
		Result result;
		ASSERT_EQ(t.side.wait(&result), 0);
		EXPECT_EQ(private_data(result), "private");
		t.peer.request = request;
		const iwarp::StartupFrame &reply = t.peer.receive_reply();
		EXPECT_EQ(reply.private_data, iwarp::bytes("ok"));
		EXPECT_EQ(reply.rev, 1);
		iwarp::Bytes payload = iwarp::pattern(77);
		t.peer.send_message(payload);
		t.expect_message(payload);
		t.expect_answer(1);
		if (HasFailure())
			return;
	}
}

// The reply may arrive before the initiator reads it, here byte by byte.
TEST(AttachBytes, reply_cut_everywhere)
{
	iwarp::Bytes reply = iwarp::StartupFrame::reply(1, {}, iwarp::bytes("yes")).encode();
	for (size_t cut : every(reply.size())) {
		SCOPED_TRACE("cut at " + std::to_string(cut));
		Trial t;
		Attr attr{};
		attr.mpa_rev = 1;
		t.attach_at({}, 0, attr);
		iwarp::StartupFrame request = t.peer.receive_request();
		EXPECT_EQ(request.rev, 1);
		t.peer.socket.send(iwarp::View(reply).first(cut));
		t.peer.socket.send(iwarp::View(reply).subspan(cut));
		Result result;
		ASSERT_EQ(t.side.wait(&result), 0);
		EXPECT_EQ(private_data(result), "yes");
		t.peer.in = iwarp::FpduDecoder({true, request.m});
		t.expect_answer(1);
		if (HasFailure())
			return;
	}
}
