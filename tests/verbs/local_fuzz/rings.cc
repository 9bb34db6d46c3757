// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rings.h"

#include <algorithm>
#include <cerrno>
#include <infiniband/verbs.h>
#include <iterator>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

#include "rdma/failure.h"

namespace local_fuzz {

using rdma::check;

namespace {

constexpr uint32_t rdma_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				 IBV_ACCESS_MW_BIND;

uint64_t bytes_of(uint64_t elements, uint64_t each)
{
	return elements * each;
}

// The size of both rings of a QP, from which the time limit of a command follows.
uint64_t qp_bytes(const Sizes &s)
{
	return bytes_of(s.sq, 64 + std::max(16 * s.sge, s.inline_data) + 64) +
	       bytes_of(s.rq, 16 + 16 * s.sge);
}

template <class Request>
void must_destroy(Uverbs &verbs, const char *name, uint32_t number, const Request &request)
{
	if (int error = verbs.command(name, number, request))
		rdma::report_destroy(name, error);
}

} // namespace

// ---- Board

void Board::add(std::unique_ptr<Mapping> map, const std::vector<Queue> &queues)
{
	std::lock_guard lock(mutex_);
	for (Queue q : queues) {
		q.map = map.get();
		auto old = std::find_if(live_.begin(), live_.end(), [&](const Queue &o) {
			return o.owner == q.owner && o.kind == q.kind;
		});
		if (old == live_.end()) {
			live_.push_back(q);
		} else {
			retired_.push_back(*old);
			*old = q;
		}
	}
	maps_.push_back(std::move(map));
}

Queue Board::live(uint32_t number) const
{
	std::lock_guard lock(mutex_);
	return live_[number % live_.size()];
}

Queue Board::retired(uint32_t number) const
{
	std::lock_guard lock(mutex_);
	return retired_.empty() ? live_[number % live_.size()] : retired_[number % retired_.size()];
}

std::vector<Queue> Board::all_live() const
{
	std::lock_guard lock(mutex_);
	return live_;
}

// ---- Host

Host::Host(const std::string &device) : verbs(device)
{
	ib_uverbs_alloc_pd alloc{};
	ib_uverbs_alloc_pd_resp allocated;
	check(verbs.command("alloc_pd", IB_USER_VERBS_CMD_ALLOC_PD, alloc, allocated), "alloc_pd");
	pd = allocated.pd_handle;

	ib_uverbs_reg_mr reg{};
	ib_uverbs_reg_mr_resp region;
	reg.start = reg.hca_va = address();
	reg.length = memory_size;
	reg.pd_handle = pd;
	reg.access_flags = rdma_access;
	check(verbs.command("reg_mr", IB_USER_VERBS_CMD_REG_MR, reg, region), "reg_mr");
	mr = region.mr_handle;
	lkey = region.lkey;
	rkey = region.rkey;

	for (uint8_t n = 0; n < 2; n++) {
		ib_uverbs_alloc_mw window{};
		ib_uverbs_alloc_mw_resp made;
		window.pd_handle = pd;
		window.mw_type = n + 1;
		check(verbs.command("alloc_mw", IB_USER_VERBS_CMD_ALLOC_MW, window, made),
		      "alloc_mw");
		mw[n] = made.mw_handle;
		mw_rkey[n] = made.rkey;
	}
}

Host::~Host()
{
	for (uint32_t handle : mw)
		must_destroy(verbs, "dealloc_mw", IB_USER_VERBS_CMD_DEALLOC_MW,
			     ib_uverbs_dealloc_mw{handle});
	must_destroy(verbs, "dereg_mr", IB_USER_VERBS_CMD_DEREG_MR, ib_uverbs_dereg_mr{mr});
	must_destroy(verbs, "dealloc_pd", IB_USER_VERBS_CMD_DEALLOC_PD, ib_uverbs_dealloc_pd{pd});
}

// ---- Side

Side::Side(Host &host, Board &board, const Sizes &sizes) : host_(host), board_(board), sizes_(sizes)
{
	create_cq(false);
	if (sizes.one_cq)
		rcq_ = scq_;
	else
		create_cq(true);
	if (sizes.srq)
		create_srq();
	create_qp();
}

Side::~Side()
{
	ib_uverbs_destroy_cq_resp events;

	if (has_qp_)
		if (int error = destroy_qp())
			rdma::report_destroy("destroy_qp", error);
	if (has_srq_) {
		ib_uverbs_destroy_srq request{};
		ib_uverbs_destroy_srq_resp response;
		request.srq_handle = srq_;
		if (int error = host_.verbs.command("destroy_srq", IB_USER_VERBS_CMD_DESTROY_SRQ,
						    request, response))
			rdma::report_destroy("destroy_srq", error);
	}
	for (uint32_t n = 0; n < cqs_; n++) {
		ib_uverbs_destroy_cq request{};
		request.cq_handle = n ? rcq_ : scq_;
		if (int error = host_.verbs.command("destroy_cq", IB_USER_VERBS_CMD_DESTROY_CQ,
						    request, events))
			rdma::report_destroy("destroy_cq", error);
	}
	host_.verbs.drain_events();
}

void Side::add_cq(const kwarp_uresp_create_cq &r, bool receive)
{
	auto map = std::make_unique<Mapping>(host_.verbs.fd(), r.mmap_key, r.mmap_size);
	uint8_t *base = map->base();
	board_.add(std::move(map),
		   {{Kind::cq, reinterpret_cast<kwarp_ring_ctl *>(base), base + r.cqe_offset,
		     r.num_cqe, sizeof(kwarp_cqe), nullptr, receive ? &rcq_ : &scq_}});
}

void Side::create_cq(bool receive)
{
	ib_uverbs_create_cq request{};
	ib_uverbs_create_cq_resp response;
	kwarp_uresp_create_cq driver;

	request.cqe = sizes_.cq;
	request.comp_channel = -1;
	check(host_.verbs.command("create_cq", IB_USER_VERBS_CMD_CREATE_CQ, request, response,
				  &driver, bytes_of(sizes_.cq, sizeof(kwarp_cqe))),
	      "create_cq");
	(receive ? rcq_ : scq_) = response.cq_handle;
	cqs_++;
	add_cq(driver, receive);
}

void Side::add_srq(const kwarp_uresp_create_srq &r)
{
	auto map = std::make_unique<Mapping>(host_.verbs.fd(), r.mmap_key, r.mmap_size);
	uint8_t *base = map->base();
	board_.add(std::move(map),
		   {{Kind::rq, reinterpret_cast<kwarp_ring_ctl *>(base + r.ctl_offset),
		     base + r.rq_offset, r.num_rqe, r.rq_stride, &rq_posted_, &srq_}});
}

void Side::create_srq()
{
	ib_uverbs_create_srq request{};
	ib_uverbs_create_srq_resp response;
	kwarp_uresp_create_srq driver;

	request.pd_handle = host_.pd;
	request.max_wr = sizes_.srq;
	request.max_sge = sizes_.sge;
	check(host_.verbs.command("create_srq", IB_USER_VERBS_CMD_CREATE_SRQ, request, response,
				  &driver, bytes_of(sizes_.srq, 16 + 16 * sizes_.sge)),
	      "create_srq");
	srq_ = response.srq_handle;
	has_srq_ = true;
	add_srq(driver);
}

ib_uverbs_create_qp Side::qp_request() const
{
	ib_uverbs_create_qp request{};

	request.pd_handle = host_.pd;
	request.send_cq_handle = scq_;
	request.recv_cq_handle = rcq_;
	request.srq_handle = srq_;
	request.is_srq = has_srq_;
	request.max_send_wr = sizes_.sq;
	request.max_recv_wr = has_srq_ ? 0 : sizes_.rq;
	request.max_send_sge = sizes_.sge;
	request.max_recv_sge = sizes_.sge;
	request.max_inline_data = sizes_.inline_data;
	request.sq_sig_all = sizes_.sig_all;
	request.qp_type = IBV_QPT_RC;
	return request;
}

int Side::create_qp_without_reply()
{
	const ib_uverbs_create_qp request = qp_request();
	ib_uverbs_qp_cap cap{request.max_send_wr, request.max_recv_wr, request.max_send_sge,
			     request.max_recv_sge, request.max_inline_data};
	ib_uverbs_qp_cap granted;
	uint32_t number;
	constexpr uint64_t nowhere = 8;
	struct Attribute {
		uint16_t id, length;
		uint64_t data;
	} const attributes[] = {
		{UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0},
		{UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, request.pd_handle},
		{UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, request.srq_handle},
		{UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, request.send_cq_handle},
		{UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, request.recv_cq_handle},
		{UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0},
		{UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), reinterpret_cast<uintptr_t>(&cap)},
		{UVERBS_ATTR_CREATE_QP_TYPE, 8, IBV_QPT_RC},
		{UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(granted),
		 reinterpret_cast<uintptr_t>(&granted)},
		{UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sizeof(number),
		 reinterpret_cast<uintptr_t>(&number)},
		{UVERBS_ATTR_UHW_OUT, sizeof(kwarp_uresp_create_qp), nowhere},
	};
	constexpr uint16_t count = std::size(attributes);
	alignas(8)
		uint8_t buffer[sizeof(ib_uverbs_ioctl_hdr) + count * sizeof(ib_uverbs_attr)] = {};
	auto &header = *reinterpret_cast<ib_uverbs_ioctl_hdr *>(buffer);
	auto *attribute = reinterpret_cast<ib_uverbs_attr *>(buffer + sizeof(header));

