/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Simulates a NIC in the thread that polls it, so that no CPU is needed for a generator. Each queue
 * has CARD_DESCRIPTORS filled mbufs. Packets arrive at a constant rate, by the TSC. A poll returns
 * those that arrived since the last one, and fills as many new mbufs. Packets that find all
 * descriptors in use are lost.
 *
 * The polling thread spends time on writing headers, which a NIC writes by DMA. This time is
 * counted apart. If CARD_GAP_US pass between two polls, another program had the CPU: no packets
 * arrive in this time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/workload.h"

#define CARD_DESCRIPTORS 1024
#define CARD_QUEUES_MAX  16
#define CARD_ERROR_MAX   512
#define CARD_GAP_US      200

struct card_params {
	const struct workload *workload;
	uint32_t nb_queues; /* a hash of the key selects the queue, and its share of the rate */
	uint32_t size;      /* bytes of a packet, 64 to 2048 */
	uint64_t rate;      /* packets/s of all queues */
};

/* Sums over the queues. */
struct card_counts {
	uint64_t offered, lost, delivered;
	uint64_t polls;     /* polls that returned packets */
	uint64_t dma;       /* TSC cycles of writing headers */
	uint64_t failed;    /* polls without mbufs */
	uint64_t gaps;      /* TSC cycles in which another program had the CPU */
	uint64_t remaining; /* packets that were neither lost nor delivered */
};

struct card;
struct rte_mempool;

/* Requires EAL. On failure, returns NULL with a line in error[CARD_ERROR_MAX]. */
struct card *card_create(const struct card_params *params, char *error);
void card_destroy(struct card *card);

uint16_t card_port(const struct card *card);
const char *card_name(const struct card *card);

/*
 * Must be called after the port was configured, and before threads poll it. Packets arrive for
 * `milliseconds` from the first poll of each queue on. Returns false if the pool has too few mbufs.
 */
bool card_attach(struct card *card, struct rte_mempool *pool, uint32_t milliseconds);

/* Must be called after threads polled it, and before the port is closed. */
void card_detach(struct card *card);

/* Returns true if all packets have arrived. Any thread may call this. */
bool card_is_over(const struct card *card);

/* Must be called after threads polled the port. */
struct card_counts card_counts(const struct card *card);
