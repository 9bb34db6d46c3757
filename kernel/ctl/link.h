/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How RDMA devices come and go: `rdma link add`, and what happens to netdevs. */
#ifndef _KWARP_CTL_LINK_H
#define _KWARP_CTL_LINK_H

int kwarp_link_init(void);
void kwarp_link_exit(void);

#endif /* _KWARP_CTL_LINK_H */
