// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cable.h"

#include <cerrno>

#include "rdma/failure.h"
#include "stopwatch.h"

namespace local_fuzz {

using namespace rdma;

namespace {

const Milliseconds long_wait = 2 * patience;

rdma_conn_param param(uint32_t qpn)
{
	rdma_conn_param p{};
	p.qp_num = qpn;
	p.responder_resources = 4;
	p.initiator_depth = 4;
	p.retry_count = 7;
	p.rnr_retry_count = 7;
	return p;
}

} // namespace

Cable::Cable() : a_(lab::a()), b_(lab::b()) {}

// Ignores events of other ids, which belong to earlier connections.
Event Cable::wait(Channel &channel, rdma_cm_id *id)
{
	for (;;) {
		std::optional<Event> event = channel.next(long_wait);
		if (!event)
			throw Failure("no CM event");
		if (event->id == id)
			return *event;
	}
}

CmId Cable::requested(Channel &channel)
{
	for (;;) {
		std::optional<Event> event = channel.next(long_wait);
		if (!event)
			throw Failure("no connection request");
		if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			return CmId(event->id);
	}
}

int Cable::accept(Port &to, uint32_t qpn)
{
	server_ = requested(to.listener.channel());
	rdma_conn_param p = param(qpn);
	if (stopwatch()("rdma_accept", [&] { return rdma_accept(server_.get(), &p); })) {
		const int error = errno;
		server_.reset();
		return error;
	}
	return wait(to.listener.channel(), server_.get()).type == RDMA_CM_EVENT_ESTABLISHED ?
		       0 :
		       ECONNABORTED;
}

int Cable::connect(uint32_t qp_a, uint32_t qp_b, bool swapped)
{
	Port &from = swapped ? b_ : a_, &to = swapped ? a_ : b_;

	close();
	client_ = create_id(from.host, channel_);
	Address address(to.listener.ip(), to.listener.port());
	check(rdma_resolve_addr(client_.get(), nullptr, address.get(), resolve_ms),
	      "rdma_resolve_addr");
	if (Event e = wait(channel_, client_.get()); e.type != RDMA_CM_EVENT_ADDR_RESOLVED)
		throw Failure(std::string("address: ") + rdma_event_str(e.type));
	check(rdma_resolve_route(client_.get(), resolve_ms), "rdma_resolve_route");
	if (Event e = wait(channel_, client_.get()); e.type != RDMA_CM_EVENT_ROUTE_RESOLVED)
		throw Failure(std::string("route: ") + rdma_event_str(e.type));
	rdma_conn_param p = param(swapped ? qp_b : qp_a);
	if (stopwatch()("rdma_connect", [&] { return rdma_connect(client_.get(), &p); }))
		return errno;
	if (int error = accept(to, swapped ? qp_a : qp_b))
		return error;
	return wait(channel_, client_.get()).type == RDMA_CM_EVENT_ESTABLISHED ? 0 : ECONNREFUSED;
}

void Cable::disconnect(bool swapped)
{
	rdma_cm_id *id = (swapped ? server_ : client_).get();
	if (id)
		stopwatch()("rdma_disconnect", [&] { return rdma_disconnect(id); });
}

void Cable::close()
{
	stopwatch()("rdma_destroy_id", [this] {
		client_.reset();
		server_.reset();
		return 0;
	});
}

} // namespace local_fuzz
