/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/candidates.h"

#include <string.h>

#include "base/assertion.h"
#include "sketch/counter.h"
#include "sketch/implement.h"

/* With 1.25, listed keys are replaced twice as often, measured on captures. */
#define ADMISSION_FACTOR 4

static uint32_t buckets_for(uint32_t capacity)
{
	uint32_t buckets = 2; /* one bucket would need a shift by 64 */

	while (buckets * TAG_WAYS < capacity)
		buckets *= 2;
	return buckets;
}

static size_t admissions_size(uint32_t nb_buckets)
{
	return line_up(nb_buckets * sizeof(uint64_t));
}

/* A multiple of 64: there are at least two buckets, with 32 bytes of tags each. */
static size_t tags_size(uint32_t nb_buckets)
{
	return nb_buckets * sizeof(uint16_t[TAG_WAYS]);
}

static size_t entries_size(uint32_t nb_buckets)
{
	return nb_buckets * sizeof(struct candidate_entry[TAG_WAYS]);
}

static size_t origins_size(uint32_t nb_buckets)
{
	return nb_buckets * sizeof(struct candidate_origin[TAG_WAYS]);
}

size_t candidates_memory(uint32_t capacity)
{
	uint32_t nb_buckets = buckets_for(capacity);

	return admissions_size(nb_buckets) + tags_size(nb_buckets) + entries_size(nb_buckets) +
	       origins_size(nb_buckets);
}

void candidates_init(
	struct candidates *candidates, void *memory, uint32_t capacity, enum sketch_metric metric)
{
	uint32_t nb_buckets = buckets_for(capacity);
	uint8_t *at = memory;

	VERIFY(capacity, <=, CANDIDATES_MAX);
	*candidates = (struct candidates){
		.nb_buckets = nb_buckets,
		.bucket_shift = 64 - (uint32_t)__builtin_ctz(nb_buckets),
		.metric = metric,
	};
	candidates->admission = (uint64_t *)(void *)at;
	at += admissions_size(nb_buckets);
	candidates->tag = (uint16_t(*)[TAG_WAYS])(void *)at;
	at += tags_size(nb_buckets);
	candidates->entry = (struct candidate_entry(*)[TAG_WAYS])(void *)at;
	at += entries_size(nb_buckets);
	candidates->origin = (struct candidate_origin(*)[TAG_WAYS])(void *)at;
}

void candidates_reset(struct candidates *candidates)
{
	candidates_forget(candidates);
	candidates->forgot = candidates->turned_away = false;
	candidates->replaced = 0;
}

void candidates_forget(struct candidates *candidates)
{
	uint32_t nb_buckets = candidates->nb_buckets;

	candidates->forgot = true;
	if (candidates_empty(candidates))
		return;
	memset(candidates->admission, 0, admissions_size(nb_buckets));
	memset(candidates->tag, 0, tags_size(nb_buckets));
	memset(candidates->entry, 0, entries_size(nb_buckets));
	memset(candidates->origin, 0, origins_size(nb_buckets));
}

static inline uint16_t tag_of(const struct key_hash *hash)
{
	return (uint16_t)(hash->lo >> 48 | 1); /* not 0, which marks a free way */
}

static inline uint32_t bucket_of(const struct candidates *candidates, const struct key_hash *hash)
{
	return (uint32_t)(hash->hi >> candidates->bucket_shift);
}

static inline bool has_hash(const struct candidate_entry *entry, const struct key_hash *hash)
{
	return ((entry->hash_lo ^ hash->lo) | (entry->hash_hi ^ hash->hi)) == 0;
}

static struct candidate_entry *find_candidate(
	const struct candidates *candidates, const struct key_hash *hash)
{
	uint32_t b = bucket_of(candidates, hash);
	uint32_t match = tag_match(candidates->tag[b], tag_of(hash));

	for (; match != 0; match &= match - 1) {
		struct candidate_entry *entry = &candidates->entry[b][__builtin_ctz(match)];

		if (has_hash(entry, hash))
			return entry;
	}
	return NULL;
}

/* `byte` is the offset of the entry's tag. One shift replaces a division and a multiplication. */
static inline struct candidate_entry *entry_of_byte(struct candidate_entry *ways, uint32_t byte)
{
	return (struct candidate_entry *)(void *)((uint8_t *)ways +
						  (size_t)byte *
							  (sizeof(*ways) / sizeof(uint16_t)));
}

