// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The segmentation by TCP must not change the outcome: a script of forty messages, split into TCP
// segments in many ways, must always produce the same completions and the same bytes in memory.
//
// The small script (messages of up to 40 bytes, a stream of about 2000 bytes) is cut at every byte.
// For the long script (messages of up to 20000 bytes) this would mean 150000 rounds of as many
// bytes each. Its rounds cut every FPDU at the same distance from its beginning or its end, or from
// each marker, for each distance up to the longest header. Further rounds have random cuts.
//
// The four modes share the single cuts, since all modes run through the same state machine.
// KWARP_THOROUGH=1 (make check-all) makes every cut in each mode, and more random cuts;
// KWARP_SHORT=1 (make check) makes a third of the single cuts, and fewer random cuts.
#include <cstdlib>
#include <random>

#include "script.h"

namespace peer {
namespace {

struct Mode {
	bool crc, markers;
};

enum Way {
	byte_by_byte,
	every_single_cut,
	double_cuts,
	resegmented,
	long_boundaries,
	long_resegmented,
	long_byte_by_byte
};

// Selects a count: most with KWARP_THOROUGH, few with KWARP_SHORT.
size_t amount(size_t most, size_t usual, size_t few)
{
	static const bool thorough = getenv("KWARP_THOROUGH"), brief = getenv("KWARP_SHORT");
	return thorough ? most : brief ? few : usual;
}

constexpr const char *ways[] = {"byte_by_byte",	    "every_single_cut", "double_cuts",
				"resegmented",	    "long_boundaries",	"long_resegmented",
				"long_byte_by_byte"};

class Segmentation : public testing::TestWithParam<std::tuple<Way, Mode>> {
protected:
	static void run(Script &s, Way way, Mode mode, std::mt19937 &random);
	// Plays one round. Reports a fault as a failure and returns false.
	static bool round(Script &s, const std::function<Cuts(const Stream &)> &cut)
	{
		Stream stream = s.compose();
		Cuts cuts = cut(stream);
		std::string fault = s.play(stream, cuts);
		EXPECT_EQ(fault, "") << "round " << s.rounds() << " of " << stream.bytes.size()
				     << " bytes, " << cuts.size() << " cuts, the first at "
				     << (cuts.empty() ? 0 : cuts.front());
		return fault.empty();
	}
};

Cuts all_up_to(const Stream &s, size_t end)
{
	Cuts c;
	for (size_t i = 1; i < std::min(end, s.bytes.size()); i++)
		c.push_back(i);
	return c;
}

Cuts all(const Stream &s)
{
	return all_up_to(s, s.bytes.size());
}

// Sorts the cuts and removes repeated ones and those outside the stream.
Cuts tidy(Cuts c, const Stream &s)
{
	std::sort(c.begin(), c.end());
	c.erase(std::unique(c.begin(), c.end()), c.end());
	std::erase_if(c, [&](size_t at) { return !at || at >= s.bytes.size(); });
	return c;
}

// Returns the places, each moved by this many bytes.
Cuts near(const Cuts &places, ptrdiff_t by, const Stream &s)
{
	Cuts c;
	for (size_t at : places)
		c.push_back(static_cast<size_t>(static_cast<ptrdiff_t>(at) + by));
	return tidy(c, s);
}

Cuts random_cuts(const Stream &s, size_t n, std::mt19937 &random)
{
	Cuts c;
	for (size_t i = 0; i < n; i++)
		c.push_back(random() % s.bytes.size());
	return tidy(c, s);
}

// Returns a function that makes one random cut.
std::function<Cuts(const Stream &)> one_cut(std::mt19937 &random)
{
	return [&random](const Stream &s) { return random_cuts(s, 1, random); };
}

// Plays a round with one cut at each of first, first + step, ... Each round composes a new stream.
void cut_everywhere(const std::function<bool(const std::function<Cuts(const Stream &)> &)> &round,
		    size_t first, size_t step)
{
	bool more = true;
	for (size_t at = first; more; at += step) {
		auto cut = [&](const Stream &s) {
			more = at + step < s.bytes.size();
			// A stream with markers may be shorter than the previous one.
			return at < s.bytes.size() ? Cuts{at} : Cuts{};
		};
		if (!round(cut))
			return;
	}
}

// Plays rounds with cuts at each place in the first bytes of every FPDU (marker, length, the
// longest header), in its last bytes (pad, CRC), and around each marker.
void cut_at_boundaries(
	const std::function<bool(const std::function<Cuts(const Stream &)> &)> &round)
{
	constexpr ptrdiff_t before = -9, behind_header = 4 + 2 + 18 + 28 + 1, behind_marker = 6;
	for (ptrdiff_t by = before; by <= behind_header; by++)
		if (!round([by](const Stream &s) { return near(s.fpdus, by, s); }))
			return;
	for (ptrdiff_t by = before; by <= behind_marker; by++)
		if (!round([by](const Stream &s) { return near(s.markers, by, s); }))
			return;
}

void Segmentation::run(Script &s, Way way, Mode mode, std::mt19937 &random)
{
	auto play = [&](const std::function<Cuts(const Stream &)> &cut) { return round(s, cut); };
	auto times = [&](unsigned n, const std::function<Cuts(const Stream &)> &cut) {
		for (unsigned i = 0; i < n && play(cut); i++)
			;
	};
	switch (way) {
	case byte_by_byte:
		return times(amount(5, 5, 2), all);
	case long_byte_by_byte:
		return times(1, [](const Stream &q) {
			return all_up_to(q, amount(q.bytes.size(), 16384, 4096));
		});
	case every_single_cut:
		return cut_everywhere(play,
				      amount(1, 1 + (mode.crc ? 0 : 1) + (mode.markers ? 2 : 0),
					     1 + (mode.crc ? 0 : 3) + (mode.markers ? 6 : 0)),
				      amount(1, 4, 12));
	case double_cuts:
		return times(amount(300, 300, 60),
			     [&](const Stream &q) { return random_cuts(q, 2, random); });
	case resegmented:
		return times(amount(150, 40, 10), [&](const Stream &q) {
			return random_cuts(q, 1 + random() % 300, random);
		});
	case long_boundaries:
		return cut_at_boundaries(play);
	case long_resegmented:
		times(amount(10, 4, 1), [&](const Stream &q) { return random_cuts(q, 2, random); });
		return times(amount(20, 6, 2), [&](const Stream &q) {
			return random_cuts(q, 1 + random() % 3000, random);
		});
	}
}

TEST_P(Segmentation, changes_nothing)
{
	auto [way, mode] = GetParam();
	std::mt19937 random(way * 4 + (mode.crc ? 0 : 1) + (mode.markers ? 2 : 0));
	Testbed &bed = Testbed::the();
	bed.begin();
	{
		Script s(way < long_boundaries, mode.crc, mode.markers);
		ASSERT_TRUE(round(s, [](const Stream &) { return Cuts{}; })) << "without any cut";
		run(s, way, mode, random);
		if (!HasFailure()) {
			EXPECT_EQ(s.end(way == byte_by_byte ? all : one_cut(random)), "");
		}
	}
	bed.finish();
}

std::string name(const testing::TestParamInfo<std::tuple<Way, Mode>> &info)
{
	auto [way, mode] = info.param;
	return std::string(ways[way]) + (mode.crc ? "_crc" : "_no_crc") +
	       (mode.markers ? "_markers" : "");
}

const auto both =
	testing::Values(Mode{true, false}, Mode{true, true}, Mode{false, false}, Mode{false, true});

INSTANTIATE_TEST_SUITE_P(Stream, Segmentation,
			 testing::Combine(testing::Values(byte_by_byte, every_single_cut,
							  double_cuts, resegmented, long_boundaries,
							  long_resegmented),
					  both),
			 name);
INSTANTIATE_TEST_SUITE_P(LongStream, Segmentation,
			 testing::Combine(testing::Values(long_byte_by_byte),
					  testing::Values(Mode{true, true})),
			 name);

} // namespace
} // namespace peer
