/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Version of the module and of the whole tree: scripts/version reads it for the tool, DKMS and
 * packages. query_device reports it as the firmware version.
 */
#ifndef _KWARP_VERSION_H
#define _KWARP_VERSION_H

#include <linux/stringify.h>

#define KWARP_VERSION_MAJOR	0
#define KWARP_VERSION_MINOR	1
#define KWARP_VERSION_PATCH	0
#define KWARP_VERSION	__stringify(KWARP_VERSION_MAJOR) "." \
			__stringify(KWARP_VERSION_MINOR) "." \
			__stringify(KWARP_VERSION_PATCH)

#endif
