/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Details of objects for `rdma resource show -dd`. */
#ifndef _KWARP_VERBS_RESTRACK_H
#define _KWARP_VERBS_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

int kwarp_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int kwarp_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int kwarp_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int kwarp_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* _KWARP_VERBS_RESTRACK_H */
