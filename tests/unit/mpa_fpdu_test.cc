// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/mpa_fpdu.[ch]: lengths, markers, the receiver.
#include <algorithm>

#include "model.h"
#include "proto.h"

namespace {

// Critical stream positions: around markers, and around the wrap.
const std::vector<u32> &positions()
{
	static const auto list = [] {
		std::vector<u32> l;
		for (u32 p = 0; p < 1024; p += 4)
			l.push_back(p);
		for (u32 p = 0; p < 1024; p += 4)
			l.push_back(p - 512);
		return l;
	}();
	return list;
}

kwarp_fpdu peek_ok(const Pieces &pieces, u32 avail, u32 pos, bool markers)
{
	auto w = pieces.walk();
	kwarp_fpdu f;
	EXPECT_EQ(kwarp_fpdu_peek(&w.r, avail, pos, markers, &f), KWARP_FPDU_OK);
	return f;
}

// The ULPDU as the iterator returns it.
Bytes payload(const Pieces &pieces, const kwarp_fpdu &f, u32 off, u32 most)
{
	auto w = pieces.walk();
	kwarp_payload pl;
	Bytes out;
	const u8 *p;

	kwarp_payload_init(&pl, &w.r, &f, off);
	while (u32 n = kwarp_payload_next(&pl, &p, most))
		out.insert(out.end(), p, p + n);
	return out;
}

int verify(const Pieces &pieces, const kwarp_fpdu &f, bool crc, Bytes &hdr)
{
	auto w = pieces.walk();
	return kwarp_fpdu_verify(&w.r, &f, crc, hdr.data(), static_cast<u32>(hdr.size()));
}

// The whole receive path for one FPDU: verdict, and the ULPDU if it is OK.
int receive(const Pieces &pieces, u32 avail, u32 pos, bool markers, bool crc, Bytes &ulpdu)
{
	auto f = peek_ok(pieces, avail, pos, markers);
	Bytes hdr(std::min<u32>(f.ulpdu_len, pick(0, KWARP_FPDU_HDR_MAX)));
	int verdict = verify(pieces, f, crc, hdr);
	ulpdu = hdr;
	if (verdict == KWARP_FPDU_OK)
		ulpdu = hdr + payload(pieces, f, static_cast<u32>(hdr.size()),
				      coin() ? U32_MAX : pick(1, 700));
	return verdict;
}

int as_int(model::Verdict v)
{
	switch (v) {
	case model::Verdict::ok:
		return KWARP_FPDU_OK;
	case model::Verdict::crc:
		return KWARP_FPDU_ERR_CRC;
	default:
		return KWARP_FPDU_ERR_MARKER;
	}
}

u32 some_pos()
{
	u32 pos = coin() ? pick(0, U32_MAX) : pick(0, 4096) - 2048;
	return pos & ~3u;
}

u32 some_len()
{
	switch (pick(0, 5)) {
	case 0:
		return pick(0, 40);
	case 1:
		return pick(KWARP_ULPDU_MAX - 600, KWARP_ULPDU_MAX);
	default:
		return pick(0, 2200);
	}
}

Bytes zeros(size_t n)
{
	return Bytes(n, 0);
}

// RFC 5044 figures 5 and 6
const Bytes rfc_first = hex("00000000 002a 4143 00000000 00000000 00000001 00000000") + zeros(24) +
			hex("52239983");
const Bytes rfc_second = hex("002a 4143 00000000 00000000 00000002 00000000 00000014") + zeros(24) +
			 hex("84925898");
// drafts -02 and -03, figures 5 and 6: DDP and RDMAP version 0
const Bytes draft_first = hex("00000000 002a 4003 00000000 00000000 00000001 00000000") +
			  zeros(24) + hex("4C86B384");
const Bytes draft_second = hex("002a 4003 00000000 00000000 00000002 00000000 00000014") +
			   zeros(24) + hex("A19CD103");

void check_dump(const Bytes &dump, u32 pos, const Bytes &ulpdu)
{
	EXPECT_EQ(model::encode(pos, ulpdu, true, true), dump);
	for (size_t cut = 0; cut <= dump.size(); cut++) {
		Pieces pieces(dump, {cut});
		Bytes got;
		ASSERT_EQ(receive(pieces, dump.size(), pos, true, true, got), KWARP_FPDU_OK);
		EXPECT_EQ(got, ulpdu);
	}
}

} // namespace

TEST(mpa_fpdu, kwarp_to_marker__every_position)
{
	for (u32 pos : positions()) {
		u32 n = 0;
		while ((pos + n) % 512 != 0)
			n++;
		ASSERT_EQ(kwarp_to_marker(pos), n) << pos;
	}
}

