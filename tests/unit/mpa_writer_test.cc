// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/mpa_writer.[ch]: the sender.
#include <algorithm>

#include "model.h"
#include "proto.h"

namespace {

// A destination of exactly n bytes, so that ASan detects writes beyond it.
struct Room {
	explicit Room(size_t n) : o(n, 0xee) { o.shrink_to_fit(); }
	Bytes o;
};

kwarp_fpdu_writer writer(bool markers, bool crc)
{
	kwarp_fpdu_writer w;
	kwarp_fpdu_writer_init(&w, markers, crc);
	return w;
}

// Writes an FPDU in one destination, the ULPDU in one call.
Bytes write(u32 pos, const Bytes &ulpdu, bool markers, bool crc)
{
	auto w = writer(markers, crc);
	Room room(kwarp_fpdu_len(ulpdu.size(), pos, markers));
	u8 *dst = room.o.data();
	u32 n = kwarp_fpdu_begin(&w, dst, pos, ulpdu.size());
	n += kwarp_fpdu_put(&w, dst + n, ulpdu.data(), ulpdu.size());
	n += kwarp_fpdu_end(&w, dst + n);
	EXPECT_EQ(n, room.o.size());
	return room.o;
}

u32 some_pos()
{
	return (coin() ? pick(0, U32_MAX) : pick(0, 4096) - 2048) & ~3u;
}

} // namespace

TEST(mpa_writer, kwarp_fpdu_begin__no_marker)
{
	auto w = writer(true, true);
	Room room(2);
	EXPECT_EQ(kwarp_fpdu_begin(&w, room.o.data(), 508, 0x1234), 2u);
	EXPECT_EQ(room.o, hex("1234"));
	EXPECT_EQ(kwarp_fpdu_room(&w), 2u);
}

TEST(mpa_writer, kwarp_fpdu_begin__marker)
{
	auto w = writer(true, true);
	Room room(6);
	EXPECT_EQ(kwarp_fpdu_begin(&w, room.o.data(), 0, 0x1234), 6u);
	EXPECT_EQ(room.o, hex("00000000 1234"));
	EXPECT_EQ(kwarp_fpdu_room(&w), 506u);
}

TEST(mpa_writer, kwarp_fpdu_begin__markers_off)
{
	auto w = writer(false, true);
	Room room(2);
	EXPECT_EQ(kwarp_fpdu_begin(&w, room.o.data(), 0, 2), 2u);
	EXPECT_GT(kwarp_fpdu_room(&w), KWARP_ULPDU_MAX);
}

TEST(mpa_writer, kwarp_fpdu_begin__again)
{
	auto w = writer(true, true);
	u32 pos = 0;
	for (int i = 0; i < 20; i++) {
		auto ulpdu = random_bytes(pick(0, 900));
		Room room(kwarp_fpdu_len(ulpdu.size(), pos, true));
		u32 n = kwarp_fpdu_begin(&w, room.o.data(), pos, ulpdu.size());
		n += kwarp_fpdu_put(&w, &room.o[n], ulpdu.data(), ulpdu.size());
		n += kwarp_fpdu_end(&w, &room.o[n]);
		ASSERT_EQ(room.o, model::encode(pos, ulpdu, true, true));
		pos += n;
	}
}

TEST(mpa_writer, kwarp_fpdu_fit__largest)
{
	for (u32 pos = 0; pos < 512; pos += 4)
		for (u32 room = 0; room < 1100; room += pick(1, 5)) {
			auto w = writer(true, false);
			u8 head[6];
			kwarp_fpdu_begin(&w, head, pos, 5000);
			u32 n = kwarp_fpdu_fit(&w, room);
			auto src = random_bytes(n + 1);
			auto first = w, second = w;
			Room dst(room), more(room + 5);
			ASSERT_LE(kwarp_fpdu_put(&first, dst.o.data(), src.data(), n), room);
			ASSERT_GT(kwarp_fpdu_put(&second, more.o.data(), src.data(), n + 1), room);
		}
}

TEST(mpa_writer, kwarp_fpdu_fit__markers_off)
{
	auto w = writer(false, false);
	u8 head[6];
	kwarp_fpdu_begin(&w, head, 0, 60000);
	EXPECT_EQ(kwarp_fpdu_fit(&w, 0), 0u);
	EXPECT_EQ(kwarp_fpdu_fit(&w, 32768), 32768u);
}

TEST(mpa_writer, kwarp_fpdu_put__nothing)
{
	auto w = writer(true, true);
	u8 head[6];
	kwarp_fpdu_begin(&w, head, 508, 0);
	auto before = w;
	EXPECT_EQ(kwarp_fpdu_put(&w, head, head, 0), 0u);
	EXPECT_EQ(w.to_marker, before.to_marker);
	EXPECT_EQ(w.crc, before.crc);
}

