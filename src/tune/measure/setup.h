/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Setup shared by benchmarks. */

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
 * Makes the configuration of a run with one measurement, design rss, and the subject's sketch,
 * sharing and atomic. Host options are copied from `from`. Strings are not copied.
 */
void setup_run_config(
	struct config *config, const struct config *from, const struct bench_subject *subject);

/* Adds to the heap of EAL, in hugepages if there are enough. */
void setup_add_heap(struct plan *plan, const struct topology *topology, size_t megabytes);

/*
 * Starts EAL with nb_lcores lcores and a heap: lcore 0 for the thread that mostly sleeps, lcore i
 * on CPU (i - 1) % n of `cpus`. Returns false with one line logged.
 */
bool setup_eal(const struct config *config, const struct topology *topology,
	const struct cpus *cpus, uint32_t nb_lcores, size_t megabytes);

/* Logs the replacement of IPv6 packets in a workload. */
void setup_say_intake(const struct workload_intake *intake);
