// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/errors.[ch]: the table from errors to Terminate codes.
#include <array>
#include <map>
#include <set>
#include <string>

#include "proto.h"

namespace {

struct Row {
	kwarp_err err;
	u8 layer, etype, code;
};

// The tables of the RFCs, as numbers.
const Row rows[] = {
	// RFC 5044 8, RFC 6581 8: layer 2, type 0
	{KWARP_ERR_MPA_CLOSED, 2, 0, 1},
	{KWARP_ERR_MPA_CRC, 2, 0, 2},
	{KWARP_ERR_MPA_MARKER, 2, 0, 3},
	{KWARP_ERR_MPA_STARTUP, 2, 0, 4},
	{KWARP_ERR_MPA_LOCAL, 2, 0, 5},
	{KWARP_ERR_MPA_IRD, 2, 0, 6},
	{KWARP_ERR_MPA_RTR, 2, 0, 7},
	{KWARP_ERR_MPA_LENGTH, 2, 0, 3},
	// RFC 5041 7.2: layer 1
	{KWARP_ERR_DDP_LOCAL, 1, 0, 0},
	{KWARP_ERR_TAGGED_STAG, 1, 1, 0},
	{KWARP_ERR_TAGGED_ACCESS, 1, 1, 0},
	{KWARP_ERR_TAGGED_BOUNDS, 1, 1, 1},
	{KWARP_ERR_TAGGED_STREAM, 1, 1, 2},
	{KWARP_ERR_TAGGED_WRAP, 1, 1, 3},
	{KWARP_ERR_TAGGED_VERSION, 1, 1, 4},
	{KWARP_ERR_UNTAGGED_QN, 1, 2, 1},
	{KWARP_ERR_UNTAGGED_NO_BUFFER, 1, 2, 2},
	{KWARP_ERR_UNTAGGED_MSN, 1, 2, 3},
	{KWARP_ERR_UNTAGGED_MO, 1, 2, 4},
	{KWARP_ERR_UNTAGGED_TOO_LONG, 1, 2, 5},
	{KWARP_ERR_UNTAGGED_VERSION, 1, 2, 6},
	// RFC 5040 figure 9: layer 0
	{KWARP_ERR_RDMAP_LOCAL, 0, 0, 0},
	{KWARP_ERR_RDMAP_STAG, 0, 1, 0},
	{KWARP_ERR_RDMAP_BOUNDS, 0, 1, 1},
	{KWARP_ERR_RDMAP_ACCESS, 0, 1, 2},
	{KWARP_ERR_RDMAP_ASSOC, 0, 1, 3},
	{KWARP_ERR_RDMAP_WRAP, 0, 1, 4},
	{KWARP_ERR_RDMAP_INVALIDATE, 0, 1, 9},
	{KWARP_ERR_RDMAP_PROT, 0, 1, 0xff},
	{KWARP_ERR_RDMAP_VERSION, 0, 2, 5},
	{KWARP_ERR_RDMAP_OPCODE, 0, 2, 6},
	{KWARP_ERR_RDMAP_STREAM, 0, 2, 7},
	{KWARP_ERR_RDMAP_GLOBAL, 0, 2, 8},
	{KWARP_ERR_RDMAP_OP, 0, 2, 0xff},
	{KWARP_ERR_SEGMENT, 0, 2, 7},
	// RFC 5043 has no codes of its own.
	{KWARP_ERR_CHUNK, 0, 2, 7},
	{KWARP_ERR_SSN, 0, 2, 7},
	{KWARP_ERR_SESSION, 0, 2, 7},
};

} // namespace

TEST(errors, kwarp_err_term__as_the_rfcs_tables)
{
	std::set<int> seen;
	for (const Row &row : rows) {
		auto t = kwarp_err_term(row.err);
		EXPECT_EQ(t->layer, row.layer) << row.err;
		EXPECT_EQ(t->etype, row.etype) << row.err;
		EXPECT_EQ(t->code, row.code) << row.err;
		seen.insert(row.err);
	}
	// Every error except NONE has a row here.
	EXPECT_EQ(seen.size(), KWARP_ERR_MAX - 1u);
}

TEST(errors, kwarp_err_term__unknown)
{
	for (int err : {0, static_cast<int>(KWARP_ERR_MAX), 63}) {
		auto t = kwarp_err_term(static_cast<kwarp_err>(err));
		EXPECT_EQ(t->layer, 0);
		EXPECT_EQ(t->etype, 2);
		EXPECT_EQ(t->code, 0xff);
	}
}

TEST(errors, kwarp_term_text__each_error)
{
	std::map<std::array<int, 3>, std::string> texts;
	std::set<std::string> seen;
	for (const Row &row : rows) {
		std::string text = kwarp_term_text(kwarp_err_term(row.err));
		auto layer = row.layer == 0 ? "RDMAP: " : row.layer == 1 ? "DDP: " : "MPA: ";
		EXPECT_EQ(text.find(layer), 0u) << text;
		texts[{row.layer, row.etype, row.code}] = text;
		seen.insert(text);
	}
	// Different codes have different texts.
	EXPECT_EQ(seen.size(), texts.size());
	EXPECT_STREQ(kwarp_term_text(kwarp_err_term(KWARP_ERR_UNTAGGED_NO_BUFFER)),
		     "DDP: no receive buffer");
}

TEST(errors, kwarp_term_text__any_codes)
{
	for (int layer = 0; layer < 16; layer++)
		for (int etype = 0; etype < 16; etype++)
			for (int code = 0; code < 256; code++) {
				kwarp_term_err t{static_cast<u8>(layer), static_cast<u8>(etype),
						 static_cast<u8>(code)};
				ASSERT_NE(kwarp_term_text(&t), nullptr);
			}
	kwarp_term_err reserved{0xf, 0xf, 0xff};
	EXPECT_STREQ(kwarp_term_text(&reserved), "unknown codes");
}
