// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A process that repeats one attack as fast as it can, until it is killed.
#pragma once

#include <functional>

#include <sys/types.h>

#include "limits/group.h"
#include "rdma/endpoint.h"

namespace isolation {

enum class User { nobody, root };

class Attack {
public:
	// Runs in the child. It calls the argument once the attack has begun, and never returns.
	using Body = std::function<void(const std::function<void()> &begun)>;

	// Returns when the attack has begun; throws if it fails before.
	Attack(User user, const Body &body);
	// Kills the process and waits for its end.
	~Attack();
	Attack(const Attack &) = delete;
	Attack &operator=(const Attack &) = delete;

	bool goes_on() const;

private:
	pid_t child_;
};

// ---- of a local user, who may open the device ----

// Raises asynchronous events that nobody reads, by modify_qp and limits of shared receive queues.
void events(const std::function<void()> &begun);
// Resizes large queues with many elements.
void resizes(const std::function<void()> &begun);
// Flushes full queues.
void flushes(const std::function<void()> &begun);
// Writes random words to all rings and their control blocks, and rings doorbells.
void garbage(const std::function<void()> &begun);
// Lets the send engine run for ever: its queue is always full of requests that send nothing.
void local_requests(const std::function<void()> &begun);
// Makes connections with deep queues.
void deep_connections(const std::function<void()> &begun);
// Attaches sockets again and again while another call of the program holds their lock. Needs FUSE.
void held_sockets(const std::function<void()> &begun);

// Connects to the port, as a process of the group, and posts Writes to the memory of the other side
// as fast as it can: many of doorbell_bytes with each doorbell.
Attack::Body doorbells(uint16_t port, const limits::Group &group);
constexpr size_t doorbell_bytes = 128 * 1024;
// The sides of this connection tell each other where their memory is.
rdma::Param with_remote(const rdma::Endpoint &side);
rdma::Remote remote_of(const rdma::Event &event);

// ---- of strangers on host A, which know a port of host B ----

// SYNs from addresses that do not answer.
Attack::Body half_open(uint16_t port);
// Connections that send no bytes, over and over.
Attack::Body silent(uint16_t port);
// Connections that send a request byte by byte.
Attack::Body slow(uint16_t port);
// Connections that send random bytes in place of a request.
Attack::Body malformed(uint16_t port);

} // namespace isolation
