/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/power_of_two.h"
#include "base/random.h"

#define BLOCK_ROOM 508
#define NONE       UINT32_MAX
#define CLASSES    32 /* the class of an exporter is log2 of its blocks */
#define RINGS      (2 * CLASSES)
#define SET_MAX    65536

/* A set is a chain of blocks: a struct waiting_set, whose `data` is unused, then its bytes. */
struct block {
	uint32_t next;
	uint8_t bytes[BLOCK_ROOM];
};

struct place {
	uint32_t older, newer;  /* list of the exporter's sets */
	uint32_t before, after; /* list of the hash bucket, which may also contain other keys */
	uint32_t exporter;
	uint16_t template_id;
};

struct bucket {
	uint32_t first, last;
};

/* If the exporter has sets, it is in the ring of its class. */
struct waiting_exporter {
	uint32_t oldest, newest;
	uint32_t sets, blocks;
	uint32_t before, after;
	bool proven;
};

struct waiting {
	uint32_t nb_blocks, free_blocks;
	uint32_t free;
	uint32_t nb_holders;
	uint32_t filled;  /* blocks that were ever used */
	uint32_t held[2]; /* blocks of [0] unproven and [1] proven exporters */
	struct block *blocks;
	struct place *places;   /* [nb_blocks], valid for the first block of a set */
	struct bucket *buckets; /* [bucket_mask + 1], by exporter and template */
	uint64_t bucket_mask, seed;
	/* [nb_holders] exporters, then list heads of unproven and proven classes */
	struct waiting_exporter *holders;
	uint8_t scratch[SET_MAX];
};

static uint32_t blocks_of(size_t bytes)
{
	size_t blocks = bytes / sizeof(struct block);

	return blocks < NONE ? (uint32_t)blocks : NONE - 1;
}

static uint64_t buckets_for(uint32_t blocks)
{
	return power_of_two_at_least((uint64_t)blocks + 1);
}

size_t waiting_memory(size_t bytes, uint32_t exporters)
{
	uint32_t blocks = blocks_of(bytes);

	return sizeof(struct waiting) + blocks * (sizeof(struct block) + sizeof(struct place)) +
	       buckets_for(blocks) * sizeof(struct bucket) +
	       ((size_t)exporters + RINGS) * sizeof(struct waiting_exporter);
}

struct waiting *waiting_create(size_t bytes, uint32_t exporters, uint64_t seed)
{
	struct waiting *waiting = malloc(sizeof(*waiting));

	if (waiting == NULL)
		return NULL;
	waiting->nb_blocks = waiting->free_blocks = blocks_of(bytes);
	waiting->free = NONE;
	waiting->filled = 0;
	waiting->held[0] = waiting->held[1] = 0;
	waiting->nb_holders = exporters;
	waiting->blocks = malloc((size_t)waiting->nb_blocks * sizeof(struct block) + 1);
	waiting->places = malloc((size_t)waiting->nb_blocks * sizeof(struct place) + 1);
	waiting->holders = calloc((size_t)exporters + RINGS, sizeof(struct waiting_exporter));
	waiting->bucket_mask = buckets_for(waiting->nb_blocks) - 1;
	waiting->buckets = malloc((waiting->bucket_mask + 1) * sizeof(struct bucket));
	if (waiting->blocks == NULL || waiting->places == NULL || waiting->holders == NULL ||
		waiting->buckets == NULL) {
		waiting_destroy(waiting);
		return NULL;
	}
	waiting->seed = seed;
	for (uint64_t i = 0; i <= waiting->bucket_mask; i++)
		waiting->buckets[i] = (struct bucket){NONE, NONE};
	for (uint32_t i = exporters; i < exporters + RINGS; i++)
		waiting->holders[i].before = waiting->holders[i].after = i;
	return waiting;
}

void waiting_destroy(struct waiting *waiting)
{
	if (waiting == NULL)
		return;
	free(waiting->blocks);
	free(waiting->places);
	free(waiting->buckets);
	free(waiting->holders);
	free(waiting);
}

static uint32_t class_of(uint32_t blocks)
{
	ASSERT(blocks, >, 0);
	return 31 - (uint32_t)__builtin_clz(blocks);
}

static uint32_t first_ring(const struct waiting *waiting, bool proven)
{
	return waiting->nb_holders + (proven ? CLASSES : 0);
}

static void leave_class(struct waiting *waiting, uint32_t exporter)
{
	struct waiting_exporter *waiting_exporter = &waiting->holders[exporter];

	if (waiting_exporter->blocks == 0)
		return;
	waiting->holders[waiting_exporter->before].after = waiting_exporter->after;
	waiting->holders[waiting_exporter->after].before = waiting_exporter->before;
}

