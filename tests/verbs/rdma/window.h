// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows, and the work requests that bind and invalidate them.
#pragma once

#include "endpoint.h"

namespace rdma {

int dealloc_mw(ibv_mw *mw);

using Mw = std::unique_ptr<ibv_mw, Destroy<dealloc_mw>>;

Mw alloc_mw(ibv_pd *pd, ibv_mw_type type);

Send bind_mw(uint64_t id, ibv_mw *mw, uint32_t key, const ibv_mw_bind_info &info);
Send local_inv(uint64_t id, uint32_t key);
Send send_inv(uint64_t id, std::vector<ibv_sge> list, uint32_t key);

// Posts a signalled bind of a window and gives it its next key.
void bind_type1(ibv_qp *qp, ibv_mw *mw, uint64_t id, const ibv_mw_bind_info &info);
void bind_type2(ibv_qp *qp, ibv_mw *mw, uint64_t id, const ibv_mw_bind_info &info);

} // namespace rdma