	header.length = sizeof(buffer);
	header.object_id = UVERBS_OBJECT_QP;
	header.method_id = UVERBS_METHOD_QP_CREATE;
	header.num_attrs = count;
	header.driver_id = KWARP_DRIVER_ID;
	for (const Attribute &a : attributes) {
		attribute->attr_id = a.id;
		attribute->len = a.length;
		attribute->flags = UVERBS_ATTR_F_MANDATORY;
		attribute->data = a.data;
		attribute++;
	}
	return ioctl(host_.verbs.fd(), RDMA_VERBS_IOCTL, buffer) ? errno : 0;
}

void Side::create_qp()
{
	ib_uverbs_create_qp_resp response;
	kwarp_uresp_create_qp r;

	check(host_.verbs.command("create_qp", IB_USER_VERBS_CMD_CREATE_QP, qp_request(), response,
				  &r, qp_bytes(sizes_)),
	      "create_qp");
	qp_ = response.qp_handle;
	qpn_ = response.qpn;
	has_qp_ = true;

	auto map = std::make_unique<Mapping>(host_.verbs.fd(), r.mmap_key, r.mmap_size);
	uint8_t *base = map->base();
	std::vector<Queue> queues{{Kind::sq,
				   reinterpret_cast<kwarp_ring_ctl *>(base + r.sq_ctl_offset),
				   base + r.sq_offset, r.num_sqe, r.sq_stride, &sq_posted_, &qp_}};
	if (r.num_rqe)
		queues.push_back({Kind::rq,
				  reinterpret_cast<kwarp_ring_ctl *>(base + r.rq_ctl_offset),
				  base + r.rq_offset, r.num_rqe, r.rq_stride, &rq_posted_, &qp_});
	board_.add(std::move(map), queues);
}

