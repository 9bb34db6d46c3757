/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How RDMA devices come and go: `rdma link add`, and what happens to netdevs. */
#ifndef _KWARP_CTL_LINK_H
#define _KWARP_CTL_LINK_H

#include "../kwarp.h"

/* A device's part: before it is registered, and when it is not any more. */
void kwarp_link_device_init(struct kwarp_device *dev);
void kwarp_link_device_flush(struct kwarp_device *dev);

/* The module's: 0 or negative errno. Process context. */
int kwarp_link_init(void);
void kwarp_link_exit(void);

#endif /* _KWARP_CTL_LINK_H */