/* Finds the first way with the packet's tag. Its key may be another one. */
static inline void split_by_tag(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t start, struct candidates_split *split)
{
	const uint32_t shift = candidates->bucket_shift, n = burst->n;
	uint16_t(*const tag)[TAG_WAYS] = candidates->tag;
	struct candidate_entry(*const ways)[TAG_WAYS] = candidates->entry;
	uint32_t nb_listed = 0;

	/* Write both arrays for each packet, because a branch would often be mispredicted. */
	for (uint32_t i = start; i < n; i++) {
		const struct key_hash *hash = &burst->hash[i];
		const uint64_t b = hash->hi >> shift;
		bool agrees;
		struct candidate_entry *entry =
			entry_of_byte(ways[b], tag_first_byte(tag[b], tag_of(hash), &agrees));

		__builtin_prefetch(entry, 1);
		split->entry[nb_listed] = entry;
		split->listed[nb_listed] = (uint8_t)i;
		split->others[i - start - nb_listed] = (uint8_t)i;
		nb_listed += agrees;
	}
	split->nb_listed = nb_listed;
	split->nb_others = n - start - nb_listed;
}

/* Returns false if the way of a packet holds another key with the same tag. */
static inline bool right_keys(const struct key_burst *burst, const struct candidates_split *split)
{
	typedef uint64_t halves __attribute__((vector_size(16), may_alias));
	halves differ = {0, 0};

	for (uint32_t k = 0; k < split->nb_listed; k++)
		differ |= *(const halves *)(const void *)split->entry[k] ^
			  *(const halves *)(const void *)&burst->hash[split->listed[k]];
	return (differ[0] | differ[1]) == 0;
}

static __attribute__((noinline)) void split_by_hash(const struct candidates *candidates,
	const struct key_burst *burst, uint32_t start, struct candidates_split *split)
{
	split->nb_listed = split->nb_others = 0;
	for (uint32_t i = start; i < burst->n; i++) {
		const struct key_hash *hash = &burst->hash[i];
		struct candidate_entry *entry = find_candidate(candidates, hash);

		if (entry != NULL) {
			split->entry[split->nb_listed] = entry;
			split->listed[split->nb_listed++] = (uint8_t)i;
		} else {
			split->others[split->nb_others++] = (uint8_t)i;
		}
	}
}

void candidates_split(const struct candidates *candidates, const struct key_burst *burst,
	uint32_t start, struct candidates_split *split)
{
	split_by_tag(candidates, burst, start, split);
	if (__builtin_expect(!right_keys(burst, split), 0))
		split_by_hash(candidates, burst, start, split);
}

static inline void count_entry(struct candidate_entry *entry, const struct weight *weight)
{
	entry->packets = counter64_sum(entry->packets, weight->packets);
	entry->bytes = counter64_sum(entry->bytes, weight->bytes);
}

uint32_t candidates_before(const struct candidates_split *split, uint32_t from, uint32_t i)
{
	while (from < split->nb_listed && split->listed[from] < i)
		from++;
	return from;
}

static inline __attribute__((always_inline)) void count(const struct key_burst *burst,
	const struct candidates_split *split, uint32_t from, uint32_t until, const bool weighted)
{
	for (uint32_t k = from; k < until; k++) {
		struct candidate_entry *entry = split->entry[k];
		struct weight weight = weight_of(burst, split->listed[k], weighted);

		if (weighted) {
			count_entry(entry, &weight);
		} else {
			entry->packets++;
			entry->bytes += weight.bytes;
		}
	}
}

void candidates_count(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until)
{
	count(burst, split, from, until, false);
}

void candidates_count_weighted(const struct key_burst *burst, const struct candidates_split *split,
	uint32_t from, uint32_t until)
{
	count(burst, split, from, until, true);
}

void candidates_count_key(const struct candidates *candidates, const struct key_hash *hash,
	const struct weight *weight)
{
	count_entry(find_candidate(candidates, hash), weight);
}

static uint64_t since_of(const struct candidates *candidates, const struct candidate_entry *entry)
{
	return candidates->metric == SKETCH_PACKETS ? entry->packets : entry->bytes;
}

struct smallest {
	uint32_t way;
	uint64_t upper;
};

