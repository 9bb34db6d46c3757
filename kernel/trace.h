/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints, in tracefs under events/kwarp. Documentation/admin.rst describes
 * their fields. Callers pass pointers and numbers that they have anyway, so a disabled tracepoint
 * costs a patched-out jump only.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kwarp

#if !defined(_KWARP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KWARP_TRACE_H

#include <linux/tracepoint.h>

/* Only trace.c includes the headers that the definitions need. */
struct kwarp_cq;
struct kwarp_cqe;
struct kwarp_ddp_hdr;
struct kwarp_device;
struct kwarp_fpdu;
struct kwarp_mpa_frame;
struct kwarp_mpa_framing;
struct kwarp_qp;
struct kwarp_qp_params;
struct kwarp_term_err;

#define kwarp_show_opcode(op) __print_symbolic(op, \
	{ RDMAP_WRITE, "WRITE" }, \
	{ RDMAP_READ_REQUEST, "READ_REQUEST" }, \
	{ RDMAP_READ_RESPONSE, "READ_RESPONSE" }, \
	{ RDMAP_SEND, "SEND" }, \
	{ RDMAP_SEND_INVAL, "SEND_INVAL" }, \
	{ RDMAP_SEND_SE, "SEND_SE" }, \
	{ RDMAP_SEND_SE_INVAL, "SEND_SE_INVAL" }, \
	{ RDMAP_TERMINATE, "TERMINATE" }, \
	{ RDMAP_IMM, "IMM" }, \
	{ RDMAP_IMM_SE, "IMM_SE" }, \
	{ RDMAP_ATOMIC_REQUEST, "ATOMIC_REQUEST" }, \
	{ RDMAP_ATOMIC_RESPONSE, "ATOMIC_RESPONSE" }, \
	{ RDMAP_SEND_IMM, "SEND_IMM" }, \
	{ RDMAP_SEND_SE_IMM, "SEND_SE_IMM" })

#define kwarp_show_qp_state(state) __print_symbolic(state, \
	{ KWARP_QP_RESET, "RESET" }, \
	{ KWARP_QP_IDLE, "IDLE" }, \
	{ KWARP_QP_READY, "READY" }, \
	{ KWARP_QP_ACCEPTED, "ACCEPTED" }, \
	{ KWARP_QP_SEEKING_RTR, "SEEKING_RTR" }, \
	{ KWARP_QP_SEEKING_RTS, "SEEKING_RTS" }, \
	{ KWARP_QP_SEEKING_SQD, "SEEKING_SQD" }, \
	{ KWARP_QP_OPEN, "OPEN" }, \
	{ KWARP_QP_CLOSING, "CLOSING" }, \
	{ KWARP_QP_MET_RTR, "MET_RTR" }, \
	{ KWARP_QP_MET_RTS, "MET_RTS" }, \
	{ KWARP_QP_MET_SQD, "MET_SQD" }, \
	{ KWARP_QP_LOST_RTR, "LOST_RTR" }, \
	{ KWARP_QP_LOST_RTS, "LOST_RTS" }, \
	{ KWARP_QP_LOST_SQD, "LOST_SQD" }, \
	{ KWARP_QP_ERROR, "ERROR" }, \
	{ KWARP_QP_PARTNER_ERROR, "PARTNER_ERROR" })

#define kwarp_show_frame(type) __print_symbolic(type, \
	{ KWARP_MPA_REQ, "request" }, \
	{ KWARP_MPA_REP, "reply" }, \
	{ KWARP_MPA_RTR_FRAME, "rtr-frame" })

/* ---- devices -------------------------------------------------------------- */

TRACE_EVENT(kwarp_link,
	    TP_PROTO(const struct kwarp_device *dev, const char *netdev,
		     const char *what),
	    TP_ARGS(dev, netdev, what),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&dev->ibdev.dev))
		    __string(netdev, netdev)
		    __string(what, what)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __assign_str(netdev);
		    __assign_str(what);
	    ),
	    TP_printk("dev=%s netdev=%s what=%s", __get_str(dev),
		      __get_str(netdev), __get_str(what))
);

TRACE_EVENT(kwarp_policy,
	    TP_PROTO(const struct kwarp_device *dev, const char *key,
		     u32 value),
	    TP_ARGS(dev, key, value),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&dev->ibdev.dev))
		    __string(key, key)
		    __field(u32, value)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __assign_str(key);
		    __entry->value = value;
	    ),
	    TP_printk("dev=%s key=%s value=%u", __get_str(dev),
		      __get_str(key), __entry->value)
);

/* ---- connections ----------------------------------------------------------- */

