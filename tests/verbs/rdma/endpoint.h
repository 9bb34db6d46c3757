// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a connection with all the objects that it needs, and a connected pair of them.
#pragma once

#include "cm.h"
#include "region.h"

namespace rdma {

struct Config {
	uint32_t send_wr = 64;
	uint32_t recv_wr = 64;
	uint32_t sge = 4;
	uint32_t inline_data = 0;
	int cq_entries = 256;
	size_t memory = 64 * 1024;
	int access = all_access; // of the memory
	ibv_pd *pd = nullptr;	 // instead of a protection domain of its own
	ibv_cq *cq = nullptr;	 // of both queues, instead of two CQs of its own
	ibv_srq *srq = nullptr;	 // source of receives
	bool extended = false;	 // CQs with all fields, QP with ibv_wr_*()
};

class Endpoint {
public:
	// The initiator, on a host; resolve() and connect() follow.
	explicit Endpoint(const lab::Host &host, const Config &config = {});
	// The responder: takes over the id of a CONNECT_REQUEST; accept() or reject() follows.
	explicit Endpoint(const Event &request, const Config &config = {});
	~Endpoint();
	Endpoint(const Endpoint &) = delete;
	Endpoint &operator=(const Endpoint &) = delete;

	// Resolves address and route, then makes the verbs objects.
	void resolve(const std::string &ip, uint16_t port);
	// The same for an id whose address is resolved.
	void resolve_rest();
	void resolve(const Listener &listener) { resolve(listener.ip(), listener.port()); }
	int try_connect(const Param &param = {}); // errno or 0
	void connect(const Param &param = {});
	int try_accept(const Param &param = {});
	void accept(const Param &param = {});
	void reject(const Bytes &data = {});
	void disconnect();
	// Waits until the connection is established; returns the other side's private data and
	// depths.
	Event established() { return channel_.expect(RDMA_CM_EVENT_ESTABLISHED); }
	Event disconnected() { return channel_.expect(RDMA_CM_EVENT_DISCONNECTED); }
	void destroy_qp();

	Channel &channel() { return channel_; }
	rdma_cm_id *id() const { return id_.get(); }
	ibv_context *context() const { return id_->verbs; }
	ibv_pd *pd() const { return config_.pd ? config_.pd : pd_.get(); }
	ibv_comp_channel *comp_channel() const { return comp_channel_.get(); }
	ibv_cq *scq() const { return config_.cq ? config_.cq : scq_.get(); }
	ibv_cq *rcq() const { return config_.cq ? config_.cq : rcq_.get(); }
	ibv_qp *qp() const { return id_->qp; }
	const ibv_qp_cap &cap() const { return cap_; }
	Region &memory() const { return *memory_; }
	// The memory as the other side addresses it.
	Remote remote(size_t offset = 0) const
	{
		return {memory_->address(offset), memory_->rkey()};
	}
	ibv_qp_state state() const { return query_qp(qp()).qp_state; }
	// Whether the state is reached in time.
	bool reaches(ibv_qp_state state, Milliseconds limit = patience) const;

private:
	Endpoint(CmId request, const Config &config);
	void create_objects();
	void create_qp(ibv_qp_init_attr &attr);

	Config config_;
	const lab::Host *host_ = nullptr; // initiator
	Channel channel_;
	CmId id_;
	Pd pd_;
	CompChannel comp_channel_;
	Cq scq_;
	Cq rcq_;
	std::unique_ptr<Region> memory_;
	ibv_qp_cap cap_{};
};

struct PairConfig {
	lab::Family family = lab::Family::ipv4;
	Config client = {};
	Config server = {};
	Param connect = {};
	Param accept = {};
	bool swapped = false; // the client is on host B
};

class Pair {
public:
	explicit Pair(const PairConfig &config = {});

private:
	Event request(const PairConfig &config);
	Listener listener_;

public:
	Endpoint client;
	Endpoint server;
};

// Both ends with the same configuration.
PairConfig both(const Config &config);

// Whether the FPDUs of the client on host A, and of the server on host B, have CRCs: "10" if only
// the client's.
std::string crcs(const Pair &pair);

} // namespace rdma