TEST(mpa_fpdu, kwarp_to_marker__low_bits_ignored)
{
	EXPECT_EQ(kwarp_to_marker(3), 0u);
	EXPECT_EQ(kwarp_to_marker(511), 4u);
	EXPECT_EQ(kwarp_to_marker(U32_MAX), 4u);
}

TEST(mpa_fpdu, kwarp_markers_in__by_counting)
{
	for (u32 pos : positions())
		for (u32 len : {0u, 1u, 4u, 8u, 507u, 508u, 509u, 512u, 513u, 1448u, 65536u}) {
			u32 n = 0;
			for (u32 i = 0; i < len; i++)
				n += (pos + i) % 512 == 0;
			ASSERT_EQ(kwarp_markers_in(pos, len), n) << pos << ' ' << len;
		}
}

TEST(mpa_fpdu, kwarp_fpdu_len__zero)
{
	EXPECT_EQ(kwarp_fpdu_len(0, 4, false), 8u);
	EXPECT_EQ(kwarp_fpdu_len(0, 4, true), 8u);
	EXPECT_EQ(kwarp_fpdu_len(0, 0, true), 12u);
}

TEST(mpa_fpdu, kwarp_fpdu_len__pad)
{
	EXPECT_EQ(kwarp_fpdu_len(1, 0, false), 8u);
	EXPECT_EQ(kwarp_fpdu_len(2, 0, false), 8u);
	EXPECT_EQ(kwarp_fpdu_len(3, 0, false), 12u);
	EXPECT_EQ(kwarp_fpdu_len(42, 0, false), 48u);
}

TEST(mpa_fpdu, kwarp_fpdu_len__largest)
{
	EXPECT_EQ(kwarp_fpdu_len(KWARP_ULPDU_MAX, 0, false), 64776u);
	EXPECT_EQ(kwarp_fpdu_len(KWARP_ULPDU_MAX, 0, true), 64776u + 4 * 128);
}

// RFC 5044 4.3: a marker due right after the CRC belongs to the next FPDU.
TEST(mpa_fpdu, kwarp_fpdu_len__ends_at_marker)
{
	EXPECT_EQ(kwarp_fpdu_len(2, 504, true), 8u);
	EXPECT_EQ(kwarp_fpdu_len(2, 508, true), 12u);
	EXPECT_EQ(kwarp_fpdu_len(502, 0, true), 512u);
	EXPECT_EQ(kwarp_fpdu_len(503, 0, true), 512u + 8);
}

TEST(mpa_fpdu, kwarp_fpdu_len__as_counted)
{
	for (u32 pos : positions())
		for (u32 len = 0; len < 1100; len += pick(1, 9))
			ASSERT_EQ(kwarp_fpdu_len(len, pos, true), model::length(pos, len, true))
				<< pos << ' ' << len;
	for (int i = 0; i < 3000; i++) {
		u32 pos = some_pos(), len = some_len();
		bool markers = coin();
		ASSERT_EQ(kwarp_fpdu_len(len, pos, markers), model::length(pos, len, markers))
			<< pos << ' ' << len;
	}
}

TEST(mpa_fpdu, kwarp_marker_room__as_counted)
{
	for (u32 to_marker = 0; to_marker <= 508; to_marker += 4) {
		u32 data = 0;
		for (u32 room = 0; room < 2100; room++) {
			ASSERT_EQ(kwarp_marker_room(room, to_marker), data)
				<< room << ' ' << to_marker;
			// Does the next byte of room hold data or marker?
			if ((room + 512 - to_marker) % 512 >= 4 || room < to_marker)
				data++;
		}
	}
}

TEST(mpa_fpdu, kwarp_mulpdu__no_room)
{
	for (u32 emss = 0; emss < 8; emss++)
		EXPECT_EQ(kwarp_mulpdu(emss, 0, false), 0u);
	EXPECT_EQ(kwarp_mulpdu(8, 0, false), 2u);
	EXPECT_EQ(kwarp_mulpdu(11, 0, true), 0u);
	EXPECT_EQ(kwarp_mulpdu(12, 0, true), 2u);
}

TEST(mpa_fpdu, kwarp_mulpdu__capped)
{
	EXPECT_EQ(kwarp_mulpdu(U32_MAX, 0, false), KWARP_ULPDU_MAX);
	EXPECT_EQ(kwarp_mulpdu(U32_MAX, 0, true), KWARP_ULPDU_MAX);
	EXPECT_EQ(kwarp_mulpdu(64776, 0, false), KWARP_ULPDU_MAX);
	EXPECT_EQ(kwarp_mulpdu(64775, 0, false), KWARP_ULPDU_MAX - 2);
	EXPECT_EQ(kwarp_mulpdu(64776 + 512, 0, true), KWARP_ULPDU_MAX);
	EXPECT_EQ(kwarp_mulpdu(64776 + 511, 0, true), KWARP_ULPDU_MAX - 2);
}

