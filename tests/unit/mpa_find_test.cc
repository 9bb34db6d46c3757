// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/mpa_find.[ch]: the search for an FPDU in the middle of a stream, compared with a
// model that knows where all FPDUs begin.
#include <optional>

#include "model.h"
#include "proto.h"

namespace {

struct Stream {
	explicit Stream(u32 first) : pos(first) {}
	void add(u32 ulpdu_len)
	{
		begins.push_back(end());
		bytes = bytes + model::encode(end(), Bytes(ulpdu_len, 0x5a), true, true);
	}
	u32 end() const { return pos + static_cast<u32>(bytes.size()); }

	u32 pos;
	std::vector<u32> begins;
	Bytes bytes;
};

struct Found {
	u32 start, marker;
	bool operator==(const Found &) const = default;
};

std::optional<Found> find(const Bytes &o, u32 pos, size_t longest_piece = 100)
{
	Pieces pieces = Pieces::random(o, longest_piece);
	auto w = pieces.walk();
	Found f;
	if (!kwarp_fpdu_find(&w.r, pos, static_cast<u32>(o.size()), &f.start, &f.marker))
		return {};
	return f;
}

// The expected result for a complete marker: the last FPDU that begins at or before the marker.
std::optional<Found> expected(const Stream &s, u32 from, u32 to)
{
	for (u32 m = from; m != to; m++) {
		if (m % 512 || to - m < 4)
			continue;
		u32 start = s.begins[0];
		for (u32 b : s.begins)
			if (b - s.pos <= m - s.pos)
				start = b;
		if (start - s.pos >= from - s.pos)
			return Found{start, m};
	}
	return {};
}

// Every stretch of a stream, with FPDUs from tiny ones to several markers long.
void every_stretch(u32 first, std::initializer_list<u32> lengths)
{
	Stream s(first);
	for (u32 len : lengths)
		s.add(len);
	for (u32 from = 0; from < s.bytes.size();
	     from += 1 + (from % 512 > 12 && from % 512 < 500) * 6)
		for (u32 to = from; to <= s.bytes.size();
		     to += 1 + (to % 512 > 12 && to % 512 < 500) * 50)
			ASSERT_EQ(find(slice(s.bytes, from, to - from), s.pos + from).has_value(),
				  expected(s, s.pos + from, s.pos + to).has_value())
				<< from << " to " << to;
	for (u32 from = 0; from < s.bytes.size(); from++) {
		auto got = find(slice(s.bytes, from, s.bytes.size() - from), s.pos + from);
		ASSERT_EQ(got, expected(s, s.pos + from, s.end())) << from;
	}
}

TEST(MpaFind, small_fpdus)
{
	every_stretch(0, {20, 30, 100, 14, 200, 18, 40, 300, 0, 0, 90, 600});
}

TEST(MpaFind, large_fpdus)
{
	every_stretch(4 * 77, {1400, 600, 1500, 20});
}

TEST(MpaFind, marker_at_each_place_of_the_header)
{
	for (u32 to_marker = 0; to_marker < 64; to_marker += 4)
		every_stretch(0U - to_marker, {100, 480, 30, 500});
}

TEST(MpaFind, position_wraps)
{
	every_stretch(0U - 1024, {1400, 30, 600, 700});
	every_stretch(0U - 4, {1400, 30});
}

// RFC 5044 4.2: the reserved half and the two low bits are ignored.
TEST(MpaFind, bits_that_do_not_count)
{
	Stream s(0);
	s.add(600);
	s.add(300);
	s.bytes[512] = 0xff;
	s.bytes[513] = 0xff;
	s.bytes[515] |= 3;
	EXPECT_EQ(find(s.bytes, 0), (Found{0, 0}));
	EXPECT_EQ(find(slice(s.bytes, 4, s.bytes.size() - 4), 4), expected(s, 4, s.end()));
}

// A pointer to before the stretch is skipped, however far back it points.
TEST(MpaFind, pointer_beyond_the_stretch)
{
	Stream s(0);
	s.add(2000);
	s.bytes[512 + 2] = 0xff;
	EXPECT_EQ(find(slice(s.bytes, 8, 1000), 8), std::nullopt);
}

TEST(MpaFind, marker_and_length_agree)
{
	kwarp_fpdu f{};
	f.pos = 0U - 100;
	f.len = 300;
	EXPECT_FALSE(kwarp_fpdu_contains(&f, f.pos - 4));
	EXPECT_TRUE(kwarp_fpdu_contains(&f, f.pos));
	EXPECT_TRUE(kwarp_fpdu_contains(&f, f.pos + 296));
	EXPECT_FALSE(kwarp_fpdu_contains(&f, f.pos + 300));
}

} // namespace
