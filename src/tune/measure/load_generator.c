/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/load_generator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/assertion.h"
#include "base/signals.h"
#include "tune/measure/cpus.h"
#include "tune/measure/queue_keys.h"
#include "parallel/workers/poll.h"
#include "base/random.h"

/* Initial reference count of an mbuf, and uses after which it is raised again. */
#define REFERENCES 60000
#define REFILL     20000

struct load_generator_queue {
	struct rte_ring *ring;
	uint64_t next_key;       /* index in the keys of the queue, which are used cyclically */
	struct rte_mbuf **mbufs; /* [nb_mbufs], used cyclically */
	uint8_t **data;
	uint32_t nb_mbufs, next_mbuf;
	uint32_t passes; /* sends of all mbufs since the last refill */
};

struct load_generator {
	struct load_generator_params params;
	struct rte_mempool *pool;
	struct load_generator_queue queues[LOAD_GENERATOR_QUEUES_MAX];
	struct queue_keys keys[LOAD_GENERATOR_QUEUES_MAX];
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t port;
	uint64_t cycles;
	uint64_t until;
	struct load_generator_counts counts; /* written by the thread, read after it has ended */
};

static bool fill_mbufs(struct load_generator *generator)
{
	const struct load_generator_params *params = &generator->params;
	uint8_t header[QUEUE_KEYS_HEADER];

	if (!queue_keys_header(header))
		return false;
	for (uint32_t q = 0; q < params->nb_queues; q++)
		for (uint32_t i = 0; i < generator->queues[q].nb_mbufs; i++) {
			struct rte_mbuf *mbuf = generator->queues[q].mbufs[i];

			generator->queues[q].data[i] = rte_pktmbuf_mtod(mbuf, uint8_t *);
			memset(generator->queues[q].data[i], 0, params->size);
			memcpy(generator->queues[q].data[i], header, sizeof(header));
			mbuf->data_len = (uint16_t)params->size;
			mbuf->pkt_len = params->size;
			mbuf->hash.rss = (uint32_t)random_mix(i);
			mbuf->ol_flags = RTE_MBUF_F_RX_RSS_HASH;
			rte_mbuf_refcnt_set(mbuf, REFERENCES);
		}
	return true;
}

static bool take_mbufs(struct load_generator *generator)
{
	uint32_t each = generator->params.mbufs / generator->params.nb_queues;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "%.20s", generator->name);
	generator->pool = rte_pktmbuf_pool_create(name, each * generator->params.nb_queues, 0, 0,
		LOAD_GENERATOR_MBUF_ROOM, SOCKET_ID_ANY);
	if (generator->pool == NULL)
		return false;
	for (uint32_t q = 0; q < generator->params.nb_queues; q++) {
		struct load_generator_queue *queue = &generator->queues[q];

		queue->nb_mbufs = each;
		queue->mbufs = calloc(each, sizeof(queue->mbufs[0]));
		queue->data = calloc(each, sizeof(queue->data[0]));
		if (queue->mbufs == NULL || queue->data == NULL ||
			rte_pktmbuf_alloc_bulk(generator->pool, queue->mbufs, each) != 0)
			return false;
	}
	return fill_mbufs(generator);
}

