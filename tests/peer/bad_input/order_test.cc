// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The order on the wire of what the victim's consumer posts: RFC 5041 5.3, RFC 5040 5.5 rule 13.
#include "../session/reads.h"

namespace peer {
namespace {

struct Operation {
	ibv_wr_opcode opcode;
	bool solicited;
	size_t at, len; // in the region rw
	uint32_t stag;	// the peer's
	uint64_t to;
};

// Returns different payloads, lengths, STags and offsets. Reads are every 12th operation.
std::vector<Operation> mixed(unsigned n)
{
	// The last of these need more than one segment.
	constexpr size_t lengths[] = {64, 1, 700, 1433, 3000, 0, 20000};
	constexpr size_t stride = 20000;
	std::vector<Operation> all;
	for (unsigned i = 0; i < n; i++) {
		const bool is_send = i % 4 == 0 || i % 4 == 3, is_read = i % 12 == 5;
		all.push_back({is_read ? IBV_WR_RDMA_READ :
			       is_send ? IBV_WR_SEND :
					 IBV_WR_RDMA_WRITE,
			       is_send && i % 8 == 3, i * stride, lengths[i % std::size(lengths)],
			       0x1000 + i, uint64_t{i} << 33});
	}
	return all;
}

Connection::Work work(const Operation &o)
{
	ibv_send_wr wr{};
	wr.opcode = o.opcode;
	wr.send_flags = o.solicited ? IBV_SEND_SOLICITED : 0;
	wr.wr.rdma.rkey = o.stag;
	wr.wr.rdma.remote_addr = o.to;
	return {wr, o.at, o.len};
}

void post(Session &s, const std::vector<Operation> &all, bool one_list)
{
	std::vector<Connection::Work> list;
	for (const Operation &o : all)
		list.push_back(work(o));
	if (one_list)
		return s.c().post(*s.v.rw, list);
	for (const Connection::Work &w : list)
		s.c().post(*s.v.rw, {w});
}

// Receives the message of an operation, and answers a read with other bytes than are there.
void expect_next(Session &s, const Operation &o)
{
	if (o.opcode == IBV_WR_RDMA_READ) {
		const ReadRequest rr = next_request(s);
		EXPECT_EQ(rr.src_stag, o.stag);
		EXPECT_EQ(rr.src_to, o.to);
		EXPECT_EQ(rr.size, o.len);
		s.p.send(answer(rr));
		s.places(*s.v.rw, static_cast<ptrdiff_t>(o.at), pattern(rr.size));
		return;
	}
	const bool is_send = o.opcode == IBV_WR_SEND;
	const Segment got = s.receives(!is_send ? op_write : o.solicited ? op_send_se : op_send);
	if (!is_send) {
		EXPECT_EQ(got.stag, o.stag);
		EXPECT_EQ(got.to, o.to);
	}
	EXPECT_TRUE(same(got.payload, s.v.rw->original(o.at, o.len)));
}

ibv_wc_opcode completion_of(ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND	   ? IBV_WC_SEND :
	       opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE :
					     IBV_WC_RDMA_READ;
}

// Before the peer's first FPDU, a responder may not send (RFC 5044 7.1.2 rule 4): then all
// operations are queued when the victim begins to send.
TEST(Conformance, operations_on_the_wire_in_order)
{
	for (bool one_list : {true, false})
		for (bool queued : {true, false}) {
			if (queued && lab().sctp)
				continue; // either side may send first (RFC 5043)
			SCOPED_TRACE(std::format("{}, {}", one_list ? "one list" : "one by one",
						 queued ? "queued" : "sent at once"));
			const std::vector<Operation> all = mixed(48);
			Session s(Terms{.rev = 2, .victim = Options{.rw_size = 1 << 20}});
			if (!queued)
				s.message();
			post(s, all, one_list);
			if (queued)
				s.message();
			for (size_t i = 0; i < all.size(); i++) {
				SCOPED_TRACE(std::format("operation {}", i));
				expect_next(s, all[i]);
				if (HasFailure())
					return;
			}
			for (const Operation &o : all)
				s.completes(completion_of(o.opcode));
			s.judge(lives());
		}
}

} // namespace
} // namespace peer
