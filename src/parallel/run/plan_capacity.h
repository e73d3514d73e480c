/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Estimates the packet rates that the workers of a plan can sustain, by a profile of the host. */

#include <stdio.h>

#include "adapt/capacity.h"
#include "parallel/plan/plan.h"

/* The plan must outlive the result. */
struct capacity_worker plan_worker(const struct plan *plan);

/* `name`: file name of the profile. */
void plan_print_capacity(const struct plan *plan, const struct config *config,
	const struct profile *profile, const char *name, FILE *out);
