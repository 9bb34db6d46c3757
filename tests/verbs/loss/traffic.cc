// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "traffic.h"

#include <array>

namespace rdma {
namespace {

// Sizes around those of FPDUs and segments, and long ones.
constexpr std::array<size_t, 10> sizes{0, 1, 103, 1428, 1429, 4096, 9001, 30000, 65536, 65537};
constexpr size_t slot = 65540;
constexpr size_t area = sizes.size() * slot;
// The four areas of each end's memory.
enum Area { source, sent_to, written_to, read_into, areas };
// Long, because TCP waits longer each time before it retransmits a segment.
const Milliseconds stall = 3 * patience;

constexpr size_t at(Area a, size_t i)
{
	return a * area + i * slot;
}

PairConfig config(lab::Family family)
{
	Config end;
	end.memory = areas * area;
	PairConfig pair = both(end);
	pair.family = family;
	return pair;
}

} // namespace

Traffic::Traffic(lab::Family family) : pair_(config(family)) {}

void Traffic::prepare(Endpoint &end, unsigned int seed)
{
	const Region &m = end.memory();
	memset(m.data(), 0xee, m.size());
	for (size_t i = 0; i < sizes.size(); i++) {
		fill(m.span(at(source, i), sizes[i]), seed + i);
		post_recv(end.qp(), i, {m.sge(at(sent_to, i), slot)});
	}
}

void Traffic::start(Endpoint &end, Endpoint &peer)
{
	const Region &m = end.memory();
	for (size_t i = 0; i < sizes.size(); i++) {
		post(end.qp(), write(3 * i, {m.sge(at(source, i), sizes[i])},
				     peer.remote(at(written_to, i))));
		post(end.qp(), read(3 * i + 1, {m.sge(at(read_into, i), sizes[i])},
				    peer.remote(at(source, i))));
		post(end.qp(), send(3 * i + 2, {m.sge(at(source, i), sizes[i])}));
	}
}

void Traffic::complete(Endpoint &end)
{
	std::vector<ibv_wc> received = wait_ok(end.rcq(), sizes.size(), stall);
	for (size_t i = 0; i < sizes.size(); i++) {
		EXPECT_EQ(received[i].wr_id, i);
		EXPECT_EQ(received[i].byte_len, sizes[i]);
	}
	std::vector<ibv_wc> sent = wait_ok(end.scq(), 3 * sizes.size(), stall);
	for (size_t i = 0; i < sent.size(); i++)
		EXPECT_EQ(sent[i].wr_id, i);
}

void Traffic::compare(Endpoint &end, unsigned int peers_seed)
{
	for (Area a : {sent_to, written_to, read_into})
		for (size_t i = 0; i < sizes.size(); i++) {
			EXPECT_TRUE(filled(end.memory().span(at(a, i), sizes[i]), peers_seed + i))
				<< "area " << a << ", size " << sizes[i];
			EXPECT_TRUE(all_equal(end.memory().span(at(a, i) + sizes[i],
								slot - sizes[i]),
					      0xee))
				<< "behind area " << a << ", size " << sizes[i];
		}
}

void Traffic::round()
{
	Endpoint &client = pair_.client, &server = pair_.server;
	unsigned int clients = seed_ += 100, servers = seed_ += 100;

	prepare(client, clients);
	prepare(server, servers);
	start(client, server);
	start(server, client);
	complete(client);
	complete(server);
	compare(client, servers);
	compare(server, clients);
}

void Traffic::rounds(int n)
{
	for (int i = 0; i < n && !testing::Test::HasFailure(); i++) {
		SCOPED_TRACE("round " + std::to_string(i));
		round();
	}
}

} // namespace rdma
