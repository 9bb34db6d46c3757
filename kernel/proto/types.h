/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Requirements of the protocol files: fixed-width types, unaligned big- and
 * little-endian access, single accesses, memcpy() and crc32c(). This is the only file of proto/
 * that depends on whether it is compiled into the kernel or into a test
 * program.
 */
#ifndef _KWARP_PROTO_TYPES_H
#define _KWARP_PROTO_TYPES_H

#ifdef __KERNEL__

#include <asm/barrier.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#else /* user space: tests/unit, tests/fuzz */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;

#define U32_MAX (~0U)

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
/* As in the kernel: later accesses follow the load. */
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
/* As in the kernel: earlier accesses are complete before the store. */
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#ifndef __cplusplus
#define min(a, b) ({			\
	__auto_type _a = (a);		\
	__auto_type _b = (b);		\
	_a < _b ? _a : _b;		\
})

#define max(a, b) ({			\
	__auto_type _a = (a);		\
	__auto_type _b = (b);		\
	_a > _b ? _a : _b;		\
})

#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#endif

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u16)(b[0] << 8 | b[1]);
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u32)get_unaligned_be16(b) << 16 | get_unaligned_be16(b + 2);
}

static inline u64 get_unaligned_be64(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u64)get_unaligned_be32(b) << 32 | get_unaligned_be32(b + 4);
}

static inline u32 get_unaligned_le32(const void *p)
{
	const u8 *b = (const u8 *)p;

	return (u32)b[3] << 24 | (u32)b[2] << 16 | (u32)b[1] << 8 | b[0];
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)(v >> 8);
	b[1] = (u8)v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	put_unaligned_be16((u16)(v >> 16), p);
	put_unaligned_be16((u16)v, (u8 *)p + 2);
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	put_unaligned_be32((u32)(v >> 32), p);
	put_unaligned_be32((u32)v, (u8 *)p + 4);
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	u8 *b = (u8 *)p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
	b[2] = (u8)(v >> 16);
	b[3] = (u8)(v >> 24);
}

/*
 * CRC32c without inversion at either end, like the kernel's function. Programs that
 * link proto/ must define it.
 */
u32 crc32c(u32 crc, const void *p, size_t len);

#endif /* __KERNEL__ */

#endif /* _KWARP_PROTO_TYPES_H */
