/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs benches that print one row per figure and round. The measured programs take turns. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/topology.h"
#include "tune/measure/cpus.h"
#include "tune/measure/figures.h"

#define ROUNDS_ERROR_MAX 512

struct rounds_bench {
	const char *name;
	const struct config *config;
	uint64_t seed;
	uint32_t rounds;
	bool quick;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	char error[ROUNDS_ERROR_MAX];
};

/*
 * Fills the fields before `error` from the options and calls run(), which prints the rows. run()
 * returns false with a line in error if it fails, without one if it is stopped. Returns an exit
 * status.
 */
int rounds_run(struct rounds_bench *bench, const char *name, const struct config *config,
	bool (*run)(struct rounds_bench *bench));

void rounds_row(struct rounds_bench *bench, const char *part, uint32_t round, double value,
	const char *unit);
void rounds_missing(struct rounds_bench *bench, const char *part, uint32_t round, const char *unit,
	const char *why);
__attribute__((format(printf, 2, 3))) bool rounds_fail(
	struct rounds_bench *bench, const char *format, ...);

extern const struct option_owner rounds_owner;
