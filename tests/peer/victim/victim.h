// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The consumer of the device under test: it listens or connects with rdma_cm, offers memory
// of every kind, and keeps account of all that it posts.
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
	unsigned receives = 8; // posted on each connection
	uint32_t receive_size = 1024;
	uint8_t ird = 4;
	uint8_t ord = 4;
	Answer answer = Answer::accept;
	iwarp::Bytes private_data{};
	size_t region_size = 8192;
	size_t rw_size = 8192; // of the region that peers may read and write
	bool ipv6 = false;
	bool srq = false; // all connections take from one receive queue

	bool operator==(const Options &) const = default;
};

class Victim {
public:
	explicit Victim(const Options &o = {});
	~Victim();
	Victim(const Victim &) = delete;
	Victim &operator=(const Victim &) = delete;

	// Where it listens.
	const iwarp::Address &address() const { return address_; }
	const Options &options() const { return options_; }

	// What the next requests are answered, and with which private data; own requests carry
	// them, too.
	void answers(Answer a, iwarp::Bytes private_data = {});

	// Active side: resolves, creates the QP, starts connecting.
	Connection &connect(const iwarp::Address &to);

	// The n-th connection (requests and own attempts counted together), when it is there.
	Connection &connection(unsigned n = 0, iwarp::Millis timeout = iwarp::patience);
	unsigned connections();
	// Destroys it; its number is not used again.
	void drop(unsigned n);
	// Waits until a condition on what happened holds. It runs with the lock held: no other
	// function of the victim may be called in it.
	bool wait(const std::function<bool()> &condition, iwarp::Millis timeout = iwarp::patience);

	// Next completion; all go through here.
	std::optional<ibv_wc> completion(iwarp::Millis timeout = iwarp::patience);
	// Polls until all that connection posted is completed.
	bool settled(unsigned connection, iwarp::Millis timeout = iwarp::patience);
	// Every completion so far.
	const std::vector<ibv_wc> &history() const { return history_; }
	// What completed that was not posted, or twice; empty is right.
	const std::string &ledger_fault() const { return ledger_fault_; }

	static unsigned connection_of(uint64_t wr_id) { return static_cast<unsigned>(wr_id >> 32); }
	static bool is_send(uint64_t wr_id) { return wr_id >> 31 & 1; }
	static unsigned index_of(uint64_t wr_id) { return wr_id & 0x7FFFFFFF; }

	ibv_pd *pd() const { return pd_; }
	ibv_cq *cq() const { return cq_; }
	ibv_srq *srq() const { return srq_; }
	ibv_context *verbs() const { return listener_->verbs; }
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
	ibv_cq *cq_ = nullptr;
	ibv_srq *srq_ = nullptr;
	iwarp::Address address_;
	int stop_fd_ = -1;
	std::map<uint64_t, unsigned> ledger_; // wr_id -> posted and not completed
	std::string ledger_fault_;
	std::vector<ibv_wc> history_;
	std::mutex ledger_lock_;

	std::mutex lock_;
	std::condition_variable changed_;
	std::vector<std::unique_ptr<Connection>> connections_;
	std::optional<rdma_cm_event_type> resolved_;
	std::thread thread_;

public:
	// What a peer may try to reach. rw: read and write; ro, wo: one of them; local: neither;
	// alien: read and write, in another protection domain; spare: for the healthy connection
	// that ends each test.
	std::unique_ptr<Region> rw, ro, wo, local, alien, spare;
	std::vector<Region *> all();
};

// The victim with these options that lives as long as the process.
Victim &lasting_victim(const Options &o);

} // namespace victim