TEST(mpa_fpdu, kwarp_mulpdu__largest_that_fits)
{
	for (u32 pos : positions())
		for (u32 emss = 8; emss < 3000; emss += pick(1, 40)) {
			u32 n = kwarp_mulpdu(emss, pos, true);
			if (n) {
				ASSERT_LE(model::length(pos, n, true), emss);
			}
			ASSERT_GT(model::length(pos, n + 1, true), emss) << pos << ' ' << emss;
		}
}

// RFC 5044 4.5 has formulas: without markers our result is the same; with markers it is never less,
// because the formula assumes the maximum number of markers.
TEST(mpa_fpdu, kwarp_mulpdu__against_rfc_formula)
{
	for (u32 emss = 128; emss < 9100; emss++) {
		ASSERT_EQ(kwarp_mulpdu(emss, 0, false), emss - (6 + emss % 4));
		u32 pos = pick(0, 127) * 4;
		u32 rfc = emss - (6 + 4 * ((emss + 511) / 512) + emss % 4);
		ASSERT_GE(kwarp_mulpdu(emss, pos, true), rfc);
		ASSERT_LE(kwarp_mulpdu(emss, pos, true), rfc + 4);
	}
}

TEST(mpa_fpdu, kwarp_marker_locate__every_marker_of_a_stream)
{
	u32 pos = 0u - 40000u + 40000u % 512 - 512;
	pos &= ~511u;
	for (int i = 0; i < 400; i++) {
		auto fpdu = model::encode(pos, random_bytes(pick(0, 1700)), true, true);
		for (u32 n = 0; n < fpdu.size(); n++)
			if ((pos + n) % 512 == 0) {
				ASSERT_EQ(kwarp_marker_locate(pos + n, &fpdu[n]), pos);
			}
		pos += static_cast<u32>(fpdu.size());
	}
}

TEST(mpa_fpdu, kwarp_marker_locate__reserved_and_low_bits_ignored)
{
	EXPECT_EQ(kwarp_marker_locate(1024, hex("ffff 0017").data()), 1024u - 0x14);
	EXPECT_EQ(kwarp_marker_locate(1024, hex("ffff 0003").data()), 1024u);
}

TEST(mpa_fpdu, kwarp_reader_skip__all_and_beyond)
{
	Pieces pieces(random_bytes(10), {0, 3, 3, 7});
	auto w = pieces.walk();
	EXPECT_TRUE(kwarp_reader_skip(&w.r, 0));
	EXPECT_EQ(w.loads, 0u);
	EXPECT_TRUE(kwarp_reader_skip(&w.r, 4));
	EXPECT_TRUE(kwarp_reader_skip(&w.r, 6));
	EXPECT_FALSE(kwarp_reader_skip(&w.r, 1));
	EXPECT_TRUE(kwarp_reader_skip(&w.r, 0));
}

TEST(mpa_fpdu, kwarp_fpdu_peek__needs_length_field)
{
	Pieces pieces(hex("0004 0000 0000"));
	for (u32 avail = 0; avail < 2; avail++) {
		auto w = pieces.walk();
		kwarp_fpdu f;
		EXPECT_EQ(kwarp_fpdu_peek(&w.r, avail, 4, true, &f), KWARP_FPDU_NEED_MORE);
		EXPECT_EQ(f.need, 2u);
	}
	for (u32 avail = 0; avail < 6; avail++) {
		auto w = pieces.walk();
		kwarp_fpdu f;
		EXPECT_EQ(kwarp_fpdu_peek(&w.r, avail, 512, true, &f), KWARP_FPDU_NEED_MORE);
		EXPECT_EQ(f.need, 6u);
	}
}

TEST(mpa_fpdu, kwarp_fpdu_peek__needs_rest)
{
	auto fpdu = model::encode(0, random_bytes(600), true, true);
	for (u32 avail = 6; avail < fpdu.size(); avail++) {
		Pieces pieces(slice(fpdu, 0, avail));
		auto w = pieces.walk();
		kwarp_fpdu f;
		ASSERT_EQ(kwarp_fpdu_peek(&w.r, avail, 0, true, &f), KWARP_FPDU_NEED_MORE);
		ASSERT_EQ(f.need, fpdu.size());
		ASSERT_EQ(f.len, fpdu.size());
		ASSERT_EQ(f.ulpdu_len, 600u);
	}
}

