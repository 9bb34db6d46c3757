// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/rendezvous.[ch]: Documentation/wire.rst, "Rendezvous".
#include "proto.h"

extern "C" {
#include "rendezvous.h"
}

namespace {

kwarp_rdv_id sample()
{
	kwarp_rdv_id id{};
	id.qpn = 0x11223344;
	id.peer_qpn = 0x55667788;
	id.sends = true;
	id.sq_psn = 0x0a0b0c;
	id.rq_psn = 0x0d0e0f;
	for (u8 i = 0; i < KWARP_RDV_GID_LEN; i++) {
		id.gid[i] = static_cast<u8>(0x20 + i);
		id.peer_gid[i] = static_cast<u8>(0x80 + i);
	}
	return id;
}

kwarp_rdv_id other_end(const kwarp_rdv_id &id)
{
	kwarp_rdv_id other = id;
	std::swap(other.qpn, other.peer_qpn);
	std::swap(other.sq_psn, other.rq_psn);
	std::swap(other.gid, other.peer_gid);
	return other;
}

Bytes encode(const kwarp_rdv_id &id)
{
	Bytes o(KWARP_RDV_LEN, 0xee);
	kwarp_rdv_encode(&id, o.data());
	return o;
}

// A copy of exact size, so that ASan detects reads beyond it.
bool decode(const Bytes &o, kwarp_rdv_id &id)
{
	Bytes copy(o);
	copy.shrink_to_fit();
	return kwarp_rdv_decode(copy.data(), static_cast<u32>(copy.size()), &id);
}

bool same(const kwarp_rdv_id &a, const kwarp_rdv_id &b)
{
	return encode(a) == encode(b);
}

} // namespace

TEST(rendezvous, kwarp_rdv_encode__bytes)
{
	EXPECT_EQ(encode(sample()), hex("6B575276 01 80 0000 11223344 55667788 000A0B0C 000D0E0F"
					"202122232425262728292A2B2C2D2E2F"
					"808182838485868788898A8B8C8D8E8F"));
}

TEST(rendezvous, kwarp_rdv_encode__no_psn_before_rts)
{
	kwarp_rdv_id id = sample();
	id.sends = false;
	Bytes o = encode(id);
	EXPECT_EQ(o[5], 0);
	EXPECT_EQ(slice(o, 16, 4), Bytes(4, 0));
}

TEST(rendezvous, kwarp_rdv_encode__psn_has_24_bits)
{
	kwarp_rdv_id id = sample();
	id.sq_psn |= 0xff000000;
	id.rq_psn |= 0x12000000;
	EXPECT_EQ(encode(id), encode(sample()));
}

TEST(rendezvous, kwarp_rdv_decode__reads_what_encode_writes)
{
	for (bool sends : {false, true}) {
		kwarp_rdv_id id = sample(), got{};
		id.sends = sends;
		ASSERT_TRUE(decode(encode(id), got));
		EXPECT_EQ(got.qpn, id.qpn);
		EXPECT_EQ(got.peer_qpn, id.peer_qpn);
		EXPECT_EQ(got.sends, sends);
		EXPECT_EQ(got.sq_psn, sends ? id.sq_psn : 0);
		EXPECT_EQ(got.rq_psn, id.rq_psn);
		EXPECT_EQ(memcmp(got.gid, id.gid, sizeof(id.gid)), 0);
		EXPECT_EQ(memcmp(got.peer_gid, id.peer_gid, sizeof(id.peer_gid)), 0);
	}
}

TEST(rendezvous, kwarp_rdv_decode__length)
{
	kwarp_rdv_id id;
	Bytes o = encode(sample());
	for (size_t n = 0; n < o.size(); n++)
		EXPECT_FALSE(decode(slice(o, 0, n), id)) << n;
	EXPECT_FALSE(decode(o + Bytes{0}, id));
}

TEST(rendezvous, kwarp_rdv_decode__magic_and_version)
{
	for (size_t at = 0; at < 5; at++) {
		kwarp_rdv_id id;
		Bytes o = encode(sample());
		o[at] ^= 0x40;
		EXPECT_FALSE(decode(o, id)) << at;
	}
}

// Later versions may use reserved bits.
TEST(rendezvous, kwarp_rdv_decode__reserved_is_not_looked_at)
{
	kwarp_rdv_id id;
	Bytes o = encode(sample());
	o[5] |= 0x7f;
	o[6] = o[7] = 0xff;
	ASSERT_TRUE(decode(o, id));
	EXPECT_TRUE(same(id, sample()));
}

