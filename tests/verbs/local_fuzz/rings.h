// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Queues made by bare commands, with direct access to all their shared memory.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <rdma/kwarp-abi.h>

#include "rdma/region.h"
#include "uverbs.h"

namespace local_fuzz {

enum class Kind { sq, rq, cq };

// The state of the producer of a work queue. If invalid indices were written, the kernel may have
// accepted some of them.
struct Posted {
	std::atomic<uint32_t> producer = 0; // of a correct producer
	std::atomic<uint32_t> horizon = 0;  // the kernel must not take elements after this one

	void rewind()
	{
		producer = 0;
		horizon = 0;
	}
};

// A ring in a mapping. Several threads and the kernel write its words concurrently.
struct Queue {
	Kind kind;
	kwarp_ring_ctl *ctl;
	uint8_t *ring;
	uint32_t size;
	uint32_t stride;
	struct Posted *posted; // none for a CQ
	const void *owner;     // its object; replaced by a newer one of the same kind
	const Mapping *map = nullptr;

	uint8_t *element(uint32_t index) const
	{
		return ring + static_cast<size_t>(index & (size - 1)) * stride;
	}
	static uint32_t load(const uint32_t &word)
	{
		return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
	}
	static void store(uint32_t &word, uint32_t value)
	{
		__atomic_store_n(&word, value, __ATOMIC_RELEASE);
	}
	// Writes any value as the user's index.
	void publish(uint32_t index) const
	{
		if (posted && index - posted->horizon - 1 < size)
			posted->horizon = index;
		store(ctl->user_idx, index);
	}
	// Whether the kernel's index is valid, if only the kernel writes it; true for a CQ.
	bool sane() const
	{
		return !posted || static_cast<int32_t>(load(ctl->kern_idx) - posted->horizon) <= 0;
	}
};

// The rings that can be written to. All mappings, including those of resized or destroyed queues,
// last as long as this object.
class Board {
public:
	void add(std::unique_ptr<Mapping> map, const std::vector<Queue> &queues);
	// A ring in use, or one that was replaced: the number-th, modulo how many there are.
	Queue live(uint32_t number) const;
	Queue retired(uint32_t number) const;
	std::vector<Queue> all_live() const;

private:
	mutable std::mutex mutex_;
	std::vector<std::unique_ptr<Mapping>> maps_;
	std::vector<Queue> live_, retired_;
};

// A process's context of a device, with objects that are the same in all rounds.
class Host {
public:
	explicit Host(const std::string &device);
	~Host();
	Host(const Host &) = delete;
	Host &operator=(const Host &) = delete;

	static constexpr size_t memory_size = 65536;

	Uverbs verbs;
	uint32_t pd;
	rdma::Memory memory{memory_size};
	uint32_t mr;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t mw[2]; // handles of windows of type 1 and 2
	uint32_t mw_rkey[2];
	uint64_t address(size_t offset = 0) const
	{
		return reinterpret_cast<uintptr_t>(memory.data()) + offset;
	}
};

struct Sizes {
	uint32_t sq, rq, srq; // srq: 0 for none
	uint32_t cq;
	uint32_t sge, inline_data;
	bool one_cq;
	bool sig_all;
};

// A QP with its CQs and, perhaps, a shared receive queue. The calls return an errno or 0 and may
// come from any thread.
class Side {
public:
	Side(Host &host, Board &board, const Sizes &sizes);
	~Side();
	Side(const Side &) = delete;
	Side &operator=(const Side &) = delete;

	Host &host() const { return host_; }
	bool owns(const Queue &q) const
	{
		return q.owner == &scq_ || q.owner == &rcq_ || q.owner == &srq_ || q.owner == &qp_;
	}
	const Sizes &sizes() const { return sizes_; }
	uint32_t qpn() const { return qpn_; }
	int doorbell();
	int receive_doorbell();
	int notify(bool receive, bool solicited);
	int modify(unsigned state); // enum ib_qp_state
	int state();		    // or -errno
	int resize_cq(bool receive, uint32_t size);
	int resize_srq(uint32_t size);
	int limit_srq(uint32_t limit);
	int destroy_qp();
	// Creates another such QP, with an invalid address for the driver's part of the reply.
	int create_qp_without_reply();
	// Resets our state for a QP that was reset.
	void rewind();

private:
	void create_cq(bool receive);
	void create_srq();
	ib_uverbs_create_qp qp_request() const;
	void create_qp();
	int modify_srq(uint32_t mask, uint32_t size, uint32_t limit,
		       kwarp_uresp_create_srq &response, uint64_t bytes);
	void add_cq(const kwarp_uresp_create_cq &response, bool receive);
	void add_srq(const kwarp_uresp_create_srq &response);

	Host &host_;
	Board &board_;
	const Sizes sizes_;
	uint32_t scq_ = 0, rcq_ = 0, srq_ = 0, qp_ = 0, qpn_ = 0;
	bool has_srq_ = false;
	std::atomic<bool> has_qp_ = false;
	uint32_t cqs_ = 0;
	Posted sq_posted_, rq_posted_;
};

} // namespace local_fuzz
