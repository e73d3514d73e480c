/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* State shared by the receiving core of the sync design and one worker. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/* Burst of one epoch. Each worker counts its part of the packets. */
struct sync_burst {
	uint64_t epoch;
	struct rte_mbuf **pkts;
	uint32_t n;
	uint32_t first; /* worker of pkts[0]: number of the packet in the run modulo workers */
	bool last;      /* end of the run; the burst is empty */
};

struct sync_slot {
	alignas(64) _Atomic uint64_t started; /* number of bursts passed; written by the receiver */
	struct sync_burst burst;              /* newest burst; written by the receiver */
	alignas(64) _Atomic uint64_t done;    /* number of bursts counted; written by the worker */
};