TRACE_EVENT(kwarp_ep_state,
	    TP_PROTO(const struct kwarp_device *dev, const void *ep, u32 qpn,
		     const char *from, const char *to),
	    TP_ARGS(dev, ep, qpn, from, to),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&dev->ibdev.dev))
		    __field(const void *, ep)
		    __field(u32, qpn)
		    __string(from, from)
		    __string(to, to)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->ep = ep;
		    __entry->qpn = qpn;
		    __assign_str(from);
		    __assign_str(to);
	    ),
	    TP_printk("dev=%s ep=%p qpn=%u from=%s to=%s", __get_str(dev),
		      __entry->ep, __entry->qpn, __get_str(from),
		      __get_str(to))
);

DECLARE_EVENT_CLASS(kwarp_mpa,
	    TP_PROTO(const struct kwarp_device *dev, const void *ep,
		     const struct kwarp_mpa_frame *f),
	    TP_ARGS(dev, ep, f),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&dev->ibdev.dev))
		    __field(const void *, ep)
		    __field(u8, type)
		    __field(u8, rev)
		    __field(bool, markers)
		    __field(bool, crc)
		    __field(bool, reject)
		    __field(bool, s)
		    __field(bool, p2p)
		    __field(u8, rtr)
		    __field(u16, ird)
		    __field(u16, ord)
		    __field(u16, pd_len)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->ep = ep;
		    __entry->type = f->type;
		    __entry->rev = f->rev;
		    __entry->markers = f->markers;
		    __entry->crc = f->crc;
		    __entry->reject = f->reject;
		    __entry->s = f->s;
		    __entry->p2p = kwarp_mpa_enhanced(f) && f->p2p;
		    __entry->rtr = kwarp_mpa_enhanced(f) ? f->rtr : 0;
		    __entry->ird = kwarp_mpa_enhanced(f) ? f->ird : 0;
		    __entry->ord = kwarp_mpa_enhanced(f) ? f->ord : 0;
		    __entry->pd_len = f->pd_len;
	    ),
	    TP_printk("dev=%s ep=%p type=%s rev=%u markers=%u crc=%u reject=%u s=%u p2p=%u rtr=%#x ird=%u ord=%u pd_len=%u",
		      __get_str(dev), __entry->ep,
		      kwarp_show_frame(__entry->type), __entry->rev,
		      __entry->markers, __entry->crc, __entry->reject,
		      __entry->s, __entry->p2p, __entry->rtr, __entry->ird,
		      __entry->ord, __entry->pd_len)
);

DEFINE_EVENT(kwarp_mpa, kwarp_mpa_sent,
	     TP_PROTO(const struct kwarp_device *dev, const void *ep,
		      const struct kwarp_mpa_frame *f),
	     TP_ARGS(dev, ep, f));

DEFINE_EVENT(kwarp_mpa, kwarp_mpa_received,
	     TP_PROTO(const struct kwarp_device *dev, const void *ep,
		      const struct kwarp_mpa_frame *f),
	     TP_ARGS(dev, ep, f));

TRACE_EVENT(kwarp_mpa_error,
	    TP_PROTO(const struct kwarp_device *dev, int reason),
	    TP_ARGS(dev, reason),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&dev->ibdev.dev))
		    __field(int, reason)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->reason = reason;
	    ),
	    TP_printk("dev=%s reason=%s", __get_str(dev),
		      __print_symbolic(__entry->reason,
				       { KWARP_MPA_E_KEY, "key" },
				       { KWARP_MPA_E_ROLE, "role" },
				       { KWARP_MPA_E_REV, "revision" },
				       { KWARP_MPA_E_PD_LEN, "length" },
				       { KWARP_MPA_E_ENHANCED, "enhanced" },
				       { KWARP_MPA_E_FALLBACK, "fallback" },
				       { KWARP_MPA_E_REJECTED, "rejected" },
				       { KWARP_MPA_E_IRD, "ird" },
				       { KWARP_MPA_E_RTR, "rtr" },
				       { KWARP_MPA_E_CRC, "crc" }))
);

/* ---- queue pairs ----------------------------------------------------------- */

TRACE_EVENT(kwarp_qp_state,
	    TP_PROTO(const struct kwarp_qp *qp, int from, int to),
	    TP_ARGS(qp, from, to),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(int, from)
		    __field(int, to)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->from = from;
		    __entry->to = to;
	    ),
	    TP_printk("dev=%s qpn=%u from=%s to=%s", __get_str(dev),
		      __entry->qpn, kwarp_show_qp_state(__entry->from),
		      kwarp_show_qp_state(__entry->to))
);

