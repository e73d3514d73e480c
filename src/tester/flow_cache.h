/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The flows that a router observes and has not exported yet. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/export.h"

#define FLOW_CACHE_MAX 65536 /* flows, as many routers have by default */

struct flow_cache {
	uint32_t n;
	struct export_flow *flows; /* [FLOW_CACHE_MAX], in the order in which they began */
	uint32_t *slots;           /* by hash: the flow's place + 1; 0: free */
	uint32_t *slot_of;         /* [FLOW_CACHE_MAX], by place */
};

/* False where there is no memory. */
bool flow_cache_init(struct flow_cache *cache);
void flow_cache_fini(struct flow_cache *cache);

/*
 * The flow of a key; where it is new it has nothing but its key. NULL: it is new, and there is no
 * room. Valid until flows are taken out.
 */
struct export_flow *flow_cache_get(struct flow_cache *cache, const struct key *key);

/*
 * Takes out the flows that began at or before `began`, or were silent since `silent` or before, and
 * gives them to emit() with why they end.
 */
void flow_cache_expire(struct flow_cache *cache, int64_t began, int64_t silent,
	void (*emit)(void *arg, const struct export_flow *flow), void *arg);

/* Takes out all, for want of room. */
void flow_cache_empty(struct flow_cache *cache,
	void (*emit)(void *arg, const struct export_flow *flow), void *arg);
