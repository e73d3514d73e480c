/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Runs the whole packet pipeline with a load generator instead of a NIC: the lcores of the design,
 * without a reporter, for a given time.
 */

#include "tune/measure/bench_subject.h"
#include "tune/measure/load_generator.h"
#include "tune/measure/bench_pass.h"
#include "parallel/run/run.h"

struct pipeline_setting {
	const char *design;
	struct bench_subject subject; /* sketch, sharing, atomic and width */
	uint32_t workers;
	bool external;  /* packets come from live ports; size, rate and workload are not used */
	uint32_t mbufs; /* mbufs of the generator, or of the ports' pools (0: computed) */
	uint32_t size;  /* packet size, bytes */
	uint64_t rate;  /* packets per second sent; 0: as fast as they are received */
	const struct workload *workload;
	const struct key_rule *key;      /* NULL: 5-tuples */
	const struct prefix_list *rules; /* NULL: measure all packets */
};

struct pipeline_sample {
	double offered_pps, measured_pps;
	double drop_rate; /* share of the offered packets that were lost; only known losses */
	bool loss_unknown;
	double rejected; /* share of the received packets that are not IP */
	double rx_ns, count_ns, free_ns, delay_ns; /* ns per packet; the last is the sum */
};

/* Returns statistics of one member over rounds: the double at an offset of each sample. */
struct bench_stats pipeline_stats(
	const struct pipeline_sample *samples, size_t offset, uint32_t rounds);
#define PIPELINE_STATS(samples, member, rounds)                                                    \
	pipeline_stats(samples, offsetof(struct pipeline_sample, member), rounds)

/* Returns the number of polling threads: workers, receiver, and the generator if there is one. */
uint32_t pipeline_threads(const struct pipeline_setting *setting);

/*
 * Plans a run on a port of that name. Fills *config, whose strings belong to `setting` and `from`,
 * and *plan, which points into it. Returns false with one line in error[LOAD_GENERATOR_ERROR_MAX].
 */
bool pipeline_plan(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const char *port, struct config *config, struct plan *plan,
	char *error);

/* Counts of all lcores of a run. */
struct pipeline_totals {
	uint64_t received, counted, measured, ring_full, rx, count, free;
};

struct pipeline_totals pipeline_add_up(const struct run *run);

/* Returns the sample of a run that offered `offered` packets in `seconds`. */
struct pipeline_sample pipeline_sample_of(
	const struct pipeline_totals *totals, uint64_t offered, double seconds);

/*
 * Requires EAL. Pins lcores from 1 on to cpus[0] and following, cyclically; lcore 0 sleeps. Returns
 * false with one line in error[LOAD_GENERATOR_ERROR_MAX], also if packets are not accounted for.
 */
bool pipeline_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error);

/* Pins EAL's lcores 1 to nb_lcores - 1 to CPUs, cyclically. */
void pipeline_pin(uint32_t nb_lcores, const uint32_t *cpus, uint32_t nb_cpus);
