// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include "failure.h"

namespace rdma {
namespace {

Event copy(const rdma_cm_event &event)
{
	const rdma_conn_param &conn = event.param.conn;
	Event e{event.event,	     event.status, event.id, {}, conn.responder_resources,
		conn.initiator_depth};

	if (conn.private_data_len) {
		const auto *bytes = static_cast<const uint8_t *>(conn.private_data);
		e.data.assign(bytes, bytes + conn.private_data_len);
	}
	return e;
}

} // namespace

Channel::Channel() : channel_(check(rdma_create_event_channel(), "rdma_create_event_channel"))
{
	// Nonblocking: if librdmacm cannot interpret an event, it would wait for another one.
	check(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), "fcntl");
}

std::optional<Event> Channel::next(Milliseconds limit)
{
	rdma_cm_event *event;
	if (!readable(channel_->fd, limit))
		return {};
	check(rdma_get_cm_event(channel_.get(), &event), "rdma_get_cm_event");
	Event e = copy(*event);
	rdma_ack_cm_event(event);
	return e;
}

Event Channel::expect(rdma_cm_event_type type, Milliseconds limit)
{
	std::string wanted = rdma_event_str(type);
	std::optional<Event> event = next(limit);
	if (!event)
		throw Timeout("no CM event instead of " + wanted);
	if (event->type != type)
		throw Failure(std::string(rdma_event_str(event->type)) + " with status " +
			      std::to_string(event->status) + " instead of " + wanted);
	return *event;
}

void DestroyId::operator()(rdma_cm_id *id) const
{
	rdma_destroy_id(id);
}

CmId create_id(const lab::Host &host, Channel &channel)
{
	lab::Inside inside(host);
	rdma_cm_id *id;
	check(rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	return CmId(id);
}

Address::Address(const std::string &ip, uint16_t port)
{
	auto *v4 = reinterpret_cast<sockaddr_in *>(&storage);
	auto *v6 = reinterpret_cast<sockaddr_in6 *>(&storage);

	if (inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	} else {
		throw Failure("no address: " + ip);
	}
}

Listener::Listener(const lab::Host &host, lab::Family family, int backlog) : ip_(host.ip(family))
{
	lab::Inside inside(host);
	// rdma_cm chooses a port that no other id has, but TCP may have a socket in TIME-WAIT on
	// it; earlier connections leave hundreds of these.
	for (int attempt = 0;; attempt++) {
		id_ = create_id(host, channel_);
		Address address(ip_, 0);
		check(rdma_bind_addr(id_.get(), address.get()), "rdma_bind_addr");
		if (!rdma_listen(id_.get(), backlog))
			break;
		if (errno != EADDRINUSE || attempt == 20)
			check(-1, "rdma_listen");
	}
	port_ = ntohs(rdma_get_src_port(id_.get()));
}

} // namespace rdma
