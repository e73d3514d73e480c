/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sketches implemented from papers. They have the memory of a Count-Min of the same width, use the
 * same hash, and update by bursts. The hash is a permutation of a 16-byte key, so they store it
 * instead of the key, as the list of Count-Min does.
 *
 *   octosketch    Zhang, Chen, Liu, NSDI 2024: a worker has 8-bit counters. It sends a counter that
 *                 reaches a threshold to an aggregator, which has the rows of Count-Min and a heap
 *                 of keys. Here the aggregator runs on the thread of the worker, and its time is
 *                 included; in the paper it has its own cores. The thresholds are those of the
 *                 authors' programs: 127 without DPDK, and 63 (`octosketch 63`), the highest with
 *                 DPDK.
 *   elastic       Yang et al., SIGCOMM 2018: buckets of keys, in front of one row of 8-bit
 *                 counters. A key loses its place if its bucket gets eight packets of other keys
 *                 for each packet of its own.
 *   cocosketch    Zhang et al., SIGCOMM 2021: a packet whose key is in neither of its two buckets
 *                 increments the smaller one. The key takes this bucket with probability 1 / count.
 *   space-saving  Metwally, Agrawal, El Abbadi, ICDT 2005: a new key replaces a key with the
 *                 smallest count and continues from that count.
 */

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "bench/published.h"
#include "key/hash.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"
#include "sketch/candidates.h"
#include "sketch/implement.h"
#include "sketch/row_index.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* First member of each sketch. A sketch is one block of memory. */
struct block {
	size_t bytes;
};

static void *block_open(size_t bytes)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);
	struct block *block = memory.alloc(bytes, memory.arg);

	if (block != NULL)
		block->bytes = bytes;
	return block;
}

static void block_close(void *state)
{
	struct sketch_allocator memory = node_memory_on_node(PLAN_NODE_ANY);

	memory.free(state, ((struct block *)state)->bytes, memory.arg);
}

static size_t block_memory(const void *state)
{
	return ((const struct block *)state)->bytes;
}

/* Returns the bytes of a Count-Min of the same width. */
static size_t budget(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	const struct sketch_ops *ops = sketch_find("count-min");
	struct sketch_params params = {
		.depth = setup->depth, .width = bench_subject_width(subject, setup)};

	return ops->check(&params) == NULL ? ops->memory(&params) : 0;
}

/* Maps the low 32 bits of a hash to 0..nb_parts - 1. */
static ALWAYS_INLINE uint32_t part_of(uint64_t bits, uint32_t nb_parts)
{
	return (uint32_t)((bits & UINT32_MAX) * nb_parts >> 32);
}

static ALWAYS_INLINE bool same_hash(const struct key_hash *a, const struct key_hash *b)
{
	return ((a->lo ^ b->lo) | (a->hi ^ b->hi)) == 0;
}

struct heaviest {
	const struct hash_key *hash_key;
	struct bench_subject_flow *flows;
	uint32_t n, wanted;
};

static void heaviest_offer(struct heaviest *top, const struct key_hash *hash, uint64_t packets)
{
	uint32_t at = top->n;

	if (packets == 0 || (at == top->wanted && packets <= top->flows[at - 1].packets))
		return;
	if (at < top->wanted)
		top->n++;
	else
		at--;
	for (; at > 0 && packets > top->flows[at - 1].packets; at--)
		top->flows[at] = top->flows[at - 1];
	top->flows[at] = (struct bench_subject_flow){hash_invert4(top->hash_key, hash), packets};
}

struct chained_key {
	struct key_hash hash;
	uint32_t next; /* number of the next key of the chain; 0: end */
	uint32_t count;
	uint32_t place;
} __attribute__((aligned(32)));

struct chains {
	struct chained_key *keys;
	uint32_t *heads;
	uint32_t nb_heads;
	uint32_t n, max;
};