TRACE_EVENT(kwarp_qp_attach,
	    TP_PROTO(const struct kwarp_qp *qp,
		     const struct kwarp_qp_params *p,
		     const struct kwarp_mpa_framing *framing),
	    TP_ARGS(qp, p, framing),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(u8, rev)
		    __field(bool, crc)
		    __field(bool, tx_markers)
		    __field(bool, rx_markers)
		    __field(u16, ird)
		    __field(u16, ord)
		    __field(bool, initiator)
		    __field(u8, rtr)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->rev = p->mpa_rev;
		    __entry->crc = framing->crc;
		    __entry->tx_markers = framing->tx_markers;
		    __entry->rx_markers = framing->rx_markers;
		    __entry->ird = p->ird;
		    __entry->ord = p->ord;
		    __entry->initiator = p->initiator;
		    __entry->rtr = p->rtr;
	    ),
	    TP_printk("dev=%s qpn=%u rev=%u crc=%u tx_markers=%u rx_markers=%u ird=%u ord=%u initiator=%u rtr=%#x",
		      __get_str(dev), __entry->qpn, __entry->rev, __entry->crc,
		      __entry->tx_markers, __entry->rx_markers, __entry->ird,
		      __entry->ord, __entry->initiator, __entry->rtr)
);

TRACE_EVENT(kwarp_qp_detach,
	    TP_PROTO(const struct kwarp_qp *qp),
	    TP_ARGS(qp),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
	    ),
	    TP_printk("dev=%s qpn=%u", __get_str(dev), __entry->qpn)
);

/* ---- data ------------------------------------------------------------------ */

TRACE_EVENT(kwarp_tx_fpdu,
	    TP_PROTO(const struct kwarp_qp *qp, const struct kwarp_fpdu *f, bool last),
	    TP_ARGS(qp, f, last),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(u32, pos)
		    __field(u32, len)
		    __field(u32, ulpdu_len)
		    __field(u8, opcode)
		    __field(bool, last)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->pos = f->pos;
		    __entry->len = f->len;
		    __entry->ulpdu_len = f->ulpdu_len;
		    __entry->opcode = qp->tx.msg.opcode;
		    __entry->last = last;
	    ),
	    TP_printk("dev=%s qpn=%u pos=%u len=%u ulpdu_len=%u opcode=%s last=%u",
		      __get_str(dev), __entry->qpn, __entry->pos, __entry->len,
		      __entry->ulpdu_len, kwarp_show_opcode(__entry->opcode),
		      __entry->last)
);

TRACE_EVENT(kwarp_rx_fpdu,
	    TP_PROTO(const struct kwarp_qp *qp, const struct kwarp_fpdu *f,
		     const struct kwarp_ddp_hdr *h),
	    TP_ARGS(qp, f, h),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(u32, pos)
		    __field(u32, len)
		    __field(u32, ulpdu_len)
		    __field(u8, opcode)
		    __field(bool, last)
		    __field(u32, msn)
		    __field(u32, mo)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->pos = f->pos;
		    __entry->len = f->len;
		    __entry->ulpdu_len = f->ulpdu_len;
		    __entry->opcode = h->opcode;
		    __entry->last = h->last;
		    __entry->msn = h->tagged ? 0 : h->msn;
		    __entry->mo = h->tagged ? 0 : h->mo;
	    ),
	    TP_printk("dev=%s qpn=%u pos=%u len=%u ulpdu_len=%u opcode=%s last=%u msn=%u mo=%u",
		      __get_str(dev), __entry->qpn, __entry->pos, __entry->len,
		      __entry->ulpdu_len, kwarp_show_opcode(__entry->opcode),
		      __entry->last, __entry->msn, __entry->mo)
);

DECLARE_EVENT_CLASS(kwarp_batch,
	    TP_PROTO(const struct kwarp_qp *qp, u32 fpdus, u32 octets,
		     u32 rest),
	    TP_ARGS(qp, fpdus, octets, rest),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(u32, fpdus)
		    __field(u32, octets)
		    __field(u32, rest)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->fpdus = fpdus;
		    __entry->octets = octets;
		    __entry->rest = rest;
	    ),
	    TP_printk("dev=%s qpn=%u fpdus=%u octets=%u rest=%u",
		      __get_str(dev), __entry->qpn, __entry->fpdus,
		      __entry->octets, __entry->rest)
);

DEFINE_EVENT(kwarp_batch, kwarp_tx_batch,
	     TP_PROTO(const struct kwarp_qp *qp, u32 fpdus, u32 octets,
		      u32 rest),
	     TP_ARGS(qp, fpdus, octets, rest));

