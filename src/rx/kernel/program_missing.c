/* SPDX-License-Identifier: BSD-3-Clause */

/* Functions of program.h in builds without libbpf */

#pragma GCC diagnostic ignored "-Wunused-parameter"

#include <stdio.h>

#include "rx/kernel/program.h"

const char *kernel_program_missing(void)
{
	return KERNEL_MISSING;
}

struct kernel_program *kernel_program_load(const struct kernel_program_params *params, char *error)
{
	snprintf(error, KERNEL_ERROR_MAX,
		"--kernel: sketchtap was built without it, because " KERNEL_MISSING
		": change that and build again, or use --port");
	return NULL;
}

bool kernel_program_attach(struct kernel_program *program, const struct attach_point *point,
	uint32_t *index, char *error)
{
	return false;
}

void kernel_program_measure(struct kernel_program *program, bool on)
{
}

void kernel_program_stamp(struct kernel_program *program, enum kernel_times times)
{
}

void kernel_program_detach(struct kernel_program *program)
{
}

void kernel_program_close(struct kernel_program *program)
{
}

uint32_t kernel_program_rings(const struct kernel_program *program)
{
	return 0;
}

struct kernel_ring *kernel_program_ring(const struct kernel_program *program, uint32_t cpu)
{
	return NULL;
}

int kernel_program_fd(const struct kernel_program *program, enum kernel_hook hook)
{
	return -1;
}

const struct kernel_tables *kernel_program_tables(const struct kernel_program *program)
{
	return NULL;
}

const struct kernel_sketch *kernel_program_sketch(const struct kernel_program *program)
{
	return NULL;
}

void kernel_program_wait(const struct kernel_program *program)
{
}

void kernel_program_rules(const struct kernel_program *program, uint64_t generation,
	const struct kernel_prefix_maps *rules)
{
}

struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error)
{
	snprintf(error, PREFIX_ERROR_MAX, KERNEL_MISSING);
	return NULL;
}

bool shared_map_take(int map, void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	return false;
}

void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules)
{
}

uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules)
{
	return 0;
}

uint64_t kernel_program_bytes(const struct kernel_program_params *params)
{
	return 0;
}
