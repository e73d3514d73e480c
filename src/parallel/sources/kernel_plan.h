/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Plan of a run with --kernel, from its options only (parallel/sources/kernel_source.h). */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"

/* Returns the input of the planner. */
struct plan_kernel kernel_plan_make(const struct config *config);

/* Returns true if the design supports --kernel, or without --kernel. */
bool kernel_plan_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);

/*
 * Returns true if an eBPF program of this plan supports the measurements of `config`; else false
 * with a line in error[OPTION_WHY_MAX].
 */
bool kernel_plan_takes(const struct plan_kernel *plan, const struct config *config, char *error);
