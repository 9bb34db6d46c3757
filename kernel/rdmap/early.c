// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* In-order processing of ULPDUs that were placed early. early_place.c places them. */
#include "rdmap/early.h"

int kwarp_early_alloc(struct kwarp_qp *qp)
{
	struct kwarp_early_rx *early;

	if (!qp->params.early)
		kwarp_early_free(qp);
	if (!qp->params.early || qp->rx.early)
		return 0;
	early = kvzalloc(struct_size(early, e, KWARP_LEDGER_MAX),
			 kwarp_gfp_conn());
	if (!early)
		return -ENOMEM;
	kwarp_ledger_init(&early->ledger, early->e, KWARP_LEDGER_MAX);
	qp->rx.early = early;
	return 0;
}

void kwarp_early_free(struct kwarp_qp *qp)
{
	kvfree(qp->rx.early);
	qp->rx.early = NULL;
}

/**
 * kwarp_early_is_placed() - was the payload of the ULPDU in progress placed early?
 * @pass:	pass with @early set
 * @mr:		region that the payload belongs to now, access checked
 * @addr:	address in @mr
 * @len:	bytes of payload
 *
 * Return: true if the payload is in place. If false, the caller must copy it; the records
 * of later ULPDUs whose payload the copy overwrites are withdrawn.
 */
bool kwarp_early_is_placed(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
			   u64 addr, u32 len)
{
	const struct kwarp_early *e = pass->u.early;

	kwarp_qp_assert_locked(pass->qp);
	if (e && e->gen == mr->gen && e->addr == addr && e->payload == len) {
		kwarp_qp_count(pass->qp, KWARP_STAT_OOO_DELIVERED);
		return true;
	}
	if (e) {
		/* The memory was registered again, or the consumer changed the receive. */
		kwarp_qp_count(pass->qp, KWARP_STAT_OOO_REPLACED);
		pass->u.early = NULL;
	}
	kwarp_early_withdraw(pass, mr, addr, len);
	return false;
}

void kwarp_early_extent(const struct kwarp_mr *mr, u64 addr, u32 len,
			struct kwarp_extent *mem)
{
	mem->n = 0;
	while (len) {
		u32 n = len;
		u64 p = (uintptr_t)kwarp_mr_ptr(mr, addr, &n);

		kwarp_extent_add(mem, p, p + n);
		addr += n;
		len -= n;
	}
}

/*
 * The ULPDU in progress writes to a range: withdraw the records of later ULPDUs that were
 * placed there. Arguments as for kwarp_early_is_placed().
 */
void kwarp_early_withdraw(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
			  u64 addr, u32 len)
{
	struct kwarp_ledger *ledger = &pass->early->ledger;
	struct kwarp_extent mem;

	kwarp_qp_assert_locked(pass->qp);
	if (kwarp_ledger_none_placed(ledger))
		return;
	kwarp_early_extent(mr, addr, len, &mem);
	kwarp_qp_count_n(pass->qp, KWARP_STAT_OOO_REPLACED,
			 kwarp_ledger_overwrite(ledger, pass->u.frame.pos, &mem));
}