#define CHAINED_BYTES (sizeof(struct chained_key) + 2 * sizeof(uint32_t))

static size_t chains_memory(uint32_t max)
{
	return (max + 1) * CHAINED_BYTES;
}

static void chains_init(struct chains *chains, void *memory, uint32_t max)
{
	chains->max = max;
	chains->nb_heads = 2 * max;
	chains->keys = memory;
	chains->heads = (uint32_t *)(void *)(chains->keys + max + 1);
}

static ALWAYS_INLINE uint32_t *chain_of(const struct chains *chains, const struct key_hash *hash)
{
	return &chains->heads[part_of(hash->hi >> 32, chains->nb_heads)];
}

static ALWAYS_INLINE uint32_t chains_find(const struct chains *chains, const struct key_hash *hash)
{
	uint32_t k = *chain_of(chains, hash);

	while (k != 0 && !same_hash(&chains->keys[k].hash, hash))
		k = chains->keys[k].next;
	return k;
}

static ALWAYS_INLINE void chains_remove(struct chains *chains, uint32_t k)
{
	uint32_t *link = chain_of(chains, &chains->keys[k].hash);

	while (*link != k)
		link = &chains->keys[*link].next;
	*link = chains->keys[k].next;
}

static ALWAYS_INLINE void chains_put(
	struct chains *chains, uint32_t k, const struct key_hash *hash, uint32_t count)
{
	uint32_t *head = chain_of(chains, hash);

	chains->keys[k].hash = *hash;
	chains->keys[k].count = count;
	chains->keys[k].next = *head;
	*head = k;
}

#define OCTO_ROWS  3
#define OCTO_KEYS  CANDIDATES_DEFAULT /* 1023 in the paper */
#define OCTO_QUEUE (2 * OCTO_ROWS * BURST_MAX)

struct octo_message {
	struct key_hash hash;
	uint32_t row, packets;
};

struct octo {
	struct block block;
	uint32_t bits;
	uint32_t threshold;
	uint8_t *worker;
	uint32_t *merged; /* counters of the aggregator, row after row */
	struct chains keys;
	/* key numbers, a binary heap from index 1 with the smallest count at the top */
	uint32_t heap[OCTO_KEYS + 1];
	uint32_t nb_queued;
	struct octo_message queue[OCTO_QUEUE];
};

static void *octo_open(
	const struct bench_subject *subject, const struct bench_rounds *setup, uint32_t threshold)
{
	uint64_t width = bench_subject_width(subject, setup);
	size_t counters = OCTO_ROWS * width, header = line_up(sizeof(struct octo));
	struct octo *octo =
		block_open(header + line_up(counters) + line_up(counters * sizeof(uint32_t)) +
			   chains_memory(OCTO_KEYS));

	if (octo == NULL)
		return NULL;
	octo->bits = (uint32_t)__builtin_ctzll(width);
	octo->threshold = threshold;
	octo->worker = (uint8_t *)octo + header;
	octo->merged = (uint32_t *)(void *)(octo->worker + line_up(counters));
	chains_init(&octo->keys,
		octo->worker + line_up(counters) + line_up(counters * sizeof(uint32_t)), OCTO_KEYS);
	return octo;
}

static void *octo127_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	return octo_open(subject, setup, 127);
}

static void *octo63_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	return octo_open(subject, setup, 63);
}

static ALWAYS_INLINE uint64_t octo_cell(
	const struct octo *octo, const struct key_hash *hash, uint32_t row)
{
	return ((uint64_t)row << octo->bits) + row_index(hash, row, ROW_LANE_BITS, octo->bits);
}

static void heap_set(struct octo *octo, uint32_t place, uint32_t k)
{
	octo->heap[place] = k;
	octo->keys.keys[k].place = place;
}

