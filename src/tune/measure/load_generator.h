/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Load generator that can exceed the rate of any worker: it fills the rings of an ethdev with
 * prepared packets. An mbuf is never returned to its pool: its reference count is far above one,
 * the worker that frees it only decreases the count, and the generator raises it again
 * occasionally. So the generator accesses neither pool nor mbuf. It only writes the addresses,
 * ports and protocol of a packet: the next key of the workload.
 *
 * With a rate, packets are sent at that rate, and packets that find their ring full are lost, as on
 * a NIC. Without a rate, the generator waits for room.
 *
 * Queue q gets the flows whose hash selects it, as with RSS; a queue without flows stays empty. The
 * flow hash in the mbuf, by which --design async distributes packets, belongs to the mbuf and not
 * to the key.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/workload.h"

#define LOAD_GENERATOR_QUEUES_MAX  16
#define LOAD_GENERATOR_ERROR_MAX   512
#define LOAD_GENERATOR_MBUF_ROOM   2176 /* same as mbufs of live ports */
#define LOAD_GENERATOR_DESCRIPTORS 1024 /* entries of each ring */

struct load_generator_params {
	const struct workload *workload;
	uint32_t nb_queues;
	uint32_t mbufs; /* total; more than all rings and bursts can hold */
	uint32_t size;  /* bytes of a packet, 64 to 2048 */
	uint64_t rate;  /* packets per second; 0: as fast as they are received */
	uint32_t cpu;   /* CPU of the generator's thread */
	bool yield;     /* the CPU is shared with other polling threads */
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
/* Destroys a generator whose ethdev is closed. */
void load_generator_destroy(struct load_generator *generator);

/* Return the ethdev, its name and the ring of a queue. The polling side configures, starts and closes the ethdev. */
uint16_t load_generator_port(const struct load_generator *generator);
const char *load_generator_name(const struct load_generator *generator);
struct rte_ring *load_generator_ring(const struct load_generator *generator, uint32_t queue);

/*
 * Runs the generator on its own thread for `milliseconds`, or until a stop signal, and waits for
 * it. Returns false if the thread cannot be started. The calling thread sleeps meanwhile, and
 * leaves its CPU to polling threads.
 */
bool load_generator_run(struct load_generator *generator, uint32_t milliseconds,
	struct load_generator_counts *counts);

/* Returns the packets in the rings. */
uint64_t load_generator_left(const struct load_generator *generator);