TEST(mpa_fpdu, kwarp_fpdu_peek__reader_ends_early)
{
	Pieces none{Bytes{}}, one(hex("00")), marker(hex("00000000"));
	kwarp_fpdu f;
	auto w = none.walk();
	EXPECT_EQ(kwarp_fpdu_peek(&w.r, 100, 4, true, &f), KWARP_FPDU_NEED_MORE);
	w = one.walk();
	EXPECT_EQ(kwarp_fpdu_peek(&w.r, 100, 0, true, &f), KWARP_FPDU_NEED_MORE);
	w = one.walk();
	EXPECT_EQ(kwarp_fpdu_peek(&w.r, 100, 0, false, &f), KWARP_FPDU_NEED_MORE);
	w = marker.walk();
	EXPECT_EQ(kwarp_fpdu_peek(&w.r, 100, 0, true, &f), KWARP_FPDU_NEED_MORE);
}

TEST(mpa_fpdu, kwarp_fpdu_peek__length_limit)
{
	for (u32 len = 0; len < 65536; len++) {
		u8 field[2] = {static_cast<u8>(len >> 8), static_cast<u8>(len)};
		Pieces pieces(Bytes(field, field + 2));
		auto w = pieces.walk();
		kwarp_fpdu f;
		int verdict = kwarp_fpdu_peek(&w.r, 2, 0, false, &f);
		ASSERT_EQ(verdict, len > 64768 ? KWARP_FPDU_ERR_LENGTH : KWARP_FPDU_NEED_MORE)
			<< len;
		ASSERT_EQ(f.ulpdu_len, len);
	}
}

TEST(mpa_fpdu, kwarp_fpdu_peek__exactly_there)
{
	for (u32 pos : positions())
		for (bool markers : {false, true}) {
			auto fpdu = model::encode(pos, random_bytes(pick(0, 600)), markers, true);
			auto f = peek_ok(Pieces::random(fpdu, 5), fpdu.size(), pos, markers);
			ASSERT_EQ(f.len, fpdu.size());
			ASSERT_EQ(f.need, fpdu.size());
			ASSERT_EQ(f.pos, pos);
			ASSERT_EQ(f.markers, markers);
		}
}

TEST(mpa_fpdu, kwarp_fpdu_verify__rfc5044_figure5)
{
	check_dump(rfc_first, 0, slice(rfc_first, 6, 42));
}

TEST(mpa_fpdu, kwarp_fpdu_verify__rfc5044_figure6)
{
	check_dump(rfc_second, 0x1ec, slice(rfc_second, 2, 18) + zeros(24));
}

TEST(mpa_fpdu, kwarp_fpdu_verify__draft_figure5)
{
	check_dump(draft_first, 0, slice(draft_first, 6, 42));
}

TEST(mpa_fpdu, kwarp_fpdu_verify__draft_figure6)
{
	check_dump(draft_second, 0x1ec, slice(draft_second, 2, 18) + zeros(24));
}

TEST(mpa_fpdu, kwarp_fpdu_verify__as_the_model)
{
	for (int i = 0; i < 2500; i++) {
		u32 pos = some_pos();
		bool markers = coin(), crc = coin();
		auto ulpdu = random_bytes(some_len());
		auto fpdu = model::encode(pos, ulpdu, markers, crc);
		// Garbage follows in place of the next FPDU.
		auto stream = fpdu + random_bytes(pick(0, 9));
		auto pieces = Pieces::random(stream, pick(0, 1) ? 3 : 2000);
		Bytes got;
		ASSERT_EQ(receive(pieces, stream.size(), pos, markers, crc, got), KWARP_FPDU_OK)
			<< pos << ' ' << ulpdu.size();
		ASSERT_EQ(got, ulpdu);
	}
}

// A contiguous FPDU without markers: the verdict is that of peek and verify.
TEST(mpa_fpdu, kwarp_fpdu_flat__as_peek_and_verify)
{
	for (int round = 0; round < 2000; round++) {
		bool crc = coin();
		Bytes ulpdu = random_bytes(some_len());
		Bytes wire = model::encode(0, ulpdu, false, crc);
		if (coin())
			wire[pick(2, static_cast<u32>(wire.size()) - 1)] ^= 1 << pick(0, 7);
		Pieces whole(wire);
		Bytes hdr, got, head(pick(0, KWARP_FPDU_HDR_MAX), 0xee);
		kwarp_fpdu f{};
		u32 n = static_cast<u32>(wire.size());
		f.pos = some_pos();
		int ret = kwarp_fpdu_flat(wire.data(), n, crc, &f);

		ASSERT_EQ(ret, verify(whole, peek_ok(whole, n, 0, false), crc, hdr));
		if (ret)
			continue;
		EXPECT_EQ(f.len, wire.size());
		EXPECT_EQ(f.ulpdu_len, ulpdu.size());
		EXPECT_FALSE(f.markers);
		kwarp_fpdu_flat_hdr(wire.data(), &f, head.data(), static_cast<u32>(head.size()));
		u32 copied = std::min<u32>(head.size(), f.ulpdu_len);
		EXPECT_EQ(slice(head, 0, copied), slice(wire, KWARP_MPA_HDR_LEN, copied));
		EXPECT_EQ(slice(head, copied, head.size() - copied),
			  Bytes(head.size() - copied, 0xee));
	}
}

