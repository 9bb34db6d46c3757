// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../iwarp/fpdu.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "../iwarp/segment.h"

using namespace iwarp;

namespace {

constexpr FpduMode with_markers{true, true};

Bytes rfc5044_send(uint32_t msn)
{
	return send_segment(msn, Bytes(24)).encode();
}

} // namespace

TEST(fpdu, encode__rfc5044_figure5)
{
	Bytes want{0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0,
		   0,	 0,    0,    0,	   0,	 0,    0,    1,	   0, 0, 0, 0};
	want.resize(0x30);
	put(want, Bytes{0x52, 0x23, 0x99, 0x83});
	EXPECT_EQ(FpduEncoder(with_markers).encode(rfc5044_send(1)), want);
}

TEST(fpdu, encode__rfc5044_figure6)
{
	Bytes want{0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0,    0,	   0,	 0,
		   0,	 0,    0,    2,	   0, 0, 0, 0, 0x00, 0x00, 0x00, 0x14};
	want.resize(0x21c - 0x1ec);
	put(want, Bytes{0x84, 0x92, 0x58, 0x98});
	EXPECT_EQ(FpduEncoder(with_markers, 0x1ec).encode(rfc5044_send(2)), want);
}

TEST(fpdu, decode__rfc5044_figures)
{
	FpduEncoder e(with_markers, 0x1ec);
	FpduDecoder d(with_markers, 0x1ec);
	d.feed(e.encode(rfc5044_send(2)));
	std::optional<Fpdu> f = d.next();
	ASSERT_TRUE(f);
	EXPECT_EQ(f->ulpdu, rfc5044_send(2));
	EXPECT_EQ(f->markers, 1U);
	EXPECT_TRUE(f->crc_ok && f->pad_ok && f->marker_ok);
	EXPECT_FALSE(d.next());
}

TEST(fpdu, encode__size_is_a_multiple_of_four)
{
	for (size_t n = 0; n < 64; n++) {
		Bytes o = FpduEncoder({true, false}).encode(Bytes(n));
		EXPECT_EQ(o.size() % 4, 0U);
		EXPECT_EQ(o.size(), (2 + n + 3) / 4 * 4 + 4);
	}
}

TEST(fpdu, encode__markers_at_every_512th_byte)
{
	FpduEncoder e(with_markers);
	Bytes stream;
	std::vector<uint32_t> headers;
	for (size_t n = 0; n < 1500; n += 37) {
		uint32_t at = e.pos();
		headers.push_back(at % 512 ? at : at + 4);
		put(stream, e.encode(Bytes(n, 0xEE)));
	}
	EXPECT_EQ(stream.size(), e.pos());
	for (uint32_t at = 0; at + 4 <= stream.size(); at += 512) {
		uint32_t last = 0;
		for (uint32_t h : headers)
			if (h <= at)
				last = h;
		bool between = std::find(headers.begin(), headers.end(), at + 4) != headers.end();
		EXPECT_EQ(get32(stream, at), between ? 0 : at - last) << "marker at " << at;
	}
}

TEST(fpdu, decode__byte_by_byte)
{
	FpduEncoder e(with_markers, 100);
	FpduDecoder d(with_markers, 100);
	std::vector<Bytes> sent, got;
	for (size_t n = 0; n < 2000; n += 111) {
		sent.push_back(pattern(n));
		for (uint8_t o : e.encode(sent.back())) {
			d.feed(View(&o, 1));
			while (std::optional<Fpdu> f = d.next()) {
				EXPECT_TRUE(f->crc_ok && f->marker_ok && f->pad_ok);
				got.push_back(f->ulpdu);
			}
		}
	}
	EXPECT_EQ(got, sent);
	EXPECT_EQ(d.pending(), 0U);
}

TEST(fpdu, decode__position_wraps)
{
	FpduEncoder e(with_markers, 0U - 700);
	FpduDecoder d(with_markers, 0U - 700);
	d.feed(e.encode(pattern(1400)));
	std::optional<Fpdu> f = d.next();
	ASSERT_TRUE(f);
	EXPECT_TRUE(f->crc_ok && f->marker_ok);
	EXPECT_EQ(f->markers, 3U);
}

TEST(fpdu, decode__sees_each_fault)
{
	auto decode = [](const FpduFault &fault) {
		FpduEncoder e(with_markers);
		FpduDecoder d(with_markers);
		d.feed(e.encode(pattern(601), fault));
		return *d.next();
	};
	EXPECT_FALSE(decode({.crc_xor = 1}).crc_ok);
	EXPECT_FALSE(decode({.pad = 7}).pad_ok);
	EXPECT_TRUE(decode({.pad = 7}).crc_ok);
	EXPECT_FALSE(decode({.marker = [](Marker m) {
			     m.fpdu_ptr = static_cast<uint16_t>(m.fpdu_ptr + 4);
			     return m;
		     }}).marker_ok);
	// RFC 5044 4.2: the reserved field and the two low bits of FPDUPTR are ignored.
	EXPECT_TRUE(decode({.marker = [](Marker m) {
			    m.fpdu_ptr |= 3;
			    m.reserved = 0xFFFF;
			    return m;
		    }}).marker_ok);
}
