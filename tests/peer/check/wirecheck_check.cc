// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../iwarp/fpdu.h"
#include "../iwarp/segment.h"
#include "../iwarp/startup.h"
#include "../wirecheck/decode.h"
#include "pcap.h"

using namespace iwarp;
using namespace pcap;

namespace {

// Captures a connection: the client sends two Read Requests in one TCP segment; the server sends
// each Read Response as two FPDUs, each in its own TCP segment. server_seq becomes the server's
// next sequence number.
void reads(Capture &c, unsigned &server_seq)
{
	const Bytes request = StartupFrame::request(1).encode(),
		    reply = StartupFrame::reply(1).encode();
	uint32_t client_seq = 1;
	c.segment(true, syn, 0);
	c.segment(false, syn | ack, 99);
	server_seq = 100;
	c.segment(true, ack, client_seq, request);
	client_seq += static_cast<uint32_t>(request.size());
	c.segment(false, ack, server_seq, reply);
	server_seq += static_cast<uint32_t>(reply.size());
	FpduEncoder client, server;
	Bytes asked;
	for (uint32_t msn : {1U, 2U})
		put(asked, client.encode(read_request_segment(msn, {1, 0, 200, 2, 0}).encode()));
	c.segment(true, ack, client_seq, asked);
	for (int i = 0; i < 4; i++) {
		Bytes answer =
			server.encode(read_response_segment(1, 0, pattern(100), i % 2).encode());
		c.segment(false, ack, server_seq, answer);
		server_seq += static_cast<uint32_t>(answer.size());
	}
}

} // namespace

TEST(wirecheck, bulk__is_the_direction_of_the_data)
{
	Capture c;
	unsigned seq;
	reads(c, seq);
	wirecheck::Sums sums = wirecheck::decode(wirecheck::read_capture(c.file()));
	EXPECT_TRUE(sums.sound());
	EXPECT_EQ(sums.connections, 1U);
	EXPECT_EQ(sums.fpdus, 6U);
	EXPECT_EQ(sums.segments, 5U);
	EXPECT_EQ(sums.bulk_fpdus, 4U);
	EXPECT_EQ(sums.bulk_segments, 4U);
}

TEST(wirecheck, bulk__bytes_that_are_lost_make_it_incomplete)
{
	Capture c;
	unsigned seq;
	reads(c, seq);
	c.segment(false, ack, seq + 10, pattern(10));
	EXPECT_FALSE(wirecheck::decode(wirecheck::read_capture(c.file())).sound());
}
