// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/sctp_session.[ch]: RFC 5043 5.2.3 and 6, RFC 6581 7.
#include "proto.h"

extern "C" {
#include "sctp_session.h"
}

namespace {

kwarp_mpa_frame frame(kwarp_mpa_type type, bool enhanced, bool reject = false, u16 pd_len = 0)
{
	kwarp_mpa_frame f{};
	f.type = type;
	f.rev = enhanced ? KWARP_MPA_REV_2 : KWARP_MPA_REV_1;
	f.s = enhanced;
	f.reject = reject;
	f.pd_len = pd_len;
	if (enhanced) {
		f.ird = 0x1234;
		f.ord = 0x0567;
	}
	return f;
}

// The message without private data; a test fails if it cannot be encoded.
Bytes encode(const kwarp_mpa_frame &f)
{
	Bytes o(KWARP_SCTP_HEAD_MAX, 0xee);
	const int len = kwarp_session_encode(&f, o.data());
	EXPECT_GT(len, 0);
	o.resize(len > 0 ? static_cast<size_t>(len) : 0);
	return o;
}

// A copy of exact size, so that ASan detects reads beyond it.
int decode(const Bytes &o, kwarp_mpa_type type, kwarp_mpa_frame &f)
{
	Bytes copy(o);
	copy.shrink_to_fit();
	return kwarp_session_decode(copy.data(), static_cast<u32>(copy.size()), type, &f);
}

bool terminate(const Bytes &o)
{
	return kwarp_session_is_terminate(o.data(), static_cast<u32>(o.size()));
}

const struct {
	const char *name;
	kwarp_mpa_type type;
	bool enhanced, reject;
	const char *bytes;
} forms[] = {
	{"Initiate", KWARP_MPA_REQ, false, false, "0001"},
	{"Accept", KWARP_MPA_REP, false, false, "0002"},
	{"Reject", KWARP_MPA_REP, false, true, "0003"},
	{"Enhanced Initiate", KWARP_MPA_REQ, true, false, "0005 12340567"},
	{"Enhanced Accept", KWARP_MPA_REP, true, false, "0006 12340567"},
	{"Enhanced Reject", KWARP_MPA_REP, true, true, "0007 12340567"},
};

} // namespace

TEST(sctp_session, kwarp_session_encode__every_function_code)
{
	for (const auto &form : forms)
		EXPECT_EQ(encode(frame(form.type, form.enhanced, form.reject)), hex(form.bytes))
			<< form.name;
}

TEST(sctp_session, kwarp_session_encode__private_data_of_at_most_512_bytes)
{
	Bytes o(KWARP_SCTP_HEAD_MAX);
	for (bool enhanced : {false, true}) {
		const u16 most = enhanced ? 508 : 512;
		auto f = frame(KWARP_MPA_REQ, enhanced, false, most);
		EXPECT_GT(kwarp_session_encode(&f, o.data()), 0) << enhanced;
		f.pd_len++;
		EXPECT_EQ(kwarp_session_encode(&f, o.data()), -KWARP_MPA_E_PD_LEN) << enhanced;
	}
}

TEST(sctp_session, kwarp_session_decode__what_was_encoded)
{
	for (const auto &form : forms) {
		for (size_t pd : {0, 1, 508}) {
			auto o = encode(frame(form.type, form.enhanced, form.reject));
			const size_t head = o.size();
			o.resize(head + pd, 0x5a);
			kwarp_mpa_frame f;
			ASSERT_EQ(decode(o, form.type, f), 0) << form.name << ' ' << pd;
			EXPECT_EQ(f.type, form.type) << form.name;
			EXPECT_EQ(f.reject, form.reject) << form.name;
			EXPECT_EQ(kwarp_mpa_enhanced(&f), form.enhanced) << form.name;
			EXPECT_EQ(f.ird, form.enhanced ? 0x1234 : 0) << form.name;
			EXPECT_EQ(f.ord, form.enhanced ? 0x0567 : 0) << form.name;
			EXPECT_EQ(f.pd_off, head) << form.name;
			EXPECT_EQ(f.pd_len, pd) << form.name;
			EXPECT_FALSE(f.crc || f.markers) << form.name;
		}
	}
}

