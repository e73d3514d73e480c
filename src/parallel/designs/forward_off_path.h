/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Off-path forwarding: the receiver forwards the packets, and workers get only digests of their
 * headers. If a worker is too slow, digests are lost, but all packets are forwarded.
 */

#include "parallel/workers/rx_core.h"
#include "parallel/workers/worker.h"

struct off_path {
	struct reader reader;
	struct key_burst burst;
};

void off_path_connect(struct rx_core *rx_core);

void off_path_work(struct worker *worker);