TEST(mpa_writer, kwarp_fpdu_put__one_crc_call)
{
	for (bool markers : {false, true}) {
		auto w = writer(markers, true);
		Room room(10000);
		auto src = random_bytes(9000);
		kwarp_fpdu_begin(&w, room.o.data(), 0, 9000);
		crc32c_calls = 0;
		kwarp_fpdu_put(&w, room.o.data(), src.data(), 9000);
		EXPECT_EQ(crc32c_calls, 1u);
	}
}

TEST(mpa_writer, kwarp_fpdu_put__no_crc_call_when_off)
{
	crc32c_calls = 0;
	write(0, random_bytes(3000), true, false);
	EXPECT_EQ(crc32c_calls, 0u);
}

TEST(mpa_writer, kwarp_fpdu_put__as_the_model)
{
	for (u32 pos = 0u - 512u; pos != 1024; pos += 4)
		for (bool markers : {false, true}) {
			auto ulpdu = random_bytes(pick(0, 1200));
			bool crc = coin();
			ASSERT_EQ(write(pos, ulpdu, markers, crc),
				  model::encode(pos, ulpdu, markers, crc))
				<< pos << ' ' << ulpdu.size();
		}
	for (int i = 0; i < 60; i++) {
		u32 pos = some_pos();
		auto ulpdu = random_bytes(pick(KWARP_ULPDU_MAX - 600, KWARP_ULPDU_MAX));
		ASSERT_EQ(write(pos, ulpdu, true, true), model::encode(pos, ulpdu, true, true));
	}
}

// Like the send engine: a new destination whenever one is full.
TEST(mpa_writer, kwarp_fpdu_put__many_destinations)
{
	for (int i = 0; i < 1500; i++) {
		u32 pos = some_pos();
		bool markers = coin(), crc = coin();
		auto ulpdu = random_bytes(pick(0, 3000));
		auto w = writer(markers, crc);
		Bytes out;

		Room head(KWARP_FPDU_HEAD_MAX);
		u32 n = kwarp_fpdu_begin(&w, head.o.data(), pos, ulpdu.size());
		out = out + slice(head.o, 0, n);
		for (u32 done = 0; done < ulpdu.size();) {
			Room room(pick(0, 700));
			u32 fit = std::min<u32>(kwarp_fpdu_fit(&w, room.o.size()),
						ulpdu.size() - done);
			n = kwarp_fpdu_put(&w, room.o.data(), &ulpdu[done], fit);
			done += fit;
			out = out + slice(room.o, 0, n);
		}
		Room tail(KWARP_FPDU_TAIL_MAX);
		n = kwarp_fpdu_end(&w, tail.o.data());
		out = out + slice(tail.o, 0, n);
		ASSERT_EQ(out, model::encode(pos, ulpdu, markers, crc));
	}
}

TEST(mpa_writer, kwarp_fpdu_put_marker__points_to_length_field)
{
	auto w = writer(true, true);
	u8 head[6];
	kwarp_fpdu_begin(&w, head, 0x1ec, 42);
	auto src = random_bytes(18);
	Room room(22);
	kwarp_fpdu_put(&w, room.o.data(), src.data(), 18);
	ASSERT_EQ(kwarp_fpdu_room(&w), 0u);
	EXPECT_EQ(kwarp_fpdu_put_marker(&w, &room.o[18]), 4u);
	EXPECT_EQ(slice(room.o, 18, 4), hex("00000014"));
	EXPECT_EQ(kwarp_fpdu_room(&w), 508u);
}

// Zero-copy: payload stays in place, with markers in between.
TEST(mpa_writer, kwarp_fpdu_ref__as_the_model)
{
	for (int i = 0; i < 1500; i++) {
		u32 pos = some_pos();
		bool markers = coin(), crc = coin();
		auto ulpdu = random_bytes(pick(0, 3000));
		auto w = writer(markers, crc);
		Bytes out(KWARP_FPDU_HEAD_MAX);

		out.resize(kwarp_fpdu_begin(&w, out.data(), pos, ulpdu.size()));
		for (u32 done = 0; done < ulpdu.size();) {
			if (!kwarp_fpdu_room(&w)) {
				Room m(4);
				kwarp_fpdu_put_marker(&w, m.o.data());
				out = out + m.o;
				continue;
			}
			u32 n = std::min<u32>({kwarp_fpdu_room(&w), pick(1, 4096),
					       static_cast<u32>(ulpdu.size()) - done});
			kwarp_fpdu_ref(&w, &ulpdu[done], n);
			out = out + slice(ulpdu, done, n);
			done += n;
		}
		Room tail(KWARP_FPDU_TAIL_MAX);
		u32 n = kwarp_fpdu_end(&w, tail.o.data());
		ASSERT_EQ(out + slice(tail.o, 0, n), model::encode(pos, ulpdu, markers, crc));
	}
}

