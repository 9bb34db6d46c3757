// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Attacks by a user who may open the device.
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <unistd.h>

#include "attach/fault.h"
#include "attach/side.h"
#include "attack.h"
#include "rdma/endpoint.h"
#include "send_queue.h"
#include "victim/rings.h"

namespace isolation {
namespace {

constexpr uint32_t deepest = 32768;

// A queue pair with its own objects, not connected.
struct Lone {
	rdma::Context context = rdma::open_device(lab::a().device);
	rdma::Pd pd = rdma::alloc_pd(context.get());
	rdma::Cq cq;
	rdma::Srq srq;
	rdma::Qp qp;

	Lone(int cq_entries, uint32_t depth, uint32_t srq_depth = 0)
		: cq(rdma::create_cq(context.get(), cq_entries))
	{
		ibv_qp_init_attr attr = rdma::qp_attr(cq.get(), depth);
		if (srq_depth) {
			srq = rdma::create_srq(pd.get(), srq_depth);
			attr.srq = srq.get();
		}
		qp = rdma::create_qp(pd.get(), attr);
	}
};

void fill(ibv_qp *qp, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		rdma::post_recv(qp, i, {});
}

// Memory that this process shares with kwarp, rings and control blocks.
std::vector<std::span<uint64_t>> rings()
{
	std::vector<std::span<uint64_t>> all;
	for (const victim::Mapping &map : victim::device_mappings())
		all.push_back({reinterpret_cast<uint64_t *>(map.addr), map.len / 8});
	return all;
}

} // namespace

void events(const std::function<void()> &begun)
{
	Lone lone(16, 16, 16);
	begun();
	for (uint32_t i = 0;; i++) {
		rdma::check(rdma::modify_state(lone.qp.get(), IBV_QPS_ERR), "ERR");
		rdma::check(rdma::modify_state(lone.qp.get(), IBV_QPS_INIT), "INIT");
		rdma::check(rdma::modify_srq(lone.srq.get(), IBV_SRQ_LIMIT, 0, 1 + i % 8), "limit");
	}
}

void resizes(const std::function<void()> &begun)
{
	Lone lone(2 * deepest, deepest), shared(16, 16, deepest / 2);
	fill(lone.qp.get(), deepest);
	rdma::check(rdma::modify_state(lone.qp.get(), IBV_QPS_ERR), "ERR");
	while (!rdma::try_post_srq_recv(shared.srq.get(), 0, {}))
		;
	std::thread srq([&] {
		for (;;)
			rdma::check(rdma::modify_srq(shared.srq.get(), IBV_SRQ_MAX_WR, deepest, 0),
				    "size");
	});
	begun();
	for (int n = 0;; n = !n)
		rdma::check(ibv_resize_cq(lone.cq.get(), static_cast<int>(2 * deepest << n)),
			    "ibv_resize_cq");
}

void flushes(const std::function<void()> &begun)
{
	begun();
	for (;;) {
		Lone lone(2 * deepest, deepest);
		fill(lone.qp.get(), deepest);
		rdma::check(rdma::modify_state(lone.qp.get(), IBV_QPS_ERR), "ERR");
	}
}

void garbage(const std::function<void()> &begun)
{
	rdma::Pair pair;
	Lone lone(1024, 1024, 1024);
	std::minstd_rand dice(1);
	const auto all = rings();
	if (all.size() < 4)
		throw rdma::Failure("no rings");
	begun();
	for (;;) {
		for (auto ring : all) {
			// More often in the control block, at the beginning, than elsewhere.
			const size_t most = dice() % 4 ? 32 : ring.size();
			const uint64_t word = dice() % 2 ? dice() % 70000 : dice();
			ring[dice() % most] = word;
		}
		// Post, which rings a doorbell unless the garbage in the flags prevents this.
		for (ibv_qp *qp : {pair.client.qp(), pair.server.qp(), lone.qp.get()})
			rdma::try_post(qp, rdma::send(1, {}));
	}
}

void local_requests(const std::function<void()> &begun)
{
	rdma::PairConfig config;
	config.client.send_wr = deepest / 2;
	rdma::Pair pair(config);
	const SendQueue queue(pair.client.qp());
	for (uint32_t i = 0; i < queue.depth(); i++)
		while (rdma::try_post(pair.client.qp(), queue.local_request()))
			;
	begun();
	for (;;)
		queue.keep_running();
}

void deep_connections(const std::function<void()> &begun)
{
	rdma::PairConfig config;
	config.client.sge = config.server.sge = 16;
	config.connect.responder_resources = config.connect.initiator_depth = 128;
	config.accept = config.connect;
	std::vector<std::thread> all;
	for (int i = 0; i < 8; i++)
		all.emplace_back([&] {
			for (;;) {
				try {
					rdma::Pair pair(config);
				} catch (const std::exception &) {
					// Its own limit may be reached.
				}
			}
		});
	begun();
	pause();
}

rdma::Param with_remote(const rdma::Endpoint &side)
{
	const rdma::Remote remote = side.remote();
	rdma::Param param;
	param.data.resize(sizeof(remote));
	memcpy(param.data.data(), &remote, sizeof(remote));
	return param;
}

rdma::Remote remote_of(const rdma::Event &event)
{
	rdma::Remote remote;
	if (event.data.size() < sizeof(remote))
		throw rdma::Failure("no address in the private data");
	memcpy(&remote, event.data.data(), sizeof(remote));
	return remote;
}

Attack::Body doorbells(uint16_t port, const limits::Group &group)
{
	return [&group, port](const std::function<void()> &begun) {
		constexpr uint32_t many = 16;
		rdma::Config config;
		config.memory = doorbell_bytes;
		group.enter();
		rdma::Endpoint client(lab::a(), config);
		client.resolve(lab::b().ip4, port);
		client.connect(with_remote(client));
		begun();
		const rdma::Remote to = remote_of(client.established());
		for (;;) {
			std::vector<rdma::Send> all;
			for (uint32_t i = 0; i < many; i++)
				all.push_back(rdma::write(i,
							  {client.memory().sge(0, doorbell_bytes)},
							  to));
			rdma::post_list(client.qp(), std::move(all));
			rdma::wait_ok(client.scq(), many);
		}
	};
}

void held_sockets(const std::function<void()> &begun)
{
	struct Held {
		attach::Connection c = attach::connect();
		attach::Stuck stuck{c.a.get()};
		attach::Side side{lab::a()};

		Held() { stuck.take_lock(); }
	};
	std::vector<std::unique_ptr<Held>> all;
	std::vector<std::thread> callers;
	for (int i = 0; i < 6; i++) {
		all.push_back(std::make_unique<Held>());
		callers.emplace_back([&one = *all.back()] {
			attach::Attr attr{};
			attr.form = KWARP_ATTACH_NONE;
			while (one.side.start(one.c.a.get(), attr) == EBUSY)
				;
			fprintf(stderr, "a socket that is in use was attached\n");
			_exit(1);
		});
	}
	begun();
	callers.front().join();
}

} // namespace isolation