int Side::doorbell()
{
	ib_uverbs_post_send request{};
	ib_uverbs_post_send_resp response;
	request.qp_handle = qp_;
	request.wqe_size = sizeof(ib_uverbs_send_wr);
	return host_.verbs.command("doorbell", IB_USER_VERBS_CMD_POST_SEND, request, response);
}

int Side::receive_doorbell()
{
	ib_uverbs_post_recv request{};
	ib_uverbs_post_recv_resp response;
	request.qp_handle = qp_;
	request.wqe_size = sizeof(ib_uverbs_recv_wr);
	return host_.verbs.command("receive doorbell", IB_USER_VERBS_CMD_POST_RECV, request,
				   response);
}

int Side::notify(bool receive, bool solicited)
{
	return host_.verbs.command("req_notify_cq", IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
				   ib_uverbs_req_notify_cq{receive ? rcq_ : scq_, solicited});
}

int Side::modify(unsigned state)
{
	ib_uverbs_modify_qp request{};
	request.qp_handle = qp_;
	request.attr_mask = IBV_QP_STATE;
	request.qp_state = static_cast<uint8_t>(state);
	if (state == IBV_QPS_INIT) {
		request.attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		request.port_num = 1;
		request.qp_access_flags = rdma_access & ~uint32_t{IBV_ACCESS_MW_BIND};
	}
	return host_.verbs.command("modify_qp", IB_USER_VERBS_CMD_MODIFY_QP, request);
}

