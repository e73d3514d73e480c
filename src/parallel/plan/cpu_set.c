/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/cpu_set.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t cpu_set_count(const struct cpu_set *set)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < CPU_SET_MAX / 64; w++)
		count += (uint32_t)__builtin_popcountll(set->words[w]);
	return count;
}

int cpu_set_next(const struct cpu_set *set, uint32_t cpu)
{
	for (; cpu < CPU_SET_MAX; cpu++)
		if (cpu_set_has(set, cpu))
			return (int)cpu;
	return -1;
}

struct cpu_set cpu_set_minus(const struct cpu_set *a, const struct cpu_set *b)
{
	struct cpu_set rest;

	for (uint32_t w = 0; w < CPU_SET_MAX / 64; w++)
		rest.words[w] = a->words[w] & ~b->words[w];
	return rest;
}

struct cpu_set cpu_set_both(const struct cpu_set *a, const struct cpu_set *b)
{
	struct cpu_set both;

	for (uint32_t w = 0; w < CPU_SET_MAX / 64; w++)
		both.words[w] = a->words[w] & b->words[w];
	return both;
}

static bool read_number(const char **text, unsigned long *number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*number = strtoul(*text, &end, 10);
	*text = end;
	return *number < CPU_SET_MAX;
}

static bool read_range(struct cpu_set *set, const char **text)
{
	unsigned long first, last, step = 1;

	if (!read_number(text, &first))
		return false;
	last = first;
	if (**text == '-') {
		++*text;
		if (!read_number(text, &last) || last < first)
			return false;
		if (**text == ':') {
			++*text;
			if (!read_number(text, &step) || step == 0)
				return false;
		}
	}
	for (unsigned long cpu = first; cpu <= last; cpu += step)
		cpu_set_add(set, (uint32_t)cpu);
	return true;
}

bool cpu_set_parse(struct cpu_set *set, const char *text)
{
	memset(set, 0, sizeof(*set));
	if (text[strspn(text, " \t\n")] == '\0')
		return true;
	while (read_range(set, &text)) {
		if (text[strspn(text, " \t\n")] == '\0')
			return true;
		if (*text++ != ',')
			break;
	}
	memset(set, 0, sizeof(*set));
	return false;
}

enum sys_read cpu_set_read(struct cpu_set *set, const char *root, const char *format, ...)
{
	char path[SYS_PATH_MAX], line[CPU_SET_LINE_MAX];
	enum sys_read result;
	va_list args;

	memset(set, 0, sizeof(*set));
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	result = sys_line(root, line, sizeof(line), "%s", path);
	/* The kernel writes "(null)" to the file nohz_full if the parameter is not set. */
	if (result != SYS_READ || strcmp(line, "(null)") == 0)
		return result;
	return cpu_set_parse(set, line) ? SYS_READ : SYS_GARBAGE;
}

void cpu_set_print(const struct cpu_set *set, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++) {
		char range[32];
		uint32_t first = cpu;
		size_t length;

		if (!cpu_set_has(set, cpu))
			continue;
		while (cpu_set_has(set, cpu + 1))
			cpu++;
		length = (size_t)snprintf(range, sizeof(range), first == cpu ? "%s%u" : "%s%u-%u",
			at > 0 ? "," : "", first, cpu);
		if (at + length + sizeof("...") > size) {
			snprintf(text + at, size - at, "...");
			return;
		}
		memcpy(text + at, range, length + 1);
		at += length;
	}
}
