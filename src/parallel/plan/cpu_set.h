/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sets of CPU numbers, in text as the kernel writes them: "0-3,8-14:2". */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys_file.h"

#define CPU_SET_MAX      1024
#define CPU_SET_LINE_MAX 8192 /* bytes */

struct cpu_set {
	uint64_t words[CPU_SET_MAX / 64];
};

static inline bool cpu_set_has(const struct cpu_set *set, uint32_t cpu)
{
	return cpu < CPU_SET_MAX && (set->words[cpu / 64] >> cpu % 64 & 1) != 0;
}

static inline void cpu_set_add(struct cpu_set *set, uint32_t cpu)
{
	set->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static inline void cpu_set_remove(struct cpu_set *set, uint32_t cpu)
{
	set->words[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
}

uint32_t cpu_set_count(const struct cpu_set *set);

/* Returns the lowest number in the set that is at least `cpu`, or -1. */
int cpu_set_next(const struct cpu_set *set, uint32_t cpu);

#define CPU_SET_EACH(cpu, set)                                                                     \
	for (int cpu = cpu_set_next(set, 0); cpu >= 0; cpu = cpu_set_next(set, (uint32_t)cpu + 1))

struct cpu_set cpu_set_minus(const struct cpu_set *a, const struct cpu_set *b);
struct cpu_set cpu_set_both(const struct cpu_set *a, const struct cpu_set *b);

/* The list may be empty. On error, returns false with an empty set. */
bool cpu_set_parse(struct cpu_set *set, const char *text);

/* The set is empty on error. */
__attribute__((format(printf, 3, 4))) enum sys_read cpu_set_read(
	struct cpu_set *set, const char *root, const char *format, ...);

/* A list that does not fit ends with "...". */
void cpu_set_print(const struct cpu_set *set, char *text, size_t size);
