/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * One run of the whole engine, with a generator of its own in place of a card: the design's own
 * lcores, without a reporter, for a given time.
 */

#include "bench/contestant.h"
#include "bench/offer.h"
#include "parallel/plan.h"

struct pipeline_setting {
	const char *design;
	struct contestant contestant; /* its sketch, sharing, atomic and width */
	uint32_t workers;
	uint32_t mbufs; /* of the generator */
	uint32_t size;  /* bytes of a packet */
	uint64_t rate;  /* packets per second that are offered; 0: as many as are taken */
	const struct workload *workload;
};

struct pipeline_sample {
	double offered_pps, measured_pps;
	double drop_rate;                          /* of what was offered */
	double rx_ns, count_ns, free_ns, delay_ns; /* per packet; the last is their sum */
};

/* Threads that poll: workers, receiver, generator. */
uint32_t pipeline_threads(const struct pipeline_setting *setting);

/* The fewest mbufs with which the generator never writes to a packet that is in flight. */
uint32_t pipeline_mbufs_min(const struct pipeline_setting *setting);

/*
 * The plan of a run on a port of that name. Fills *config, whose strings are those of setting and
 * from, and *plan, which points into it. Returns false with one line in error[OFFER_ERROR_MAX].
 */
bool pipeline_plan(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const char *port, struct config *config, struct plan *plan,
	char *error);

/*
 * EAL must be up; its lcore i is on CPU cpus[(i - 1) % nb_cpus], lcore 0 sleeps. Returns false with
 * one line in error[OFFER_ERROR_MAX], also where packets are not accounted for.
 */
bool pipeline_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error);
