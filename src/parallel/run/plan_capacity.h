/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sustainable packet rates of a plan's workers, by a profile of the host. */

#include <stdio.h>

#include "adapt/capacity.h"
#include "parallel/plan/plan.h"

/* Returns the work of each worker of the plan. The plan must outlive it. */
struct capacity_worker plan_worker(const struct plan *plan);

/* Prints the sustainable rates by the profile `name`, after the plan. */
void plan_print_capacity(const struct plan *plan, const struct config *config,
	const struct profile *profile, const char *name, FILE *out);
