/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * --forward beside the measuring: the receiver reads the headers of a burst, leaves a digest of each
 * packet to a worker (parallel/designs/digest_ring.h), and sends. No packet is held by what is
 * measured, so a measurement that stands still costs digests and nothing else.
 */

#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"

/* Off-path state of a receiving core. */
struct off_path {
	struct reader reader;
	struct key_burst burst; /* keys of the current packets */
};

/* Says what becomes of what the receiver polls. */
void off_path_connect(struct rx_core *rx_core);

/* The loop of a worker, until it left the last epoch. */
void off_path_work(struct worker *worker);
