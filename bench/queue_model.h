/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Simulates a worker that reads from a queue at a varying packet rate, and counts lost packets. */

#include "adapt/demand.h"

#define QUEUE_MODEL_BURST 64

struct queue_model {
	double entries;                           /* packets */
	double seconds;                           /* simulated time */
	double window;                            /* s between calls of decide() */
	double (*rate)(void *context, double at); /* packets per second at time `at` */
	/* Returns the ns per packet from now on. The first call has an empty window. */
	double (*decide)(void *context, const struct demand_window *window);
	/* ns of a burst of n packets, with `backlog` left in the queue; NULL: n packet_ns */
	double (*shedding)(void *context, double backlog, double n, double packet_ns);
	void *context;
};

struct queue_result {
	double arrived, lost;
	double backlog_max;
	double lost_from; /* time of the first loss; INFINITY: none */
};

struct queue_result queue_model_run(const struct queue_model *model);