DEFINE_EVENT(kwarp_batch, kwarp_rx_batch,
	     TP_PROTO(const struct kwarp_qp *qp, u32 fpdus, u32 octets,
		      u32 rest),
	     TP_ARGS(qp, fpdus, octets, rest));

/* ---- errors ---------------------------------------------------------------- */

TRACE_EVENT(kwarp_error,
	    TP_PROTO(const struct kwarp_qp *qp,
		     const struct kwarp_term_err *term, u32 ulpdu_len,
		     u32 tx_pos, u32 rx_pos),
	    TP_ARGS(qp, term, ulpdu_len, tx_pos, rx_pos),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(u8, layer)
		    __field(u8, etype)
		    __field(u8, code)
		    __field(u32, tx_pos)
		    __field(u32, rx_pos)
		    __field(u32, ulpdu_len)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->layer = term->layer;
		    __entry->etype = term->etype;
		    __entry->code = term->code;
		    __entry->tx_pos = tx_pos;
		    __entry->rx_pos = rx_pos;
		    __entry->ulpdu_len = ulpdu_len;
	    ),
	    TP_printk("dev=%s qpn=%u layer=%u etype=%u code=%u tx_pos=%u rx_pos=%u ulpdu_len=%u",
		      __get_str(dev), __entry->qpn, __entry->layer,
		      __entry->etype, __entry->code, __entry->tx_pos,
		      __entry->rx_pos, __entry->ulpdu_len)
);

DECLARE_EVENT_CLASS(kwarp_terminate,
	    TP_PROTO(const struct kwarp_qp *qp,
		     const struct kwarp_term_err *term),
	    TP_ARGS(qp, term),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&qp->dev->ibdev.dev))
		    __field(u32, qpn)
		    __field(u8, layer)
		    __field(u8, etype)
		    __field(u8, code)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->qpn = qp->ibqp.qp_num;
		    __entry->layer = term->layer;
		    __entry->etype = term->etype;
		    __entry->code = term->code;
	    ),
	    TP_printk("dev=%s qpn=%u layer=%u etype=%u code=%u",
		      __get_str(dev), __entry->qpn, __entry->layer,
		      __entry->etype, __entry->code)
);

DEFINE_EVENT(kwarp_terminate, kwarp_terminate_sent,
	     TP_PROTO(const struct kwarp_qp *qp,
		      const struct kwarp_term_err *term),
	     TP_ARGS(qp, term));

DEFINE_EVENT(kwarp_terminate, kwarp_terminate_received,
	     TP_PROTO(const struct kwarp_qp *qp,
		      const struct kwarp_term_err *term),
	     TP_ARGS(qp, term));

/* ---- completions ------------------------------------------------------------ */

TRACE_EVENT(kwarp_cqe,
	    TP_PROTO(const struct kwarp_cq *cq, const struct kwarp_cqe *cqe,
		     bool solicited, bool overflow),
	    TP_ARGS(cq, cqe, solicited, overflow),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&cq->dev->ibdev.dev))
		    __field(u32, cqn)
		    __field(u32, qpn)
		    __field(u64, wr_id)
		    __field(u8, opcode)
		    __field(u8, status)
		    __field(u32, byte_len)
		    __field(bool, solicited)
		    __field(bool, overflow)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->cqn = cq->id;
		    __entry->qpn = cqe->qp_num;
		    __entry->wr_id = cqe->wr_id;
		    __entry->opcode = cqe->opcode;
		    __entry->status = cqe->status;
		    __entry->byte_len = cqe->byte_len;
		    __entry->solicited = solicited;
		    __entry->overflow = overflow;
	    ),
	    TP_printk("dev=%s cqn=%u qpn=%u wr_id=%#llx opcode=%u status=%u byte_len=%u solicited=%u overflow=%u",
		      __get_str(dev), __entry->cqn, __entry->qpn,
		      __entry->wr_id, __entry->opcode, __entry->status,
		      __entry->byte_len, __entry->solicited,
		      __entry->overflow)
);

TRACE_EVENT(kwarp_cq_event,
	    TP_PROTO(const struct kwarp_cq *cq),
	    TP_ARGS(cq),
	    TP_STRUCT__entry(
		    __string(dev, dev_name(&cq->dev->ibdev.dev))
		    __field(u32, cqn)
	    ),
	    TP_fast_assign(
		    __assign_str(dev);
		    __entry->cqn = cq->id;
	    ),
	    TP_printk("dev=%s cqn=%u", __get_str(dev), __entry->cqn)
);

#endif /* _KWARP_TRACE_H */

/* Kbuild's -I$(src)/kernel makes this path work wherever the objects are built. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