static void heap_settle(struct octo *octo, uint32_t place, uint32_t k)
{
	const struct chained_key *keys = octo->keys.keys;

	for (; place > 1 && keys[octo->heap[place / 2]].count > keys[k].count; place /= 2)
		heap_set(octo, place, octo->heap[place / 2]);
	for (uint32_t child; (child = 2 * place) <= octo->keys.n; place = child) {
		child += child < octo->keys.n &&
			 keys[octo->heap[child + 1]].count < keys[octo->heap[child]].count;
		if (keys[octo->heap[child]].count >= keys[k].count)
			break;
		heap_set(octo, place, octo->heap[child]);
	}
	heap_set(octo, place, k);
}

static void octo_list(struct octo *octo, const struct key_hash *hash, uint32_t estimate)
{
	uint32_t k = chains_find(&octo->keys, hash), place;

	if (k != 0) {
		octo->keys.keys[k].count = estimate;
		place = octo->keys.keys[k].place;
	} else if (octo->keys.n < octo->keys.max) {
		k = place = ++octo->keys.n;
		chains_put(&octo->keys, k, hash, estimate);
	} else if (estimate > octo->keys.keys[octo->heap[1]].count) {
		k = octo->heap[1];
		place = 1;
		chains_remove(&octo->keys, k);
		chains_put(&octo->keys, k, hash, estimate);
	} else {
		return;
	}
	heap_settle(octo, place, k);
}

static ALWAYS_INLINE uint32_t octo_merged(const struct octo *octo, const struct key_hash *hash)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t row = 0; row < OCTO_ROWS; row++) {
		uint32_t count = octo->merged[octo_cell(octo, hash, row)];

		least = count < least ? count : least;
	}
	return least;
}

static void octo_aggregate(struct octo *octo)
{
	for (uint32_t m = 0; m < octo->nb_queued; m++) {
		const struct key_hash *hash = &octo->queue[m].hash;

		__builtin_prefetch(chain_of(&octo->keys, hash));
		for (uint32_t row = 0; row < OCTO_ROWS; row++)
			__builtin_prefetch(&octo->merged[octo_cell(octo, hash, row)], 1);
	}
	for (uint32_t m = 0; m < octo->nb_queued; m++) {
		const struct octo_message *message = &octo->queue[m];

		octo->merged[octo_cell(octo, &message->hash, message->row)] += message->packets;
		octo_list(octo, &message->hash, octo_merged(octo, &message->hash));
	}
	octo->nb_queued = 0;
}

static void octo_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct octo *octo = state;
	const uint32_t bits = octo->bits, threshold = octo->threshold;
	uint32_t queued = octo->nb_queued;

	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++)
		for (uint32_t row = 0; row < OCTO_ROWS; row++) {
			uint8_t *count = octo->worker + ((uint64_t)row << bits) +
					 row_index(&burst->hash[i], row, ROW_LANE_BITS, bits);

			if (__builtin_expect(++*count >= threshold, 0)) {
				octo->queue[queued++] =
					(struct octo_message){burst->hash[i], row, *count};
				*count = 0;
			}
		}
	octo->nb_queued = queued;
	if (queued > OCTO_QUEUE - OCTO_ROWS * BURST_MAX)
		octo_aggregate(octo);
}

static bool octo_total(const void *state, uint64_t *total)
{
	const struct octo *octo = state;
	uint64_t sums[OCTO_ROWS] = {0};

	for (uint32_t row = 0; row < OCTO_ROWS; row++)
		for (uint64_t cell = (uint64_t)row << octo->bits;
			cell < (row + UINT64_C(1)) << octo->bits; cell++)
			sums[row] += octo->worker[cell] + octo->merged[cell];
	for (uint32_t m = 0; m < octo->nb_queued; m++)
		sums[octo->queue[m].row] += octo->queue[m].packets;
	*total = sums[0];
	for (uint32_t row = 1; row < OCTO_ROWS; row++)
		if (sums[row] != sums[0])
			*total = UINT64_MAX;
	return true;
}

