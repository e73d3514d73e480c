/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct sync_burst {
	uint64_t epoch;
	struct rte_mbuf **pkts;
	uint32_t n;
	/* Worker that counts pkts[0]. */
	uint32_t first;
	bool last; /* end of the run, without packets */
};

struct sync_slot {
	/* Written by the receiver. */
	alignas(64) _Atomic uint64_t started; /* number of bursts passed to the worker */
	struct sync_burst burst;
	/* Written by the worker. */
	alignas(64) _Atomic uint64_t done; /* number of bursts that the worker has counted */
};
