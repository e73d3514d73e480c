/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a run of --kernel needs, by its options alone (parallel/sources/kernel_source.h). */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"

/* What plans are made with. */
struct plan_kernel kernel_plan_make(const struct config *config);

/* Whether the design suits --kernel, where that is given. */
bool kernel_plan_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);

/* Whether a program that runs by this plan counts what these measurements need;
 * error[OPTION_WHY_MAX]. */
bool kernel_plan_takes(const struct plan_kernel *plan, const struct config *config, char *error);
