/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The administrator's policy: /sys/class/infiniband/NAME/kwarp/. */
#ifndef _KWARP_DEV_POLICY_H
#define _KWARP_DEV_POLICY_H

struct attribute_group;
struct kwarp_policy;

extern const struct attribute_group kwarp_policy_group;

void kwarp_policy_init(struct kwarp_policy *policy);

#endif /* _KWARP_DEV_POLICY_H */
