/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simulates a worker that reads from a queue at a varying packet rate, with a simulated clock.
 * Counts the lost packets. A callback sets the time per packet after each window. With shedding,
 * another one sets the time of each burst.
 */

#include "adapt/demand.h"

#define QUEUE_MODEL_BURST 64

struct queue_model {
	double entries;                           /* queue size, packets */
	double seconds;                           /* s, simulated time */
	double window;                            /* s, interval of decide() */
	double (*rate)(void *context, double at); /* packets per second at time `at` */
	/*
	 * Returns the ns per packet from now on. The first call, before the first window, has an
	 * empty one.
	 */
	double (*decide)(void *context, const struct demand_window *window);
	/*
	 * Returns the ns of a burst of n packets, with `backlog` packets left in the queue. NULL: n
	 * packet_ns.
	 */
	double (*shedding)(void *context, double backlog, double n, double packet_ns);
	void *context;
};

struct queue_result {
	double arrived, lost; /* packets */
	double backlog_max;
	double lost_from; /* s, time of the first loss; INFINITY: none */
};

struct queue_result queue_model_run(const struct queue_model *model);
