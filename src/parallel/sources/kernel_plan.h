/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Plan of a run with --kernel, from its options only (parallel/sources/kernel_source.c). */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"

struct kernel_plan {
	uint32_t entries; /* entries of the ring of each CPU */
	bool on_path;     /* the program counts, in flow tables or sketches */
	bool headers;     /* the program passes headers, not keys */
	uint32_t buckets; /* buckets of the flow table of each CPU per generation; 0: no tables */
	bool all_share;   /* all CPUs share one table */
	/* sketch of each CPU per generation, and its width; NULL: none */
	const struct sketch_ops *sketch;
	uint32_t width;
};

struct kernel_plan kernel_plan_make(const struct config *config);

/* Members of struct source_traits and struct source_ops. */
void kernel_plan_source(const struct config *config, struct plan_source *source);
bool kernel_plan_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
bool kernel_plan_takes(const struct config *running, const struct config *config, char *why);