TEST(mpa_fpdu, kwarp_fpdu_flat__leaves_what_is_not_all_there)
{
	Bytes wire = model::encode(0, random_bytes(100), false, true);
	kwarp_fpdu f;

	for (u32 n = 0; n < wire.size(); n++) {
		Bytes part(wire.begin(), wire.begin() + n);
		EXPECT_EQ(kwarp_fpdu_flat(part.data(), n, true, &f), KWARP_FPDU_NEED_MORE);
	}
	// A length that no sender may use is left to peek.
	Bytes large = zeros(70000);
	large[0] = 0xfd;
	large[1] = 0x01;
	EXPECT_EQ(kwarp_fpdu_flat(large.data(), 70000, false, &f), KWARP_FPDU_NEED_MORE);
}

// An FPDU with markers in one piece: verdict and ULPDU match the model, the header copied, the rest
// in parts of any length, and at once.
static void check_flat_marked(u32 pos, const Bytes &fpdu, bool crc)
{
	const u32 n = static_cast<u32>(fpdu.size());
	auto want = model::decode(pos, fpdu, true, crc);
	Bytes hdr(pick(0, KWARP_FPDU_HDR_MAX), 0xee);
	kwarp_fpdu f{};

	f.pos = pos;
	ASSERT_EQ(kwarp_fpdu_flat_marked(fpdu.data(), n, crc, &f), as_int(want.verdict)) << pos;
	if (want.verdict != model::Verdict::ok)
		return;
	EXPECT_EQ(f.len, n);
	EXPECT_EQ(f.ulpdu_len, want.ulpdu.size());
	EXPECT_TRUE(f.markers);
	kwarp_fpdu_flat_hdr(fpdu.data(), &f, hdr.data(), static_cast<u32>(hdr.size()));
	u32 head = std::min<u32>(hdr.size(), f.ulpdu_len);
	ASSERT_EQ(slice(hdr, 0, head), slice(want.ulpdu, 0, head));
	ASSERT_EQ(slice(hdr, head, hdr.size() - head), Bytes(hdr.size() - head, 0xee));

	kwarp_reader r;
	kwarp_payload pl;
	Bytes got;
	kwarp_payload_flat(&pl, &r, fpdu.data(), &f, head);
	for (;;) {
		Bytes part(pick(1, 700), 0xee);
		u32 most = static_cast<u32>(part.size());
		const u8 *p = part.data();
		u32 taken = coin() ? kwarp_payload_copy(&pl, part.data(), most) :
				     kwarp_payload_next(&pl, &p, most);
		if (!taken)
			break;
		got = got + Bytes(p, p + taken);
		ASSERT_EQ(r.p + r.n, fpdu.data() + n);
	}
	EXPECT_EQ(pl.left, 0u);
	ASSERT_EQ(got, slice(want.ulpdu, head, want.ulpdu.size() - head));

	Bytes rest(got.size() + 1, 0xee);
	kwarp_fpdu_flat_copy(fpdu.data(), &f, head, rest.data());
	ASSERT_EQ(rest, got + Bytes(1, 0xee));
}

TEST(mpa_fpdu, kwarp_fpdu_flat_marked__every_position_and_header)
{
	for (u32 ulpdu_len : {0, 1, 2, 13, 14, 18, 46, 71, 72, 73, 400, 1424})
		for (u32 pos : positions())
			check_flat_marked(pos,
					  model::encode(pos, random_bytes(ulpdu_len), true, true),
					  true);
}

TEST(mpa_fpdu, kwarp_fpdu_flat_marked__random_damage)
{
	for (int i = 0; i < 3000; i++) {
		u32 pos = some_pos();
		bool crc = coin();
		auto fpdu = model::encode(pos, random_bytes(pick(1, 3000)), true, crc);
		for (u32 n = pick(0, 3); n; n--)
			fpdu[pick(pos % 512 ? 2 : 6, fpdu.size() - 1)] ^= pick(1, 255);
		check_flat_marked(pos, fpdu, crc);
	}
}

// Only markers are damaged, which is not always an error: the model decides.
TEST(mpa_fpdu, kwarp_fpdu_flat_marked__damaged_markers)
{
	for (u32 pos : positions()) {
		auto fpdu = model::encode(pos, random_bytes(1424), true, false);
		u32 marker = kwarp_to_marker(pos) + 512 * pick(0, 1);
		fpdu[marker + pick(0, 3)] ^= pick(1, 255);
		check_flat_marked(pos, fpdu, false);
	}
}

