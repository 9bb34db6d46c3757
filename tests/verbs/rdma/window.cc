// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "window.h"

namespace rdma {

int dealloc_mw(ibv_mw *mw)
{
	return ibv_dealloc_mw(mw);
}

Mw alloc_mw(ibv_pd *pd, ibv_mw_type type)
{
	return Mw(check(ibv_alloc_mw(pd, type), "ibv_alloc_mw"));
}

Send bind_mw(uint64_t id, ibv_mw *mw, uint32_t key, const ibv_mw_bind_info &info)
{
	Send wr(IBV_WR_BIND_MW, id, {});
	wr.wr.bind_mw.mw = mw;
	wr.wr.bind_mw.rkey = key;
	wr.wr.bind_mw.bind_info = info;
	return wr;
}

Send local_inv(uint64_t id, uint32_t key)
{
	Send wr(IBV_WR_LOCAL_INV, id, {});
	wr.wr.invalidate_rkey = key;
	return wr;
}

Send send_inv(uint64_t id, std::vector<ibv_sge> list, uint32_t key)
{
	Send wr(IBV_WR_SEND_WITH_INV, id, std::move(list));
	wr.wr.invalidate_rkey = key;
	return wr;
}

void bind_type1(ibv_qp *qp, ibv_mw *mw, uint64_t id, const ibv_mw_bind_info &info)
{
	ibv_mw_bind bind{};
	bind.wr_id = id;
	bind.send_flags = IBV_SEND_SIGNALED;
	bind.bind_info = info;
	check(ibv_bind_mw(qp, mw, &bind), "ibv_bind_mw");
}

void bind_type2(ibv_qp *qp, ibv_mw *mw, uint64_t id, const ibv_mw_bind_info &info)
{
	uint32_t key = ibv_inc_rkey(mw->rkey);
	post(qp, bind_mw(id, mw, key, info));
	mw->rkey = key;
}

} // namespace rdma
