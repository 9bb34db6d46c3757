// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// connects COUNT FLIGHT: establishes COUNT connections from host A to host B, with up to FLIGHT of
// them in progress at a time, sends a message over each, and destroys all of them. Prints lines
// "word number":
//
//	connect_rate  connections established in a second
//	qp_memory     bytes of kernel memory for each queue pair, everything included
//	message_rate  messages in a second, one per connection, each of the first on its connection
//	destroy_rate  connections destroyed in a second, both ends
#include <algorithm>
#include <chrono>
#include <future>
#include <iostream>

#include <sys/resource.h>

#include "rdma/crowd.h"

using namespace rdma;

namespace {

constexpr size_t message = 64;

using Ids = std::vector<CmIdWithQp>;

// The objects that all connections of a host share, and memory for their messages.
class Side {
public:
	void create_qp(rdma_cm_id *id)
	{
		shared_.create_qp(id);
		if (!memory_)
			memory_ = std::make_unique<Region>(shared_.pd.get(), message);
	}

	ibv_cq *cq() const { return shared_.cq.get(); }
	ibv_sge sge() const { return memory_->sge(0, message); }

private:
	Shared shared_;
	std::unique_ptr<Region> memory_;
};

double seconds_since(std::chrono::steady_clock::time_point begin)
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void unexpected(const Event &event)
{
	throw Failure(std::string(rdma_event_str(event.type)) + ", status " +
		      std::to_string(event.status));
}

Event next(Channel &channel)
{
	auto event = channel.next();
	if (!event)
		throw Failure("no event");
	return *event;
}

class Connects {
public:
	explicit Connects(size_t flight)
		: flight_(flight),
		  listener_(lab::b(), lab::Family::ipv4, static_cast<int>(2 * flight))
	{
	}

	size_t count() const { return client_ids_.size(); }

	// Adds connections. Returns the time that it took.
	double establish(size_t more)
	{
		const auto begin = std::chrono::steady_clock::now();
		auto server = std::async(std::launch::async, [&] { accept(more); });
		connect(more);
		server.get();
		return seconds_since(begin);
	}

	double exchange()
	{
		const auto begin = std::chrono::steady_clock::now();
		for (const CmIdWithQp &id : client_ids_)
			post(id->qp, send(0, {client_.sge()}));
		wait_ok(client_.cq(), count());
		wait_ok(server_.cq(), count());
		return seconds_since(begin);
	}

	double tear_down()
	{
		const auto begin = std::chrono::steady_clock::now();
		client_ids_.clear();
		server_ids_.clear();
		return seconds_since(begin);
	}

private:
	void begin_one()
	{
		Address to(listener_.ip(), listener_.port());
		CmIdWithQp id(create_id(lab::a(), channel_).release());
		check(rdma_resolve_addr(id.get(), nullptr, to.get(), resolve_ms),
		      "rdma_resolve_addr");
		client_ids_.push_back(std::move(id));
	}

	void connect(size_t more)
	{
		lab::Inside inside(lab::a());
		const size_t before = count();
		size_t established = 0;
		while (established < more) {
			while (count() - before < std::min(more, established + flight_))
				begin_one();
			const Event event = next(channel_);
			rdma_conn_param param{};
			switch (event.type) {
			case RDMA_CM_EVENT_ADDR_RESOLVED:
				check(rdma_resolve_route(event.id, resolve_ms),
				      "rdma_resolve_route");
				break;
			case RDMA_CM_EVENT_ROUTE_RESOLVED:
				client_.create_qp(event.id);
				check(rdma_connect(event.id, &param), "rdma_connect");
				break;
			case RDMA_CM_EVENT_ESTABLISHED:
				established++;
				break;
			default:
				unexpected(event);
			}
		}
	}

	void accept(size_t more)
	{
		lab::Inside inside(lab::b());
		size_t established = 0;
		while (established < more) {
			const Event event = next(listener_.channel());
			rdma_conn_param param{};
			switch (event.type) {
			case RDMA_CM_EVENT_CONNECT_REQUEST:
				server_ids_.emplace_back(event.id);
				server_.create_qp(event.id);
				post_recv(event.id->qp, 0, {server_.sge()});
				check(rdma_accept(event.id, &param), "rdma_accept");
				break;
			case RDMA_CM_EVENT_ESTABLISHED:
				established++;
				break;
			default:
				unexpected(event);
			}
		}
	}

	size_t flight_;
	Channel channel_;
	Listener listener_;
	Side client_, server_; // outlive the queue pairs of the ids
	Ids client_ids_, server_ids_;
};

void run(size_t count, size_t flight)
{
	const rlimit files{65536, 65536};
	check(setrlimit(RLIMIT_NOFILE, &files) ? errno : 0, "setrlimit");
	Connects connects(flight);
	connects.establish(1); // creates what all connections share
	const double before = kernel_memory();
	const double more = static_cast<double>(count), all = more + 1;
	std::cout << "connect_rate " << more / connects.establish(count) << std::endl;
	std::cout << "qp_memory " << (kernel_memory() - before) / more / 2 << std::endl;
	std::cout << "message_rate " << all / connects.exchange() << std::endl;
	std::cout << "destroy_rate " << all / connects.tear_down() << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: connects COUNT FLIGHT\n";
		return 2;
	}
	try {
		run(std::stoul(argv[1]), std::stoul(argv[2]));
	} catch (const std::exception &e) {
		std::cerr << "connects: " << e.what() << "\n";
		return 1;
	}
}