static bool make_port(struct load_generator *generator)
{
	struct rte_ring *rings[LOAD_GENERATOR_QUEUES_MAX];
	int port;

	for (uint32_t q = 0; q < generator->params.nb_queues; q++) {
		char name[RTE_RING_NAMESIZE];

		snprintf(name, sizeof(name), "%.16s_%u", generator->name, q);
		rings[q] = rte_ring_create(name, LOAD_GENERATOR_DESCRIPTORS, SOCKET_ID_ANY,
			RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (rings[q] == NULL)
			return false;
		generator->queues[q].ring = rings[q];
	}
	port = rte_eth_from_rings(generator->name, rings, generator->params.nb_queues, rings,
		generator->params.nb_queues, 0);
	generator->port = (uint16_t)(port < 0 ? RTE_MAX_ETHPORTS : port);
	return port >= 0;
}

struct load_generator *load_generator_create(
	const struct load_generator_params *params, char *error)
{
	static unsigned int serial;
	struct load_generator *generator = calloc(1, sizeof(*generator));

	if (generator == NULL) {
		snprintf(error, LOAD_GENERATOR_ERROR_MAX, "out of memory for the generator");
		return NULL;
	}
	VERIFY(params->nb_queues, <=, (uint32_t)LOAD_GENERATOR_QUEUES_MAX);
	VERIFY(params->size, <=, (uint32_t)(LOAD_GENERATOR_MBUF_ROOM - RTE_PKTMBUF_HEADROOM));
	generator->params = *params;
	generator->port = RTE_MAX_ETHPORTS;
	snprintf(generator->name, sizeof(generator->name), "offer%u", serial++);
	if (take_mbufs(generator) &&
		queue_keys_spread(params->workload, params->nb_queues, generator->keys) &&
		make_port(generator))
		return generator;
	snprintf(error, LOAD_GENERATOR_ERROR_MAX, "cannot create the generator with %u mbufs: %s",
		params->mbufs, rte_strerror(rte_errno));
	load_generator_destroy(generator);
	return NULL;
}

/* Ignores other references: no other thread uses the mbufs any more. */
static void refill_queue(struct load_generator_queue *queue)
{
	for (uint32_t i = 0; queue->mbufs != NULL && i < queue->nb_mbufs; i++)
		if (queue->mbufs[i] != NULL) {
			rte_mbuf_refcnt_set(queue->mbufs[i], 1);
			rte_pktmbuf_free(queue->mbufs[i]);
		}
}

void load_generator_destroy(struct load_generator *generator)
{
	for (uint32_t q = 0; q < generator->params.nb_queues; q++) {
		struct load_generator_queue *queue = &generator->queues[q];

		refill_queue(queue);
		rte_ring_free(queue->ring);
		free(queue->mbufs);
		free(queue->data);
	}
	queue_keys_free(generator->keys, generator->params.nb_queues);
	rte_mempool_free(generator->pool);
	free(generator);
}

uint16_t load_generator_port(const struct load_generator *generator)
{
	return generator->port;
}

const char *load_generator_name(const struct load_generator *generator)
{
	return generator->name;
}

struct rte_ring *load_generator_ring(const struct load_generator *generator, uint32_t queue)
{
	ASSERT(queue, <, generator->params.nb_queues);
	return generator->queues[queue].ring;
}

static bool is_over(const struct load_generator *generator)
{
	return rte_rdtsc() >= generator->until || signals_stop_requested();
}

static void refill(struct load_generator_queue *queue)
{
	queue->passes = 0;
	for (uint32_t i = 0; i < queue->nb_mbufs; i++)
		rte_mbuf_refcnt_update(queue->mbufs[i], REFILL);
}

/*
 * No worker reads these mbufs: the ring and the workers hold only the mbufs that were sent last,
 * which are fewer than all mbufs.
 */
static void write_burst(struct load_generator_queue *queue, const struct queue_keys *keys,
	struct rte_mbuf *burst[BURST_MAX])
{
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		uint32_t m = queue->next_mbuf + i;
		const struct key4 *key = &keys->keys[queue->next_key];

		if (m >= queue->nb_mbufs)
			m -= queue->nb_mbufs;
		queue_keys_put(queue->data[m], key);
		burst[i] = queue->mbufs[m];
		if (++queue->next_key == keys->n)
			queue->next_key = 0;
	}
}

static void used(struct load_generator_queue *queue, uint32_t n)
{
	queue->next_mbuf += n;
	if (queue->next_mbuf < queue->nb_mbufs)
		return;
	queue->next_mbuf -= queue->nb_mbufs;
	if (++queue->passes == REFILL)
		refill(queue);
}

/* Without a rate, waits until the ring has accepted all packets. Returns how many it accepted. */
static uint32_t send_burst(struct load_generator *generator, uint32_t q)
{
	struct load_generator_queue *queue = &generator->queues[q];
	struct rte_mbuf *burst[BURST_MAX];
	uint32_t n;

	write_burst(queue, &generator->keys[q], burst);
	n = rte_ring_enqueue_burst(queue->ring, (void **)burst, BURST_MAX, NULL);
	while (n < BURST_MAX && generator->params.rate == 0 && !is_over(generator)) {
		poll_idle(generator->params.yield ? IDLE_YIELD : IDLE_SPIN);
		n += rte_ring_enqueue_burst(queue->ring, (void **)(burst + n), BURST_MAX - n, NULL);
	}
	used(queue, n);
	return n;
}

static void wait_until_due(const struct load_generator *generator, uint64_t start, uint64_t offered)
{
	double cycles = (double)offered / (double)generator->params.rate * (double)rte_get_tsc_hz();

	while ((double)(rte_rdtsc() - start) < cycles && !is_over(generator))
		poll_idle(generator->params.yield ? IDLE_YIELD : IDLE_SPIN);
}

static void *generate(void *arg)
{
	struct load_generator *generator = arg;
	uint64_t start = rte_rdtsc(), offered = 0, taken = 0;

	generator->until = start + generator->cycles;
	for (uint32_t q = 0; !is_over(generator); q = (q + 1) % generator->params.nb_queues) {
		if (generator->keys[q].n == 0)
			continue;
		if (generator->params.rate > 0)
			wait_until_due(generator, start, offered);
		taken += send_burst(generator, q);
		offered += BURST_MAX;
	}
	generator->counts = (struct load_generator_counts){
		.offered = offered,
		.taken = taken,
		.seconds = (double)(rte_rdtsc() - start) / (double)rte_get_tsc_hz(),
	};
	return NULL;
}

bool load_generator_run(struct load_generator *generator, uint32_t milliseconds,
	struct load_generator_counts *counts)
{
	pthread_t thread;

	generator->cycles = rte_get_tsc_hz() / 1000 * milliseconds;
	if (!cpus_start(generator->params.cpu, generate, generator, &thread))
		return false;
	pthread_join(thread, NULL);
	*counts = generator->counts;
	return true;
}

uint64_t load_generator_left(const struct load_generator *generator)
{
	uint64_t left = 0;

	for (uint32_t q = 0; q < generator->params.nb_queues; q++)
		left += rte_ring_count(generator->queues[q].ring);
	return left;
}
