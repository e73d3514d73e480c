/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the parts of `bench targets` have in common: one run, and its rows. */

#include "config/config.h"
#include "bench/contest.h"
#include "bench/polled.h"
#include "bench/program.h"
#include "bench/sheet.h"
#include "parallel/plan/plan.h"
#include "parallel/plan/topology.h"

struct targets {
	const struct config *config;
	uint32_t rounds;
	uint64_t packets, replay_packets;
	struct topology topology;
	struct crew crew;
	struct config run_config; /* of the worker that is measured whole */
	struct plan plan;
	struct sheet sheet;
	struct host_facts facts;
	struct program_captures captures;
	char error[POLLED_ERROR_MAX];
};

/* What a figure has to be to be good enough. */
struct target {
	const char *what, *unit;
	bool at_least; /* else at most */
	double limit;
};

/* A figure that is not `right` does not meet its target. */
void targets_print(struct targets *targets, const struct target *target,
	const struct bench_stats *stats, bool right, const char *note);
/* A target that this host cannot try. */
void targets_print_missing(struct targets *targets, const struct target *target, const char *why);

struct workload *targets_workload(const struct targets *targets, uint32_t zipf_e6, uint64_t flows);
struct contestant targets_contestant(const char *sketch, enum sketch_sharing sharing,
	uint32_t threads, enum sketch_metric metric, uint64_t width);
/* False, with targets->error unless a signal asked for the end. */
bool targets_contest(struct targets *targets, const struct workload *workload,
	const struct contestant *contestants, uint32_t n, uint32_t rounds,
	struct contest_result *results);

/* targets_exact.c: flow tables and iblt, the filter, monitored prefixes. EAL must be up. */
bool targets_exact(struct targets *targets);
/* Megabytes of EAL's heap that it takes. */
size_t targets_exact_heap_megabytes(void);
