// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "victim.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace victim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int cq_size = 1024;
constexpr uint32_t srq_size = 256;
constexpr auto poll_pause = std::chrono::microseconds(100);

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

void set_nonblocking(int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		fail("fcntl");
}

// All victims share one context of librdmacm, so the thread of one victim may receive an
// asynchronous event for another.
std::mutex victims_lock;
std::vector<Victim *> victims;

} // namespace

Victim::Victim(const Options &o) : options_(o)
{
	const int L = IBV_ACCESS_LOCAL_WRITE, W = IBV_ACCESS_REMOTE_WRITE,
		  R = IBV_ACCESS_REMOTE_READ, A = IBV_ACCESS_REMOTE_ATOMIC;
	listen();
	pd_ = ibv_alloc_pd(verbs());
	other_pd_ = ibv_alloc_pd(verbs());
	cq_events_ = ibv_create_comp_channel(verbs());
	cq_ = ibv_create_cq(verbs(), cq_size, nullptr, cq_events_, 0);
	if (!pd_ || !other_pd_ || !cq_events_ || !cq_)
		fail("ibv_alloc_pd, ibv_create_comp_channel, ibv_create_cq");
	if (options_.srq) {
		ibv_srq_init_attr a{nullptr, {srq_size, 1, 0}};
		srq_ = ibv_create_srq(pd_, &a);
		if (!srq_)
			fail("ibv_create_srq");
	}
	auto region = [&](ibv_pd *pd, int access) {
		return std::make_unique<Region>(pd, options_.region_size, access);
	};
	rw = std::make_unique<Region>(pd_, options_.rw_size, L | W | R);
	ro = region(pd_, R);
	wo = region(pd_, L | W);
	local = region(pd_, L);
	atomic = region(pd_, L | A);
	alien = region(other_pd_, L | W | R | A);
	spare = region(pd_, L | W | R);
	stop_fd_ = eventfd(0, EFD_CLOEXEC);
	set_nonblocking(channel_->fd);
	set_nonblocking(verbs()->async_fd);
	{
		std::lock_guard guard(victims_lock);
		victims.push_back(this);
	}
	thread_ = std::thread([this] { run(); });
}

Victim::~Victim()
{
	uint64_t one = 1;
	std::vector<std::unique_ptr<Connection>> doomed;
	{
		std::lock_guard guard(lock_);
		doomed.swap(connections_);
	}
	// Keep the thread running: the destruction waits until it has acknowledged all events.
	doomed.clear();
	if (write(stop_fd_, &one, sizeof(one)) == sizeof(one))
		thread_.join();
	{
		std::lock_guard guard(victims_lock);
		std::erase(victims, this);
	}
	// A connection request may have arrived after the swap.
	connections_.clear();
	close(stop_fd_);
	for (std::unique_ptr<Region> *r : {&rw, &ro, &wo, &local, &atomic, &alien, &spare})
		r->reset();
	if (srq_)
		ibv_destroy_srq(srq_);
	ibv_destroy_cq(cq_);
	ibv_destroy_comp_channel(cq_events_);
	ibv_dealloc_pd(other_pd_);
	ibv_dealloc_pd(pd_);
	rdma_destroy_id(listener_);
	rdma_destroy_event_channel(channel_);
}

std::vector<Region *> Victim::all()
{
	return {rw.get(), ro.get(), wo.get(), local.get(), atomic.get(), alien.get()};
}

void Victim::listen()
{
	constexpr int backlog = 64;
	iwarp::Address a(options_.ipv6 ? lab().victim_ip6 : lab().victim_ip, 0);
	channel_ = rdma_create_event_channel();
	if (!channel_ || rdma_create_id(channel_, &listener_, nullptr, RDMA_PS_TCP))
		fail("rdma_create_id");
	if (rdma_bind_addr(listener_, a.sa()))
		fail("rdma_bind_addr");
	if (!listener_->verbs)
		throw std::runtime_error("the victim's address belongs to no RDMA device");
	if (rdma_listen(listener_, backlog))
		fail("rdma_listen");
	a.port(ntohs(rdma_get_src_port(listener_)));
	address_ = a;
}

