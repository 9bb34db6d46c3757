/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A queue pair above the mock lower layer: the environment of a case of kwarp_seam. */
#ifndef _KTEST_SEAM_H
#define _KTEST_SEAM_H

#include <linux/prandom.h>
#include <rdma/ib_verbs.h>

#include "mock_llp.h"

#define WRS	32
#define BYTES	(64 * 1024)
#define PATIENCE_MS	60000	/* reached only by calls that hang */

/* Memory of a peer, which does not exist. */
#define PEER_STAG	0x77
#define PEER_TO		0x1000

/* The device under test, and the source of random segmentation (seam.c). */
extern struct ib_device *seam_ibdev;
extern struct rnd_state seam_rnd;

/**
 * struct seam - a queue pair above the mock
 * @m:		lower layer
 * @local:	source memory for sends
 * @remote:	memory that the peer writes to and reads from, and that receives use
 * @done:	number of successful completions
 * @flushed:	number of other completions
 * @wc:		the last successful completion
 */
struct seam {
	struct mock m;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	u8 *local;
	u8 *remote;
	int done;
	int flushed;
	struct ib_wc wc;
};

/* Open and post return NULL or an error without memory; seam_close() frees all. */
struct seam *seam_open(void);
struct seam *seam_open_stopped(void);
void seam_close(struct seam *e);
int seam_post(struct seam *e, enum ib_wr_opcode opcode, u32 at, u32 len);
int seam_post_recv(struct seam *e, u32 at, u32 len);
void seam_poll(struct seam *e);
int seam_wait(struct seam *e, int done, int flushed);
int seam_wait_fin(struct seam *e);

/* endpoint_cases.c: 0 or an error */
int kt_accepted_after_its_end(void);
int kt_endpoint_waits_for_its_owner(void);
int kt_handle_ends_while_in_use(void);
int kt_handle_without_rights(void);

#endif /* _KTEST_SEAM_H */
