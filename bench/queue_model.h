/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Simulates a thread that reads from a queue at a varying packet rate, and counts lost packets. */

#include <stdint.h>

#include "adapt/demand.h"

#define QUEUE_MODEL_BURST  64
#define QUEUE_MODEL_POLL_S 4e-6

struct queue_model {
	double entries;                           /* packets */
	double burst;                             /* packets of a full burst */
	double poll;                              /* shortest s from a poll that is not full */
	double seconds;                           /* simulated time */
	double window;                            /* s between calls of decide() */
	double (*rate)(void *context, double at); /* packets per second at time `at` */
	/* Returns the ns per packet from now on. The first call has an empty window. */
	double (*decide)(void *context, const struct demand_window *window);
	/* ns of a burst of n packets, with `backlog` left in the queue; NULL: n packet_ns */
	double (*shedding)(void *context, double backlog, double n, double packet_ns);
	/* packets lost in each of the first windows, zero before the run; NULL: not needed */
	double *lost;
	uint32_t nb_windows; /* elements of lost[]; 0 if NULL */
	void *context;
};

struct queue_result {
	double arrived, lost;
	double served, bursts; /* packets, and the bursts they came in */
	double backlog_max;
	double lost_from; /* time of the first loss; INFINITY: none */
};

struct queue_result queue_model_run(const struct queue_model *model);
