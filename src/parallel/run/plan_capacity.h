/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What a plan's workers keep up with, by a profile of the host. */

#include <stdio.h>

#include "adapt/capacity.h"
#include "parallel/plan/plan.h"

/* What each of its workers does; the plan must outlive it. */
struct capacity_worker plan_worker(const struct plan *plan);

/* What the host keeps up with by a profile, named `name`: for a person, behind the plan. */
void plan_print_capacity(const struct plan *plan, const struct config *config,
	const struct profile *profile, const char *name, FILE *out);
