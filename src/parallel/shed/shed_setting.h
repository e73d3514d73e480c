/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Shedding state that the reporter and one worker exchange. Each cache line has one writer. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"
#include "sketch/flow_states.h"

/* Settings of a worker, indexed by measurement. Immutable once published. */
struct shed_setting {
	uint64_t number; /* sequence number, from 0 */
	/* Number of the set of measurements (counting.set) to which the settings apply. */
	uint64_t of;
	uint8_t step[CONFIG_MEASUREMENTS_MAX]; /* number of steps that measurement m applies */
	/* Measurement m samples one in 2^shift[m] packets. */
	uint8_t shift[CONFIG_MEASUREMENTS_MAX];
	/* Measurement m samples one in 2^keys[m] keys. */
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];
	uint32_t off; /* bit m: measurement m processes no packets */
	/* bit m: the deadline of measurement m is near, so its low priority is ignored */
	uint32_t first;
	struct flow_states flows[CONFIG_MEASUREMENTS_MAX];
};

/* Shedding level and settings combined, for one burst. */
struct burst_shedding {
	bool count_only;
	uint8_t shift; /* one in 2^shift packets is processed */
	uint32_t off;  /* bit m: measurement m skips the burst */
	uint32_t rare; /* bit m: measurement m uses one in 2^rarer[m] of the processed packets */
	uint8_t rarer[CONFIG_MEASUREMENTS_MAX];
	uint32_t shifts;  /* bit k > 0: the value k is in rarer[] */
	uint32_t sifting; /* bit m: measurement m samples one in 2^keys[m] keys */
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];
};

struct shed_mailbox {
	/* Newest settings, by the reporter. Pairs with the acquire in take_setting(). */
	alignas(64) _Atomic(const struct shed_setting *) next;
	/* By the reporter: packets per timed lookup; 0: no lookups. */
	_Atomic uint32_t lookup_every;
	/* By the reporter: longest lookup of measurement m that hits a cache, TSC cycles. */
	_Atomic uint32_t longest_hit[CONFIG_MEASUREMENTS_MAX];

	/* Written by the worker: packets of the run, by shedding level. */
	alignas(64) _Atomic uint64_t packets[SHED_LEVEL_COUNT + 1];
	/* Packets and TSC cycles of bursts at SHED_LEVEL_FULL, without preempted bursts. */
	_Atomic uint64_t smooth_packets, smooth_busy;
	_Atomic uint64_t backlog;    /* packets waiting after the last poll */
	_Atomic uint32_t shift;      /* SHED_LEVEL_SOME samples one in 2^shift packets */
	_Atomic uint64_t taken_from; /* first packet to which the settings `taken` apply */
	/* Number of the settings in use. Stored with release after taken_from. */
	_Atomic uint64_t taken;
	/* Sampled lookups of measurement m (adapt/formula.h). */
	struct shed_lookups {
		_Atomic uint64_t samples, hits, new_flows;
	} lookups[CONFIG_MEASUREMENTS_MAX];
};

/* The worker is the only writer of `sum`. */
static inline void shed_mailbox_add(_Atomic uint64_t *sum, uint64_t value)
{
	atomic_store_explicit(
		sum, atomic_load_explicit(sum, memory_order_relaxed) + value, memory_order_relaxed);
}

#define SHED_SETTING_WHOLE                                                                         \
	{                                                                                          \
		.flows = { [0 ... CONFIG_MEASUREMENTS_MAX - 1] = FLOW_STATES_IDENTITY }            \
	}

static inline void shed_setting_step(
	struct shed_setting *setting, const struct steps *of, uint32_t m, uint32_t steps)
{
	struct detail detail = steps_detail(&of[m], steps);

	setting->step[m] = (uint8_t)steps;
	setting->shift[m] = detail.shift;
	setting->keys[m] = detail.keys;
	setting->off = (setting->off & ~(UINT32_C(1) << m)) | (uint32_t)detail.off << m;
}
