/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A worker behind a queue, and packets that come at a rate which changes, in a time of its own: what
 * is lost. What a packet takes is decided anew after each window, and, where there is a valve, for
 * each burst.
 */

#include "adapt/demand.h"

#define QUEUE_MODEL_BURST 64

struct queue_model {
	double entries;                           /* of the queue, in packets */
	double seconds;                           /* that it goes on */
	double window;                            /* in seconds */
	double (*rate)(void *context, double at); /* packets a second that come */
	/* ns of a packet from now on. Asked before the first window too, with one of no packets. */
	double (*decide)(void *context, const struct demand_window *window);
	/* ns that a burst of n packets takes which has left `backlog` behind; NULL: n times what a
	 * packet takes. */
	double (*shedding)(void *context, double backlog, double n, double packet_ns);
	void *context;
};

struct queue_result {
	double arrived, lost; /* packets */
	double backlog_max;
	double lost_from; /* the time of the first loss; INFINITY: none */
};

struct queue_result queue_model_run(const struct queue_model *model);
