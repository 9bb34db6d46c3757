// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Work requests, completions and asynchronous events.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "../../peer/patience.h"

namespace rdma {

using Milliseconds = std::chrono::milliseconds;
// The limit for events that must come.
inline const Milliseconds patience = machine::one_event;
// The same limit for calls of rdma_cm that resolve addresses and routes.
inline const int resolve_ms = static_cast<int>(patience.count());

// The address of the other side's memory.
struct Remote {
	uint64_t address;
	uint32_t rkey;
};

// A work request with its scatter/gather list; signalled by default.
struct Send {
	ibv_send_wr wr{};
	std::vector<ibv_sge> list;

	Send(ibv_wr_opcode opcode, uint64_t id, std::vector<ibv_sge> sges,
	     std::optional<Remote> remote = {});
	Send &flags(unsigned int flags);
	Send &unsignaled();
	// Ready to be posted, alone.
	ibv_send_wr *get();
};

Send send(uint64_t id, std::vector<ibv_sge> list);
Send write(uint64_t id, std::vector<ibv_sge> list, Remote to);
Send read(uint64_t id, std::vector<ibv_sge> list, Remote from);

// Ready to be posted by one call. They must not be moved.
ibv_send_wr *chain(std::vector<Send> &wrs);

int try_post(ibv_qp *qp, Send wr); // errno or 0
int try_post_recv(ibv_qp *qp, uint64_t id, std::vector<ibv_sge> list);
int try_post_srq_recv(ibv_srq *srq, uint64_t id, std::vector<ibv_sge> list);
void post(ibv_qp *qp, Send wr);			   // throws
void post_list(ibv_qp *qp, std::vector<Send> wrs); // by one call; throws
void post_recv(ibv_qp *qp, uint64_t id, std::vector<ibv_sge> list);
void post_srq_recv(ibv_srq *srq, uint64_t id, std::vector<ibv_sge> list);

// Waits for exactly one completion, or throws.
ibv_wc wait(ibv_cq *cq, Milliseconds limit = patience);
std::vector<ibv_wc> wait(ibv_cq *cq, size_t count, Milliseconds limit = patience);
// Polls once, and returns the number of completions, at most 16; throws at the first failed one.
unsigned poll_ok(ibv_cq *cq);
// Wait for successful completions; throw at the first failed one.
ibv_wc wait_ok(ibv_cq *cq, Milliseconds limit = patience);
std::vector<ibv_wc> wait_ok(ibv_cq *cq, size_t count, Milliseconds limit = patience);
// Returns all completions that arrive, until none has arrived for this time.
std::vector<ibv_wc> drain(ibv_cq *cq, Milliseconds silence = Milliseconds(100));

std::string to_string(const ibv_wc &wc);

// Whether the file descriptor, or one of several, becomes readable in time. A call of poll() that
// fails is a Failure.
bool readable(int fd, Milliseconds limit);
bool readable(std::span<pollfd> fds, Milliseconds limit);

// Asynchronous events of a device, acknowledged at once. Events from before are dropped.
class AsyncEvents {
public:
	explicit AsyncEvents(ibv_context *context);
	std::optional<ibv_async_event> next(Milliseconds limit = patience);
	// Returns the next event that concerns the object; throws if there is none.
	ibv_async_event of(const ibv_qp *qp, Milliseconds limit = patience);
	ibv_async_event of(const ibv_cq *cq, Milliseconds limit = patience);
	ibv_async_event of(const ibv_srq *srq, Milliseconds limit = patience);

private:
	template <class Match>
	ibv_async_event find(Match match, Milliseconds limit);

	ibv_context *context_;
};

} // namespace rdma
