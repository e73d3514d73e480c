/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Setup of topology, EAL and configuration, for tune and the benches. */

#include "config/config.h"
#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"
#include "parallel/plan/plan.h"
#include "parallel/plan/topology.h"
#include "rx/source.h"

#define SETUP_RING_SIZE 1024 /* entries of each ring between a receiver and a worker */

/* Reads the CPUs that --lcores allows. Returns false with one line logged. */
bool setup_topology(struct topology *topology, const struct config *config);

/* Returns "cas", "add" or "lock"; "" if the subject is not shared. */
const char *setup_atomic_name(const struct bench_subject *subject);

/*
 * Fills *config for a run with design rss and one measurement, which has the sketch, sharing and
 * atomic operation of the subject. Copies options of the host from `from`, but not their strings.
 */
void setup_run_config(
	struct config *config, const struct config *from, const struct bench_subject *subject);

/* Adds megabytes to the heap of EAL. Uses hugepages if enough are free. */
void setup_add_heap(struct plan *plan, const struct topology *topology, size_t megabytes);

/*
 * Starts EAL with nb_lcores lcores and a heap of `megabytes`. lcore 0 is for a thread that mostly
 * sleeps. lcore i is on CPU (i - 1) % n of cpus[]. Returns false with one line logged.
 */
bool setup_eal(const struct config *config, const struct topology *topology,
	const struct cpus *cpus, uint32_t nb_lcores, size_t megabytes);

/* Logs how many IPv6 packets of a workload were replaced. */
void setup_say_intake(const struct workload_intake *intake);
