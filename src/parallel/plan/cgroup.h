/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the control groups of this process, and the groups that they are in, leave it. Both versions
 * of the interface, where they are usually mounted. `root` stands before every path.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/cpu_set.h"

/* CPUs' worth of time; 0: no limit. */
double cgroup_cpu_quota(const char *root);
/* Bytes that may still be charged; UINT64_MAX: no limit. */
uint64_t cgroup_memory_left(const char *root);
/* The CPUs that threads of the group may ask for; false where nobody tells. */
bool cgroup_cpus(struct cpu_set *cpus, const char *root);
