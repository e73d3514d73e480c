/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The receiver forwards packets, and workers get only digests. A slow worker loses digests, no
 * packets.
 */

#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"

struct off_path {
	struct reader reader;
	struct key_burst burst;
};

void off_path_connect(struct rx_core *rx_core);

void off_path_work(struct worker *worker);
