// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "work.h"

#include <sched.h>
#include <unistd.h>

#include <string>

#include "failure.h"

namespace rdma {
namespace {

// Where copies to user space fail (suite "faults"), a system call that reads the clock fails, too,
// and std::chrono would return any time.
std::chrono::nanoseconds now()
{
	timespec ts;
	while (clock_gettime(CLOCK_MONOTONIC, &ts))
		;
	return std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec);
}

int positive(int ret)
{
	return ret < 0 ? errno : ret;
}

void expect_success(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		throw Failure("completion " + to_string(wc));
}

} // namespace

Send::Send(ibv_wr_opcode opcode, uint64_t id, std::vector<ibv_sge> sges,
	   std::optional<Remote> remote)
	: list(std::move(sges))
{
	wr.opcode = opcode;
	wr.wr_id = id;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (remote) {
		wr.wr.rdma.remote_addr = remote->address;
		wr.wr.rdma.rkey = remote->rkey;
	}
}

Send &Send::flags(unsigned int flags)
{
	wr.send_flags |= flags;
	return *this;
}

Send &Send::unsignaled()
{
	wr.send_flags &= ~IBV_SEND_SIGNALED;
	return *this;
}

ibv_send_wr *Send::get()
{
	wr.sg_list = list.data();
	wr.num_sge = static_cast<int>(list.size());
	return &wr;
}

Send send(uint64_t id, std::vector<ibv_sge> list)
{
	return Send(IBV_WR_SEND, id, std::move(list));
}

Send write(uint64_t id, std::vector<ibv_sge> list, Remote to)
{
	return Send(IBV_WR_RDMA_WRITE, id, std::move(list), to);
}

Send read(uint64_t id, std::vector<ibv_sge> list, Remote from)
{
	return Send(IBV_WR_RDMA_READ, id, std::move(list), from);
}

ibv_send_wr *chain(std::vector<Send> &wrs)
{
	for (size_t i = 0; i < wrs.size(); i++) {
		wrs[i].get();
		if (i)
			wrs[i - 1].wr.next = &wrs[i].wr;
	}
	return &wrs.at(0).wr;
}

int try_post(ibv_qp *qp, Send wr)
{
	ibv_send_wr *bad = nullptr;
	return positive(ibv_post_send(qp, wr.get(), &bad));
}

int try_post_recv(ibv_qp *qp, uint64_t id, std::vector<ibv_sge> list)
{
	ibv_recv_wr wr{}, *bad = nullptr;
	wr.wr_id = id;
	wr.sg_list = list.data();
	wr.num_sge = static_cast<int>(list.size());
	return positive(ibv_post_recv(qp, &wr, &bad));
}

int try_post_srq_recv(ibv_srq *srq, uint64_t id, std::vector<ibv_sge> list)
{
	ibv_recv_wr wr{}, *bad = nullptr;
	wr.wr_id = id;
	wr.sg_list = list.data();
	wr.num_sge = static_cast<int>(list.size());
	return positive(ibv_post_srq_recv(srq, &wr, &bad));
}

void post(ibv_qp *qp, Send wr)
{
	check(try_post(qp, std::move(wr)), "ibv_post_send");
}

void post_list(ibv_qp *qp, std::vector<Send> wrs)
{
	ibv_send_wr *bad = nullptr;
	check(positive(ibv_post_send(qp, chain(wrs), &bad)), "ibv_post_send");
}

void post_recv(ibv_qp *qp, uint64_t id, std::vector<ibv_sge> list)
{
	check(try_post_recv(qp, id, std::move(list)), "ibv_post_recv");
}

void post_srq_recv(ibv_srq *srq, uint64_t id, std::vector<ibv_sge> list)
{
	check(try_post_srq_recv(srq, id, std::move(list)), "ibv_post_srq_recv");
}

std::string to_string(const ibv_wc &wc)
{
	return "wr_id " + std::to_string(wc.wr_id) + ": " + ibv_wc_status_str(wc.status) +
	       ", vendor_err " + std::to_string(wc.vendor_err);
}