static void enter_class(struct waiting *waiting, uint32_t exporter)
{
	struct waiting_exporter *waiting_exporter = &waiting->holders[exporter];
	uint32_t sentinel;

	if (waiting_exporter->blocks == 0)
		return;
	sentinel =
		first_ring(waiting, waiting_exporter->proven) + class_of(waiting_exporter->blocks);
	waiting_exporter->before = waiting->holders[sentinel].before;
	waiting_exporter->after = sentinel;
	waiting->holders[waiting_exporter->before].after = exporter;
	waiting->holders[sentinel].before = exporter;
}

static void count_blocks(struct waiting *waiting, uint32_t exporter, uint32_t blocks, bool proven)
{
	struct waiting_exporter *waiting_exporter = &waiting->holders[exporter];

	leave_class(waiting, exporter);
	waiting->held[waiting_exporter->proven] -= waiting_exporter->blocks;
	waiting_exporter->blocks = blocks;
	waiting_exporter->proven = proven;
	waiting->held[proven] += blocks;
	enter_class(waiting, exporter);
}

/* Returns NONE if all classes are empty. */
static uint32_t largest_exporter(const struct waiting *waiting, bool proven)
{
	uint32_t first = first_ring(waiting, proven);

	for (uint32_t i = first + CLASSES; i-- > first;)
		if (waiting->holders[i].after != i)
			return waiting->holders[i].after;
	return NONE;
}

static uint32_t take_block(struct waiting *waiting)
{
	uint32_t block = waiting->free;

	ASSERT(waiting->free_blocks, >, 0);
	waiting->free_blocks--;
	if (block == NONE)
		return waiting->filled++;
	waiting->free = waiting->blocks[block].next;
	return block;
}

static uint32_t blocks_needed(uint32_t len)
{
	return (uint32_t)((sizeof(struct waiting_set) + len + BLOCK_ROOM - 1) / BLOCK_ROOM);
}

static struct waiting_set head_of(const struct waiting *waiting, uint32_t first)
{
	struct waiting_set head;

	memcpy(&head, waiting->blocks[first].bytes, sizeof(head));
	return head;
}

static struct bucket *bucket_of(struct waiting *waiting, uint32_t exporter, uint16_t template_id)
{
	uint64_t hash = random_mix(((uint64_t)exporter << 16 | template_id) ^ waiting->seed);

	return &waiting->buckets[random_mix(hash + waiting->seed) & waiting->bucket_mask];
}

static void list(struct waiting *waiting, uint32_t first, uint32_t exporter, uint16_t template_id)
{
	struct bucket *bucket = bucket_of(waiting, exporter, template_id);
	struct waiting_exporter *waiting_exporter = &waiting->holders[exporter];

	waiting->places[first] = (struct place){
		.older = waiting_exporter->sets > 0 ? waiting_exporter->newest : NONE,
		.newer = NONE,
		.before = bucket->last,
		.after = NONE,
		.exporter = exporter,
		.template_id = template_id,
	};
	*(waiting_exporter->sets > 0 ? &waiting->places[waiting_exporter->newest].newer
				     : &waiting_exporter->oldest) = first;
	waiting_exporter->newest = first;
	waiting_exporter->sets++;
	*(bucket->last != NONE ? &waiting->places[bucket->last].after : &bucket->first) = first;
	bucket->last = first;
}

static void unlist(struct waiting *waiting, uint32_t first)
{
	const struct place *place = &waiting->places[first];
	struct bucket *bucket = bucket_of(waiting, place->exporter, place->template_id);
	struct waiting_exporter *waiting_exporter = &waiting->holders[place->exporter];

	*(place->older != NONE ? &waiting->places[place->older].newer : &waiting_exporter->oldest) =
		place->newer;
	*(place->newer != NONE ? &waiting->places[place->newer].older : &waiting_exporter->newest) =
		place->older;
	*(place->before != NONE ? &waiting->places[place->before].after : &bucket->first) =
		place->after;
	*(place->after != NONE ? &waiting->places[place->after].before : &bucket->last) =
		place->before;
	waiting_exporter->sets--;
}

static void remove_set(struct waiting *waiting, uint32_t first, uint32_t len)
{
	uint32_t exporter = waiting->places[first].exporter;
	uint32_t n = blocks_needed(len);
	uint32_t last = first;

	unlist(waiting, first);
	for (uint32_t i = 1; i < n; i++)
		last = waiting->blocks[last].next;
	waiting->blocks[last].next = waiting->free;
	waiting->free = first;
	waiting->free_blocks += n;
	ASSERT(waiting->free_blocks, <=, waiting->nb_blocks);
	count_blocks(waiting, exporter, waiting->holders[exporter].blocks - n,
		waiting->holders[exporter].proven);
}

