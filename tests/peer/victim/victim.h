// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The consumer of the device under test: it listens and connects with rdma_cm, registers memory
// with every kind of access, and records all work requests that it posts.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "connection.h"
#include "lab.h"

namespace victim {

enum class Answer { accept, reject, hold };

struct Options {
	unsigned receives = 8;	      // posted on each connection
	uint32_t receive_size = 1024; // bytes
	uint8_t ird = 4;
	uint8_t ord = 4;
	Answer answer = Answer::accept;
	iwarp::Bytes private_data{};
	size_t region_size = 8192;
	size_t rw_size = 8192; // of the region that peers may read and write
	bool ipv6 = false;
	bool srq = false; // all connections share one receive queue

	bool operator==(const Options &) const = default;
};

class Victim {
public:
	explicit Victim(const Options &o = {});
	~Victim();
	Victim(const Victim &) = delete;
	Victim &operator=(const Victim &) = delete;

	// The address at which the victim listens.
	const iwarp::Address &address() const { return address_; }
	const Options &options() const { return options_; }

	// Sets the answer to later connection requests and its private data. Requests by the victim
	// carry the private data, too.
	void answers(Answer a, iwarp::Bytes private_data = {});

	// Active side: resolves the address and the route, creates the QP, sends the request. Does
	// not wait for the reply.
	Connection &connect(const iwarp::Address &to);

	// Returns connection n, from 0 in order of creation; connection requests of peers and calls
	// of connect() are counted together. Throws Timeout if it does not exist in time.
	Connection &connection(unsigned n = 0, iwarp::Millis timeout = iwarp::patience);
	unsigned connections();
	// Destroys connection n. Its number is not used again.
	void drop(unsigned n);
	// Waits until a condition on Connection::happened holds. Returns false after the timeout.
	// The condition runs with the lock held, so it must not call other functions of the victim.
	bool wait(const std::function<bool()> &condition, iwarp::Millis timeout = iwarp::patience);

	// Returns the next completion of any connection, or nothing after the timeout. No other
	// function polls the CQ.
	std::optional<ibv_wc> completion(iwarp::Millis timeout = iwarp::patience);
	// Polls until all work requests of the connection have completed. Returns false if no
	// completion comes within the timeout.
	bool settled(unsigned connection, iwarp::Millis timeout = iwarp::patience);
	// All completions since the start.
	const std::vector<ibv_wc> &history() const { return history_; }
	// Describes a completion without a posted work request, or a second one of the same work
	// request; empty if there was none.
	const std::string &ledger_fault() const { return ledger_fault_; }

	static unsigned connection_of(uint64_t wr_id) { return static_cast<unsigned>(wr_id >> 32); }
	static bool is_send(uint64_t wr_id) { return wr_id >> 31 & 1; }
	static unsigned index_of(uint64_t wr_id) { return wr_id & 0x7FFFFFFF; }

	ibv_pd *pd() const { return pd_; }
	ibv_cq *cq() const { return cq_; }
	// The channel of the CQ's events. Nobody else reads it.
	ibv_comp_channel *cq_events() const { return cq_events_; }
	ibv_srq *srq() const { return srq_; }
	ibv_context *verbs() const { return listener_->verbs; }
	// Records a work request as posted and returns its wr_id.
	uint64_t ledger_open(unsigned connection, bool send, unsigned n);

private:
	void listen();
	void run();
	void on_event();
	void on_request(rdma_cm_event *e);
	void on_async();
	Connection *find(rdma_cm_id *id);

	Options options_;
	rdma_event_channel *channel_ = nullptr;
	rdma_cm_id *listener_ = nullptr;
	ibv_pd *pd_ = nullptr;
	ibv_pd *other_pd_ = nullptr;
	ibv_comp_channel *cq_events_ = nullptr;
	ibv_cq *cq_ = nullptr;
	ibv_srq *srq_ = nullptr;
	iwarp::Address address_;
	int stop_fd_ = -1;
	std::map<uint64_t, unsigned> ledger_; // wr_id -> work requests not completed
	std::string ledger_fault_;
	std::vector<ibv_wc> history_;
	std::mutex ledger_lock_;

	std::mutex lock_;
	std::condition_variable changed_;
	std::vector<std::unique_ptr<Connection>> connections_;
	std::optional<rdma_cm_event_type> resolved_;
	std::thread thread_;

public:
	// Targets for the peer, by remote access. rw: read and write; ro: read; wo: write; local:
	// none; atomic: atomic operations; alien: all of these, in another protection domain;
	// spare: read and write, for the Witness and as source of the victim's own Sends. all()
	// excludes spare.
	std::unique_ptr<Region> rw, ro, wo, local, atomic, alien, spare;
	std::vector<Region *> all();
};

// Returns the victim with these options, created by the first call, which lives until the process
// ends.
Victim &lasting_victim(const Options &o);

} // namespace victim
