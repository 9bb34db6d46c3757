// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "send_queue.h"

#include <atomic>
#include <vector>

#include "rdma/eventually.h"
#include "rdma/failure.h"
#include "victim/rings.h"

namespace isolation {
namespace {

// Control blocks of all rings of this process.
std::vector<kwarp_ring_ctl *> control_blocks()
{
	std::vector<kwarp_ring_ctl *> all;
	for (const victim::Mapping &map : victim::device_mappings()) {
		// Those of a queue pair are beside each other.
		auto *ctl = reinterpret_cast<kwarp_ring_ctl *>(map.addr);
		all.push_back(ctl);
		all.push_back(ctl + 1);
	}
	return all;
}

uint32_t load(const uint32_t &word)
{
	return std::atomic_ref(const_cast<uint32_t &>(word)).load();
}

} // namespace

SendQueue::SendQueue(ibv_qp *qp) : qp_(qp), window_(rdma::alloc_mw(qp->pd, IBV_MW_TYPE_2))
{
	const auto all = control_blocks();
	std::vector<uint32_t> before;
	for (const kwarp_ring_ctl *ctl : all)
		before.push_back(load(ctl->user_idx));
	rdma::post(qp, local_request());
	for (size_t i = 0; i < all.size(); i++)
		if (load(all[i]->user_idx) == before[i] + 1)
			ctl_ = all[i];
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};
	rdma::check(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), "ibv_query_qp");
	depth_ = init.cap.max_send_wr;
	if (!ctl_ || !rdma::eventually([this] { return done() == load(ctl_->user_idx); }))
		throw rdma::Failure("no ring of the send queue");
}

rdma::Send SendQueue::local_request() const
{
	rdma::Send send(IBV_WR_LOCAL_INV, 0, {});
	send.wr.invalidate_rkey = window_->rkey;
	return send.unsignaled();
}

uint32_t SendQueue::done() const
{
	return load(ctl_->kern_idx);
}

void SendQueue::announce_all() const
{
	std::atomic_ref(ctl_->user_idx).store(done() + depth_);
}

void SendQueue::keep_running() const
{
	const bool idle = done() == load(ctl_->user_idx);
	announce_all();
	if (idle)
		victim::ring_doorbell(qp_, false);
}

} // namespace isolation
