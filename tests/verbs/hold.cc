// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A process that has verbs objects open and prints one line for each event:
//
//	hold open DEVICE	context, PD, CQ, MR, QP; no connection
//	hold server IP PORT	accepts a connection; posts one receive
//	hold client IP PORT	makes a connection; posts one receive
//
// It prints "ready" when all objects exist. It exits by itself, with status 0, when the device is
// gone (DEVICE_FATAL) or the connection has ended (DISCONNECTED or DEVICE_REMOVAL, and the receive
// has been returned); otherwise a signal ends it.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netdb.h>
#include <poll.h>
#include <string>

#include "../peer/patience.h"
#include "need.h"

namespace {

char buffer[65536];

struct Objects {
	ibv_pd *pd;
	ibv_cq *cq;
	ibv_mr *mr;
	ibv_qp_init_attr attr{};

	explicit Objects(ibv_context *context)
	{
		pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
		cq = need(ibv_create_cq(context, 16, nullptr, nullptr, 0), "ibv_create_cq");
		mr = need(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE),
			  "ibv_reg_mr");
		attr.send_cq = cq;
		attr.recv_cq = cq;
		attr.qp_type = IBV_QPT_RC;
		attr.cap = {8, 8, 1, 1, 0};
	}

	void post_receive(ibv_qp *qp)
	{
		ibv_sge sge{reinterpret_cast<uintptr_t>(buffer), sizeof(buffer), mr->lkey};
		ibv_recv_wr wr{}, *bad;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		need(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
	}

	// A completion, printed.
	bool polled()
	{
		ibv_wc wc;
		if (ibv_poll_cq(cq, 1, &wc) != 1)
			return false;
		printf("completion %s\n", ibv_wc_status_str(wc.status));
		return true;
	}
};

// Prints the next event of the device; true if it was the last.
bool async_event(ibv_context *context)
{
	ibv_async_event event;
	if (ibv_get_async_event(context, &event)) {
		printf("async fd: %s\n", strerror(errno));
		return true;
	}
	printf("async %s\n", ibv_event_type_str(event.event_type));
	bool fatal = event.event_type == IBV_EVENT_DEVICE_FATAL;
	ibv_ack_async_event(&event);
	return fatal;
}

ibv_context *open_device(const std::string &name)
{
	int count;
	ibv_device **list = need(ibv_get_device_list(&count), "ibv_get_device_list");
	for (int i = 0; i < count; i++)
		if (name == ibv_get_device_name(list[i]))
			return need(ibv_open_device(list[i]), "ibv_open_device");
	errno = ENODEV;
	fail(name.c_str());
}

int hold_open(const char *device)
{
	ibv_context *context = open_device(device);
	Objects objects(context);
	ibv_qp *qp = need(ibv_create_qp(objects.pd, &objects.attr), "ibv_create_qp");
	objects.post_receive(qp);
	printf("ready\n");
	while (!async_event(context))
		;
	ibv_pd *late = ibv_alloc_pd(context);
	printf("alloc_pd afterwards: %s\n", late ? "works" : strerror(errno));
	return 0;
}

rdma_cm_event_type next(rdma_event_channel *channel, rdma_cm_id **id = nullptr)
{
	rdma_cm_event *event;
	need(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	rdma_cm_event_type type = event->event;
	printf("cm %s %d\n", rdma_event_str(type), event->status);
	if (id)
		*id = event->id;
	rdma_ack_cm_event(event);
	return type;
}

void expect(rdma_event_channel *channel, rdma_cm_event_type type, rdma_cm_id **id = nullptr)
{
	if (next(channel, id) != type)
		exit(1);
}

// Prints events until the connection has ended and the posted receive has been returned.
int watch(rdma_event_channel *channel, rdma_cm_id *id, Objects &objects)
{
	bool ended = false, returned = false;
	pollfd fds[] = {{channel->fd, POLLIN, 0}, {id->verbs->async_fd, POLLIN, 0}};

	printf("ready\n");
	while (!ended || !returned) {
		poll(fds, 2, 50);
		if (fds[0].revents) {
			rdma_cm_event_type type = next(channel);
			ended |= type == RDMA_CM_EVENT_DISCONNECTED ||
				 type == RDMA_CM_EVENT_DEVICE_REMOVAL;
		}
		if (fds[1].revents && async_event(id->verbs)) {
			// a removed device has no more events
			fds[1].fd = -1;
			fds[1].revents = 0;
			returned = true;
		}
		returned |= objects.polled();
	}
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	printf("end\n");
	return 0;
}

int hold_connection(bool server, const char *ip, const char *port)
{
	addrinfo hints{}, *address;
	hints.ai_flags = AI_NUMERICHOST;
	hints.ai_socktype = SOCK_STREAM;
	need(getaddrinfo(ip, port, &hints, &address), "getaddrinfo");
	rdma_event_channel *channel =
		need(rdma_create_event_channel(), "rdma_create_event_channel");
	rdma_cm_id *id, *listener = nullptr;
	need(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	rdma_conn_param param{};

	if (server) {
		listener = id;
		need(rdma_bind_addr(id, address->ai_addr), "rdma_bind_addr");
		need(rdma_listen(id, 1), "rdma_listen");
		expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &id);
	} else {
		const int ms = static_cast<int>(machine::one_event.count());
		need(rdma_resolve_addr(id, nullptr, address->ai_addr, ms), "rdma_resolve_addr");
		expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
		need(rdma_resolve_route(id, ms), "rdma_resolve_route");
		expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	}
	Objects objects(id->verbs);
	need(rdma_create_qp(id, objects.pd, &objects.attr), "rdma_create_qp");
	objects.post_receive(id->qp);
	need(server ? rdma_accept(id, &param) : rdma_connect(id, &param),
	     "rdma_accept or rdma_connect");
	expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	if (listener)
		rdma_destroy_id(listener);
	return watch(channel, id, objects);
}

} // namespace

int main(int argc, char **argv)
{
	std::string mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (mode == "open" && argc == 3)
		return hold_open(argv[2]);
	if ((mode == "server" || mode == "client") && argc == 4)
		return hold_connection(mode == "server", argv[2], argv[3]);
	fprintf(stderr, "usage: hold open DEVICE | hold server|client IP PORT\n");
	return 2;
}
