// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "connection.h"

#include <cerrno>
#include <system_error>

#include "victim.h"

namespace victim {
namespace {

void check(int rc, const char *what)
{
	if (rc)
		throw std::system_error(rc < 0 ? errno : rc, std::generic_category(), what);
}

constexpr uint32_t max_sends = 64, max_pieces = 2;

} // namespace

Connection::Connection(Victim &v, rdma_cm_id *id, unsigned index)
	: recv(v.pd(), v.options().receives * (v.options().receive_size + gap) + gap,
	       IBV_ACCESS_LOCAL_WRITE),
	  victim_(v), id_(id), index_(index)
{
	create_qp();
	for (unsigned i = 0; i < v.options().receives; i++)
		post_receive(i);
}

Connection::~Connection()
{
	if (id_->qp)
		rdma_destroy_qp(id_);
	rdma_destroy_id(id_);
}

void Connection::create_qp()
{
	ibv_qp_init_attr a{};
	a.send_cq = a.recv_cq = victim_.cq();
	a.cap = {max_sends, victim_.options().receives + 1, max_pieces, 1, 0};
	a.srq = victim_.srq();
	a.qp_type = IBV_QPT_RC;
	a.sq_sig_all = 1;
	check(rdma_create_qp(id_, victim_.pd(), &a), "rdma_create_qp");
}

ibv_qp_state Connection::state() const
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};
	check(ibv_query_qp(qp(), &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

Range Connection::slot(unsigned n) const
{
	uint32_t size = victim_.options().receive_size;
	return {static_cast<ptrdiff_t>(gap + n * (size + gap)), size};
}

void Connection::post_receive(unsigned n)
{
	ibv_sge sge{recv.base() + static_cast<uint64_t>(slot(n).at),
		    static_cast<uint32_t>(slot(n).len), recv.lkey()};
	ibv_recv_wr wr{}, *bad;
	wr.wr_id = victim_.ledger_open(index_, false, n);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (ibv_srq *srq = victim_.srq())
		check(ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
	else
		check(ibv_post_recv(qp(), &wr, &bad), "ibv_post_recv");
}

void Connection::post(ibv_wr_opcode op, const Region &r, size_t at, size_t len, uint32_t stag,
		      uint64_t to)
{
	ibv_send_wr wr{};
	wr.opcode = op;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = stag;
	post(wr, r, at, len);
}

void Connection::post(ibv_send_wr wr, const Region &r, size_t at, size_t len)
{
	post(r, {{wr, at, len}});
}

void Connection::post(const Region &r, const std::vector<Work> &all)
{
	std::vector<ibv_send_wr> wrs;
	std::vector<ibv_sge> sges;
	ibv_send_wr *bad;
	wrs.reserve(all.size());
	sges.reserve(all.size());
	for (const Work &w : all) {
		sges.push_back({r.base() + w.at, static_cast<uint32_t>(w.len), r.lkey()});
		ibv_send_wr &wr = wrs.emplace_back(w.wr);
		wr.wr_id = victim_.ledger_open(index_, true, sends_++);
		wr.sg_list = &sges.back();
		wr.num_sge = 1;
		wr.send_flags |= IBV_SEND_SIGNALED;
		wr.next = nullptr;
		if (wrs.size() > 1)
			wrs[wrs.size() - 2].next = &wr;
	}
	check(ibv_post_send(qp(), wrs.data(), &bad), "ibv_post_send");
}

void Connection::post_pieces(ibv_wr_opcode op, std::vector<ibv_sge> pieces)
{
	ibv_send_wr wr{}, *bad;
	wr.opcode = op;
	wr.wr_id = victim_.ledger_open(index_, true, sends_++);
	wr.sg_list = pieces.data();
	wr.num_sge = static_cast<int>(pieces.size());
	wr.send_flags = IBV_SEND_SIGNALED;
	check(ibv_post_send(qp(), &wr, &bad), "ibv_post_send");
}

uint32_t Connection::bind(ibv_mw *window, const Region &r)
{
	const uint32_t key = ibv_inc_rkey(window->rkey);
	ibv_send_wr wr{}, *bad;
	wr.opcode = IBV_WR_BIND_MW;
	wr.wr_id = victim_.ledger_open(index_, true, sends_++);
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw = {window, key, {r.mr(), r.base(), r.size(), IBV_ACCESS_REMOTE_WRITE}};
	check(ibv_post_send(qp(), &wr, &bad), "ibv_post_send");
	const std::optional<ibv_wc> wc = victim_.completion();
	if (!wc || wc->wr_id != wr.wr_id || wc->status != IBV_WC_SUCCESS)
		throw std::runtime_error("the window is not bound");
	return key;
}

void Connection::allow(int access)
{
	ibv_qp_attr attr{};
	attr.qp_access_flags = static_cast<unsigned>(access);
	check(ibv_modify_qp(qp(), &attr, IBV_QP_ACCESS_FLAGS), "ibv_modify_qp");
}

void Connection::accept()
{
	const Options &o = victim_.options();
	rdma_conn_param p{};
	p.private_data = o.private_data.data();
	p.private_data_len = static_cast<uint8_t>(o.private_data.size());
	p.responder_resources = o.ird;
	p.initiator_depth = o.ord;
	check(rdma_accept(id_, &p), "rdma_accept");
}

void Connection::reject(const iwarp::Bytes &pd)
{
	check(rdma_reject(id_, pd.data(), static_cast<uint8_t>(pd.size())), "rdma_reject");
}

void Connection::disconnect()
{
	check(rdma_disconnect(id_), "rdma_disconnect");
}

} // namespace victim
