// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events for iw_cm, which queues them and calls the consumer later. iw_cm requires
 * CONNECT_REPLY exactly once after a successful iw_connect, ESTABLISHED exactly once after a
 * successful iw_accept (until then iw_destroy_cm_id waits), and CLOSE exactly once after
 * ESTABLISHED or a successful CONNECT_REPLY, never otherwise (BUG() in iw_cm).
 *
 * Depths have the meaning used by siw and irdma: a request's ird and ord are the peer's;
 * those of a reply and of ESTABLISHED are our own. SMB Direct relies on this meaning.
 */
#include <linux/sunrpc/addr.h>

#include "cm/ep.h"

/*
 * iw_cm must stay loaded as long as an endpoint may call its functions, which iw_cm gives us as
 * pointers. A symbol of iw_cm makes kwarp depend on that module.
 */
static const char *(*const symbol_of_iw_cm)(int reason) __used = iwcm_reject_msg;

/**
 * kwarp_up_event() - give an event to iw_cm: the only caller of its handler
 * @id:		iw_cm's object
 * @ev:		event; its private data, if any, need not outlive the call
 *
 * iw_cm copies private data only if their length is not 0, and calls the consumer when the
 * frame that contained them has been freed. Consumers in the kernel (rpcrdma, svcrdma,
 * ib_iser, ib_isert) test the pointer and not the length, so a pointer must have a length.
 *
 * The length is exact. InfiniBand pads private data to a fixed size, so rpcrdma, svcrdma
 * and nvmet-rdma read a structure of 8 bytes if there is a pointer, whatever the length.
 * With any iWARP driver they read beyond iw_cm's copy of shorter data. The read stays in the
 * same slab object, because kmalloc() has no smaller ones, but KASAN reports it. We cannot
 * pad: iw_cm copies and reports one length, so programs would get bytes that the peer has
 * not sent, and SMB Direct recognises its own negotiation by a length of 8.
 *
 * Return: 0, or -ENOMEM.
 */
int kwarp_up_event(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	if (!ev->private_data_len)
		ev->private_data = NULL;
	return id->event_handler(id, ev);
}

/*
 * Store the real source port in the cm_id, whose addresses iw_cm reports instead of those of
 * the event: rdma_cm may have chosen another port. Not if the port mapper (iwpmd) has been told of
 * the port: by it and by the event's local address iw_cm finds what it has to free.
 */
static void note_port(struct kwarp_ep *ep, struct iw_cm_event *ev)
{
	const struct sockaddr *real = (const void *)&ev->local_addr;
	struct sockaddr *shown = (void *)&ep->cm_id->local_addr;

	if (ep->cm_id->mapped)
		ev->local_addr = ep->cm_id->m_local_addr;
	else if (real->sa_family == shown->sa_family)
		rpc_set_port(shown, rpc_get_port(real));
}

static int send_upcall(struct kwarp_ep *ep, struct iw_cm_event *ev)
{
	lockdep_assert_held(&ep->mutex);
	return kwarp_up_event(ep->cm_id, ev);
}

/**
 * kwarp_up_reply() - CONNECT_REPLY: the result of iw_connect
 * @ep:		endpoint with a cm_id, mutex held
 * @status:	0 or negative errno
 * @pd:		private data of the reply
 * @pd_len:	its length, up to KWARP_EP_EVENT_MAX
 * @ird:	our depth, or for a rejection the peer's
 * @ord:	our depth, or for a rejection the peer's
 *
 * Return: 0; or -ENOMEM: then a failure was reported without @pd, a success not at all, and
 * the caller reports the failure.
 */
int kwarp_up_reply(struct kwarp_ep *ep, int status, const void *pd, u16 pd_len,
		   u16 ird, u16 ord)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.private_data = (void *)pd,
		.private_data_len = pd_len,
		.ird = min_t(u16, ird, KWARP_EP_EVENT_MAX),
		.ord = min_t(u16, ord, KWARP_EP_EVENT_MAX),
	};
	int ret;

	/* Before the event, because the consumer may try again immediately. */
	if (status) {
		ibdev_dbg(&ep_dev(ep)->ibdev, "ep %p: connection failed: %pe\n", ep,
			  ERR_PTR(status));
		kwarp_ep_release_qp(ep, status);
	}
	if (ep->attach) {
		kwarp_attach_done(ep, status, pd, pd_len);
		return 0;
	}
	if (ep->rendezvous) {
		if (!status)
			kwarp_meet_made(ep);
		return 0;
	}
	ev.local_addr = ep->cm_id->local_addr;
	ev.remote_addr = ep->cm_id->remote_addr;
	if (!status) {
		kwarp_addr_event(ep, &ev);
		note_port(ep, &ev);
	}
	ret = send_upcall(ep, &ev);
	if (!ret) {
		ep->established = !status;
		return 0;
	}
	/*
	 * Only copying the private data can fail. A consumer must not miss them
	 * unknowingly, and iw_cm must not wait forever.
	 */
	if (!status)
		return ret;
	ev.private_data = NULL;
	ev.private_data_len = 0;
	send_upcall(ep, &ev);
	return ret;
}

/**
 * kwarp_up_established() - ESTABLISHED: the result of iw_accept
 * @ep:		endpoint with a cm_id, mutex held
 * @status:	0, or the reason why it is over already: iw_cm expects the event anyway
 */
void kwarp_up_established(struct kwarp_ep *ep, int status)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.status = status,
		.ird = min_t(u16, ep->ird, KWARP_EP_EVENT_MAX),
		.ord = min_t(u16, ep->ord, KWARP_EP_EVENT_MAX),
	};

	if (ep->attach) {
		kwarp_attach_done(ep, status, NULL, 0);
		return;
	}
	if (ep->rendezvous) {
		/* After a failure, kwarp_rdv_unclaim() plans the next attempt. */
		if (!status)
			kwarp_meet_made(ep);
		return;
	}
	if (WARN_ON_ONCE(ep->established))
		return;
	kwarp_addr_event(ep, &ev);
	ep->established = true;
	send_upcall(ep, &ev);
}

/**
 * kwarp_up_disconnect() - DISCONNECT: the peer has closed its direction
 * @ep:		endpoint, mutex held
 */
void kwarp_up_disconnect(struct kwarp_ep *ep)
{
	struct iw_cm_event ev = { .event = IW_CM_EVENT_DISCONNECT };

	if (ep->established)
		send_upcall(ep, &ev);
}

/**
 * kwarp_up_close() - CLOSE, if iw_cm is owed one: it releases the QP
 * @ep:		endpoint, mutex held
 * @status:	0 or negative errno
 */
void kwarp_up_close(struct kwarp_ep *ep, int status)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CLOSE,
		.status = status,
	};

	if (!ep->established)
		return;
	ep->established = false;
	send_upcall(ep, &ev);
}
