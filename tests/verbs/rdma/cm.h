// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rdma_cm: events, listeners, connection parameters.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/host.h"
#include "work.h"

namespace rdma {

using Bytes = std::vector<uint8_t>;

// A copy of an event; the original has been acknowledged.
struct Event {
	rdma_cm_event_type type;
	int status;
	rdma_cm_id *id;
	Bytes data;
	uint8_t responder_resources;
	uint8_t initiator_depth;
};

class Channel {
public:
	Channel();
	rdma_event_channel *get() const { return channel_.get(); }
	std::optional<Event> next(Milliseconds limit = patience);
	// Returns the next event; throws if it is not of this type.
	Event expect(rdma_cm_event_type type, Milliseconds limit = patience);

private:
	struct Destroy {
		void operator()(rdma_event_channel *c) const { rdma_destroy_event_channel(c); }
	};
	std::unique_ptr<rdma_event_channel, Destroy> channel_;
};

struct DestroyId {
	void operator()(rdma_cm_id *id) const;
};
using CmId = std::unique_ptr<rdma_cm_id, DestroyId>;

// Makes the id as a program on that host would.
CmId create_id(const lab::Host &host, Channel &channel);

struct Address {
	Address(const std::string &ip, uint16_t port);
	sockaddr *get() { return reinterpret_cast<sockaddr *>(&storage); }

	sockaddr_storage storage{};
};

// Private data and depths for connect and accept.
struct Param {
	Bytes data;
	uint8_t responder_resources = 8;
	uint8_t initiator_depth = 8;
};

class Listener {
public:
	explicit Listener(const lab::Host &host, lab::Family family = lab::Family::ipv4,
			  int backlog = 64);

	const std::string &ip() const { return ip_; }
	uint16_t port() const { return port_; }
	// The next connection request.
	Event request(Milliseconds limit = patience)
	{
		return channel_.expect(RDMA_CM_EVENT_CONNECT_REQUEST, limit);
	}
	Channel &channel() { return channel_; }
	// Stops listening; unanswered requests are dropped.
	void close() { id_.reset(); }

private:
	Channel channel_;
	CmId id_;
	std::string ip_;
	uint16_t port_;
};

} // namespace rdma