unsigned poll_ok(ibv_cq *cq)
{
	ibv_wc wc[16];
	const int n = ibv_poll_cq(cq, 16, wc);
	check(n < 0 ? -n : 0, "ibv_poll_cq");
	for (int i = 0; i < n; i++)
		check(wc[i].status ? EIO : 0, ibv_wc_status_str(wc[i].status));
	return static_cast<unsigned>(n);
}

std::vector<ibv_wc> wait(ibv_cq *cq, size_t count, Milliseconds limit)
{
	std::vector<ibv_wc> all;
	const auto end = now() + limit;
	int naps = 0;

	while (all.size() < count) {
		ibv_wc wc{};
		int n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0)
			throw Failure("ibv_poll_cq: " + std::to_string(n));
		if (n) {
			all.push_back(wc);
			naps = 0;
			continue;
		}
		if (now() > end)
			throw Timeout("only " + std::to_string(all.size()) + " of " +
				      std::to_string(count) + " completions" +
				      (all.empty() ? "" : ", last: " + to_string(all.back())));
		if (++naps < 50)
			sched_yield();
		else
			usleep(200);
	}
	return all;
}

ibv_wc wait(ibv_cq *cq, Milliseconds limit)
{
	return wait(cq, 1, limit).front();
}

std::vector<ibv_wc> wait_ok(ibv_cq *cq, size_t count, Milliseconds limit)
{
	std::vector<ibv_wc> all;
	while (all.size() < count) {
		all.push_back(wait(cq, limit));
		expect_success(all.back());
	}
	return all;
}

ibv_wc wait_ok(ibv_cq *cq, Milliseconds limit)
{
	return wait_ok(cq, 1, limit).front();
}

std::vector<ibv_wc> drain(ibv_cq *cq, Milliseconds silence)
{
	std::vector<ibv_wc> all;
	auto end = now() + silence;
	ibv_wc wc{};

	while (now() < end) {
		if (ibv_poll_cq(cq, 1, &wc) > 0) {
			all.push_back(wc);
			end = now() + silence;
		} else {
			usleep(1000);
		}
	}
	return all;
}

bool readable(int fd, Milliseconds limit)
{
	pollfd pfd{fd, POLLIN, 0};
	return readable(std::span(&pfd, 1), limit);
}

bool readable(std::span<pollfd> fds, Milliseconds limit)
{
	int ret;
	do {
		ret = poll(fds.data(), fds.size(), static_cast<int>(limit.count()));
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		throw Failure("poll", errno);
	return ret > 0;
}

AsyncEvents::AsyncEvents(ibv_context *context) : context_(context)
{
	while (next(Milliseconds(0)))
		;
}

std::optional<ibv_async_event> AsyncEvents::next(Milliseconds limit)
{
	ibv_async_event event{};
	if (!readable(context_->async_fd, limit))
		return {};
	check(ibv_get_async_event(context_, &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	return event;
}

template <class Match>
ibv_async_event AsyncEvents::find(Match match, Milliseconds limit)
{
	std::string others;
	while (std::optional<ibv_async_event> event = next(limit)) {
		if (match(*event))
			return *event;
		others += std::string(" ") + ibv_event_type_str(event->event_type);
	}
	throw Timeout("no asynchronous event, but:" + others);
}

static bool concerns_qp(ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
		return true;
	default:
		return false;
	}
}

ibv_async_event AsyncEvents::of(const ibv_qp *qp, Milliseconds limit)
{
	return find(
		[qp](const ibv_async_event &e) {
			return concerns_qp(e.event_type) && e.element.qp == qp;
		},
		limit);
}

ibv_async_event AsyncEvents::of(const ibv_srq *srq, Milliseconds limit)
{
	return find(
		[srq](const ibv_async_event &e) {
			return (e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED ||
				e.event_type == IBV_EVENT_SRQ_ERR) &&
			       e.element.srq == srq;
		},
		limit);
}

ibv_async_event AsyncEvents::of(const ibv_cq *cq, Milliseconds limit)
{
	return find(
		[cq](const ibv_async_event &e) {
			return e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == cq;
		},
		limit);
}

} // namespace rdma