TEST(mpa_fpdu, kwarp_fpdu_flat_marked__leaves_what_is_not_all_there)
{
	kwarp_fpdu f;

	for (u32 pos : {0u, 4u, 0u - 20u}) {
		Bytes wire = model::encode(pos, random_bytes(100), true, true);
		for (u32 n = 0; n < wire.size(); n++) {
			Bytes part(wire.begin(), wire.begin() + n);
			f.pos = pos;
			EXPECT_EQ(kwarp_fpdu_flat_marked(part.data(), n, true, &f),
				  KWARP_FPDU_NEED_MORE);
		}
	}
	// A length that no sender may use is left to peek.
	Bytes large = zeros(70000);
	large[0] = 0xfd;
	large[1] = 0x01;
	f.pos = 4;
	EXPECT_EQ(kwarp_fpdu_flat_marked(large.data(), 70000, false, &f), KWARP_FPDU_NEED_MORE);
}

// One wrong bit anywhere after the length field; every position in small FPDUs.
TEST(mpa_fpdu, kwarp_fpdu_verify__every_bit_flipped)
{
	for (u32 pos : {0u, 4u, 0u - 4u, 0u - 20u, 0u - 28u, 0x1ecu, 0u - 48u})
		for (bool crc : {false, true}) {
			auto good = model::encode(pos, random_bytes(42), true, crc);
			u32 from = pos % 512 ? 2 : 0;
			for (size_t bit = from * 8; bit < good.size() * 8; bit++) {
				if (!from && bit / 8 >= 4 && bit / 8 < 6)
					continue;
				auto bad = good;
				bad[bit / 8] ^= 0x80 >> bit % 8;
				auto want = model::decode(pos, bad, true, crc);
				Bytes got;
				ASSERT_EQ(receive(Pieces::random(bad, 30), bad.size(), pos, true,
						  crc, got),
					  as_int(want.verdict))
					<< pos << " bit " << bit;
				if (want.verdict == model::Verdict::ok) {
					ASSERT_EQ(got, want.ulpdu);
				}
			}
		}
}

TEST(mpa_fpdu, kwarp_fpdu_verify__random_damage)
{
	for (int i = 0; i < 1500; i++) {
		u32 pos = some_pos();
		bool markers = coin(), crc = coin();
		auto fpdu = model::encode(pos, random_bytes(pick(1, 3000)), markers, crc);
		u32 first = markers && pos % 512 == 0 ? 6 : 2;
		u32 n = pick(1, 3);
		while (n--)
			fpdu[pick(first, fpdu.size() - 1)] ^= pick(1, 255);
		auto want = model::decode(pos, fpdu, markers, crc);
		Bytes got;
		ASSERT_EQ(receive(Pieces::random(fpdu, 600), fpdu.size(), pos, markers, crc, got),
			  as_int(want.verdict));
		if (want.verdict == model::Verdict::ok) {
			ASSERT_EQ(got, want.ulpdu);
		}
	}
}

// RFC 5044 8: a marker error requires a valid CRC.
TEST(mpa_fpdu, kwarp_fpdu_verify__crc_before_marker)
{
	auto fpdu = model::encode(0, random_bytes(20), true, true);
	fpdu[3] = 8;
	Bytes got;
	EXPECT_EQ(receive(Pieces(fpdu), fpdu.size(), 0, true, true, got), KWARP_FPDU_ERR_CRC);
	u32 sum = model::crc(slice(fpdu, 0, fpdu.size() - 4));
	put_unaligned_le32(sum, &fpdu[fpdu.size() - 4]);
	EXPECT_EQ(receive(Pieces(fpdu), fpdu.size(), 0, true, true, got), KWARP_FPDU_ERR_MARKER);
}

TEST(mpa_fpdu, kwarp_fpdu_verify__marker_reserved_ignored)
{
	auto fpdu = model::encode(0x1ec, random_bytes(42), true, false);
	fpdu[0x14] = 0xab;
	fpdu[0x15] = 0xcd;
	fpdu[0x17] |= 3;
	Bytes got;
	EXPECT_EQ(receive(Pieces(fpdu), fpdu.size(), 0x1ec, true, false, got), KWARP_FPDU_OK);
}

// RFC 5044 4.1: the pad is not checked, except by the CRC.
TEST(mpa_fpdu, kwarp_fpdu_verify__pad)
{
	auto fpdu = model::encode(4, random_bytes(15), true, true);
	fpdu[17] = 1;
	Bytes got;
	EXPECT_EQ(receive(Pieces(fpdu), fpdu.size(), 4, true, true, got), KWARP_FPDU_ERR_CRC);
	EXPECT_EQ(receive(Pieces(fpdu), fpdu.size(), 4, true, false, got), KWARP_FPDU_OK);
}

