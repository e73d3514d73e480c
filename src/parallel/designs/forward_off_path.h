/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Off-path forwarding. The receiver reads the headers of a burst, writes a digest of each packet to
 * the ring of a worker (parallel/designs/digest_ring.h), and sends the burst. Workers never get
 * packets. So if a worker is too slow, digests are lost, but all packets are forwarded.
 */

#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"

struct off_path {
	struct reader reader;
	struct key_burst burst;
};

/* Sets the callbacks of the poller of a receiving core. */
void off_path_connect(struct rx_core *rx_core);

/* Runs the loop of a worker: counts digests until the end of the run. */
void off_path_work(struct worker *worker);
