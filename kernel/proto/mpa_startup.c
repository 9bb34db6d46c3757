// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* MPA startup frames. */
#include "proto/mpa_startup.h"

/* Flags, byte 16 */
#define MPA_M	0x80
#define MPA_C	0x40
#define MPA_R	0x20
#define MPA_S	0x10

/* Offsets */
#define MPA_FLAGS	16
#define MPA_REV		17
#define MPA_PD_LEN	18

/* Enhanced data, RFC 6581 9: flags above two 14-bit numbers */
#define ENH_A	0x8000	/* with IRD */
#define ENH_B	0x4000
#define ENH_C	0x8000	/* with ORD */
#define ENH_D	0x4000
#define ENH_NUM	0x3fff

/*
 * The 2007 proposal spells the third key "RtR" in its byte values, and "Rtr" in its text:
 * we send the former and accept both.
 */
static const struct {
	char bytes[KWARP_MPA_KEY_LEN + 1];
	u8 type;
} keys[] = {
	{ "MPA ID Req Frame", KWARP_MPA_REQ },
	{ "MPA ID Rep Frame", KWARP_MPA_REP },
	{ "MPA ID RtR Frame", KWARP_MPA_RTR_FRAME },
	{ "MPA ID Rtr Frame", KWARP_MPA_RTR_FRAME },
};

static const char *key_of(u8 type)
{
	unsigned int i = 0;

	while (keys[i].type != type)
		i++;
	return keys[i].bytes;
}

/* Check the received part of a key. Return: 0, or an error as soon as it is certain. */
static int check_key(const u8 *p, u32 len, u8 type)
{
	u32 n = min_t(u32, len, KWARP_MPA_KEY_LEN);
	bool other = false;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (n && memcmp(p, keys[i].bytes, n))
			continue;
		if (keys[i].type == type)
			return 0;
		other = true;
	}
	if (!other)
		return -KWARP_MPA_E_KEY;
	/*
	 * The beginning of another type's key may still become an unknown key: wait for
	 * the rest, so that the error does not depend on how TCP splits the bytes.
	 */
	return n < KWARP_MPA_KEY_LEN ? 0 : -KWARP_MPA_E_ROLE;
}

/**
 * kwarp_mpa_enhanced_encode() - write the enhanced data of RFC 6581 9
 * @f:		frame
 * @dst:	room for KWARP_MPA_ENH_LEN bytes
 */
void kwarp_mpa_enhanced_encode(const struct kwarp_mpa_frame *f, u8 *dst)
{
	/* RFC 6581 9.2: B, C and D are zero if A is zero. */
	u8 rtr = f->p2p ? f->rtr : 0;

	put_unaligned_be16((f->p2p ? ENH_A : 0) |
			   (rtr & KWARP_RTR_SEND ? ENH_B : 0) |
			   (f->ird & ENH_NUM), dst);
	put_unaligned_be16((rtr & KWARP_RTR_WRITE ? ENH_C : 0) |
			   (rtr & KWARP_RTR_READ ? ENH_D : 0) |
			   (f->ord & ENH_NUM), dst + 2);
}

/**
 * kwarp_mpa_enhanced_decode() - read the enhanced data of RFC 6581 9
 * @p:		KWARP_MPA_ENH_LEN bytes
 * @f:		frame whose enhanced fields are set; the caller has zeroed @f->rtr
 */
void kwarp_mpa_enhanced_decode(const u8 *p, struct kwarp_mpa_frame *f)
{
	u16 ird = get_unaligned_be16(p);
	u16 ord = get_unaligned_be16(p + 2);

	f->ird = ird & ENH_NUM;
	f->ord = ord & ENH_NUM;
	f->p2p = ird & ENH_A;
	/* RFC 6581 9.2: B, C and D are ignored if A is zero. */
	if (!f->p2p)
		return;
	f->rtr = (ird & ENH_B ? KWARP_RTR_SEND : 0) |
		 (ord & ENH_C ? KWARP_RTR_WRITE : 0) |
		 (ord & ENH_D ? KWARP_RTR_READ : 0);
}

/**
 * kwarp_mpa_encode() - write a frame up to the beginning of its private data
 * @f:		frame; @f->pd_len bytes will follow
 * @dst:	room for KWARP_MPA_FRAME_LEN + KWARP_MPA_ENH_LEN bytes
 *
 * Return: bytes written, or -KWARP_MPA_E_PD_LEN.
 */