TEST(mpa_fpdu, kwarp_fpdu_verify__reader_ends_early)
{
	auto fpdu = model::encode(512 - 24, random_bytes(42), true, true);
	for (bool crc : {false, true}) {
		auto f = peek_ok(Pieces(fpdu), fpdu.size(), 512 - 24, true);
		u32 enough = fpdu.size() - (crc ? 0 : 4);
		for (u32 n = 0; n < enough; n++) {
			Bytes hdr(18);
			ASSERT_EQ(verify(Pieces(slice(fpdu, 0, n)), f, crc, hdr),
				  KWARP_FPDU_NEED_MORE);
		}
	}
}

TEST(mpa_fpdu, kwarp_fpdu_crc__behind_any_pieces)
{
	for (u32 ulpdu_len : {0, 1, 100, 1100})
		for (bool markers : {false, true}) {
			auto fpdu = model::encode(496, random_bytes(ulpdu_len), markers, true);
			auto f = peek_ok(Pieces(fpdu), fpdu.size(), 496, markers);
			u32 crc = 0, size = static_cast<u32>(fpdu.size());
			Pieces whole = Pieces::random(fpdu, 7);
			auto w = whole.walk();
			ASSERT_TRUE(kwarp_fpdu_crc(&w.r, &f, &crc));
			EXPECT_EQ(crc, fpdu[size - 4] | fpdu[size - 3] << 8 | fpdu[size - 2] << 16 |
					       static_cast<u32>(fpdu[size - 1]) << 24);
			for (u32 n = 0; n < size; n++) {
				auto cut = slice(fpdu, 0, n);
				Pieces pieces(cut);
				auto less = pieces.walk();
				ASSERT_FALSE(kwarp_fpdu_crc(&less.r, &f, &crc)) << n;
			}
		}
}

TEST(mpa_fpdu, kwarp_fpdu_verify__every_header_length)
{
	for (u32 ulpdu_len : {0, 1, 2, 13, 14, 18, 46, 63, 64, 65, 400})
		for (u32 pos = 512 - 80; pos <= 512; pos += 4) {
			auto ulpdu = random_bytes(ulpdu_len);
			auto fpdu = model::encode(pos, ulpdu, true, true);
			Pieces pieces(fpdu);
			auto f = peek_ok(pieces, fpdu.size(), pos, true);
			for (u32 n = 0; n <= KWARP_FPDU_HDR_MAX; n++) {
				Bytes hdr(n, 0xee);
				ASSERT_EQ(verify(pieces, f, true, hdr), KWARP_FPDU_OK);
				u32 copied = std::min(n, ulpdu_len);
				ASSERT_EQ(slice(hdr, 0, copied), slice(ulpdu, 0, copied));
				ASSERT_EQ(slice(hdr, copied, n - copied), Bytes(n - copied, 0xee));
			}
		}
}

TEST(mpa_fpdu, kwarp_fpdu_verify__one_crc_call_per_piece)
{
	for (bool markers : {false, true}) {
		auto fpdu = model::encode(0, random_bytes(9000), markers, true);
		Pieces pieces(fpdu, {1448, 2896, 4344});
		auto f = peek_ok(pieces, fpdu.size(), 0, markers);
		Bytes hdr(18);
		crc32c_calls = 0;
		EXPECT_EQ(verify(pieces, f, true, hdr), KWARP_FPDU_OK);
		EXPECT_EQ(crc32c_calls, 4u);
	}
}

TEST(mpa_fpdu, kwarp_fpdu_verify__does_not_walk_without_need)
{
	auto fpdu = model::encode(0, random_bytes(9000), false, false);
	Pieces pieces(fpdu, {100, 2896, 4344});
	auto f = peek_ok(pieces, fpdu.size(), 0, false);
	auto w = pieces.walk();
	u8 hdr[18];
	crc32c_calls = 0;
	EXPECT_EQ(kwarp_fpdu_verify(&w.r, &f, false, hdr, 18), KWARP_FPDU_OK);
	EXPECT_EQ(crc32c_calls, 0u);
	EXPECT_EQ(w.loads, 1u);
}

TEST(mpa_fpdu, kwarp_payload_init__every_offset)
{
	auto ulpdu = random_bytes(1100);
	for (u32 pos : {0u, 4u, 0u - 8u, 0u - 512u, 496u})
		for (bool markers : {false, true}) {
			auto fpdu = model::encode(pos, ulpdu, markers, true);
			Pieces pieces = Pieces::random(fpdu, 300);
			auto f = peek_ok(pieces, fpdu.size(), pos, markers);
			for (u32 off = 0; off <= ulpdu.size(); off++)
				ASSERT_EQ(payload(pieces, f, off, U32_MAX),
					  slice(ulpdu, off, ulpdu.size() - off));
		}
}

