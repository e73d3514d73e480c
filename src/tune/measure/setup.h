/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"
#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"
#include "parallel/plan/plan.h"
#include "parallel/plan/topology.h"
#include "rx/source.h"

#define SETUP_RING_SIZE 1024

/* Reads --lcores. Returns false with a line logged. */
bool setup_topology(struct topology *topology, const struct config *config);

/* Returns "" if the subject is not shared. */
const char *setup_atomic_name(const struct bench_subject *subject);

/*
 * The run has design rss and one measurement. Options of the host come from `from`, which must
 * outlive *config.
 */
void setup_run_config(
	struct config *config, const struct config *from, const struct bench_subject *subject);

/* Uses hugepages if enough are free. */
void setup_add_heap(struct plan *plan, const struct topology *topology, size_t megabytes);

/*
 * lcore 0 is for a thread that mostly sleeps. lcore i is on CPU (i - 1) % n of cpus[]. Returns
 * false with a line logged.
 */
bool setup_eal(const struct config *config, const struct topology *topology,
	const struct cpus *cpus, uint32_t nb_lcores, size_t megabytes);

void setup_say_intake(const struct workload_intake *intake);
