/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loss and time per packet of the designs of Wu et al. (2016), Algorithms 1 to 3, with more workers
 * than a host has CPUs. Threads are queues (bench/queue_model.h) with the measured costs of their
 * bursts. Every worker gets the same share of the packets. Costs do not depend on the number of
 * workers: the caller adds what workers cost each other.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/card_run.h"

struct design_costs {
	struct burst_cost poll, work; /* costs of the steps in struct card_sample */
	double loop_ns;               /* per poll, outside of the steps */
	double handover_ns;           /* sync, async: per poll and worker */
	double free_ns;               /* async: more for each packet that finds a ring full */
};

/* The burst cost with which bursts of both sizes take the measured times. Neither part is < 0. */
struct burst_cost burst_cost_of(struct card_step full, struct card_step few);

struct design_load {
	const char *design;
	uint32_t workers;
	double rate; /* packets/s of all workers */
};

struct design_outcome {
	double drop_rate; /* share of the offered packets */
	double ring_drop; /* async: share of the received packets */
	double poll_ns,
		work_ns; /* per received and per counted packet, at the bursts of the load */
};

struct design_outcome design_model_run(
	const struct design_load *load, const struct design_costs *costs);

/* Largest difference of the modelled loss from that of runs. */
struct model_error {
	uint32_t runs;
	double drop;
};

struct model_errors {
	struct model_error same; /* costs were measured with as many workers */
	struct model_error more; /* costs were measured with fewer workers */
};

struct model_run {
	uint32_t workers;
	uint32_t cost_workers; /* number of workers in the measurement of the costs */
	bool fitted;           /* true: the model has the costs of this run */
	double drop_error;
};

/* Counts every run except fitted ones. */
void model_errors_add(struct model_errors *errors, const struct model_run *run);
