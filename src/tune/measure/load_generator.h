/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Load generator that can exceed the rate of any worker. It fills the rings of an ethdev with
 * prepared packets, and writes only addresses, ports and protocol of a packet: the next key of the
 * workload.
 *
 * An mbuf never returns to its pool. Its reference count is far above one. A worker that frees it
 * only decreases the count, and the generator occasionally raises it again. The generator therefore
 * accesses neither the pool nor, for most packets, the mbuf.
 *
 * With a rate, the generator sends packets at that rate. Packets are lost if their ring is full, as
 * on a NIC. Without a rate, it waits for room.
 *
 * A hash of the key selects the queue of a flow, as with RSS. A queue without flows stays empty.
 * The flow hash in an mbuf, by which --design async distributes packets, depends on the mbuf and
 * not on the key.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/workload.h"

#define LOAD_GENERATOR_QUEUES_MAX  16
#define LOAD_GENERATOR_ERROR_MAX   512
#define LOAD_GENERATOR_MBUF_ROOM   2176 /* bytes, as in mbufs of live ports */
#define LOAD_GENERATOR_DESCRIPTORS 1024 /* entries of each ring */

struct load_generator_params {
	const struct workload *workload;
	uint32_t nb_queues;
	/* Total number of mbufs; must exceed the number that rings and bursts can hold. */
	uint32_t mbufs;
	uint32_t size; /* bytes of a packet, 64 to 2048 */
	uint64_t rate; /* packets per second; 0: as fast as workers receive them */
	uint32_t cpu;  /* CPU of the generator's thread */
	bool yield;    /* true: other polling threads share the CPU */
};

struct load_generator_counts {
	uint64_t offered, taken; /* packets sent, and packets that a ring accepted */
	double seconds;
};

struct load_generator;
struct rte_ring;

/* Requires EAL. Returns NULL with one line in error[LOAD_GENERATOR_ERROR_MAX]. */
struct load_generator *load_generator_create(
	const struct load_generator_params *params, char *error);
/* Destroys a generator. Its ethdev must be closed. */
void load_generator_destroy(struct load_generator *generator);

/*
 * Return the ethdev, its name, and the ring of a queue. The caller configures, starts and closes
 * the ethdev.
 */
uint16_t load_generator_port(const struct load_generator *generator);
const char *load_generator_name(const struct load_generator *generator);
struct rte_ring *load_generator_ring(const struct load_generator *generator, uint32_t queue);

/*
 * Runs the generator on its own thread for `milliseconds` or until a stop signal, and waits for it.
 * Returns false if the thread cannot be started. The calling thread sleeps, so that polling threads
 * can use its CPU.
 */
bool load_generator_run(struct load_generator *generator, uint32_t milliseconds,
	struct load_generator_counts *counts);

/* Returns the packets in the rings. */
uint64_t load_generator_left(const struct load_generator *generator);
