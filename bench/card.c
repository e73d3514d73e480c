/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/card.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/random.h"
#include "tune/measure/queue_keys.h"

#define AHEAD 4 /* mbufs */

struct card_queue {
	/* Set before start. */
	alignas(64) const struct card *card;
	struct rte_mempool *pool;
	uint64_t duration; /* TSC cycles */
	uint64_t gap;      /* TSC cycles */
	double per_cycle;  /* packets */
	/* Owned by the polling thread. */
	alignas(64) uint64_t start; /* TSC of the first poll, and all gaps since; 0: none */
	uint64_t polled;            /* TSC of the last poll */
	uint64_t next_key, head;
	struct card_counts counts;
	struct rte_mbuf *slots[CARD_DESCRIPTORS]; /* [head modulo CARD_DESCRIPTORS] is the next */
	uint32_t rss[CARD_DESCRIPTORS];
	alignas(64) _Atomic bool over; /* no more packets arrive */
};

struct card {
	struct card_params params;
	uint8_t header[QUEUE_KEYS_HEADER];
	struct queue_keys keys[CARD_QUEUES_MAX];
	struct rte_ring *rings[CARD_QUEUES_MAX]; /* always empty: the port needs them */
	const struct rte_eth_rxtx_callback *callbacks[CARD_QUEUES_MAX];
	struct card_queue *queues; /* [nb_queues] */
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t port;
};

static bool make_port(struct card *card)
{
	uint32_t n = card->params.nb_queues;
	int port;

	for (uint32_t q = 0; q < n; q++) {
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "%.16s_%u", card->name, q);
		card->rings[q] = rte_ring_create(
			name, BURST_MAX, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (card->rings[q] == NULL)
			return false;
	}
	port = rte_eth_from_rings(card->name, card->rings, n, card->rings, n, 0);
	card->port = (uint16_t)(port < 0 ? RTE_MAX_ETHPORTS : port);
	return port >= 0;
}

struct card *card_create(const struct card_params *params, char *error)
{
	static unsigned int serial;
	struct card *card = calloc(1, sizeof(*card));

	if (card == NULL) {
		snprintf(error, CARD_ERROR_MAX, "out of memory for the simulated NIC");
		return NULL;
	}
	card->params = *params;
	snprintf(card->name, sizeof(card->name), "card%u", serial++);
	card->queues = aligned_alloc(
		alignof(struct card_queue), params->nb_queues * sizeof(card->queues[0]));
	if (card->queues != NULL && queue_keys_header(card->header) &&
		queue_keys_spread(params->workload, params->nb_queues, card->keys) &&
		make_port(card))
		return card;
	snprintf(error, CARD_ERROR_MAX, "cannot create the simulated NIC: %s",
		rte_strerror(rte_errno));
	card_destroy(card);
	return NULL;
}

void card_destroy(struct card *card)
{
	for (uint32_t q = 0; q < card->params.nb_queues; q++)
		rte_ring_free(card->rings[q]);
	queue_keys_free(card->keys, card->params.nb_queues);
	free(card->queues);
	free(card);
}

uint16_t card_port(const struct card *card)
{
	return card->port;
}

const char *card_name(const struct card *card)
{
	return card->name;
}

/* Writes the headers of n mbufs, and their hashes, into the descriptors from `at` on. */
static void write_packets(
	struct card_queue *queue, const struct queue_keys *keys, uint64_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct key4 *key = &keys->keys[queue->next_key];
		uint64_t d = (at + i) % CARD_DESCRIPTORS, words[2];
		uint8_t *data = (uint8_t *)queue->slots[d]->buf_addr + RTE_PKTMBUF_HEADROOM;

		memcpy(data, queue->card->header, QUEUE_KEYS_HEADER);
		queue_keys_put(data, key);
		memcpy(words, key, sizeof(words));
		queue->rss[d] = (uint32_t)random_mix(words[0] + random_mix(words[1]));
		if (++queue->next_key == keys->n)
			queue->next_key = 0;
	}
}

/* Sets the fields that drivers set. */
static void give(struct card_queue *queue, uint16_t port, struct rte_mbuf **pkts, uint32_t n)
{
	uint16_t size = (uint16_t)queue->card->params.size;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t d = (queue->head + i) % CARD_DESCRIPTORS;
		struct rte_mbuf *mbuf = queue->slots[d];

		rte_prefetch0(queue->slots[(d + AHEAD) % CARD_DESCRIPTORS]);
		mbuf->data_off = RTE_PKTMBUF_HEADROOM;
		rte_mbuf_refcnt_set(mbuf, 1);
		mbuf->nb_segs = 1;
		mbuf->port = port;
		mbuf->ol_flags = RTE_MBUF_F_RX_RSS_HASH;
		mbuf->packet_type = 0;
		mbuf->pkt_len = size;
		mbuf->data_len = size;
		mbuf->vlan_tci = 0;
		mbuf->hash.rss = queue->rss[d];
		pkts[i] = mbuf;
	}
}