/* Requires a full bucket. */
static struct smallest find_smallest(const struct candidates *candidates, uint32_t b)
{
	const struct candidate_entry *entry = candidates->entry[b];
	const struct candidate_origin *origin = candidates->origin[b];
	struct smallest smallest = {.upper = UINT64_MAX};

	for (uint32_t way = 0; way < TAG_WAYS; way++) {
		uint64_t upper =
			counter64_sum(since_of(candidates, &entry[way]), origin[way].before);

		if (upper < smallest.upper)
			smallest = (struct smallest){way, upper};
	}
	return smallest;
}

static uint64_t limit_of(uint64_t smallest)
{
	return smallest < UINT64_MAX / ADMISSION_FACTOR ? smallest * ADMISSION_FACTOR
							: UINT64_MAX - 1;
}

/* At least 1, because 0 means that the bucket has a free way. */
static void raise_admission(struct candidates *candidates, uint32_t b, uint64_t smallest)
{
	candidates->admission[b] = limit_of(smallest) + 1;
}

static void list_key(struct candidates *candidates, uint32_t b, uint32_t way,
	const struct key_burst *burst, uint32_t i, uint64_t bytes, uint64_t before)
{
	const struct key_hash *hash = &burst->hash[i];

	candidates->tag[b][way] = tag_of(hash);
	candidates->entry[b][way] = (struct candidate_entry){
		.hash_lo = hash->lo,
		.hash_hi = hash->hi,
		.packets = 1,
		.bytes = bytes,
	};
	candidates->origin[b][way] = (struct candidate_origin){
		.key = key_burst_get(burst, i),
		.before = before,
	};
}

bool candidates_offer(struct candidates *candidates, const struct key_burst *burst, uint32_t i,
	uint64_t bytes, uint64_t before, struct candidate_evicted *evicted)
{
	uint64_t own = candidates->metric == SKETCH_PACKETS ? 1 : bytes;
	uint32_t b = bucket_of(candidates, &burst->hash[i]);
	const struct candidate_entry *loser;
	uint32_t free_ways = tag_match(candidates->tag[b], 0);
	struct smallest smallest;

	evicted->amount = 0;
	if (free_ways != 0) {
		list_key(candidates, b, (uint32_t)__builtin_ctz(free_ways), burst, i, bytes,
			candidates->forgot ? before : 0);
		if ((free_ways & (free_ways - 1)) == 0)
			raise_admission(candidates, b, find_smallest(candidates, b).upper);
		return true;
	}
	smallest = find_smallest(candidates, b);
	raise_admission(candidates, b, smallest.upper);
	candidates->turned_away = true;
	if (counter64_sum(before, own) < candidates->admission[b] || smallest.upper == UINT64_MAX)
		return false;
	loser = &candidates->entry[b][smallest.way];
	*evicted = (struct candidate_evicted){
		.key = candidates->origin[b][smallest.way].key,
		.hash = {.lo = loser->hash_lo, .hi = loser->hash_hi},
		.amount = since_of(candidates, loser),
	};
	list_key(candidates, b, smallest.way, burst, i, bytes, before);
	candidates->replaced++;
	return true;
}

uint64_t candidates_since(const struct candidates *candidates, const struct key_hash *hash)
{
	const struct candidate_entry *entry = find_candidate(candidates, hash);

	return entry == NULL ? 0 : since_of(candidates, entry);
}

void candidates_emit(const struct candidates *candidates, sketch_emit_fn emit, void *arg)
{
	for (uint32_t b = 0; b < candidates->nb_buckets; b++) {
		/* Free ways follow the used ones. */
		for (uint32_t way = 0; way < TAG_WAYS && candidates->tag[b][way] != 0; way++) {
			const struct candidate_entry *entry = &candidates->entry[b][way];
			const struct candidate_origin *origin = &candidates->origin[b][way];
			struct sketch_candidate candidate = {
				.key = origin->key,
				.hash = {.lo = entry->hash_lo, .hi = entry->hash_hi},
				.packets = entry->packets,
				.bytes = entry->bytes,
				.before = origin->before,
			};

			emit(&candidate, arg);
		}
	}
}

bool candidates_complete(const struct candidates *candidates)
{
	return !candidates->turned_away && !candidates->forgot;
}

bool candidates_empty(const struct candidates *candidates)
{
	for (uint32_t b = 0; b < candidates->nb_buckets; b++)
		if (candidates->tag[b][0] != 0)
			return false;
	return true;
}