int kwarp_mpa_encode(const struct kwarp_mpa_frame *f, u8 *dst)
{
	u32 enh = kwarp_mpa_enhanced(f) ? KWARP_MPA_ENH_LEN : 0;

	if (f->pd_len > kwarp_mpa_pd_room(f))
		return -KWARP_MPA_E_PD_LEN;
	memcpy(dst, key_of(f->type), KWARP_MPA_KEY_LEN);
	dst[MPA_FLAGS] = (f->markers ? MPA_M : 0) | (f->crc ? MPA_C : 0) |
			 (f->reject ? MPA_R : 0) | (f->s ? MPA_S : 0);
	dst[MPA_REV] = f->rev;
	put_unaligned_be16(f->pd_len + enh, dst + MPA_PD_LEN);
	if (enh)
		kwarp_mpa_enhanced_encode(f, dst + KWARP_MPA_FRAME_LEN);
	return KWARP_MPA_FRAME_LEN + enh;
}

/**
 * kwarp_mpa_need() - number of bytes to wait for
 * @p:		bytes received so far, with no error in them
 * @len:	their number
 *
 * The caller reads no more than this, so that FPDUs that follow stay in the socket.
 *
 * Return: total bytes of the frame as far as known: first KWARP_MPA_FRAME_LEN, then its
 * actual length.
 */
u32 kwarp_mpa_need(const u8 *p, u32 len)
{
	if (len < KWARP_MPA_FRAME_LEN)
		return KWARP_MPA_FRAME_LEN;
	return KWARP_MPA_FRAME_LEN + get_unaligned_be16(p + MPA_PD_LEN);
}

/* Is the revision defined for this type of frame? */
static bool rev_known(u8 type, u8 rev)
{
	if (type == KWARP_MPA_RTR_FRAME)
		return rev == KWARP_MPA_REV_1;
	return rev <= KWARP_MPA_REV_MAX;
}

/**
 * kwarp_mpa_decode() - read a possibly incomplete frame
 * @p:		bytes received
 * @len:	their number
 * @type:	expected type
 * @f:		result, valid if the frame is complete
 *
 * An error is reported as soon as it can be detected, e.g. a wrong key at its first wrong
 * byte. Reserved bits are ignored. A revision above KWARP_MPA_REV_MAX, or an Rtr frame
 * whose revision is not 1, is an error; kwarp_mpa_admit() decides which other revisions
 * are served.
 *
 * Return: bytes of the whole frame if @p contains it; 0 if it does not (see
 * kwarp_mpa_need()); or -KWARP_MPA_E_*.
 */
int kwarp_mpa_decode(const u8 *p, u32 len, enum kwarp_mpa_type type,
		     struct kwarp_mpa_frame *f)
{
	int err = check_key(p, len, type);
	u32 pd_len;

	memset(f, 0, sizeof(*f));
	if (err)
		return err;
	if (len < KWARP_MPA_FRAME_LEN)
		return 0;

	f->type = type;
	f->rev = p[MPA_REV];
	f->markers = p[MPA_FLAGS] & MPA_M;
	f->crc = p[MPA_FLAGS] & MPA_C;
	/* RFC 5044 7.1.1: R is not checked in a request. */
	f->reject = type == KWARP_MPA_REP && p[MPA_FLAGS] & MPA_R;
	f->s = type != KWARP_MPA_RTR_FRAME && p[MPA_FLAGS] & MPA_S;
	pd_len = get_unaligned_be16(p + MPA_PD_LEN);

	if (!rev_known(type, f->rev))
		return -KWARP_MPA_E_REV;
	if (pd_len > KWARP_MPA_PD_MAX)
		return -KWARP_MPA_E_PD_LEN;
	if (kwarp_mpa_enhanced(f) && pd_len < KWARP_MPA_ENH_LEN)
		return -KWARP_MPA_E_ENHANCED;
	if (len < KWARP_MPA_FRAME_LEN + pd_len)
		return 0;

	f->pd_off = KWARP_MPA_FRAME_LEN;
	f->pd_len = pd_len;
	if (kwarp_mpa_enhanced(f)) {
		kwarp_mpa_enhanced_decode(p + KWARP_MPA_FRAME_LEN, f);
		f->pd_off += KWARP_MPA_ENH_LEN;
		f->pd_len -= KWARP_MPA_ENH_LEN;
	}
	return KWARP_MPA_FRAME_LEN + pd_len;
}

/**
 * kwarp_mpa_pd_room() - maximum of the consumer's private data in a frame
 * @f:		frame
 *
 * Return: bytes.
 */
u32 kwarp_mpa_pd_room(const struct kwarp_mpa_frame *f)
{
	return KWARP_MPA_PD_MAX -
	       (kwarp_mpa_enhanced(f) ? KWARP_MPA_ENH_LEN : 0);
}

/**
 * kwarp_mpa_enhanced() - does a frame carry enhanced data?
 * @f:		frame
 *
 * Return: true if so.
 */
bool kwarp_mpa_enhanced(const struct kwarp_mpa_frame *f)
{
	return f->s && f->rev >= KWARP_MPA_REV_2 &&
	       f->type != KWARP_MPA_RTR_FRAME;
}
