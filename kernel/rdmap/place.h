/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Placement and delivery of one verified DDP segment. */
#ifndef _KWARP_RDMAP_PLACE_H
#define _KWARP_RDMAP_PLACE_H

#include "rdmap/pass.h"

enum kwarp_err kwarp_rx_segment(struct kwarp_rx_pass *pass);
enum kwarp_err kwarp_rx_next_segment(struct kwarp_rx_pass *pass);
enum kwarp_err kwarp_rx_end_run(struct kwarp_rx_pass *pass);
void kwarp_rx_copy(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr, u64 addr, u32 len);
void kwarp_rx_deliver(struct kwarp_rx_pass *pass, enum kwarp_urgency urgency);
enum kwarp_mem_err kwarp_rx_place_anew(struct kwarp_rx_pass *pass, struct kwarp_mr_range to);

/**
 * kwarp_rx_place() - check access to memory, and make sure that the next payload bytes are there
 * @pass:	pass, with the ULPDU in progress
 * @to:		where the bytes belong; not empty
 *
 * Does not copy if exactly these bytes were placed there early.
 *
 * Return: KWARP_MEM_OK, or the reason to refuse: nothing was placed.
 */
static __always_inline enum kwarp_mem_err kwarp_rx_place(struct kwarp_rx_pass *pass,
							 const struct kwarp_mr_range to)
{
	u8 *dst = likely(!pass->early) ? kwarp_mr_near(&pass->cache, &to) : NULL;

	if (unlikely(!dst))
		return kwarp_rx_place_anew(pass, to);
	kwarp_rx_take_payload(pass, dst, to.len);
	return KWARP_MEM_OK;
}

void kwarp_rx_begin_run(struct kwarp_rx_pass *pass, const struct kwarp_mr_range *next,
			u32 *filled, u32 *filled_element);

/* Queue 0: Send and Immediate Data (send.c). */
enum kwarp_err kwarp_rx_send(struct kwarp_rx_pass *pass, u32 len);
enum kwarp_err kwarp_rx_send_done(struct kwarp_rx_pass *pass);
enum kwarp_err kwarp_rx_check_request(struct kwarp_rx_pass *pass);
struct kwarp_ird_entry *kwarp_rx_queue_answer(struct kwarp_rx_pass *pass);

/* RDMAP error for a refused access to the memory that a Read or Atomic Request names. */
enum kwarp_err kwarp_rx_request_err(enum kwarp_mem_err err);
enum kwarp_err kwarp_rx_read_place(struct kwarp_rx_pass *pass, struct kwarp_read *rd, u32 len);
enum kwarp_err kwarp_rx_read_done(struct kwarp_rx_pass *pass,
				  struct kwarp_read *rd);

/* Queues 1 and 3: Atomic Request and Response (atomic.c). */
enum kwarp_err kwarp_rx_atomic_request(struct kwarp_rx_pass *pass);
enum kwarp_err kwarp_rx_atomic_response(struct kwarp_rx_pass *pass);

#endif /* _KWARP_RDMAP_PLACE_H */
