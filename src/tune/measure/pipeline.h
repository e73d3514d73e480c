/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * One run of the whole engine, with a generator of its own in place of a card: the design's own
 * lcores, without a reporter, for a given time.
 */

#include "tune/measure/bench_subject.h"
#include "tune/measure/load_generator.h"
#include "tune/measure/stats.h"
#include "parallel/run/run.h"

struct pipeline_setting {
	const char *design;
	struct bench_subject subject; /* its sketch, sharing, atomic and width */
	uint32_t workers;
	bool external;  /* packets come from live ports, and size, rate and workload are theirs */
	uint32_t mbufs; /* of the generator, or of the ports' pools; 0 there: computed */
	uint32_t size;  /* bytes of a packet */
	uint64_t rate;  /* packets per second that are offered; 0: as many as are taken */
	const struct workload *workload;
	const struct key_rule *key;      /* NULL: 5-tuples */
	const struct prefix_list *rules; /* NULL: everything is measured */
};

struct pipeline_sample {
	double offered_pps, measured_pps;
	double drop_rate; /* of what was offered; where losses are not known, of what is known */
	bool loss_unknown;
	double rejected; /* share of the packets that came which were no IP packets */
	double rx_ns, count_ns, free_ns, delay_ns; /* per packet; the last is their sum */
};

/* Over rounds, of one member: the double at an offset of each sample. */
struct bench_stats pipeline_stats(
	const struct pipeline_sample *samples, size_t offset, uint32_t rounds);
#define PIPELINE_STATS(samples, member, rounds)                                                    \
	pipeline_stats(samples, offsetof(struct pipeline_sample, member), rounds)

/* Threads that poll: workers, receiver, and the generator where it is ours. */
uint32_t pipeline_threads(const struct pipeline_setting *setting);

/* The fewest mbufs with which the generator never writes to a packet that is in flight. */
uint32_t pipeline_mbufs_min(const struct pipeline_setting *setting);

/*
 * The plan of a run on a port of that name. Fills *config, whose strings are those of setting and
 * from, and *plan, which points into it. Returns false with one line in error[LOAD_GENERATOR_ERROR_MAX].
 */
bool pipeline_plan(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const char *port, struct config *config, struct plan *plan,
	char *error);

/* What all lcores of a run have counted. */
struct pipeline_totals {
	uint64_t received, counted, measured, ring_full, rx, count, free;
};

struct pipeline_totals pipeline_add_up(const struct run *run);

/* offered: packets in all; seconds: how long it took. */
struct pipeline_sample pipeline_sample_of(
	const struct pipeline_totals *totals, uint64_t offered, double seconds);

/*
 * EAL must be up; its lcores 1 and on are put on the CPUs cpus[0] and on, in turn, lcore 0 sleeps.
 * Returns false with one line in error[LOAD_GENERATOR_ERROR_MAX], also where packets are not accounted for.
 */
bool pipeline_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error);

/* Puts EAL's lcores 1 to nb_lcores - 1 on CPUs, in turn. */
void pipeline_pin(uint32_t nb_lcores, const uint32_t *cpus, uint32_t nb_cpus);
