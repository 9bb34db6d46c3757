/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The part of kwarp's interface that programs use directly, through kwarpdv.h:
 * parameters and results of attached sockets.
 */
#ifndef KWARP_USER_IOCTL_VERBS_H
#define KWARP_USER_IOCTL_VERBS_H

#include <linux/types.h>

#define KWARP_ATTACH_MESSAGE_MAX	4096	/* bytes */
#define KWARP_ATTACH_PRIVATE_DATA_MAX	512	/* bytes, 508 with MPA revision 2 */
#define KWARP_ATTACH_WAIT_MAX_MS	1000	/* per call */
#define KWARP_ATTACH_TIMEOUT_MAX_MS	600000

/* How MPA starts. */
enum kwarp_attach_form {
	KWARP_ATTACH_REQ_REP	= 0,	/* RFC 5044 7.1.3, RFC 6581 */
	KWARP_ATTACH_START_KEY	= 1,	/* draft-culley-iwarp-mpa-03 8.1 */
	KWARP_ATTACH_NONE	= 2,	/* draft-culley-iwarp-mpa-02 8.1 */
};

enum kwarp_attach_role {
	KWARP_ATTACH_INITIATOR	= 0,	/* draft -03: passive */
	KWARP_ATTACH_RESPONDER	= 1,	/* draft -03: active */
};

enum kwarp_attach_choice {
	KWARP_ATTACH_POLICY	= 0,	/* the device's policy */
	KWARP_ATTACH_OFF	= 1,
	KWARP_ATTACH_ON		= 2,
};

enum kwarp_attach_flags {
	/* START_KEY, NONE: use DDP and RDMAP version 1 instead of 0. */
	KWARP_ATTACH_IETF	= 1 << 0,
};

struct kwarp_attach_params {
	__u8	form;		/* enum kwarp_attach_form */
	__u8	role;		/* enum kwarp_attach_role */
	__u8	crc;		/* enum kwarp_attach_choice */
	__u8	markers;	/* requested from the peer; enum kwarp_attach_choice */
	__u8	p2p;		/* initiator; enum kwarp_attach_choice */
	__u8	mpa_rev;	/* 1 or 2; 0: the policy's */
	__u16	flags;		/* enum kwarp_attach_flags */
	__u16	ird;		/* inbound reads, limited by the policy */
	__u16	ord;		/* outbound reads */
	__u32	timeout_ms;	/* for each wait; 0: the policy's */
};

struct kwarp_attach_result {
	__s32	status;		/* 0: connected, else errno (positive) */
	__u16	ird;
	__u16	ord;
	__u8	crc;
	__u8	tx_markers;
	__u8	rx_markers;
	__u8	mpa_rev;	/* in force; 0: DDP and RDMAP version 0 */
	__u16	private_data_len; /* the peer's; the data are cut to the room given */
	__u16	reserved;
};

#endif /* KWARP_USER_IOCTL_VERBS_H */
