/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/waiting.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_ROOM 508
#define NONE       UINT32_MAX
#define CLASSES    32 /* by the logarithm of blocks held */
#define SET_MAX    65536

/* A set is a chain of blocks: a struct waiting_set whose `data` is not used, then its bytes. */
struct block {
	uint32_t next;
	uint8_t bytes[BLOCK_ROOM];
};

/* What a walk over an exporter's sets looks at, apart from their bytes. */
struct place {
	uint32_t next; /* first block of the exporter's next set */
	uint16_t template_id;
};

/* What an exporter holds; a member of its class's ring where it holds any. */
struct holder {
	uint32_t first, last; /* sets, by their first blocks */
	uint32_t sets, blocks;
	uint32_t before, after;
};

struct waiting {
	uint32_t nb_blocks, free_blocks;
	uint32_t free; /* first of the free blocks' chain */
	uint32_t nb_holders;
	uint32_t filled; /* blocks that were ever used */
	struct block *blocks;
	struct place *places;   /* [nb_blocks], of the set whose first block it is */
	struct holder *holders; /* [nb_holders], then a sentinel for each class */
	uint8_t scratch[SET_MAX];
};

static uint32_t blocks_of(size_t bytes)
{
	size_t blocks = bytes / sizeof(struct block);

	return blocks < NONE ? (uint32_t)blocks : NONE - 1;
}

size_t waiting_memory(size_t bytes, uint32_t exporters)
{
	return sizeof(struct waiting) +
	       blocks_of(bytes) * (sizeof(struct block) + sizeof(struct place)) +
	       ((size_t)exporters + CLASSES) * sizeof(struct holder);
}

struct waiting *waiting_create(size_t bytes, uint32_t exporters)
{
	struct waiting *waiting = malloc(sizeof(*waiting));

	if (waiting == NULL)
		return NULL;
	waiting->nb_blocks = waiting->free_blocks = blocks_of(bytes);
	waiting->free = NONE;
	waiting->filled = 0;
	waiting->nb_holders = exporters;
	waiting->blocks = malloc((size_t)waiting->nb_blocks * sizeof(struct block) + 1);
	waiting->places = malloc((size_t)waiting->nb_blocks * sizeof(struct place) + 1);
	waiting->holders = calloc((size_t)exporters + CLASSES, sizeof(struct holder));
	if (waiting->blocks == NULL || waiting->places == NULL || waiting->holders == NULL) {
		waiting_destroy(waiting);
		return NULL;
	}
	for (uint32_t i = exporters; i < exporters + CLASSES; i++)
		waiting->holders[i].before = waiting->holders[i].after = i;
	return waiting;
}

void waiting_destroy(struct waiting *waiting)
{
	if (waiting == NULL)
		return;
	free(waiting->blocks);
	free(waiting->places);
	free(waiting->holders);
	free(waiting);
}

/* blocks > 0 */
static uint32_t class_of(uint32_t blocks)
{
	return 31 - (uint32_t)__builtin_clz(blocks);
}

static void leave_class(struct waiting *waiting, uint32_t exporter)
{
	struct holder *holder = &waiting->holders[exporter];

	if (holder->blocks == 0)
		return;
	waiting->holders[holder->before].after = holder->after;
	waiting->holders[holder->after].before = holder->before;
}

static void enter_class(struct waiting *waiting, uint32_t exporter)
{
	struct holder *holder = &waiting->holders[exporter];
	uint32_t sentinel;

	if (holder->blocks == 0)
		return;
	sentinel = waiting->nb_holders + class_of(holder->blocks);
	holder->before = waiting->holders[sentinel].before;
	holder->after = sentinel;
	waiting->holders[holder->before].after = exporter;
	waiting->holders[sentinel].before = exporter;
}

static void hold(struct waiting *waiting, uint32_t exporter, uint32_t blocks)
{
	leave_class(waiting, exporter);
	waiting->holders[exporter].blocks = blocks;
	enter_class(waiting, exporter);
}

