/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a worker is to give up of its measurements, as the reporter publishes it, and what the worker
 * says of itself in return. One thread writes each line, with plain stores; nobody waits.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "parallel/shed/queue_shedding.h"
#include "parallel/shed/steps.h"
#include "sketch/flow_states.h"

/* Not changed while it is published. */
struct shed_setting {
	uint64_t number; /* among those that the worker was given, from 0 */
	/* Of which set of measurements these are, by its number: of others nothing is given up. */
	uint64_t of;
	uint8_t step[CONFIG_MEASUREMENTS_MAX];  /* of struct steps */
	uint8_t shift[CONFIG_MEASUREMENTS_MAX]; /* one of 2^shift packets is looked at */
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];  /* and 2^-keys of its keys are counted */
	uint32_t off;                           /* measurements that see none, a bit each */
	uint32_t first; /* and those that do not wait, whatever their priority */
	struct flow_states flows[CONFIG_MEASUREMENTS_MAX]; /* of tables whose flows have states */
};

/* Of a burst: what levels and states come to. */
struct burst_shedding {
	bool count_only; /* no packet is looked at */
	uint8_t shift;   /* one of 2^shift is, for those that look at most */
	uint32_t off;    /* measurements that do not see them, a bit each */
	/* Of those that do: the ones that look at fewer, and how much: one of 2^rarer[m] of them. */
	uint32_t rare;
	uint8_t rarer[CONFIG_MEASUREMENTS_MAX];
	uint32_t shifts; /* that rarer[] has, but for 0: a bit each */
	/* Of those that do: the ones that count a share of 2^-keys[m] of their keys. */
	uint32_t sifting;
	uint8_t keys[CONFIG_MEASUREMENTS_MAX];
};

/* Of a worker. */
struct shed_mailbox {
	/* Written by the reporter, with release: pairs with the worker's acquire. */
	alignas(64) _Atomic(const struct shed_setting *) next;

	/* Written by the worker. Sums over all of the run, at each level of the valve: */
	alignas(64) _Atomic uint64_t packets[VALVE_COUNT + 1];
	/* Of bursts at VALVE_FULL during which nothing else had the CPU, as it seems: and TSC cycles
	 * on them. */
	_Atomic uint64_t smooth_packets, smooth_busy;
	_Atomic uint64_t backlog; /* packets that waited after the last poll */
	_Atomic uint32_t shift;   /* of the valve */
	/* The states that it has, with release: it does not touch those before any more; and from
	 * which of its packets on, which is there before. */
	_Atomic uint64_t taken, taken_from;
};

/* Nothing is given up. */
#define STATES_WHOLE                                                                               \
	{                                                                                          \
		.flows = { [0 ... CONFIG_MEASUREMENTS_MAX - 1] = FLOW_STATES_IDENTITY }            \
	}

/* Measurement m takes the first `steps` of its steps. */
static inline void shed_setting_step(
	struct shed_setting *states, const struct steps *of, uint32_t m, uint32_t steps)
{
	struct detail detail = steps_detail(&of[m], steps);

	states->step[m] = (uint8_t)steps;
	states->shift[m] = detail.shift;
	states->keys[m] = detail.keys;
	states->off = (states->off & ~(UINT32_C(1) << m)) | (uint32_t)detail.off << m;
}
