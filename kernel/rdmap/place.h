/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One verified DDP segment: where its payload is placed, and what it completes. */
#ifndef _KWARP_RDMAP_PLACE_H
#define _KWARP_RDMAP_PLACE_H

#include "rdmap/pass.h"

/**
 * kwarp_rx_segment() - place and deliver one verified segment
 * @pass:	with @u pulled
 *
 * Return: KWARP_ERR_NONE or the error to raise. Context: socket lock held, bottom halves
 * disabled.
 */
enum kwarp_err kwarp_rx_segment(struct kwarp_rx_pass *pass);

/**
 * kwarp_rx_copy() - copy the next payload bytes to memory
 * @pl:		payload iterator
 * @mr:		region, checked for the range
 * @addr:	address in it
 * @len:	bytes
 */
void kwarp_rx_copy(struct kwarp_payload *pl, const struct kwarp_mr *mr,
		   u64 addr, u32 len);

/**
 * kwarp_rx_deliver() - push pending receive completions to the CQ
 * @pass:	pass of the receive engine
 * @solicited:	the last one requests an event
 *
 * Called before any other completion of the pass, and at its end.
 */
void kwarp_rx_deliver(struct kwarp_rx_pass *pass, bool solicited);

/**
 * kwarp_rx_put() - make sure that the next payload bytes are placed
 * @pass:	with the ULPDU in progress
 * @pl:		payload iterator
 * @mr:		region, checked for the range
 * @addr:	address in it
 * @len:	bytes
 *
 * Calls kwarp_rx_copy() unless exactly these bytes were placed there early.
 */
void kwarp_rx_put(struct kwarp_rx_pass *pass, struct kwarp_payload *pl,
		  const struct kwarp_mr *mr, u64 addr, u32 len);

/* Queue 0: Send and Immediate Data (send.c). */
enum kwarp_err kwarp_rx_send(struct kwarp_rx_pass *pass,
			     struct kwarp_payload *pl, u32 len);

/**
 * kwarp_rx_check_request() - queue 1: check the MSN of a request and room for its
 * response
 * @pass:	a request
 *
 * Return: KWARP_ERR_NONE or the error to raise.
 */
enum kwarp_err kwarp_rx_check_request(struct kwarp_rx_pass *pass);

/**
 * kwarp_rx_queue_answer() - take a request's entry in the queue of responses
 * @pass:	a request that was checked
 *
 * Return: the entry, to be filled in; the send engine examines it after the pass.
 */
struct kwarp_inread *kwarp_rx_queue_answer(struct kwarp_rx_pass *pass);

/* RDMAP error for a refused access to the memory that a request names. */
enum kwarp_err kwarp_rx_source_err(enum kwarp_mem_err err);

/**
 * kwarp_rx_read_place() - scatter the response to one of our reads or atomics
 * @pass:	pass of the receive engine
 * @rd:		the oldest outstanding one
 * @pl:		source of the bytes
 * @len:	number of bytes, at most those still missing
 *
 * Return: KWARP_ERR_NONE or the error to raise; then the work request is completed.
 */
enum kwarp_err kwarp_rx_read_place(struct kwarp_rx_pass *pass,
				   struct kwarp_read *rd,
				   struct kwarp_payload *pl, u32 len);

/* Complete the oldest of our outstanding reads and atomics. Return: as above. */
enum kwarp_err kwarp_rx_read_done(struct kwarp_rx_pass *pass,
				  struct kwarp_read *rd);

/* Queues 1 and 3: Atomic Request and Response (atomic.c). */
enum kwarp_err kwarp_rx_atomic_request(struct kwarp_rx_pass *pass);
enum kwarp_err kwarp_rx_atomic_response(struct kwarp_rx_pass *pass);

#endif /* _KWARP_RDMAP_PLACE_H */
