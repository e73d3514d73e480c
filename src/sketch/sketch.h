/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Interface of all sketches. Only update[SHARING_SHARED] may be called by several threads at a
 * time. The caller ensures that no update runs during any other call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"
#include "sketch/flow_states.h"

/* alloc() returns zeroed memory, aligned to at least 64 bytes, or NULL. */
struct sketch_allocator {
	void *(*alloc)(size_t size, void *arg);
	void (*free)(void *memory, size_t size, void *arg);
	void *arg;
};

extern const struct sketch_allocator sketch_allocator_malloc;

enum sketch_metric {
	SKETCH_PACKETS,
	SKETCH_BYTES,
};

enum sketch_sharing {
	SHARING_SEPARATE,
	SHARING_SHARED,
	SHARING_COUNT,
};

enum sketch_atomic {
	ATOMIC_CAS, /* compare-and-swap loop */
	ATOMIC_ADD, /* fetch-and-add if the sketch can use it, else ATOMIC_CAS */
};

struct sketch_deep {
	/* FLOW_COUNT: flows have no details. */
	enum flow_depth deepest;
	uint32_t flows; /* maximum number of flows with details; 0: the sketch's default */
	uint32_t after; /* packets after which a flow enters state rate */
	double share;   /* share of all packets at which a flow enters state tcp, 0 to 1 */
};

struct queries;

/* Size of a sketch whose width follows the keys. */
struct sketch_shape {
	uint64_t width, width6; /* See struct sketch_params. */
};

struct sketch_params {
	uint32_t depth; /* rows; 0: the sketch's default */
	uint64_t width; /* counters per row, a power of two; 0: the sketch's default */
	/* Only iblt with `compact`: cells per row for IPv6. 0: width / 2, set by create(). */
	uint64_t width6;
	bool compact; /* set by check(): the sketch uses cells without room for extra fields */
	enum sketch_metric metric;
	enum sketch_atomic atomic; /* used with SHARING_SHARED */
	uint32_t writers;          /* threads that share an instance; 0: 1 */
	uint32_t candidates;       /* minimum number of heavy keys in the list of an instance */
	/* Key rule of the bursts; must live as long as the sketch. NULL: 5-tuples. */
	const struct key_rule *key;
	/* With SKETCH_RECORDS: a key without a packet for this time is removed. ns; 0: never. */
	uint64_t idle_timeout;
	/* With SKETCH_RECORDS: also count bytes without the `overhead` of the burst. */
	bool ip_bytes;
	/*
	 * Called repeatedly while the queue of expired keys is full. NULL: the keys stay until
	 * there is room.
	 */
	void (*wait)(const void *arg);
	const void *wait_arg;
	/* Keys per counter, for which fit() chooses a width up to width_max. 0: fixed width. */
	double load;
	uint64_t width_max;
	struct sketch_deep deep;
	/*
	 * Queries request the states of flows; must live as long as the sketch. NULL: packets
	 * advance flows from state to state.
	 */
	const struct queries *queries;
	uint64_t seed; /* seed of the hash; instances merge only if it is equal */
	struct sketch_allocator allocator;
};

enum sketch_caps {
	SKETCH_MERGEABLE = 1 << 0, /* has merge(); all sketches without SKETCH_EXACT have it */
	/* The candidates of all instances together are the complete result, without a merge. */
	SKETCH_EXACT = 1 << 1,
	SKETCH_SUBTRACTABLE = 1 << 2,
	SKETCH_DETAILS = 1 << 3, /* update() reads time[], tcp[] and other details of a burst */
	SKETCH_RECORDS = 1 << 4, /* candidates have times and TCP flags */
};

/*
 * Heavy key in the list of an instance. Its true count is at most its count here plus `before`,
 * which bounds all its other packets. If several threads share the instance, the key may be
 * emitted once per thread with the same `before`. Its true count is then at most the sum of these
 * counts plus `before`.
 */
struct sketch_candidate {
	struct key key;
	struct key_hash hash;
	uint64_t packets, bytes; /* since the key was listed */
	uint64_t before; /* upper bound of all other packets, in the metric; UINT64_MAX: unknown */
	/* Times and all fields below: only with SKETCH_RECORDS, since the key was listed. */
	int64_t first, last; /* ns since 1970-01-01 UTC */
	uint64_t ip_bytes;   /* bytes without layer 2; 0 without params.ip_bytes */
	uint8_t tcp_flags;
	bool idle; /* true: idle for longer than params.idle_timeout */
	struct flow_figures figures;
};

/* Packets that a sketch could not count for lack of room. */
struct sketch_shed {
	uint64_t packets, bytes;
	/* Part of these that sampling weights added (key_weights.shift). */
	uint64_t added, added_bytes;
	uint64_t details; /* flows that stayed in state count for lack of details */
};