int Side::state()
{
	ib_uverbs_query_qp request{};
	ib_uverbs_query_qp_resp response;
	request.qp_handle = qp_;
	request.attr_mask = IBV_QP_STATE;
	const int error =
		host_.verbs.command("query_qp", IB_USER_VERBS_CMD_QUERY_QP, request, response);
	return error ? -error : response.qp_state;
}

int Side::resize_cq(bool receive, uint32_t size)
{
	ib_uverbs_resize_cq request{};
	ib_uverbs_resize_cq_resp response;
	kwarp_uresp_create_cq driver;

	request.cq_handle = receive ? rcq_ : scq_;
	request.cqe = size;
	const int error =
		host_.verbs.command("resize_cq", IB_USER_VERBS_CMD_RESIZE_CQ, request, response,
				    &driver, bytes_of(std::min(size, 1U << 20), sizeof(kwarp_cqe)));
	if (!error)
		add_cq(driver, receive && !sizes_.one_cq);
	return error;
}

int Side::modify_srq(uint32_t mask, uint32_t size, uint32_t limit, kwarp_uresp_create_srq &response,
		     uint64_t bytes)
{
	// ib_uverbs_modify_srq followed by the driver's part
	const struct {
		uint32_t handle, mask, size, limit;
		kwarp_ureq_modify_srq driver;
	} request{srq_,
		  mask,
		  size,
		  limit,
		  {reinterpret_cast<uintptr_t>(&response), sizeof(response), 0}};
	static_assert(sizeof(request) ==
		      sizeof(ib_uverbs_modify_srq) + sizeof(kwarp_ureq_modify_srq));
	return host_.verbs.command("modify_srq", IB_USER_VERBS_CMD_MODIFY_SRQ, request, bytes);
}

int Side::resize_srq(uint32_t size)
{
	kwarp_uresp_create_srq response{};
	if (!has_srq_)
		return ENOENT;
	const int error = modify_srq(IBV_SRQ_MAX_WR, size, 0, response,
				     bytes_of(std::min(size, 1U << 15), 16 + 16 * sizes_.sge));
	if (!error)
		add_srq(response);
	return error;
}

int Side::limit_srq(uint32_t limit)
{
	kwarp_uresp_create_srq response{};
	return has_srq_ ? modify_srq(IBV_SRQ_LIMIT, 0, limit, response, 0) : ENOENT;
}

int Side::destroy_qp()
{
	ib_uverbs_destroy_qp request{};
	ib_uverbs_destroy_qp_resp response;
	if (!has_qp_.exchange(false))
		return ENOENT;
	request.qp_handle = qp_;
	const int error = host_.verbs.command("destroy_qp", IB_USER_VERBS_CMD_DESTROY_QP, request,
					      response, static_cast<Nothing *>(nullptr),
					      qp_bytes(sizes_));
	// another thread uses the QP in a call
	if (error)
		has_qp_ = true;
	return error;
}

void Side::rewind()
{
	sq_posted_.rewind();
	if (!has_srq_)
		rq_posted_.rewind();
}

} // namespace local_fuzz
