// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Start Keys of draft -03: any bytes in any pieces; and two sides that agree.
#include "fuzz.h"

extern "C" {
#include "mpa_start_key.h"
}

namespace {

constexpr std::string_view text = "MPA ident frame";

int expected(const Bytes &o)
{
	for (size_t i = 0; i < std::min(o.size(), text.size()); i++)
		if (o[i] != static_cast<u8>(text[i]))
			return -KWARP_MPA_E_KEY;
	if (o.size() < 16)
		return 0;
	return o[15] % 16 ? -KWARP_MPA_E_REV : 16;
}

void decode_any(const Bytes &o)
{
	for (size_t n = 0; n <= o.size(); n++) {
		Exact part(o.data(), n), back(KWARP_START_KEY_LEN);
		kwarp_start_key k;
		int ret = kwarp_start_key_decode(part.data(), part.size(), &k);

		require(ret == expected(part.first(n)));
		if (ret <= 0)
			continue;
		require(k.markers == !!(o[15] & 0x80) && k.crc == !!(o[15] & 0x40));
		kwarp_start_key_encode(&k, back.data());
		require(back.first(15) == slice(o, 0, 15) && back.data()[15] == (o[15] & 0xc0));
	}
}

void agree(u8 bits)
{
	kwarp_start_key keys[2] = {{!!(bits & 1), !!(bits & 2)}, {!!(bits & 4), !!(bits & 8)}},
			seen[2];
	kwarp_mpa_params a, b;

	for (int i = 0; i < 2; i++) {
		Exact wire(KWARP_START_KEY_LEN);
		kwarp_start_key_encode(&keys[i], wire.data());
		require(kwarp_start_key_decode(wire.data(), wire.size(), &seen[i]) ==
			KWARP_START_KEY_LEN);
	}
	kwarp_start_key_agree(&keys[0], &seen[1], KWARP_MPA_INITIATOR, &a);
	kwarp_start_key_agree(&keys[1], &seen[0], KWARP_MPA_RESPONDER, &b);
	require(a.crc == b.crc && a.crc == (keys[0].crc || keys[1].crc));
	require(a.tx_markers == b.rx_markers && a.rx_markers == b.tx_markers &&
		a.rx_markers == keys[0].markers);
	require(a.ddp_version == b.ddp_version && a.rev == b.rev);
	// One side may send at once; the other waits for the first FPDU.
	require(a.wait == KWARP_MPA_WAIT_NONE && b.wait == KWARP_MPA_WAIT_FPDU);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);

	agree(in.byte());
	decode_any(in.take(40));
	return 0;
}
