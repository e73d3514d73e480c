/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Limits of the control groups of this process and of their parents. Supports both versions at
 * their usual mount points. `root` is a prefix of all paths.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/cpu_set.h"

/* Returns the limit of CPU time in CPUs; 0: no limit. */
double cgroup_cpu_quota(const char *root);
/* Returns the bytes that may still be allocated; UINT64_MAX: no limit. */
uint64_t cgroup_memory_left(const char *root);
/* Reads the CPUs that threads of the group may use. Returns false if unknown. */
bool cgroup_cpus(struct cpu_set *cpus, const char *root);