TEST(rendezvous, kwarp_rdv_numbers_match__both_ends)
{
	kwarp_rdv_id mine = sample(), theirs = other_end(mine);
	EXPECT_TRUE(kwarp_rdv_numbers_match(&mine, &theirs));
	EXPECT_TRUE(kwarp_rdv_numbers_match(&theirs, &mine));
	EXPECT_FALSE(kwarp_rdv_numbers_match(&mine, &mine));
}

TEST(rendezvous, kwarp_rdv_numbers_match__each_bit_counts)
{
	kwarp_rdv_id mine = sample();
	for (u32 bit = 0; bit < 32; bit++) {
		kwarp_rdv_id theirs = other_end(mine);
		theirs.qpn ^= 1u << bit;
		EXPECT_FALSE(kwarp_rdv_numbers_match(&mine, &theirs)) << bit;
		theirs = other_end(mine);
		theirs.peer_qpn ^= 1u << bit;
		EXPECT_FALSE(kwarp_rdv_numbers_match(&mine, &theirs)) << bit;
	}
}

TEST(rendezvous, kwarp_rdv_check_psns__24_bits_count)
{
	kwarp_rdv_id mine = sample();
	for (u32 bit = 0; bit < 32; bit++) {
		kwarp_rdv_psns wanted = bit < 24 ? KWARP_RDV_PSNS_WRONG : KWARP_RDV_PSNS_RIGHT;
		kwarp_rdv_id theirs = other_end(mine);
		EXPECT_EQ(kwarp_rdv_check_psns(&mine, &theirs), KWARP_RDV_PSNS_RIGHT);
		theirs.sq_psn ^= 1u << bit;
		EXPECT_EQ(kwarp_rdv_check_psns(&mine, &theirs), wanted) << bit;
		theirs = other_end(mine);
		theirs.rq_psn ^= 1u << bit;
		EXPECT_EQ(kwarp_rdv_check_psns(&mine, &theirs), wanted) << bit;
	}
}

TEST(rendezvous, kwarp_rdv_check_psns__one_end_only_receives)
{
	kwarp_rdv_id mine = sample(), theirs = other_end(mine);
	theirs.sends = false;
	theirs.sq_psn = 0;
	EXPECT_EQ(kwarp_rdv_check_psns(&mine, &theirs), KWARP_RDV_PSNS_RIGHT);
	EXPECT_EQ(kwarp_rdv_check_psns(&theirs, &mine), KWARP_RDV_PSNS_RIGHT);
	theirs.rq_psn ^= 1;
	EXPECT_EQ(kwarp_rdv_check_psns(&mine, &theirs), KWARP_RDV_PSNS_WRONG);
	EXPECT_EQ(kwarp_rdv_check_psns(&theirs, &mine), KWARP_RDV_PSNS_WRONG);
}

TEST(rendezvous, kwarp_rdv_check_psns__nothing_to_show)
{
	kwarp_rdv_id mine = sample(), theirs = other_end(mine);
	mine.sends = theirs.sends = false;
	EXPECT_EQ(kwarp_rdv_check_psns(&mine, &theirs), KWARP_RDV_PSNS_UNKNOWN);
}

TEST(rendezvous, kwarp_rdv_psn_equal__24_bits_count)
{
	for (u32 bit = 0; bit < 32; bit++)
		EXPECT_EQ(kwarp_rdv_psn_equal(0x5a5a5a5a, 0x5a5a5a5a ^ (1u << bit)), bit >= 24)
			<< bit;
}

TEST(rendezvous, kwarp_rdv_initiates__exactly_one)
{
	for (auto devices : {KWARP_RDV_TWO_DEVICES, KWARP_RDV_ONE_DEVICE})
		for (int gids : {-1, 0, 1})
			for (int qpns : {-1, 1}) {
				kwarp_rdv_id mine = sample();
				memcpy(mine.peer_gid, mine.gid, sizeof(mine.gid));
				mine.peer_gid[9] = static_cast<u8>(mine.gid[9] - gids);
				mine.peer_qpn = mine.qpn - static_cast<u32>(qpns);
				kwarp_rdv_id theirs = other_end(mine);
				int order = devices == KWARP_RDV_ONE_DEVICE || !gids ? qpns : gids;
				EXPECT_EQ(kwarp_rdv_initiates(&mine, devices), order < 0);
				EXPECT_EQ(kwarp_rdv_initiates(&theirs, devices), order > 0);
			}
}

TEST(rendezvous, kwarp_rdv_initiates__never_for_itself)
{
	kwarp_rdv_id mine = sample();
	memcpy(mine.peer_gid, mine.gid, sizeof(mine.gid));
	mine.peer_qpn = mine.qpn;
	EXPECT_FALSE(kwarp_rdv_initiates(&mine, KWARP_RDV_TWO_DEVICES));
	EXPECT_FALSE(kwarp_rdv_initiates(&mine, KWARP_RDV_ONE_DEVICE));
}
