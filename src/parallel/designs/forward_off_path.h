/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Off-path forwarding: the receiver reads the headers of a burst, writes a digest of each packet to
 * the ring of a worker (parallel/designs/digest_ring.h), and sends the burst. Measurements never
 * hold packets, so a stalled measurement loses digests only.
 */

#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"

/* Off-path state of a receiving core. */
struct off_path {
	struct reader reader;
	struct key_burst burst; /* keys of the current packets */
};

/* Sets the callbacks of the receiver's poller. */
void off_path_connect(struct rx_core *rx_core);

/* Runs the loop of a worker until it leaves the last epoch. */
void off_path_work(struct worker *worker);
