/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Shedding state shared by the reporter and one worker: settings in one direction, acknowledgement
 * and load in the other. Each cache line has one writer, which uses plain stores; neither side
 * blocks.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"
#include "sketch/flow_states.h"

/* Settings of a worker. Immutable while published. */
struct shed_setting {
	uint64_t number; /* sequence number of the settings of this worker, from 0 */
	/* Number of the set of measurements that has these settings. Other sets shed nothing. */
	uint64_t of;
	uint8_t step[CONFIG_MEASUREMENTS_MAX];  /* current step in struct steps */
	uint8_t shift[CONFIG_MEASUREMENTS_MAX]; /* one packet of 2^shift is processed */
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];  /* a share of 2^-keys of the keys is counted */
	uint32_t off;   /* measurements that receive no packets, one bit each */
	uint32_t first; /* measurements that never skip packets, regardless of priority */
	struct flow_states flows[CONFIG_MEASUREMENTS_MAX]; /* flow detail of flow tables */
};

/* Combined effect of level and settings on a burst. */
struct burst_shedding {
	bool count_only; /* packets are only counted */
	uint8_t shift;   /* smallest shift of any measurement: one packet in 2^shift is processed */
	uint32_t off;    /* measurements that skip the burst, one bit each */
	/* Measurements that sample the processed packets, one bit each, at 1 in 2^rarer[m]. */
	uint32_t rare;
	uint8_t rarer[CONFIG_MEASUREMENTS_MAX];
	uint32_t shifts; /* non-zero values in rarer[], one bit each */
	/* Measurements that count a share of 2^-keys[m] of their keys, one bit each. */
	uint32_t sifting;
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];
};

/* Mailbox of a worker. */
struct shed_mailbox {
	/* Written by the reporter, with release. Pairs with the acquire in take_setting(). */
	alignas(64) _Atomic(const struct shed_setting *) next;

	/* Written by the worker. Sums over the run; packets by shedding level. */
	alignas(64) _Atomic uint64_t packets[SHED_LEVEL_COUNT + 1];
	/* Bursts at SHED_LEVEL_FULL without preemption: packets, and TSC cycles spent. */
	_Atomic uint64_t smooth_packets, smooth_busy;
	_Atomic uint64_t backlog; /* packets waiting after the last poll */
	_Atomic uint32_t shift;   /* sampling of SHED_LEVEL_SOME */
	/*
	 * Number of the current setting, stored with release: the worker no longer reads older
	 * ones. taken_from, stored before, is its first packet.
	 */
	_Atomic uint64_t taken, taken_from;
};

/* Full detail. */
#define SHED_SETTING_WHOLE                                                                         \
	{                                                                                          \
		.flows = { [0 ... CONFIG_MEASUREMENTS_MAX - 1] = FLOW_STATES_IDENTITY }            \
	}

/* Applies the first `steps` steps of measurement m. */
static inline void shed_setting_step(
	struct shed_setting *setting, const struct steps *of, uint32_t m, uint32_t steps)
{
	struct detail detail = steps_detail(&of[m], steps);

	setting->step[m] = (uint8_t)steps;
	setting->shift[m] = detail.shift;
	setting->keys[m] = detail.keys;
	setting->off = (setting->off & ~(UINT32_C(1) << m)) | (uint32_t)detail.off << m;
}