/* Adds the counts that the worker still holds, as at the end of an epoch. */
static uint32_t octo_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	struct heaviest top = {&workload->hash_key, flows, 0, wanted};
	struct octo *octo = state;

	octo_aggregate(octo);
	for (uint32_t k = 1; k <= octo->keys.n; k++) {
		const struct key_hash *hash = &octo->keys.keys[k].hash;
		uint32_t least = UINT32_MAX;

		for (uint32_t row = 0; row < OCTO_ROWS; row++) {
			uint64_t cell = octo_cell(octo, hash, row);
			uint32_t count = octo->merged[cell] + octo->worker[cell];

			least = count < least ? count : least;
		}
		heaviest_offer(&top, hash, least);
	}
	return top.n;
}

const struct bench_subject_ops bench_subject_octosketch = {
	.takes_hashes = true,
	.open = octo127_open,
	.feed = octo_feed,
	.memory = block_memory,
	.total = octo_total,
	.top = octo_top,
	.close = block_close,
};

static const struct bench_subject_ops octo63 = {
	.takes_hashes = true,
	.open = octo63_open,
	.feed = octo_feed,
	.memory = block_memory,
	.total = octo_total,
	.top = octo_top,
	.close = block_close,
};

#define ELASTIC_WAYS   8
#define ELASTIC_LAMBDA 8
#define ELASTIC_HEAVY  4 /* 1 / ELASTIC_HEAVY of the memory is for buckets, as in the paper */

struct elastic_bucket {
	/* tag of each way, 0: free; ways are filled in ascending order */
	uint16_t tag[ELASTIC_WAYS];
	uint32_t votes[ELASTIC_WAYS];
	uint32_t against;
	uint32_t before; /* bit w: the key of way w may also have packets in the light part */
	struct key_hash key[ELASTIC_WAYS] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct elastic {
	struct block block;
	uint32_t nb_buckets, nb_light;
	struct elastic_bucket *buckets;
	uint8_t *light;
};

static void *elastic_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	size_t header = line_up(sizeof(struct elastic)), size = budget(subject, setup);
	struct elastic *elastic = block_open(size);

	if (elastic == NULL)
		return NULL;
	elastic->nb_buckets = (uint32_t)(size / ELASTIC_HEAVY / sizeof(struct elastic_bucket));
	elastic->buckets = (struct elastic_bucket *)(void *)((uint8_t *)elastic + header);
	elastic->light = (uint8_t *)(elastic->buckets + elastic->nb_buckets);
	elastic->nb_light =
		(uint32_t)(size - header - elastic->nb_buckets * sizeof(struct elastic_bucket));
	return elastic;
}

static ALWAYS_INLINE uint16_t elastic_tag(const struct key_hash *hash)
{
	return (uint16_t)(hash->hi >> 48 | 1);
}

static ALWAYS_INLINE uint8_t *elastic_light(
	const struct elastic *elastic, const struct key_hash *hash)
{
	return &elastic->light[part_of(hash->lo, elastic->nb_light)];
}

static ALWAYS_INLINE uint32_t elastic_match(const struct elastic_bucket *bucket, uint16_t tag)
{
#ifdef __SSE2__
	__m128i tags = _mm_load_si128((const __m128i *)(const void *)bucket->tag);
	__m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16((int16_t)tag));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
#else
	uint32_t match = 0;

	for (uint32_t way = 0; way < ELASTIC_WAYS; way++)
		match |= (uint32_t)(bucket->tag[way] == tag) << way;
	return match;
#endif
}

/* Returns the way of a key, or ELASTIC_WAYS if it has none. */
static ALWAYS_INLINE uint32_t elastic_find(
	const struct elastic_bucket *bucket, const struct key_hash *hash)
{
	for (uint32_t match = elastic_match(bucket, elastic_tag(hash)); match != 0;
		match &= match - 1) {
		uint32_t way = (uint32_t)__builtin_ctz(match);

		if (__builtin_expect(same_hash(&bucket->key[way], hash), 1))
			return way;
	}
	return ELASTIC_WAYS;
}

