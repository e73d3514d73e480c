/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sets of CPU numbers. Their text form is the one of the kernel, such as "0-3,8-14:2". */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys_file.h"

#define CPU_SET_MAX      1024 /* CPU numbers are 0 to 1023 */
#define CPU_SET_LINE_MAX 8192 /* bytes of the longest line with a list */

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

/* Returns the lowest CPU number of the set that is at least `cpu`, or -1 if there is none. */
int cpu_set_next(const struct cpu_set *set, uint32_t cpu);

/* Loops over the CPUs of a set. The macro declares `cpu` as an int. */
#define CPU_SET_EACH(cpu, set)                                                                     \
	for (int cpu = cpu_set_next(set, 0); cpu >= 0; cpu = cpu_set_next(set, (uint32_t)cpu + 1))

/* cpu_set_minus() returns the CPUs of a that are not in b, cpu_set_both() those in both. */
struct cpu_set cpu_set_minus(const struct cpu_set *a, const struct cpu_set *b);
struct cpu_set cpu_set_both(const struct cpu_set *a, const struct cpu_set *b);

/*
 * Parses a list of numbers and ranges, separated by commas. A range is FIRST-LAST or
 * FIRST-LAST:STEP. White space may follow the list. An empty list is valid. Returns false, with an
 * empty set, if the text is not a list or a number is too large.
 */
bool cpu_set_parse(struct cpu_set *set, const char *text);

/* Reads a list from the file `root` + `format` (base/sys_file.h). The set is empty on error. */
__attribute__((format(printf, 3, 4))) enum sys_read cpu_set_read(
	struct cpu_set *set, const char *root, const char *format, ...);

/* Writes the list to text[size]. Ends a list that does not fit with "...". */
void cpu_set_print(const struct cpu_set *set, char *text, size_t size);
