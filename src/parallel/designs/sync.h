/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* State shared by the receiving core of the sync design and one worker. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/* A burst of one epoch; each worker takes the packets that are its own. */
struct sync_burst {
	uint64_t epoch;
	struct rte_mbuf **pkts;
	uint32_t n;
	uint32_t first; /* part of pkts[0]: its index in the whole run modulo workers */
	bool last;      /* no burst follows, and this one is empty */
};

struct sync_slot {
	alignas(64) _Atomic uint64_t started; /* bursts handed over; the receiver writes */
	struct sync_burst burst;              /* the newest one; the receiver writes */
	alignas(64) _Atomic uint64_t done;    /* bursts done with; the worker writes */
};
