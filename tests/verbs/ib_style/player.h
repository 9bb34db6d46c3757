// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A queue pair that is brought up as with InfiniBand: by modify_qp with the number and the GID of
// its partner.
#pragma once

#include <gtest/gtest.h>

#include "lab/host.h"
#include "rdma/region.h"
#include "rdma/work.h"

namespace ib_style {

constexpr uint16_t port = 7600;

// Data that partners exchange by other means.
struct Name {
	uint32_t qpn;
	ibv_gid gid;
	uint32_t psn; // first PSN that it sends
};

struct Settings {
	int gid_index = -1; // -1: that of the host's IPv4 address
	uint32_t psn = 0x123456;
	uint32_t depth = 32;
	ibv_srq *srq = nullptr;
	ibv_cq *rcq = nullptr; // nullptr: one of its own
	int access = rdma::all_access;
};

// Index of an address in the device's table, or -1.
int gid_index(ibv_context *context, const std::string &ip);
int index_of(const lab::Host &host, const ibv_gid &gid);
ibv_gid gid_of(const std::string &ip);
// The host's link-local GID.
ibv_gid link_local(const lab::Host &host);

class Player {
public:
	explicit Player(const lab::Host &host, const Settings &settings = {});
	// On the device of another player.
	explicit Player(Player &neighbour, const Settings &settings = {});

	Name name() const;
	ibv_qp_attr rtr(const Name &partner) const;
	ibv_qp_attr rts() const;
	// errno or 0
	int try_init();
	int try_rtr(ibv_qp_attr attr);
	int try_rts(ibv_qp_attr attr);
	void to_init();
	void to_rtr(const Name &partner);
	void to_rts();
	void bring_up(const Name &partner);
	int modify(ibv_qp_state state) { return rdma::modify_state(qp(), state); }

	void post_recv(uint64_t id, size_t offset, size_t length);
	void post_send(uint64_t id, size_t offset, size_t length);

	ibv_context *context() const { return context_; }
	ibv_pd *pd() const { return pd_.get(); }
	ibv_cq *scq() const { return scq_.get(); }
	ibv_cq *rcq() const { return settings_.rcq ? settings_.rcq : rcq_.get(); }
	ibv_qp *qp() const { return qp_.get(); }
	rdma::Region &memory() const { return *memory_; }
	rdma::Remote remote(size_t offset = 0) const
	{
		return {memory_->address(offset), memory_->rkey()};
	}
	ibv_qp_attr query() const { return rdma::query_qp(qp()); }
	ibv_qp_state state() const { return query().qp_state; }
	bool reaches(ibv_qp_state state) const;
	void destroy_qp() { qp_.reset(); }
	const lab::Host &host() const { return *host_; }
	rdma::AsyncEvents &events() { return *events_; }

private:
	void create();

	const lab::Host *host_;
	Settings settings_;
	rdma::Context own_context_;
	ibv_context *context_;
	std::unique_ptr<rdma::AsyncEvents> events_;
	rdma::Pd pd_;
	rdma::Cq scq_;
	rdma::Cq rcq_;
	std::unique_ptr<rdma::Region> memory_;
	rdma::Qp qp_;
};

// Moves both to RTR and RTS with each other as partner, the first one first.
void introduce(Player &first, Player &second);
// A Send in each direction, a Write and a Read; the bytes must arrive unchanged.
void transfer(Player &from, Player &to, unsigned int seed, size_t length = 3000);
void transfers(Player &one, Player &other);

// Sets the policy on both devices.
struct Rendezvous : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
		a_.emplace(lab::a(), "rendezvous_port", port);
		b_.emplace(lab::b(), "rendezvous_port", port);
	}

private:
	std::optional<lab::Policy> a_, b_;
};

} // namespace ib_style