static ALWAYS_INLINE void elastic_settle(
	struct elastic_bucket *bucket, uint32_t way, const struct key_hash *hash)
{
	bucket->tag[way] = elastic_tag(hash);
	bucket->key[way] = *hash;
	bucket->votes[way] = 1;
}

static __attribute__((noinline)) void elastic_evict(
	struct elastic *elastic, struct elastic_bucket *bucket, const struct key_hash *hash)
{
	uint32_t way = 0, sum;
	uint8_t *light;

	for (uint32_t w = 1; w < ELASTIC_WAYS; w++)
		way = bucket->votes[w] < bucket->votes[way] ? w : way;
	light = elastic_light(elastic, &bucket->key[way]);
	sum = *light + bucket->votes[way];
	*light = (uint8_t)(sum < UINT8_MAX ? sum : UINT8_MAX);
	elastic_settle(bucket, way, hash);
	bucket->before |= 1u << way;
	bucket->against = 1;
}

/* Counts a packet whose key is not in the bucket, which is full. */
static ALWAYS_INLINE void elastic_against(
	struct elastic *elastic, struct elastic_bucket *bucket, const struct key_hash *hash)
{
	uint32_t against = ++bucket->against, voted_out = 0;
	uint8_t *light;

	for (uint32_t way = 0; way < ELASTIC_WAYS; way++)
		voted_out |= bucket->votes[way] <= against / ELASTIC_LAMBDA;
	if (__builtin_expect(voted_out, 0)) {
		elastic_evict(elastic, bucket, hash);
		return;
	}
	light = elastic_light(elastic, hash);
	*light = (uint8_t)(*light + (*light < UINT8_MAX));
}

static void elastic_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct elastic *elastic = state;
	struct elastic_bucket *buckets[BURST_MAX];

	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++) {
		buckets[i] = &elastic->buckets[part_of(burst->hash[i].hi, elastic->nb_buckets)];
		__builtin_prefetch(buckets[i], 1);
		__builtin_prefetch(&buckets[i]->key[0]);
		__builtin_prefetch(&buckets[i]->key[ELASTIC_WAYS / 2]);
	}
	for (uint32_t i = 0; i < burst->n; i++) {
		struct elastic_bucket *bucket = buckets[i];
		uint32_t way = elastic_find(bucket, &burst->hash[i]);

		if (way < ELASTIC_WAYS)
			bucket->votes[way]++;
		else if (__builtin_expect(bucket->tag[ELASTIC_WAYS - 1] != 0, 1))
			elastic_against(elastic, bucket, &burst->hash[i]);
		else
			elastic_settle(bucket, (uint32_t)__builtin_ctz(elastic_match(bucket, 0)),
				&burst->hash[i]);
	}
}

/* Returns false if a light counter is saturated: the total is unknown then. */
static bool elastic_total(const void *state, uint64_t *total)
{
	const struct elastic *elastic = state;
	bool known = true;

	*total = 0;
	for (uint32_t b = 0; b < elastic->nb_buckets; b++)
		for (uint32_t way = 0; way < ELASTIC_WAYS; way++)
			*total += elastic->buckets[b].votes[way];
	for (uint32_t c = 0; c < elastic->nb_light; c++) {
		*total += elastic->light[c];
		known = known && elastic->light[c] < UINT8_MAX;
	}
	return known;
}

static uint32_t elastic_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	struct heaviest top = {&workload->hash_key, flows, 0, wanted};
	const struct elastic *elastic = state;

	for (uint32_t b = 0; b < elastic->nb_buckets; b++)
		for (uint32_t way = 0; way < ELASTIC_WAYS; way++) {
			const struct elastic_bucket *bucket = &elastic->buckets[b];
			const struct key_hash *hash = &bucket->key[way];
			uint32_t packets = bucket->votes[way];

			if ((bucket->before >> way & 1) != 0)
				packets += *elastic_light(elastic, hash);
			heaviest_offer(&top, hash, packets);
		}
	return top.n;
}

