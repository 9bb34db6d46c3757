// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "crowd.h"

#include <fstream>
#include <map>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

namespace rdma {

namespace {

// libsiw takes a mapping at offset 0x90000 for a failure, and a queue pair could get that offset.
// So we first map a completion queue that is larger than this, with all drivers. rxe has no longer
// ones.
constexpr int cq_entries = 32767;

} // namespace

double kernel_memory()
{
	std::map<std::string, double> kib;
	std::ifstream meminfo("/proc/meminfo"), zoneinfo("/proc/zoneinfo");
	std::string name;
	double value, listed = 0;

	for (std::string line; std::getline(meminfo, line);) {
		std::istringstream words(line);
		if (words >> name >> value)
			kib[name] = value;
	}
	// free pages in per-CPU lists, which can be megabytes, are counted only here
	for (std::string line; std::getline(zoneinfo, line);) {
		std::istringstream words(line);
		if (words >> name >> value && name == "count:")
			listed += value;
	}
	return 1024 * (kib["MemTotal:"] - kib["MemFree:"] - kib["Buffers:"] - kib["Cached:"] -
		       kib["AnonPages:"]) -
	       listed * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void Shared::create_qp(rdma_cm_id *id)
{
	if (!pd) {
		pd = alloc_pd(id->verbs);
		cq = create_cq(id->verbs, cq_entries, nullptr);
	}
	ibv_qp_init_attr attr{};
	attr.send_cq = attr.recv_cq = cq.get();
	attr.cap = {16, 16, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	check(rdma_create_qp(id, pd.get(), &attr), "rdma_create_qp");
}

void DestroyWithQp::operator()(rdma_cm_id *id) const
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

Crowd::Crowd() : listener_(lab::b()) {}

void Crowd::add()
{
	CmIdWithQp client(create_id(lab::a(), channel_).release()), server;
	Address to(listener_.ip(), listener_.port());
	rdma_conn_param param{};

	check(rdma_resolve_addr(client.get(), nullptr, to.get(), resolve_ms), "rdma_resolve_addr");
	channel_.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(rdma_resolve_route(client.get(), resolve_ms), "rdma_resolve_route");
	channel_.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	a_.create_qp(client.get());
	{
		lab::Inside inside(lab::a());
		check(rdma_connect(client.get(), &param), "rdma_connect");
	}
	server.reset(listener_.request().id);
	b_.create_qp(server.get());
	check(rdma_accept(server.get(), &param), "rdma_accept");
	channel_.expect(RDMA_CM_EVENT_ESTABLISHED);
	listener_.channel().expect(RDMA_CM_EVENT_ESTABLISHED);
	all_.push_back(std::move(client));
	all_.push_back(std::move(server));
}

double idle_cost(size_t count)
{
	const rlimit files{65536, 65536};
	Crowd crowd;

	check(setrlimit(RLIMIT_NOFILE, &files) ? errno : 0, "setrlimit");
	const auto add = [&] {
		for (size_t i = 0; i < count; i++)
			crowd.add();
	};
	// The first connections allocate memory that all connections share, and use the free
	// objects in the slabs of earlier programs.
	add();
	const double before = kernel_memory();
	add();
	return (kernel_memory() - before) / 2 / static_cast<double>(count);
}

} // namespace rdma
