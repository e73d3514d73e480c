/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Loads the eBPF program (monitor.bpf.c) with its rings, attaches it to interfaces and detaches it.
 * It is attached by links, which the kernel removes when this process ends for any reason. Kernels
 * before 6.6 have no such links for tc. There, a filter of a clsact qdisc runs the program. If a
 * filter remains, the next start replaces it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rx/filter/prefix_file.h"
#include "rx/kernel/layout.h"
#include "rx/kernel/options.h"
#include "rx/kernel/tables.h"

#define KERNEL_ERROR_MAX 512

/*
 * Value of `sz` in options of libbpf: the bytes up to the end of member `last`. libbpf requires
 * zeros in all bytes after it, but compilers need not clear padding.
 */
#define KERNEL_OPTS_SIZE(opts, last) (offsetof(__typeof__(opts), last) + sizeof((opts).last))

struct kernel_program_params {
	uint32_t slots;    /* slots per ring, a power of two */
	bool headers_only; /* copy the first bytes of all packets, for --filter */
	bool no_links;     /* do not use tcx links, as on kernels before 6.6 */
	uint32_t buckets;  /* buckets of flow tables in the kernel, a power of two; 0: none */
	bool all_share;    /* all CPUs share one flow table, a kernel map */
	/* Sketch that counts packets, instead of flow tables; NULL: none */
	const struct sketch_ops *sketch;
	uint32_t width; /* width of the sketch */
	uint64_t seed;  /* seed of the hash keys */
	/* Addresses that must match a rule: bits of enum kernel_monitor; 0: no rules */
	uint32_t monitor;
	/*
	 * Called with each line of the kernel's messages about a rejected program. NULL: not
	 * called.
	 */
	void (*log)(const char *line);
};

struct kernel_prefix_maps;
struct kernel_program;

/*
 * Returns the reason why this build cannot load the program, as the end of "because ..."; NULL if
 * it can.
 */
const char *kernel_program_missing(void);

/* Loads the program. Returns NULL with one line in error[KERNEL_ERROR_MAX] on failure. */
struct kernel_program *kernel_program_load(const struct kernel_program_params *params, char *error);

/*
 * Attaches the program to the hook of the point, in its directions. Sets *index to the interface
 * index. Returns false with one line in error[KERNEL_ERROR_MAX] on failure.
 */
bool kernel_program_attach(struct kernel_program *program, const struct attach_point *point,
	uint32_t *index, char *error);

/*
 * Starts or stops counting. Initially, the program does not count. After a stop, no running program
 * writes to a ring.
 */
void kernel_program_measure(struct kernel_program *program, bool on);

/* Selects the clock for the times of packets. Initially, packets have no times. */
void kernel_program_stamp(struct kernel_program *program, enum kernel_times times);

/* Detaches from all interfaces. The rings remain. */
void kernel_program_detach(struct kernel_program *program);
void kernel_program_close(struct kernel_program *program); /* NULL: no effect */

/* Returns the number of rings, one for each possible CPU. */
uint32_t kernel_program_rings(const struct kernel_program *program);
struct kernel_ring *kernel_program_ring(const struct kernel_program *program, uint32_t cpu);

/* Return the flow tables and the sketches; NULL: not used. */
const struct kernel_tables *kernel_program_tables(const struct kernel_program *program);
const struct kernel_sketch *kernel_program_sketch(const struct kernel_program *program);

/*
 * Waits until no program uses an old setting, such as the generation before kernel_reader_turn().
 */
void kernel_program_wait(const struct kernel_program *program);

/* Sets the rules of a generation that no ring uses. First waits until no program uses it. */
void kernel_program_rules(const struct kernel_program *program, uint64_t generation,
	const struct kernel_prefix_maps *rules);

/* Returns the file descriptor of the program, to run it on test packets. */
int kernel_program_fd(const struct kernel_program *program, enum kernel_hook hook);

/* Returns the bytes of all rings, and of all flow tables or sketches, on this machine. */
uint64_t kernel_program_bytes(const struct kernel_program_params *params);

/* --- prefixes.c: rules of --prefixes in the kernel --- */

/*
 * File descriptors of kernel maps, which programs may use after these are closed. The maps only
 * decide if an address matches any rule. Workers then find the rule (rx/filter/prefix_filter.h).
 */
struct kernel_prefix_maps {
	int ipv4, ipv6;
};

/* Creates the maps. Returns NULL with one line in error[PREFIX_ERROR_MAX] on failure. */
struct kernel_prefix_maps *kernel_prefix_maps_create(const struct prefix_list *rules, char *error);
void kernel_prefix_maps_destroy(struct kernel_prefix_maps *rules); /* NULL: no effect */

/* Returns the approximate kernel memory, in bytes. */
uint64_t kernel_prefix_maps_bytes(const struct prefix_list *rules);
