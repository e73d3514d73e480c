/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Flow cache of a router: observed flows that are not exported yet. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/export.h"

#define FLOW_CACHE_MAX 65536 /* flows; the default size of many routers */

struct flow_cache {
	uint32_t n;
	struct export_flow *flows; /* [FLOW_CACHE_MAX], in order of their start */
	uint32_t *slots;           /* hash table: index of the flow + 1; 0: free */
	uint32_t *slot_of;         /* [FLOW_CACHE_MAX]: slot of each flow */
};

/* Returns false if out of memory. */
bool flow_cache_init(struct flow_cache *cache);
void flow_cache_fini(struct flow_cache *cache);

/*
 * Returns the flow of a key, and adds it if needed; a new flow has only its key. Returns NULL if
 * the cache is full. Valid until flows are removed.
 */
struct export_flow *flow_cache_get(struct flow_cache *cache, const struct key *key);

/*
 * Removes the flows that began at or before `began`, or have been idle since `silent` or before,
 * and passes them with the reason to emit().
 */
void flow_cache_expire(struct flow_cache *cache, int64_t began, int64_t silent,
	void (*emit)(void *arg, const struct export_flow *flow), void *arg);

/* Removes all flows, because the cache is full. */
void flow_cache_empty(struct flow_cache *cache,
	void (*emit)(void *arg, const struct export_flow *flow), void *arg);
