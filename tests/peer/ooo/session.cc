// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "session.h"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>

namespace ooo {

void stay_on(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		throw std::runtime_error("no processor " + std::to_string(cpu));
}

namespace {

constexpr size_t on_few_pages = 8000; // bytes, on at most three pages; up to four are recorded

Victim &victim_for(const Terms &t)
{
	// the port is up only while the user-space end of the tun device is attached
	Tun::the();
	return lasting_victim({.receives = receives,
			       .receive_size = receive_size,
			       .rw_size = 128 * 1024,
			       .ipv6 = t.ipv6,
			       .srq = t.srq});
}

// A second listener of the victim, on [::]: connections over IPv4 are IPv6 sockets with mapped
// addresses. It shares the event channel of the victim's own listener, so the victim handles its
// requests.
class Everywhere {
public:
	Everywhere() : address(lab().victim_ip, 0)
	{
		constexpr int backlog = 4;
		Address any("::", 0);
		Session plain;
		if (rdma_create_id(plain.c().id()->channel, &id_, nullptr, RDMA_PS_TCP) ||
		    rdma_bind_addr(id_, any.sa()) || rdma_listen(id_, backlog))
			throw std::runtime_error("no listener on [::]");
		address.port(ntohs(rdma_get_src_port(id_)));
	}
	~Everywhere() { rdma_destroy_id(id_); }
	Everywhere(const Everywhere &) = delete;
	Everywhere &operator=(const Everywhere &) = delete;

	Address address;

private:
	rdma_cm_id *id_ = nullptr;
};

Address target(const Terms &t)
{
	if (!t.mapped)
		return victim_for(t).address();
	static Everywhere everywhere;
	return everywhere.address;
}

} // namespace

Target::Target(const Terms &t) : v(victim_for(t)), to_(target(t)), index_(v.connections()) {}

Session::Session(const Terms &t) : Target(t), Wire(to_, t) {}

Session::~Session()
{
	if (v.connections() > index_)
		v.drop(index_);
	v.rw->restore();
}

Span Session::write(size_t at, size_t len, uint32_t seed)
{
	return add(write_to(*v.rw, static_cast<int64_t>(at), pattern(len, seed)));
}

testing::AssertionResult Session::written(size_t at, size_t len, uint32_t seed)
{
	return same(v.rw->copy(at, len), pattern(len, seed));
}

void Session::write_much(size_t at, size_t len, uint32_t seed)
{
	for (size_t done = 0; done < len; done += on_few_pages)
		write(at + done, std::min(on_few_pages, len - done), seed);
}

testing::AssertionResult Session::much_written(size_t at, size_t len, uint32_t seed)
{
	testing::AssertionResult result = testing::AssertionSuccess();
	for (size_t done = 0; done < len && result; done += on_few_pages)
		result = written(at + done, std::min(on_few_pages, len - done), seed);
	return result;
}

void Session::delivers(size_t len, uint32_t seed)
{
	std::optional<ibv_wc> wc = v.completion();
	if (!wc || wc->status != IBV_WC_SUCCESS)
		throw std::runtime_error("no successful completion for a message");
	EXPECT_EQ(wc->byte_len, len);
	EXPECT_EQ(Victim::connection_of(wc->wr_id), index_);
	EXPECT_EQ(Victim::index_of(wc->wr_id), delivered_) << "not the oldest receive";
	EXPECT_TRUE(slot_has(delivered_++, 0, pattern(len, seed)));
}

testing::AssertionResult Session::slot_has(unsigned slot, size_t at, View bytes)
{
	return same(c().recv.copy(static_cast<size_t>(c().slot(slot).at) + at, bytes.size()),
		    bytes);
}

void Session::fill_and_deliver()
{
	message(30, 3);
	fill();
	delivers(30, 3);
}

void Session::terminates(const Code &code)
{
	const std::optional<Terminate> t = terminate();
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, code);
}

void Session::nothing_delivered()
{
	EXPECT_FALSE(v.completion(Millis{0}));
}

} // namespace ooo
