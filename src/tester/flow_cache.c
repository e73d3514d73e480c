/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/flow_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "rx/packet/unaligned.h"

#define SLOTS (2 * FLOW_CACHE_MAX)

bool flow_cache_init(struct flow_cache *cache)
{
	cache->n = 0;
	cache->flows = calloc(FLOW_CACHE_MAX, sizeof(*cache->flows));
	cache->slots = calloc(SLOTS, sizeof(*cache->slots));
	cache->slot_of = calloc(FLOW_CACHE_MAX, sizeof(*cache->slot_of));
	if (cache->flows != NULL && cache->slots != NULL && cache->slot_of != NULL)
		return true;
	flow_cache_fini(cache);
	return false;
}

void flow_cache_fini(struct flow_cache *cache)
{
	free(cache->flows);
	free(cache->slots);
	free(cache->slot_of);
	*cache = (struct flow_cache){0};
}

static uint32_t first_slot(const struct key *key)
{
	size_t len = key->family == KEY_IPV4 ? sizeof(key->v4) : sizeof(key->v6);
	const uint8_t *bytes = (const uint8_t *)key;
	uint64_t hash = key->family;

	for (size_t at = 0; at < len; at += 8)
		hash = random_mix(hash * 3 + load64(bytes + at));
	return (uint32_t)(hash % SLOTS);
}

/* Returns the slot of the flow of a key, or the free slot for it. */
static uint32_t find_slot(const struct flow_cache *cache, const struct key *key)
{
	uint32_t slot = first_slot(key);

	while (cache->slots[slot] != 0 &&
		!key_equal(&cache->flows[cache->slots[slot] - 1].key, key))
		slot = (slot + 1) % SLOTS;
	return slot;
}

static void put_in_slot(struct flow_cache *cache, uint32_t slot, uint32_t place)
{
	cache->slots[slot] = place + 1;
	cache->slot_of[place] = slot;
}

struct export_flow *flow_cache_get(struct flow_cache *cache, const struct key *key)
{
	uint32_t slot = find_slot(cache, key);
	struct export_flow *flow;

	if (cache->slots[slot] != 0)
		return &cache->flows[cache->slots[slot] - 1];
	if (cache->n == FLOW_CACHE_MAX)
		return NULL;
	put_in_slot(cache, slot, cache->n);
	flow = &cache->flows[cache->n++];
	memset(flow, 0, sizeof(*flow));
	flow->key = *key;
	return flow;
}

/* Rebuilds the index after flows were removed and others moved. n: number of flows before. */
static void index_anew(struct flow_cache *cache, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cache->slots[cache->slot_of[i]] = 0;
	for (uint32_t i = 0; i < cache->n; i++)
		put_in_slot(cache, find_slot(cache, &cache->flows[i].key), i);
}

void flow_cache_expire(struct flow_cache *cache, int64_t began, int64_t silent,
	void (*emit)(void *arg, const struct export_flow *flow), void *arg)
{
	uint32_t kept = 0, n = cache->n;

	for (uint32_t i = 0; i < n; i++) {
		struct export_flow *flow = &cache->flows[i];

		if (flow->first > began && flow->last > silent) {
			cache->flows[kept++] = *flow;
			continue;
		}
		flow->end = flow->last <= silent ? EXPORT_IDLE : EXPORT_ACTIVE;
		emit(arg, flow);
	}
	cache->n = kept;
	if (kept < n)
		index_anew(cache, n);
}

void flow_cache_empty(struct flow_cache *cache,
	void (*emit)(void *arg, const struct export_flow *flow), void *arg)
{
	uint32_t n = cache->n;

	for (uint32_t i = 0; i < n; i++) {
		cache->flows[i].end = EXPORT_NO_ROOM;
		emit(arg, &cache->flows[i]);
	}
	cache->n = 0;
	index_anew(cache, n);
}