const struct bench_subject_ops bench_subject_elastic = {
	.takes_hashes = true,
	.open = elastic_open,
	.feed = elastic_feed,
	.memory = block_memory,
	.total = elastic_total,
	.top = elastic_top,
	.close = block_close,
};

#define COCO_ARRAYS 2
#define COCO_WAYS   3 /* buckets in a cache line; the key selects one of them */

struct coco_line {
	struct key_hash key[COCO_WAYS];
	uint32_t count[COCO_WAYS];
} __attribute__((aligned(64)));

struct coco {
	struct block block;
	uint32_t nb_lines;
	uint64_t random;
	struct coco_line *lines;
};

struct coco_bucket {
	struct key_hash *key;
	uint32_t *count;
};

static void *coco_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	size_t header = line_up(sizeof(struct coco)), size = budget(subject, setup);
	struct coco *coco = block_open(size);

	if (coco == NULL)
		return NULL;
	coco->nb_lines = (uint32_t)((size - header) / COCO_ARRAYS / sizeof(struct coco_line));
	coco->random = setup->seed;
	coco->lines = (struct coco_line *)(void *)((uint8_t *)coco + header);
	return coco;
}

static ALWAYS_INLINE struct coco_bucket coco_bucket(
	const struct coco *coco, const struct key_hash *hash, uint32_t array)
{
	uint64_t bits = array == 0 ? hash->lo : hash->hi;
	struct coco_line *line =
		&coco->lines[array * coco->nb_lines + part_of(bits >> 32, coco->nb_lines)];
	uint32_t way = part_of(bits, COCO_WAYS);

	return (struct coco_bucket){&line->key[way], &line->count[way]};
}

/* A linear congruential generator (Knuth's factor), 32 bits. */
static ALWAYS_INLINE uint32_t coco_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 32);
}

static void coco_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct coco *coco = state;
	struct coco_bucket buckets[BURST_MAX][COCO_ARRAYS];
	uint64_t random = coco->random;

	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++)
		for (uint32_t array = 0; array < COCO_ARRAYS; array++) {
			buckets[i][array] = coco_bucket(coco, &burst->hash[i], array);
			__builtin_prefetch(buckets[i][array].count, 1);
		}
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct coco_bucket *bucket = buckets[i];
		bool first = same_hash(bucket[0].key, &burst->hash[i]);
		bool second = same_hash(bucket[1].key, &burst->hash[i]);
		/* a branch would be unpredictable */
		uint32_t array = (uint32_t)second |
				 ((uint32_t)!first & (*bucket[1].count < *bucket[0].count));
		uint64_t count = ++*bucket[array].count;

		if (!(first | second) && coco_random(&random) * count <= UINT32_MAX)
			*bucket[array].key = burst->hash[i];
	}
	coco->random = random;
}

static bool coco_total(const void *state, uint64_t *total)
{
	const struct coco *coco = state;

	*total = 0;
	for (uint64_t l = 0; l < (uint64_t)COCO_ARRAYS * coco->nb_lines; l++)
		for (uint32_t way = 0; way < COCO_WAYS; way++)
			*total += coco->lines[l].count[way];
	return true;
}

static uint32_t coco_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	struct heaviest top = {&workload->hash_key, flows, 0, wanted};
	const struct coco *coco = state;

	for (uint64_t l = 0; l < (uint64_t)COCO_ARRAYS * coco->nb_lines; l++)
		for (uint32_t way = 0; way < COCO_WAYS; way++)
			heaviest_offer(&top, &coco->lines[l].key[way], coco->lines[l].count[way]);
	return top.n;
}