/* Replaces the next n mbufs by new ones. */
static void refill(struct card_queue *queue, uint32_t q, struct rte_mbuf **fresh, uint32_t n)
{
	uint64_t start;

	for (uint32_t i = 0; i < n; i++)
		queue->slots[(queue->head + i) % CARD_DESCRIPTORS] = fresh[i];
	start = rte_rdtsc();
	write_packets(queue, &queue->card->keys[q], queue->head, n);
	queue->counts.dma += rte_rdtsc() - start;
	queue->head += n;
}

/* Returns the packets that wait in descriptors, after losing those that found none. */
static uint64_t arrive(struct card_queue *queue)
{
	uint64_t now = rte_rdtsc(), waiting;
	struct card_counts *counts = &queue->counts;

	if (queue->start == 0)
		queue->start = queue->polled = now;
	if (now - queue->polled > queue->gap) {
		queue->start += now - queue->polled;
		counts->gaps += now - queue->polled;
	}
	queue->polled = now;
	if (now - queue->start >= queue->duration) {
		now = queue->start + queue->duration;
		atomic_store_explicit(&queue->over, true, memory_order_relaxed);
	}
	counts->offered = (uint64_t)((double)(now - queue->start) * queue->per_cycle);
	waiting = counts->offered - counts->lost - counts->delivered;
	if (waiting > CARD_DESCRIPTORS) {
		counts->lost += waiting - CARD_DESCRIPTORS;
		waiting = CARD_DESCRIPTORS;
	}
	return waiting;
}

static uint16_t deliver(uint16_t port, uint16_t q, struct rte_mbuf **pkts, uint16_t nb_pkts,
	uint16_t max_pkts, void *arg)
{
	struct card_queue *queue = arg;
	struct rte_mbuf *fresh[CARD_DESCRIPTORS];
	uint64_t waiting = arrive(queue);
	uint32_t n = (uint32_t)RTE_MIN(waiting, (uint64_t)max_pkts);

	(void)nb_pkts;
	if (n == 0)
		return 0;
	if (rte_mempool_get_bulk(queue->pool, (void **)fresh, n) != 0) {
		queue->counts.failed++;
		return 0;
	}
	give(queue, port, pkts, n);
	refill(queue, q, fresh, n);
	queue->counts.delivered += n;
	queue->counts.polls++;
	return (uint16_t)n;
}

static bool start_queue(
	struct card *card, uint32_t q, struct rte_mempool *pool, uint32_t milliseconds)
{
	struct card_queue *queue = &card->queues[q];
	double share = (double)card->keys[q].n / (double)card->params.workload->spec.packets;

	memset(queue, 0, sizeof(*queue));
	queue->card = card;
	queue->pool = pool;
	queue->duration = rte_get_tsc_hz() / 1000 * milliseconds;
	queue->gap = rte_get_tsc_hz() / 1000000 * CARD_GAP_US;
	queue->per_cycle = (double)card->params.rate * share / (double)rte_get_tsc_hz();
	if (card->keys[q].n == 0)
		return true;
	if (rte_mempool_get_bulk(pool, (void **)queue->slots, CARD_DESCRIPTORS) != 0)
		return false;
	write_packets(queue, &card->keys[q], 0, CARD_DESCRIPTORS);
	return true;
}

bool card_attach(struct card *card, struct rte_mempool *pool, uint32_t milliseconds)
{
	for (uint32_t q = 0; q < card->params.nb_queues; q++) {
		if (!start_queue(card, q, pool, milliseconds))
			return false;
		card->callbacks[q] =
			rte_eth_add_rx_callback(card->port, (uint16_t)q, deliver, &card->queues[q]);
		if (card->callbacks[q] == NULL)
			return false;
	}
	return true;
}

void card_detach(struct card *card)
{
	for (uint32_t q = 0; q < card->params.nb_queues; q++)
		if (card->callbacks[q] != NULL)
			rte_eth_remove_rx_callback(card->port, (uint16_t)q, card->callbacks[q]);
}

bool card_is_over(const struct card *card)
{
	for (uint32_t q = 0; q < card->params.nb_queues; q++)
		if (!atomic_load_explicit(&card->queues[q].over, memory_order_relaxed))
			return false;
	return true;
}

struct card_counts card_counts(const struct card *card)
{
	struct card_counts sum = {0};

	for (uint32_t q = 0; q < card->params.nb_queues; q++) {
		const struct card_counts *counts = &card->queues[q].counts;

		sum.offered += counts->offered;
		sum.lost += counts->lost;
		sum.delivered += counts->delivered;
		sum.polls += counts->polls;
		sum.dma += counts->dma;
		sum.failed += counts->failed;
		sum.gaps += counts->gaps;
		sum.remaining += counts->offered - counts->lost - counts->delivered;
	}
	return sum;
}
