// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * crc32c() for micro: one stream of the processor's CRC instruction, or, without the instruction,
 * byte by byte. The kernel interleaves three streams for long data and is up to three times as
 * fast.
 */
#include "types.h"

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static u32 by_instruction(u32 crc,
							     const u8 *p,
							     size_t len)
{
	u64 crc64 = crc;
	u64 word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		crc64 = __builtin_ia32_crc32di(crc64, word);
	}
	for (crc = crc64; len; p++, len--)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}
#endif

static u32 by_bits(u32 crc, const u8 *p, size_t len)
{
	int bit;

	for (; len; p++, len--)
		for (crc ^= *p, bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	return crc;
}

u32 crc32c(u32 crc, const void *p, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(crc, p, len);
#endif
	return by_bits(crc, p, len);
}