void Victim::answers(Answer a, iwarp::Bytes private_data)
{
	std::lock_guard guard(lock_);
	options_.answer = a;
	options_.private_data = std::move(private_data);
}

Connection &Victim::connect(const iwarp::Address &to)
{
	rdma_cm_id *id;
	iwarp::Address dst = to;
	auto resolved = [&](rdma_cm_event_type want) {
		if (!wait([&] { return resolved_.has_value(); }) || *resolved_ != want)
			throw std::runtime_error("address or route does not resolve");
		std::lock_guard guard(lock_);
		resolved_.reset();
	};
	const int ms = static_cast<int>(iwarp::patience.count());
	if (rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP))
		fail("rdma_create_id");
	if (rdma_resolve_addr(id, nullptr, dst.sa(), ms))
		fail("rdma_resolve_addr");
	resolved(RDMA_CM_EVENT_ADDR_RESOLVED);
	if (rdma_resolve_route(id, ms))
		fail("rdma_resolve_route");
	resolved(RDMA_CM_EVENT_ROUTE_RESOLVED);

	Connection *c;
	{
		std::lock_guard guard(lock_);
		unsigned n = static_cast<unsigned>(connections_.size());
		connections_.push_back(std::make_unique<Connection>(*this, id, n));
		c = connections_.back().get();
	}
	rdma_conn_param p{};
	p.private_data = options_.private_data.data();
	p.private_data_len = static_cast<uint8_t>(options_.private_data.size());
	p.responder_resources = options_.ird;
	p.initiator_depth = options_.ord;
	if (rdma_connect(id, &p))
		fail("rdma_connect");
	return *c;
}

Connection &Victim::connection(unsigned n, iwarp::Millis timeout)
{
	if (!wait([&] { return connections_.size() > n; }, timeout))
		throw iwarp::Timeout("the victim receives no connection request");
	std::lock_guard guard(lock_);
	return *connections_[n];
}

unsigned Victim::connections()
{
	std::lock_guard guard(lock_);
	return static_cast<unsigned>(connections_.size());
}

void Victim::drop(unsigned n)
{
	std::unique_ptr<Connection> doomed;
	{
		std::lock_guard guard(lock_);
		doomed.swap(connections_[n]);
	}
	// Without the lock: the destruction waits until the thread has acknowledged all events.
	doomed.reset();
	std::lock_guard guard(ledger_lock_);
	ledger_.erase(ledger_.lower_bound(static_cast<uint64_t>(n) << 32),
		      ledger_.lower_bound(static_cast<uint64_t>(n + 1) << 32));
}

bool Victim::wait(const std::function<bool()> &condition, iwarp::Millis timeout)
{
	std::unique_lock guard(lock_);
	return changed_.wait_for(guard, timeout, condition);
}

std::optional<ibv_wc> Victim::completion(iwarp::Millis timeout)
{
	ibv_wc wc;
	for (auto end = Clock::now() + timeout;;) {
		int n = ibv_poll_cq(cq_, 1, &wc);
		if (n < 0)
			throw std::runtime_error("ibv_poll_cq fails");
		if (n)
			break;
		if (Clock::now() >= end)
			return {};
		std::this_thread::sleep_for(poll_pause);
	}
	history_.push_back(wc);
	std::lock_guard guard(ledger_lock_);
	auto entry = ledger_.find(wc.wr_id);
	if (entry == ledger_.end())
		ledger_fault_ = "completion without a posted work request, wr_id " +
				std::to_string(wc.wr_id);
	else if (--entry->second == 0)
		ledger_.erase(entry);
	return wc;
}

bool Victim::settled(unsigned n, iwarp::Millis timeout)
{
	auto open = [&] {
		std::lock_guard guard(ledger_lock_);
		auto first = ledger_.lower_bound(static_cast<uint64_t>(n) << 32);
		return first != ledger_.end() && connection_of(first->first) == n;
	};
	while (open())
		if (!completion(timeout))
			return false;
	return true;
}

