/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loads and attaches the eBPF program (monitor.bpf.c). The kernel removes its links when this
 * process ends. Before Linux 6.6, tc has no links, so a filter of a clsact qdisc runs the program.
 * If the filter remains, the next start replaces it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rx/filter/prefix_file.h"
#include "rx/kernel/layout.h"
#include "rx/kernel/options.h"
#include "rx/kernel/tables.h"

#define KERNEL_ERROR_MAX 512

/* libbpf requires zeros after member `last`, but compilers need not clear padding. */
#define KERNEL_OPTS_SIZE(opts, last) (offsetof(__typeof__(opts), last) + sizeof((opts).last))

struct kernel_program_params {
	uint32_t slots;    /* slots per ring, a power of two */
	bool headers_only; /* pass the first bytes of all packets, as --filter needs */
	bool no_links;     /* no tcx links, as before Linux 6.6 */
	uint32_t buckets;  /* in each flow table, a power of two; 0: no tables */
	bool all_share;
	/* Counts packets instead of flow tables; NULL: none */
	const struct sketch_ops *sketch;
	uint32_t width;
	uint64_t seed;
	bool tcp_flags; /* keys of flow tables and sketches have the TCP flags */
	/* bits of enum kernel_monitor */
	uint32_t monitor;
	/* Receives each line of the kernel's messages about a rejected program; may be NULL */
	void (*log)(const char *line);
};

struct kernel_prefix_maps;
struct kernel_program;

/* Returns why this build cannot load the program, as the end of "because ..."; NULL if it can. */
const char *kernel_program_missing(void);

/* Returns NULL with one line in error[KERNEL_ERROR_MAX] on failure. */
struct kernel_program *kernel_program_load(const struct kernel_program_params *params, char *error);

/* Returns false with one line in error[KERNEL_ERROR_MAX] on failure. */
bool kernel_program_attach(struct kernel_program *program, const struct attach_point *point,
	uint32_t *index, char *error);

/* Initially off. After a stop, no running program writes to a ring. */
void kernel_program_measure(struct kernel_program *program, bool on);

void kernel_program_stamp(struct kernel_program *program, enum kernel_times times);

/* The rings remain readable. */
void kernel_program_detach(struct kernel_program *program);
void kernel_program_close(struct kernel_program *program); /* NULL: no effect */

/* Returns one ring for each possible CPU. */
uint32_t kernel_program_rings(const struct kernel_program *program);
struct kernel_ring *kernel_program_ring(const struct kernel_program *program, uint32_t cpu);

/* Return NULL if not used. */
const struct kernel_tables *kernel_program_tables(const struct kernel_program *program);
const struct kernel_sketch *kernel_program_sketch(const struct kernel_program *program);

/* Waits until no running program uses a setting that was changed before the call. */
void kernel_program_wait(const struct kernel_program *program);

/* No ring may use this generation. */
void kernel_program_rules(const struct kernel_program *program, uint64_t generation,
	const struct kernel_prefix_maps *rules);

int kernel_program_fd(const struct kernel_program *program, enum kernel_hook hook);

uint64_t kernel_program_bytes(const struct kernel_program_params *params);

/* File descriptors of maps that tell whether an address matches a rule of --prefixes */
struct kernel_prefix_maps {
	int ipv4, ipv6;
};

/* Returns NULL with one line in error[PREFIX_ERROR_MAX] on failure. */
struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error);
void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules); /* NULL: no effect */

/* Returns approximate bytes of kernel memory. */
uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules);
