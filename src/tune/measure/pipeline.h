/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs the whole packet pipeline with a load generator instead of a NIC, and without a reporter. */

#include "tune/measure/bench_subject.h"
#include "tune/measure/load_generator.h"
#include "tune/measure/bench_pass.h"
#include "parallel/run/run.h"

struct pipeline_setting {
	const char *design;
	struct bench_subject subject;
	uint32_t workers;
	bool external; /* packets come from live ports, not from the generator */
	uint32_t mbufs;
	uint32_t size;
	uint64_t rate; /* packets/s; 0: as fast as workers receive */
	const struct workload *workload;
	const struct key_rule *key;      /* NULL: 5-tuples */
	const struct prefix_list *rules; /* NULL: measure all packets */
};

struct pipeline_sample {
	double offered_pps, measured_pps;
	double drop_rate; /* share of the offered packets that were lost, as far as known */
	bool loss_unknown;
	double rejected; /* share of the received packets without IP header */
	double rx_ns, count_ns, free_ns,
		delay_ns; /* per packet; delay_ns is the sum of the others */
};

/* Counts workers, receiver and generator. */
uint32_t pipeline_threads(const struct pipeline_setting *setting);

/* Receive queues of the port. */
uint32_t pipeline_queues(const struct pipeline_setting *setting);

/* Describes an ethdev of rings. */
struct port pipeline_port(const char *name, uint16_t id, const struct config *config);

/*
 * Plans a run on `port`. *config refers to strings of `setting` and `from`; *plan refers to
 * *config. On failure, returns false with a line in error[LOAD_GENERATOR_ERROR_MAX].
 */
bool pipeline_plan(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const char *port, struct config *config, struct plan *plan,
	char *error);

struct pipeline_totals {
	uint64_t received, counted, measured, ring_full, rx, count, free;
};

struct pipeline_totals pipeline_add_up(const struct run *run);

struct pipeline_sample pipeline_sample_of(
	const struct pipeline_totals *totals, uint64_t offered, double seconds);

/*
 * Requires EAL. lcore 0 sleeps; the others take turns on cpus[]. On failure, and if packets are not
 * accounted for, returns false with a line in error[LOAD_GENERATOR_ERROR_MAX].
 */
bool pipeline_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error);

void pipeline_pin(uint32_t nb_lcores, const uint32_t *cpus, uint32_t nb_cpus);
