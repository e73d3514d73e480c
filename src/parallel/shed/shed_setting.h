/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Shedding state shared by the reporter and one worker. The reporter publishes settings. The worker
 * acknowledges them, and publishes its load. Each cache line has one writer, so no locked
 * instructions are necessary. Neither side waits.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"
#include "sketch/flow_states.h"

/* Settings of a worker, per measurement m. Published settings do not change. */
struct shed_setting {
	uint64_t number; /* sequence number of the settings of this worker, from 0 */
	/* Number of the set of measurements (counting.set) that the settings are for. */
	uint64_t of;
	uint8_t step[CONFIG_MEASUREMENTS_MAX]; /* number of steps that apply (struct steps) */
	/* Measurement m processes one in 2^shift[m] packets. */
	uint8_t shift[CONFIG_MEASUREMENTS_MAX];
	/* Measurement m counts one in 2^keys[m] keys. */
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];
	uint32_t off;   /* bit m: measurement m processes no packets */
	uint32_t first; /* bit m: the deadline of measurement m is due: no skipping by priority */
	struct flow_states flows[CONFIG_MEASUREMENTS_MAX]; /* limits of flow states */
};

/* Combined effect of shedding level and settings on a burst, per measurement m. */
struct burst_shedding {
	bool count_only; /* true: packets are only counted */
	uint8_t shift;   /* one in 2^shift packets is processed, by one measurement or more */
	uint32_t off;    /* bit m: measurement m skips the burst */
	uint32_t rare;   /* bit m: measurement m uses only one in 2^rarer[m] processed packets */
	uint8_t rarer[CONFIG_MEASUREMENTS_MAX];
	uint32_t shifts;  /* bit k > 0: the value k is in rarer[] */
	uint32_t sifting; /* bit m: measurement m counts only one in 2^keys[m] keys */
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];
};

/* Data that the reporter and a worker exchange. */
struct shed_mailbox {
	/*
	 * The newest settings. Written by the reporter. Pairs with the acquire in take_setting().
	 */
	alignas(64) _Atomic(const struct shed_setting *) next;

	/* Written by the worker: number of packets in the run, per shedding level. */
	alignas(64) _Atomic uint64_t packets[SHED_LEVEL_COUNT + 1];
	/* Packets and TSC cycles of bursts at SHED_LEVEL_FULL, without preempted bursts. */
	_Atomic uint64_t smooth_packets, smooth_busy;
	_Atomic uint64_t backlog;    /* packets waiting after the last poll */
	_Atomic uint32_t shift;      /* SHED_LEVEL_SOME samples one in 2^shift packets */
	_Atomic uint64_t taken_from; /* first packet to which the settings `taken` apply */
	/*
	 * Number of the settings in use. Stored after taken_from, with release: the worker does not
	 * read older settings any more.
	 */
	_Atomic uint64_t taken;
};

/* Initializer of a struct shed_setting with full detail. */
#define SHED_SETTING_WHOLE                                                                         \
	{                                                                                          \
		.flows = { [0 ... CONFIG_MEASUREMENTS_MAX - 1] = FLOW_STATES_IDENTITY }            \
	}

/* Applies the first `steps` steps of measurement m to the setting. */
static inline void shed_setting_step(
	struct shed_setting *setting, const struct steps *of, uint32_t m, uint32_t steps)
{
	struct detail detail = steps_detail(&of[m], steps);

	setting->step[m] = (uint8_t)steps;
	setting->shift[m] = detail.shift;
	setting->keys[m] = detail.keys;
	setting->off = (setting->off & ~(UINT32_C(1) << m)) | (uint32_t)detail.off << m;
}
