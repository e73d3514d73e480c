/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A generator that offers more than a worker can take: the rings of an ethdev are filled with
 * packets that were built before. An mbuf is never given back: its reference count is far above
 * one, the worker that frees it only lowers it, and the generator raises it again now and then. So
 * the generator touches neither pool nor mbuf; of a packet it writes addresses and ports alone, the
 * next key of the workload.
 *
 * With a rate, packets come at that rate whoever takes them, and those that find their ring full
 * are lost, as on a card. Without, the generator waits for room.
 *
 * Queue q gets the flows whose hash chooses it, as RSS would; one that no flow chooses stays empty.
 * The flow hash in the mbuf, by which
 * --design async deals packets out, is that of the mbuf and not of the key.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/workload.h"

#define LOAD_GENERATOR_QUEUES_MAX  16
#define LOAD_GENERATOR_ERROR_MAX   512
#define LOAD_GENERATOR_MBUF_ROOM   2176 /* as mbufs of live ports */
#define LOAD_GENERATOR_DESCRIPTORS 1024 /* entries of each ring */

struct load_generator_params {
	const struct workload *workload;
	uint32_t nb_queues;
	uint32_t mbufs; /* in all; more than all rings and bursts can hold */
	uint32_t size;  /* bytes of a packet, 64 to 2048 */
	uint64_t rate;  /* packets per second; 0: as many as are taken */
	uint32_t cpu;   /* of the generator's thread */
	bool yield;     /* it shares that CPU with others who poll */
};

struct load_generator_counts {
	uint64_t offered, taken; /* packets: in all, and those that found room */
	double seconds;
};

struct load_generator;

/* EAL must be up. NULL with one line in error[LOAD_GENERATOR_ERROR_MAX]. */
struct load_generator *load_generator_create(
	const struct load_generator_params *params, char *error);
/* Who polled it has closed the ethdev. */
void load_generator_destroy(struct load_generator *generator);
/* The same where nobody has. */
void load_generator_discard(struct load_generator *generator);

/* The ethdev, which whoever polls it configures, starts and closes; and its name. */
uint16_t load_generator_port(const struct load_generator *generator);
const char *load_generator_name(const struct load_generator *generator);

/*
 * Generates for so many milliseconds, or until a signal asks for the end, on a thread of its own,
 * and waits for it. Returns false where there is no thread. The caller's thread sleeps, so that it
 * needs no CPU while others poll.
 */
bool load_generator_run(struct load_generator *generator, uint32_t milliseconds,
	struct load_generator_counts *counts);

/* Packets that are in the rings. */
uint64_t load_generator_left(const struct load_generator *generator);

/*
 * What the generator can do at most, in packets per second: for so many milliseconds a thread on
 * CPU `cpu` takes packets out of the rings and does nothing else.
 */
double load_generator_ceiling(
	struct load_generator *generator, uint32_t cpu, uint32_t milliseconds);
