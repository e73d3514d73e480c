/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What benchmarks need before they begin. */

#include "config/config.h"
#include "tune/measure/bench_subject.h"
#include "tune/measure/cpus.h"
#include "parallel/plan/plan.h"
#include "parallel/plan/topology.h"
#include "rx/source.h"

#define SETUP_RING_SIZE 1024 /* entries of each ring between a receiver and a worker */

/* The CPUs that --lcores leaves. Returns false with one line logged. */
bool setup_topology(struct topology *topology, const struct config *config);

/* "cas", "add" or "lock"; empty for who shares nothing. */
const char *setup_atomic_name(const struct bench_subject *subject);

/*
 * The configuration of a run with one measurement, design rss, and the contestant's sketch, sharing
 * and atomic; what concerns the host is taken from `from`. Strings are not copied.
 */
void setup_run_config(
	struct config *config, const struct config *from, const struct bench_subject *subject);

/*
 * The plan of such a run of the contestant on these CPUs, fed by the generator. Returns false with one line in
 * error[PLAN_TEXT_MAX].
 */
bool setup_plan(struct plan *plan, const struct config *config, const struct bench_subject *subject,
	const struct topology *topology, char *error);

/* Adds so much to the heap that EAL will have, in hugepages as long as they suffice. */
void setup_add_heap(struct plan *plan, const struct topology *topology, size_t megabytes);

/*
 * Starts EAL with so many lcores and a heap: lcore 0 for who mostly sleeps, lcore i on the cpus's
 * CPU (i - 1) % nb_cpus. Returns false with one line logged.
 */
bool setup_eal(const struct config *config, const struct topology *topology,
	const struct cpus *cpus, uint32_t nb_lcores, size_t megabytes);

/* Endless 64-byte packets. NULL with one line logged where memory is missing. */
struct source *setup_source(uint64_t zipf, uint64_t flows);

/* Says what stands for IPv6 packets in a workload that was read. */
void setup_say_intake(const struct workload_intake *intake);