TEST(sctp_session, kwarp_session_decode__the_other_role)
{
	kwarp_mpa_frame f;
	for (const auto &form : forms) {
		const auto other = form.type == KWARP_MPA_REQ ? KWARP_MPA_REP : KWARP_MPA_REQ;
		const auto o = encode(frame(form.type, form.enhanced, form.reject));
		EXPECT_EQ(decode(o, other, f), -KWARP_MPA_E_ROLE) << form.name;
	}
}

// Every code but those above; Terminate is decoded by another function.
TEST(sctp_session, kwarp_session_decode__unknown_codes)
{
	kwarp_mpa_frame f;
	for (u32 code = 0; code < 0x10000; code++) {
		if (code && code < 8 && code != KWARP_SESSION_TERMINATE)
			continue;
		Bytes o{static_cast<u8>(code >> 8), static_cast<u8>(code)};
		EXPECT_EQ(decode(o, KWARP_MPA_REQ, f), -KWARP_MPA_E_KEY) << code;
	}
}

TEST(sctp_session, kwarp_session_decode__lengths)
{
	kwarp_mpa_frame f;
	EXPECT_EQ(decode({}, KWARP_MPA_REQ, f), -KWARP_MPA_E_KEY);
	EXPECT_EQ(decode(hex("00"), KWARP_MPA_REQ, f), -KWARP_MPA_E_KEY);
	for (const char *cut : {"0005", "0005 12", "0005 123405"})
		EXPECT_EQ(decode(hex(cut), KWARP_MPA_REQ, f), -KWARP_MPA_E_ENHANCED) << cut;
	for (const char *cut : {"0006", "0006 123405"})
		EXPECT_EQ(decode(hex(cut), KWARP_MPA_REP, f), -KWARP_MPA_E_ENHANCED) << cut;
	auto o = hex("0001");
	o.resize(2 + 512);
	EXPECT_EQ(decode(o, KWARP_MPA_REQ, f), 0);
	EXPECT_EQ(f.pd_len, 512);
	o.push_back(0);
	EXPECT_EQ(decode(o, KWARP_MPA_REQ, f), -KWARP_MPA_E_PD_LEN);
}

// RFC 6581 7 does not name the Enhanced Reject where it requires IRD and ORD.
TEST(sctp_session, kwarp_session_decode__enhanced_reject_without_depths)
{
	kwarp_mpa_frame f;
	for (const char *bytes : {"0007", "0007 12", "0007 123405"}) {
		ASSERT_EQ(decode(hex(bytes), KWARP_MPA_REP, f), 0) << bytes;
		EXPECT_TRUE(f.reject && kwarp_mpa_enhanced(&f)) << bytes;
		EXPECT_EQ(f.pd_off, 2) << bytes;
		EXPECT_EQ(f.pd_len, hex(bytes).size() - 2) << bytes;
		EXPECT_EQ(f.ird | f.ord, 0) << bytes;
	}
}

TEST(sctp_session, kwarp_session_is_terminate__without_private_data_only)
{
	EXPECT_TRUE(terminate(hex("0004")));
	for (const char *other : {"", "00", "04", "0400", "0003", "0004 00"})
		EXPECT_FALSE(terminate(hex(other))) << other;
}

TEST(sctp_session, kwarp_session_ahead__window_and_wrap)
{
	for (u32 next : {0U, 1U, 4095U, 4096U, 61440U, 61441U, 65535U}) {
		const auto n = static_cast<u16>(next);
		EXPECT_EQ(kwarp_session_ahead(n, n), 0U) << next;
		EXPECT_EQ(kwarp_session_ahead(static_cast<u16>(n + 1), n), 1U) << next;
		EXPECT_EQ(kwarp_session_ahead(static_cast<u16>(n + 4095), n), 4095U) << next;
		EXPECT_EQ(kwarp_session_ahead(static_cast<u16>(n + 4096), n), 4096U) << next;
		EXPECT_EQ(kwarp_session_ahead(static_cast<u16>(n - 1), n), 4096U) << next;
	}
}