/* Packets that a sketch counted but cannot assign to a key. */
struct sketch_undecoded {
	uint64_t flows; /* upper bound of their number */
	uint64_t packets, bytes;
	/* Upper bound of the count of each such flow, in the metric; UINT64_MAX: unknown. */
	uint64_t largest;
	bool overflown; /* true: sums wrapped, and the counts of candidates are lower bounds */
};

typedef void (*sketch_emit_fn)(const struct sketch_candidate *candidate, void *arg);

struct kernel_layout;
struct option_owner;
struct sketch_ops;

struct sketch {
	const struct sketch_ops *ops;
	struct sketch_params params; /* completed by check() */
};

/* At least the true count, unless saturated: then at most the true count. */
struct sketch_estimate {
	uint64_t value;
	bool saturated;
};

#define SKETCH_MEMORY_PARTS_MAX 8

struct sketch_memory {
	const char *name;
	size_t bytes;
};

typedef void (*sketch_update_fn)(struct sketch *sketch, const struct key_burst *burst);

/* A function may be NULL only if its comment permits it. */
struct sketch_ops {
	const char *name; /* name for --sketch */
	const char *alias;
	const char *suits; /* one line of help: when to choose this sketch */
	/* Options of a measurement with this sketch. configure() applies them. NULL: none. */
	const struct option_owner *options;
	void (*configure)(struct sketch_params *params, const void *options);
	const char *width_option; /* option by which configure() may set the width; NULL: none */
	const char *load_option;  /* option by which configure() may set load; NULL: none */
	bool any_width;           /* true: the width need not be a power of two */
	uint32_t caps;
	uint32_t default_depth;
	uint64_t default_width;
	uint64_t first_width; /* at the start of a run, with params.load; 0: default_width */
	/* NULL: the eBPF program cannot update the sketch. */
	const struct kernel_layout *kernel;

	/* Sets defaults. Returns NULL, or the reason if the shape is not supported. */
	const char *(*check)(struct sketch_params *params);
	/* Returns NULL, or the reason if keys of this rule are not supported. NULL: all are. */
	const char *(*check_key)(const struct key_rule *rule);
	/*
	 * Returns NULL, or the reason if threads cannot share an instance, and the responsible
	 * option. NULL: they can if update[SHARING_SHARED] is not NULL.
	 */
	const char *(*check_shared)(const struct sketch_params *params, const char **option);
	/* Returns the bytes of one instance. check() must have accepted `params`. */
	size_t (*memory)(const struct sketch_params *params);
	/*
	 * Writes the parts of these bytes to parts[SKETCH_MEMORY_PARTS_MAX], which are zeroed. NULL:
	 * memory() has no parts.
	 */
	void (*memory_parts)(const struct sketch_params *params, struct sketch_memory *parts);

	/* Returns NULL if out of memory. check() must have accepted `params`. */
	struct sketch *(*create)(const struct sketch_params *params);
	void (*destroy)(struct sketch *sketch);

	void (*reset)(struct sketch *sketch);

	/*
	 * Returns the bytes that candidates() allocates until it returns. NULL: none. check() must
	 * have accepted `params`.
	 */
	size_t (*listing_memory)(const struct sketch_params *params);

	/* Returns the size for params.load. NULL: it never changes. */
	struct sketch_shape (*fit)(const struct sketch *sketch);

	/* The burst must have hashes. The result does not depend on burst boundaries. */
	sketch_update_fn update[SHARING_COUNT];
	/* Same result as updates with each packet, unless a counter is saturated. May be NULL. */
	sketch_update_fn update_weighted[SHARING_COUNT];
	/* Prefetches for an update with this burst. NULL: update() prefetches early enough. */
	void (*fetch)(const struct sketch *sketch, const struct key_burst *burst);
	/* The same for update_weighted(). NULL: fetch(). */
	void (*fetch_weighted)(const struct sketch *sketch, const struct key_burst *burst);

	/*
	 * Returns true if packet i of the burst has a key that update() stored. Not for a sketch
	 * that other threads update. NULL without SKETCH_EXACT; may be NULL.
	 */
	bool (*has_key)(const struct sketch *sketch, const struct key_burst *burst, uint32_t i);

	/* NULL with SKETCH_EXACT. */
	struct sketch_estimate (*query)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * Merges src into dst without candidates, which can be emitted from both. Returns 0, or
	 * -EINVAL if shape, seed or type differ or if src is dst. NULL without SKETCH_MERGEABLE.
	 */
	int (*merge)(struct sketch *dst, const struct sketch *src);