TEST(mpa_fpdu, kwarp_payload_init__offset_beyond_end)
{
	auto fpdu = model::encode(0, random_bytes(10), true, true);
	auto f = peek_ok(Pieces(fpdu), fpdu.size(), 0, true);
	EXPECT_EQ(payload(Pieces(fpdu), f, 11, U32_MAX), Bytes{});
	EXPECT_EQ(payload(Pieces(fpdu), f, 1000, U32_MAX), Bytes{});
}

TEST(mpa_fpdu, kwarp_payload_next__runs)
{
	auto fpdu = model::encode(4, random_bytes(1200), true, true);
	Pieces pieces(fpdu, {200});
	auto f = peek_ok(pieces, fpdu.size(), 4, true);
	auto w = pieces.walk();
	kwarp_payload pl;
	const u8 *p;
	kwarp_payload_init(&pl, &w.r, &f, 18);
	std::vector<u32> runs;
	while (u32 n = kwarp_payload_next(&pl, &p, U32_MAX))
		runs.push_back(n);
	// 200 - 20; to the marker at 512; 508; the rest
	EXPECT_EQ(runs, (std::vector<u32>{180, 308, 508, 186}));
	EXPECT_EQ(kwarp_payload_next(&pl, &p, 1), 0u);
}

TEST(mpa_fpdu, kwarp_payload_next__no_marker_no_cut)
{
	auto fpdu = model::encode(4, random_bytes(9000), false, true);
	Pieces pieces(fpdu);
	auto f = peek_ok(pieces, fpdu.size(), 4, false);
	auto w = pieces.walk();
	kwarp_payload pl;
	const u8 *p;
	kwarp_payload_init(&pl, &w.r, &f, 0);
	EXPECT_EQ(kwarp_payload_next(&pl, &p, 0), 0u);
	EXPECT_EQ(kwarp_payload_next(&pl, &p, U32_MAX), 9000u);
}

TEST(mpa_fpdu, kwarp_payload_next__reader_ends_early)
{
	auto fpdu = model::encode(496, random_bytes(100), true, true);
	auto f = peek_ok(Pieces(fpdu), fpdu.size(), 496, true);
	// 14 bytes of ULPDU, then half a marker; then nothing
	EXPECT_EQ(payload(Pieces(slice(fpdu, 0, 18)), f, 0, U32_MAX).size(), 14u);
	EXPECT_EQ(payload(Pieces(slice(fpdu, 0, 20)), f, 0, U32_MAX).size(), 14u);
	EXPECT_EQ(payload(Pieces(slice(fpdu, 0, 30)), f, 0, U32_MAX).size(), 24u);
}

TEST(mpa_fpdu, kwarp_payload_copy__in_parts)
{
	for (int round = 0; round < 2000; round++) {
		u32 pos = some_pos();
		bool markers = coin();
		auto ulpdu = random_bytes(pick(0, 3000));
		auto fpdu = model::encode(pos, ulpdu, markers, true);
		Pieces pieces = Pieces::random(fpdu, 600);
		auto f = peek_ok(pieces, fpdu.size(), pos, markers);
		auto w = pieces.walk();
		kwarp_payload pl;
		Bytes got;
		kwarp_payload_init(&pl, &w.r, &f, 0);
		while (got.size() < ulpdu.size()) {
			Bytes part(pick(1, 900));
			u32 n = kwarp_payload_copy(&pl, part.data(), static_cast<u32>(part.size()));
			ASSERT_EQ(n, std::min(part.size(), ulpdu.size() - got.size()));
			got = got + slice(part, 0, n);
		}
		ASSERT_EQ(got, ulpdu);
		u8 byte;
		EXPECT_EQ(kwarp_payload_copy(&pl, &byte, 1), 0u);
	}
}

TEST(mpa_fpdu, kwarp_payload_copy__reader_ends_early)
{
	auto ulpdu = random_bytes(100);
	auto fpdu = model::encode(496, ulpdu, true, true);
	auto f = peek_ok(Pieces(fpdu), fpdu.size(), 496, true);
	// 14 bytes of ULPDU, then half a marker; then nothing
	for (auto [there, want] : {std::pair{18u, 14u}, {20u, 14u}, {30u, 24u}}) {
		Pieces pieces(slice(fpdu, 0, there));
		auto w = pieces.walk();
		kwarp_payload pl;
		Bytes got(100);
		kwarp_payload_init(&pl, &w.r, &f, 0);
		EXPECT_EQ(kwarp_payload_copy(&pl, got.data(), 100), want);
		EXPECT_EQ(slice(got, 0, want), slice(ulpdu, 0, want));
	}
}