static const struct bench_subject_ops cocosketch = {
	.takes_hashes = true,
	.open = coco_open,
	.feed = coco_feed,
	.memory = block_memory,
	.total = coco_total,
	.top = coco_top,
	.close = block_close,
};

#define SAVING_AHEAD 8 /* keys between prefetch and use */

/*
 * A clock hand cycles through the keys to find one with the smallest count; the paper sorts them.
 * Keys that the hand has passed have larger counts, and a full cycle raises the smallest count by
 * one. So there is on average at most one step per packet.
 */
struct space_saving {
	struct block block;
	struct chains keys;
	uint32_t hand, least;
};

static void *saving_open(const struct bench_subject *subject, const struct bench_rounds *setup)
{
	size_t header = line_up(sizeof(struct space_saving)), size = budget(subject, setup);
	struct space_saving *saving = block_open(size);

	if (saving == NULL)
		return NULL;
	chains_init(&saving->keys, (uint8_t *)saving + header,
		(uint32_t)((size - header) / CHAINED_BYTES - 1));
	saving->hand = 1;
	saving->least = 1;
	return saving;
}

/* Removes a key with the smallest count from its chain. Returns its number. */
static ALWAYS_INLINE uint32_t saving_evict(struct space_saving *saving)
{
	struct chained_key *keys = saving->keys.keys;
	uint32_t k = saving->hand, ahead;

	while (keys[k].count != saving->least)
		if (k++ == saving->keys.max) {
			k = 1;
			saving->least++;
		}
	ahead = k + SAVING_AHEAD;
	if (ahead <= saving->keys.max)
		__builtin_prefetch(chain_of(&saving->keys, &keys[ahead].hash), 1);
	saving->hand = k;
	chains_remove(&saving->keys, k);
	return k;
}

static void saving_feed(void *state, uint32_t thread, const struct key_burst *burst)
{
	struct space_saving *saving = state;
	struct chains *keys = &saving->keys;

	(void)thread;
	for (uint32_t i = 0; i < burst->n; i++)
		__builtin_prefetch(chain_of(keys, &burst->hash[i]), 1);
	for (uint32_t i = 0; i < burst->n; i++)
		__builtin_prefetch(&keys->keys[*chain_of(keys, &burst->hash[i])], 1);
	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t k = chains_find(keys, &burst->hash[i]);

		if (k != 0) {
			keys->keys[k].count++;
		} else if (keys->n < keys->max) {
			chains_put(keys, ++keys->n, &burst->hash[i], 1);
		} else {
			k = saving_evict(saving);
			chains_put(keys, k, &burst->hash[i], saving->least + 1);
		}
	}
}

static bool saving_total(const void *state, uint64_t *total)
{
	const struct space_saving *saving = state;

	*total = 0;
	for (uint32_t k = 1; k <= saving->keys.n; k++)
		*total += saving->keys.keys[k].count;
	return true;
}

static uint32_t saving_top(void *state, const struct workload *workload,
	struct bench_subject_flow *flows, uint32_t wanted)
{
	struct heaviest top = {&workload->hash_key, flows, 0, wanted};
	const struct space_saving *saving = state;

	for (uint32_t k = 1; k <= saving->keys.n; k++)
		heaviest_offer(&top, &saving->keys.keys[k].hash, saving->keys.keys[k].count);
	return top.n;
}

static const struct bench_subject_ops space_saving = {
	.takes_hashes = true,
	.open = saving_open,
	.feed = saving_feed,
	.memory = block_memory,
	.total = saving_total,
	.top = saving_top,
	.close = block_close,
};

const struct published published[] = {
	{"octosketch", &bench_subject_octosketch},
	{"octosketch 63", &octo63},
	{"elastic", &bench_subject_elastic},
	{"cocosketch", &cocosketch},
	{"space-saving", &space_saving},
	{NULL, NULL},
};
