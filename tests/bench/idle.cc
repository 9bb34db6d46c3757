// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// idle COUNT: octets of memory for an idle connected queue pair, with all that belongs to it: TCP's socket,
// connection manager, rings. COUNT connections between host A and host B, whose two ends share a protection
// domain and a completion queue on each host; the difference in what the kernel has taken, by their number.
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <sys/resource.h>

#include "rdma/endpoint.h"

using namespace rdma;

namespace {

// Everything but free pages, files' and programs' own, in octets.
double kernel_memory()
{
	std::ifstream in("/proc/meminfo");
	std::map<std::string, double> kib;
	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::string name;
		double value;
		if (words >> name >> value)
			kib[name] = value;
	}
	return 1024 * (kib["MemTotal:"] - kib["MemFree:"] - kib["Buffers:"] - kib["Cached:"] - kib["AnonPages:"]);
}

// libsiw takes a mapping at offset 0x90000 for a failure, and some queue pair's would be there. A completion
// queue of more than that is mapped before, for all drivers.
constexpr int cq_entries = 32767;

// What the queue pairs of a host share.
struct Shared {
	Pd pd;
	Cq cq;

	void create_qp(rdma_cm_id *id)
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
};

struct DestroyWithQp {
	void operator()(rdma_cm_id *id) const
	{
		if (id->qp)
			rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
};
using Connection = std::unique_ptr<rdma_cm_id, DestroyWithQp>;

class Crowd {
public:
	void add()
	{
		Connection client(create_id(lab::a(), channel_).release());
		Address to(listener_.ip(), listener_.port());
		rdma_conn_param param{};
		check(rdma_resolve_addr(client.get(), nullptr, to.get(), 5000), "rdma_resolve_addr");
		channel_.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
		check(rdma_resolve_route(client.get(), 5000), "rdma_resolve_route");
		channel_.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
		a_.create_qp(client.get());
		{
			lab::Inside inside(lab::a());
			check(rdma_connect(client.get(), &param), "rdma_connect");
		}
		Connection server(listener_.request().id);
		b_.create_qp(server.get());
		check(rdma_accept(server.get(), &param), "rdma_accept");
		channel_.expect(RDMA_CM_EVENT_ESTABLISHED);
		listener_.channel().expect(RDMA_CM_EVENT_ESTABLISHED);
		all_.push_back(std::move(client));
		all_.push_back(std::move(server));
	}

	size_t size() const { return all_.size(); }

private:
	Channel channel_;
	Listener listener_{lab::b()};
	Shared a_, b_;
	std::vector<Connection> all_;
};

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: idle COUNT\n";
		return 2;
	}
	try {
		const rlimit files{65536, 65536};
		unsigned long count = std::stoul(argv[1]);
		check(setrlimit(RLIMIT_NOFILE, &files) ? errno : 0, "setrlimit");
		Crowd crowd;
		// what the first ones need is there for all
		for (int i = 0; i < 32; i++)
			crowd.add();
		size_t some = crowd.size();
		double before = kernel_memory();
		while (count--)
			crowd.add();
		std::cout << static_cast<long>((kernel_memory() - before) / (crowd.size() - some)) << std::endl;
	} catch (const std::exception &e) {
		std::cerr << "idle: " << e.what() << "\n";
		return 1;
	}
}
