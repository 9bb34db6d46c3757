/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Creation and removal of RDMA devices: `rdma link add`, and netdev notifications. */
#ifndef _KWARP_DEV_LINK_H
#define _KWARP_DEV_LINK_H

#include "kwarp.h"

/* Per device: init before registration, flush after unregistration. */
void kwarp_link_device_init(struct kwarp_device *dev);
void kwarp_link_device_flush(struct kwarp_device *dev);

/* Per module: 0 or negative errno. Process context. */
int kwarp_link_init(void);
void kwarp_link_exit(void);

#endif /* _KWARP_DEV_LINK_H */
