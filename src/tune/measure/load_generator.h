/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Load generator that can exceed the rate of any worker: it fills the rings of an ethdev with
 * prepared packets and writes only their keys.
 *
 * An mbuf never returns to its pool, because its reference count is far above one. A worker only
 * decreases the count, and the generator occasionally raises it again. The generator thus accesses
 * neither the pool nor, for most packets, the mbuf.
 *
 * A hash of the key selects the queue of a flow, as with RSS. The flow hash in an mbuf, by which
 * --design async distributes packets, does not depend on the key.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/workload.h"

#define LOAD_GENERATOR_QUEUES_MAX  16
#define LOAD_GENERATOR_ERROR_MAX   512
#define LOAD_GENERATOR_MBUF_ROOM   2176 /* bytes; as for live ports */
#define LOAD_GENERATOR_DESCRIPTORS 1024

struct load_generator_params {
	const struct workload *workload;
	uint32_t nb_queues;
	/* more than rings and bursts can hold */
	uint32_t mbufs;
	uint32_t size; /* bytes, 64 to 2048 */
	uint64_t rate; /* packets/s; 0: as fast as workers receive */
	uint32_t cpu;
	bool yield; /* other polling threads share the CPU */
};

struct load_generator_counts {
	uint64_t offered, taken; /* packets sent, and packets that a ring accepted */
	double seconds;
};

struct load_generator;
struct rte_ring;

/* Requires EAL. On failure, returns NULL with a line in error[LOAD_GENERATOR_ERROR_MAX]. */
struct load_generator *load_generator_create(
	const struct load_generator_params *params, char *error);
void load_generator_destroy(struct load_generator *generator);

uint16_t load_generator_port(const struct load_generator *generator);
const char *load_generator_name(const struct load_generator *generator);
struct rte_ring *load_generator_ring(const struct load_generator *generator, uint32_t queue);

/*
 * Runs until `milliseconds` passed or a stop signal came. The calling thread sleeps, so that
 * polling threads can use its CPU. Returns false if the generator's thread cannot be started.
 */
bool load_generator_run(struct load_generator *generator, uint32_t milliseconds,
	struct load_generator_counts *counts);

uint64_t load_generator_left(const struct load_generator *generator);