// The form that the module writes: one piece of memory, the first marker, if any, after the
// headers.
TEST(mpa_writer, kwarp_fpdu_flat_end__as_the_model)
{
	for (int i = 0; i < 4000; i++) {
		u32 pos = some_pos();
		bool markers = coin(), crc = coin();
		auto ulpdu = random_bytes(pick(0, 3000));
		u32 to_marker = markers ? kwarp_to_marker(pos) : U32_MAX;
		Room room(kwarp_fpdu_len(ulpdu.size(), pos, markers));
		u8 *dst = room.o.data(), *to = dst + KWARP_MPA_HDR_LEN;

		if (to_marker < KWARP_MPA_HDR_LEN)
			continue;
		to_marker -= KWARP_MPA_HDR_LEN;
		put_unaligned_be16(ulpdu.size(), dst);
		for (u32 done = 0; done < ulpdu.size();) {
			u32 n = pick(1, ulpdu.size() - done);
			to = kwarp_fpdu_flat_put(dst, to, to_marker, &ulpdu[done], n);
			u32 at = pos + (to - dst);
			to_marker = markers ? -at % 512 : U32_MAX;
			done += n;
		}
		kwarp_fpdu_flat_end(dst, to, room.o.size(), crc);
		ASSERT_EQ(room.o, model::encode(pos, ulpdu, markers, crc));
	}
}

// RFC 5044 4.4, 1): a marker after the pad is in this FPDU and in its CRC.
TEST(mpa_writer, kwarp_fpdu_end__marker_before_crc)
{
	for (u32 pad = 0; pad < 4; pad++) {
		auto ulpdu = random_bytes(10 - pad);
		auto fpdu = write(512 - 12, ulpdu, true, true);
		ASSERT_EQ(fpdu.size(), 12u + 4 + 4);
		EXPECT_EQ(slice(fpdu, 12, 4), hex("0000000c"));
		EXPECT_EQ(fpdu, model::encode(512 - 12, ulpdu, true, true));
	}
}

// RFC 5044 4.4, 1): a marker after the CRC is not in this FPDU.
TEST(mpa_writer, kwarp_fpdu_end__marker_behind_crc)
{
	EXPECT_EQ(write(512 - 16, random_bytes(10), true, true).size(), 16u);
}

TEST(mpa_writer, kwarp_fpdu_end__pad_and_crc_zero)
{
	auto fpdu = write(4, Bytes(3, 0xff), true, false);
	EXPECT_EQ(fpdu, hex("0003 ffffff 000000 00000000"));
}

TEST(mpa_writer, kwarp_fpdu_end__longest_tail)
{
	auto w = writer(true, true);
	u8 head[6], byte = 1;
	Room room(KWARP_FPDU_TAIL_MAX);
	kwarp_fpdu_begin(&w, head, 508, 0);
	EXPECT_EQ(kwarp_fpdu_end(&w, room.o.data()), 10u);
	kwarp_fpdu_begin(&w, head, 504, 3);
	for (int i = 0; i < 3; i++) {
		u8 dst[1];
		kwarp_fpdu_put(&w, dst, &byte, 1);
	}
	EXPECT_EQ(kwarp_fpdu_end(&w, room.o.data()), 11u);
}

TEST(mpa_writer, kwarp_fpdu_end__rfc5044_figure5)
{
	auto ulpdu = hex("4143 00000000 00000000 00000001 00000000") + Bytes(24);
	auto fpdu = write(0, ulpdu, true, true);
	EXPECT_EQ(fpdu, hex("00000000 002a") + ulpdu + hex("52239983"));
}

TEST(mpa_writer, kwarp_fpdu_end__rfc5044_figure6)
{
	auto hdr = hex("4143 00000000 00000000 00000002 00000000");
	auto fpdu = write(0x1ec, hdr + Bytes(24), true, true);
	EXPECT_EQ(fpdu, hex("002a") + hdr + hex("00000014") + Bytes(24) + hex("84925898"));
}

TEST(mpa_writer, kwarp_fpdu_end__draft_figure5)
{
	auto ulpdu = hex("4003 00000000 00000000 00000001 00000000") + Bytes(24);
	auto fpdu = write(0, ulpdu, true, true);
	EXPECT_EQ(fpdu, hex("00000000 002a") + ulpdu + hex("4C86B384"));
}

TEST(mpa_writer, kwarp_fpdu_end__draft_figure6)
{
	auto hdr = hex("4003 00000000 00000000 00000002 00000000");
	auto fpdu = write(0x1ec, hdr + Bytes(24), true, true);
	EXPECT_EQ(fpdu, hex("002a") + hdr + hex("00000014") + Bytes(24) + hex("A19CD103"));
}

TEST(mpa_writer, kwarp_fpdu_end__first_marker_of_the_stream)
{
	// RFC 5044 7.1.2, 7
	auto fpdu = write(0, Bytes(14), true, true);
	EXPECT_EQ(slice(fpdu, 0, 4), hex("00000000"));
}