uint64_t Victim::ledger_open(unsigned connection, bool send, unsigned n)
{
	uint64_t wr_id = static_cast<uint64_t>(connection) << 32 |
			 static_cast<uint64_t>(send) << 31 | n;
	std::lock_guard guard(ledger_lock_);
	ledger_[wr_id]++;
	return wr_id;
}

void Victim::run()
{
	pollfd fds[] = {
		{channel_->fd, POLLIN, 0}, {verbs()->async_fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
	while (!(fds[2].revents & POLLIN)) {
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[0].revents)
			on_event();
		if (fds[1].revents)
			on_async();
	}
}

Connection *Victim::find(rdma_cm_id *id)
{
	for (auto &c : connections_)
		if (c && c->id() == id)
			return c.get();
	return nullptr;
}

void Victim::on_event()
{
	rdma_cm_event *e;
	if (rdma_get_cm_event(channel_, &e))
		return;
	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		on_request(e);
		changed_.notify_all();
		return;
	}
	{
		std::lock_guard guard(lock_);
		Connection *c = find(e->id);
		auto *pd = static_cast<const uint8_t *>(e->param.conn.private_data);
		switch (e->event) {
		case RDMA_CM_EVENT_ADDR_RESOLVED:
		case RDMA_CM_EVENT_ADDR_ERROR:
		case RDMA_CM_EVENT_ROUTE_RESOLVED:
		case RDMA_CM_EVENT_ROUTE_ERROR:
			resolved_ = e->event;
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			if (c)
				c->happened.disconnected = true;
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
		case RDMA_CM_EVENT_REJECTED:
		case RDMA_CM_EVENT_CONNECT_ERROR:
		case RDMA_CM_EVENT_UNREACHABLE:
			if (!c)
				break;
			c->happened.connect = e->event;
			c->happened.status = e->status;
			c->happened.ird = e->param.conn.responder_resources;
			c->happened.ord = e->param.conn.initiator_depth;
			if (pd)
				c->happened.reply_data.assign(pd,
							      pd + e->param.conn.private_data_len);
			break;
		default:
			break;
		}
	}
	rdma_ack_cm_event(e);
	changed_.notify_all();
}

void Victim::on_request(rdma_cm_event *e)
{
	rdma_cm_id *id = e->id;
	Connection::Happened h;
	if (auto *pd = static_cast<const uint8_t *>(e->param.conn.private_data))
		h.request_data.assign(pd, pd + e->param.conn.private_data_len);
	h.ird = e->param.conn.responder_resources;
	h.ord = e->param.conn.initiator_depth;
	rdma_ack_cm_event(e);

	std::lock_guard guard(lock_);
	unsigned n = static_cast<unsigned>(connections_.size());
	auto c = std::make_unique<Connection>(*this, id, n);
	c->happened = h;
	try {
		if (options_.answer == Answer::accept) {
			c->accept();
			c->happened.accepted = true;
		} else if (options_.answer == Answer::reject) {
			c->reject(options_.private_data);
		}
	} catch (const std::system_error &) {
		// The peer may have closed the connection: not an error of the victim.
	}
	connections_.push_back(std::move(c));
}

void Victim::on_async()
{
	ibv_async_event e;
	if (ibv_get_async_event(verbs(), &e))
		return;
	if (e.event_type == IBV_EVENT_QP_FATAL || e.event_type == IBV_EVENT_QP_REQ_ERR ||
	    e.event_type == IBV_EVENT_QP_ACCESS_ERR) {
		std::lock_guard all(victims_lock);
		for (Victim *v : victims) {
			std::lock_guard guard(v->lock_);
			for (auto &c : v->connections_)
				if (c && c->qp() == e.element.qp)
					c->happened.fatal = true;
			v->changed_.notify_all();
		}
	}
	ibv_ack_async_event(&e);
}

Victim &lasting_victim(const Options &o)
{
	lab(); // created first, so it outlives the victims
	static std::vector<std::pair<Options, std::unique_ptr<Victim>>> all;
	for (const auto &[options, v] : all)
		if (options == o)
			return *v;
	all.emplace_back(o, std::make_unique<Victim>(o));
	return *all.back().second;
}

} // namespace victim
