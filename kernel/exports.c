// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Symbols for the module kwarp_seam of tests/kernel, which has its own lower layer.
 * Only in modules that are built for the tests (KWARP_TEST=y).
 */
#include <linux/export.h>

#include "cm/cm.h"
#include "cm/ep.h"
#include "core/stag.h"
#include "llp/llp.h"
#include "proto/ddp.h"
#include "proto/errors.h"
#include "proto/rdmap.h"
#include "rdmap/stream.h"

EXPORT_SYMBOL_GPL(kwarp_ddp_parse);
EXPORT_SYMBOL_GPL(kwarp_ep_alloc);
EXPORT_SYMBOL_GPL(kwarp_ep_close);
EXPORT_SYMBOL_GPL(kwarp_ep_provider_data);
EXPORT_SYMBOL_GPL(kwarp_ep_raise);
EXPORT_SYMBOL_GPL(kwarp_ep_set_handle);
EXPORT_SYMBOL_GPL(kwarp_ep_set_id);
EXPORT_SYMBOL_GPL(kwarp_ep_unlock);
EXPORT_SYMBOL_GPL(kwarp_err_term);
EXPORT_SYMBOL_GPL(kwarp_iw_qp_grant);
EXPORT_SYMBOL_GPL(kwarp_iw_qp_take);
EXPORT_SYMBOL_GPL(kwarp_llp_get);
EXPORT_SYMBOL_GPL(kwarp_llp_init);
EXPORT_SYMBOL_GPL(kwarp_llp_lock);
EXPORT_SYMBOL_GPL(kwarp_llp_put);
EXPORT_SYMBOL_GPL(kwarp_llp_unlock);
EXPORT_SYMBOL_GPL(kwarp_mr_get);
EXPORT_SYMBOL_GPL(kwarp_mr_put);
EXPORT_SYMBOL_GPL(kwarp_mw_bind_region);
EXPORT_SYMBOL_GPL(kwarp_qp_attach);
EXPORT_SYMBOL_GPL(kwarp_qp_detach);
EXPORT_SYMBOL_GPL(kwarp_qp_disconnect);
EXPORT_SYMBOL_GPL(kwarp_qp_start);
EXPORT_SYMBOL_GPL(kwarp_rdmap_read_encode);
EXPORT_SYMBOL_GPL(kwarp_rdmap_read_parse);