	/*
	 * Subtracts counts, and keeps the keys of both. A difference may be negative (two's
	 * complement). A key with the difference 0 is not a candidate. Returns the same as
	 * merge(). NULL without SKETCH_SUBTRACTABLE.
	 */
	int (*subtract)(struct sketch *dst, const struct sketch *src);

	/* Emits the keys in the list of the instance. Their order depends only on the stream. */
	void (*candidates)(const struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/* Returns true if every key of the stream is a candidate or has expired. */
	bool (*lists_all_keys)(const struct sketch *sketch);

	/*
	 * Returns the metric's sum over all packets from a merged sketch, or UINT64_MAX if its
	 * rows have different sums. NULL with SKETCH_EXACT.
	 */
	uint64_t (*total)(const struct sketch *sketch);

	/*
	 * Recovers keys from merged counters. Emits keys with at least `smallest` in the metric,
	 * the heaviest first, until about `wanted` keys (0: all) are found, with their estimates
	 * as `before` and counts of 0. Returns an upper bound, at least smallest - 1, of all keys
	 * that were not emitted, or UINT64_MAX if unknown. NULL for a sketch that stores its keys.
	 */
	uint64_t (*recover)(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
		sketch_emit_fn emit, void *arg);

	/*
	 * Returns an upper bound, in the metric, of the errors of a merged sketch's estimates.
	 * With probability `confidence`, it holds for all of `keys` keys together. UINT64_MAX: no
	 * bound. NULL with SKETCH_EXACT.
	 */
	uint64_t (*error_bound)(const struct sketch *sketch, uint64_t keys, double confidence);

	/*
	 * An upper bound, in the metric, of the count of a key that is not a candidate. NULL
	 * without SKETCH_EXACT.
	 */
	uint64_t (*missed)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * Returns an upper bound, in the metric, of the count of each key that no part lists as a
	 * candidate, or UINT64_MAX if unknown. NULL if there is no such bound, or if recover()
	 * returns it.
	 */
	uint64_t (*unlisted)(struct sketch *const *parts, uint32_t nb_parts);

	/* Returns the packets that update() could not count. NULL for a sketch that counts all. */
	struct sketch_shed (*shed)(const struct sketch *sketch);

	/* Returns the counts that belong to no candidate. NULL if there are none. */
	struct sketch_undecoded (*undecoded)(const struct sketch *sketch);

	/*
	 * Emits the keys that were removed because they were idle. One thread may call it while
	 * another updates the sketch. NULL without support for params.idle_timeout.
	 */
	void (*expired)(struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/* The updating thread had no packets until `now`, ns since 1970-01-01 UTC. May be NULL. */
	void (*remove_idle)(struct sketch *sketch, int64_t now);

	/*
	 * Called by the updating thread between bursts. Takes effect from the next packet of each
	 * flow on. A reset keeps it. NULL without support for flow states.
	 */
	void (*set_states)(struct sketch *sketch, const struct flow_states *states);
	/*
	 * Returns packets since the reset, by the own state of their flow. NULL without
	 * --flow-detail.
	 */
	const uint64_t *(*state_packets)(const struct sketch *sketch);
	/* Returns packets since the reset. NULL without params.queries or flow states. */
	const struct flow_query_packets *(*query_packets)(const struct sketch *sketch);
};

/* All sketches that meson.build lists. NULL ends the array. The first is the default. */
extern const struct sketch_ops *const sketches[];

/* Finds a name or alias. Returns NULL if it is unknown. */
const struct sketch_ops *sketch_find(const char *name);

uint32_t sketch_index(const struct sketch_ops *ops);

static inline bool sketch_has_lookup(const struct sketch_ops *ops)
{
	return ops->has_key != NULL || ops->query != NULL;
}

/*
 * Finds packet i of the burst without counting it, as update() does. Returns false if its key is
 * new. A sketch without SKETCH_EXACT has no new keys.
 */
static inline bool sketch_look_up(
	const struct sketch *sketch, const struct key_burst *burst, uint32_t i)
{
	if (sketch->ops->has_key != NULL)
		return sketch->ops->has_key(sketch, burst, i);
	sketch->ops->query(sketch, &burst->hash[i]);
	return true;
}

/* Returns NULL, or the reason if the sketch cannot run. `weighted`: some bursts have weights. */
const char *sketch_inapplicable(const struct sketch_ops *ops, const struct sketch_params *params,
	enum sketch_sharing sharing, bool weighted);

/* Returns the sum of the parts of ops->memory_parts(). */
size_t sketch_memory_sum(const struct sketch_ops *ops, const struct sketch_params *params);

/* Returns the largest width, a power of two, for an instance of at most `size` bytes, or 0. */
uint64_t sketch_width_for(
	const struct sketch_ops *ops, const struct sketch_params *params, size_t size);