/* Of the highest class that anybody is in. */
static uint32_t largest_holder(const struct waiting *waiting)
{
	for (uint32_t i = waiting->nb_holders + CLASSES; i-- > waiting->nb_holders;)
		if (waiting->holders[i].after != i)
			return waiting->holders[i].after;
	return NONE;
}

static uint32_t take_block(struct waiting *waiting)
{
	uint32_t block = waiting->free;

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

/* Frees a set's blocks; who calls takes it out of the exporter's list. */
static void free_set(struct waiting *waiting, uint32_t exporter, uint32_t first, uint32_t len)
{
	uint32_t n = blocks_needed(len);
	uint32_t last = first;

	for (uint32_t i = 1; i < n; i++)
		last = waiting->blocks[last].next;
	waiting->blocks[last].next = waiting->free;
	waiting->free = first;
	waiting->free_blocks += n;
	waiting->holders[exporter].sets--;
	hold(waiting, exporter, waiting->holders[exporter].blocks - n);
}

static void drop_oldest(struct waiting *waiting, uint32_t exporter)
{
	struct holder *holder = &waiting->holders[exporter];
	uint32_t first = holder->first;
	struct waiting_set head = head_of(waiting, first);

	holder->first = waiting->places[first].next;
	free_set(waiting, exporter, first, head.len);
}

/* Whose oldest set goes when this exporter wants more. */
static uint32_t who_gives(const struct waiting *waiting, uint32_t exporter)
{
	const struct holder *own = &waiting->holders[exporter];
	uint32_t largest = largest_holder(waiting);

	if (own->blocks == 0 || largest == NONE)
		return largest;
	return class_of(own->blocks) >= class_of(waiting->holders[largest].blocks) ? exporter
										   : largest;
}

/* The set and its bytes, one after another, into new blocks; the first of them. */
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
	struct holder *holder = &waiting->holders[exporter];
	uint32_t n = blocks_needed(set->len), first;

	if (set->len > SET_MAX || n > waiting->nb_blocks) {
		gone(arg, exporter);
		return;
	}
	while (waiting->free_blocks < n) {
		uint32_t giver = who_gives(waiting, exporter);

		drop_oldest(waiting, giver);
		gone(arg, giver);
	}
	first = store(waiting, set);
	waiting->places[first] = (struct place){.next = NONE, .template_id = set->template_id};
	if (holder->sets++ == 0)
		holder->first = first;
	else
		waiting->places[holder->last].next = first;
	holder->last = first;
	hold(waiting, exporter, holder->blocks + n);
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

static bool offer_set(struct waiting *waiting, uint32_t block,
	bool (*take)(void *arg, const struct waiting_set *set), void *arg, uint32_t *len)
{
	struct waiting_set head = head_of(waiting, block);

	head.data = load(waiting, block, head.len);
	*len = head.len;
	return take(arg, &head);
}

void waiting_offer(struct waiting *waiting, uint32_t exporter,
	bool (*is_wanted)(void *arg, uint16_t template_id),
	bool (*take)(void *arg, const struct waiting_set *set), void *arg)
{
	struct holder *holder = &waiting->holders[exporter];
	uint32_t before = NONE, next, len;
	uint32_t sets = holder->sets;

	for (uint32_t block = holder->first; sets > 0; sets--, block = next) {
		next = waiting->places[block].next;
		if (!is_wanted(arg, waiting->places[block].template_id) ||
			!offer_set(waiting, block, take, arg, &len)) {
			before = block;
			continue;
		}
		if (before == NONE)
			holder->first = next;
		else
			waiting->places[before].next = next;
		if (block == holder->last)
			holder->last = before;
		free_set(waiting, exporter, block, len);
	}
}

uint32_t waiting_count(const struct waiting *waiting, uint32_t exporter)
{
	return waiting->holders[exporter].sets;
}

uint32_t waiting_forget(struct waiting *waiting, uint32_t exporter)
{
	uint32_t sets = waiting->holders[exporter].sets;

	while (waiting->holders[exporter].sets > 0)
		drop_oldest(waiting, exporter);
	return sets;
}
