/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Every difference between the kernels we build for, 6.12 to 7.2. */
#ifndef _KWARP_COMPAT_H
#define _KWARP_COMPAT_H

#include <linux/version.h>

#endif /* _KWARP_COMPAT_H */
