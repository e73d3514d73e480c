/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Runs the whole packet pipeline for a given time: the lcores of a design, with a load generator
 * instead of a NIC, and without a reporter.
 */

#include "tune/measure/bench_subject.h"
#include "tune/measure/load_generator.h"
#include "tune/measure/bench_pass.h"
#include "parallel/run/run.h"

struct pipeline_setting {
	const char *design;
	struct bench_subject subject; /* sketch, sharing, atomic and width */
	uint32_t workers;
	bool external; /* true: packets come from live ports; size, rate and workload are not used */
	uint32_t mbufs; /* number of mbufs of the generator, or of the ports' pools (0: computed) */
	uint32_t size;  /* packet size, bytes */
	uint64_t rate;  /* packets per second; 0: as fast as workers receive them */
	const struct workload *workload;
	const struct key_rule *key;      /* NULL: 5-tuples */
	const struct prefix_list *rules; /* NULL: measure all packets */
};

struct pipeline_sample {
	double offered_pps, measured_pps;
	double drop_rate; /* share of the offered packets that were lost, as far as losses are known */
	bool loss_unknown;
	double rejected; /* share of the received packets that have no IP header */
	double rx_ns, count_ns, free_ns,
		delay_ns; /* ns per packet; delay_ns is the sum of the others */
};

/*
 * Returns the statistics of one member of samples[rounds]: the double at this offset of each
 * sample.
 */
struct bench_stats pipeline_stats(
	const struct pipeline_sample *samples, size_t offset, uint32_t rounds);
#define PIPELINE_STATS(samples, member, rounds)                                                    \
	pipeline_stats(samples, offsetof(struct pipeline_sample, member), rounds)

/*
 * Returns the number of polling threads: workers, the receiver if the design has one, and the
 * generator if there is one.
 */
uint32_t pipeline_threads(const struct pipeline_setting *setting);

/*
 * Plans a run on a port with this name. Fills *config, whose strings belong to `setting` and
 * `from`, and *plan, which contains pointers to *config. Returns false with one line in
 * error[LOAD_GENERATOR_ERROR_MAX].
 */
bool pipeline_plan(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const char *port, struct config *config, struct plan *plan,
	char *error);

/* Sums over all lcores of a run. rx, count and free are TSC cycles. */
struct pipeline_totals {
	uint64_t received, counted, measured, ring_full, rx, count, free;
};

struct pipeline_totals pipeline_add_up(const struct run *run);

/* Returns the sample of a run that offered `offered` packets in `seconds`. */
struct pipeline_sample pipeline_sample_of(
	const struct pipeline_totals *totals, uint64_t offered, double seconds);

/*
 * Runs the pipeline. Requires EAL. lcore 0 sleeps. Pins the other lcores to the CPUs in cpus[], in
 * turns. Returns false with one line in error[LOAD_GENERATOR_ERROR_MAX], also if packets are not
 * accounted for.
 */
bool pipeline_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error);

/* Pins EAL's lcores 1 to nb_lcores - 1 to the CPUs in cpus[], in turns. */
void pipeline_pin(uint32_t nb_lcores, const uint32_t *cpus, uint32_t nb_cpus);