static void drop_oldest(struct waiting *waiting, uint32_t exporter)
{
	uint32_t first = waiting->holders[exporter].oldest;

	remove_set(waiting, first, head_of(waiting, first).len);
}

/* Returns the exporter that drops its oldest set to make room for n blocks of `exporter`. */
static uint32_t find_donor(const struct waiting *waiting, uint32_t exporter, uint32_t n)
{
	const struct waiting_exporter *own = &waiting->holders[exporter];
	uint32_t largest = largest_exporter(waiting, own->proven);

	if (largest == NONE || waiting->held[own->proven] + n <= waiting->nb_blocks / 2)
		return largest_exporter(waiting, !own->proven);
	if (own->blocks == 0)
		return largest;
	return class_of(own->blocks) >= class_of(waiting->holders[largest].blocks) ? exporter
										   : largest;
}

static uint32_t store(struct waiting *waiting, const struct waiting_set *set)
{
	const uint8_t *data = set->data;
	uint32_t first = take_block(waiting), block = first;
	uint32_t room = BLOCK_ROOM - sizeof(*set);
	uint8_t *to = waiting->blocks[block].bytes + sizeof(*set);
	uint32_t left = set->len;

	memcpy(waiting->blocks[first].bytes, set, sizeof(*set));
	while (left > 0) {
		uint32_t n = left < room ? left : room;

		memcpy(to, data, n);
		data += n;
		left -= n;
		if (left == 0)
			break;
		waiting->blocks[block].next = take_block(waiting);
		block = waiting->blocks[block].next;
		to = waiting->blocks[block].bytes;
		room = BLOCK_ROOM;
	}
	return first;
}

void waiting_put(struct waiting *waiting, uint32_t exporter, const struct waiting_set *set,
	void (*gone)(void *arg, uint32_t exporter), void *arg)
{
	struct waiting_exporter *waiting_exporter = &waiting->holders[exporter];
	uint32_t n = blocks_needed(set->len), first;

	if (set->len > SET_MAX || n > waiting->nb_blocks) {
		gone(arg, exporter);
		return;
	}
	count_blocks(waiting, exporter, waiting_exporter->blocks, set->proven);
	while (waiting->free_blocks < n) {
		uint32_t donor = find_donor(waiting, exporter, n);

		drop_oldest(waiting, donor);
		gone(arg, donor);
	}
	first = store(waiting, set);
	list(waiting, first, exporter, set->template_id);
	count_blocks(waiting, exporter, waiting_exporter->blocks + n, set->proven);
}

static const uint8_t *load(struct waiting *waiting, uint32_t block, uint32_t len)
{
	uint32_t at = sizeof(struct waiting_set);

	for (uint32_t done = 0; done < len;) {
		uint32_t n = len - done < BLOCK_ROOM - at ? len - done : BLOCK_ROOM - at;

		memcpy(waiting->scratch + done, waiting->blocks[block].bytes + at, n);
		done += n;
		at = 0;
		if (done < len)
			block = waiting->blocks[block].next;
	}
	return waiting->scratch;
}

void waiting_offer(struct waiting *waiting, uint32_t exporter, uint16_t template_id,
	bool (*take)(void *arg, const struct waiting_set *set), void *arg)
{
	uint32_t next;

	for (uint32_t first = bucket_of(waiting, exporter, template_id)->first; first != NONE;
		first = next) {
		const struct place *place = &waiting->places[first];
		struct waiting_set set;

		next = place->after;
		if (place->exporter != exporter || place->template_id != template_id)
			continue;
		set = head_of(waiting, first);
		set.data = load(waiting, first, set.len);
		if (!take(arg, &set))
			return;
		remove_set(waiting, first, set.len);
	}
}

uint32_t waiting_count(const struct waiting *waiting, uint32_t exporter)
{
	return waiting->holders[exporter].sets;
}

uint32_t waiting_forget_old(struct waiting *waiting, uint32_t exporter, int64_t time)
{
	const struct waiting_exporter *waiting_exporter = &waiting->holders[exporter];
	uint32_t sets = waiting_exporter->sets;

	while (waiting_exporter->sets > 0 && head_of(waiting, waiting_exporter->oldest).time < time)
		drop_oldest(waiting, exporter);
	return sets - waiting_exporter->sets;
}

uint32_t waiting_forget(struct waiting *waiting, uint32_t exporter)
{
	uint32_t sets = waiting->holders[exporter].sets;

	while (waiting->holders[exporter].sets > 0)
		drop_oldest(waiting, exporter);
	return sets;
}
