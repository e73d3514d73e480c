/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Interface of all sketches. This folder is a library without DPDK: memory comes from the allocator
 * in the parameters, and hashes come with the burst.
 *
 * A sketch is updated by one thread (SHARING_SEPARATE) or by several (SHARING_SHARED), with one
 * function in update[] for each case. All other calls need exclusive access. The caller ensures
 * that no update runs at the same time (parallel/epoch.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"
#include "sketch/flow_states.h"

/*
 * Memory for sketches. alloc() returns zeroed memory, aligned to at least 64 bytes, or NULL if out
 * of memory.
 */
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

/* Atomic operation by which threads add to the counters of a shared instance. */
enum sketch_atomic {
	ATOMIC_CAS, /* a compare-and-swap loop */
	ATOMIC_ADD, /* fetch-and-add, if the sketch can use it, else ATOMIC_CAS */
};

/* Parameters of flow states (sketch/flow_states.h). */
struct sketch_deep {
	/* Most detailed state of flows; FLOW_COUNT: flows have no details. */
	enum flow_depth deepest;
	uint32_t flows; /* maximum number of flows with details; 0: the sketch's default */
	uint32_t after; /* number of packets after which a flow enters state rate */
	double share;   /* share of all packets at which a flow enters state tcp, 0 to 1 */
};

struct sketch_params {
	uint32_t depth;            /* rows; 0: the sketch's default */
	uint64_t width;            /* counters per row, a power of two; 0: the sketch's default */
	enum sketch_metric metric; /* unit of the counters */
	enum sketch_atomic atomic; /* used with SHARING_SHARED */
	uint32_t writers;          /* threads that share an instance; 0: 1 */
	uint32_t candidates;       /* minimum number of heavy keys in the list of an instance */
	/* Key rule of the bursts; must live as long as the sketch. NULL: 5-tuples. */
	const struct key_rule *key;
	/*
	 * With SKETCH_RECORDS: if a key has no packet for this time in ns, expired() emits it, and
	 * its entry is freed. 0: never.
	 */
	uint64_t idle_timeout;
	/*
	 * With SKETCH_RECORDS: also count the bytes of IP packets, without the `overhead` of the
	 * burst.
	 */
	bool ip_bytes;
	/*
	 * Called repeatedly while the queue of expired keys is full, until expired() empties it.
	 * NULL: do not wait; an idle key then stays until there is room.
	 */
	void (*wait)(const void *arg);
	const void *wait_arg;
	/*
	 * Target number of keys per counter, for sketches with fit(). fit() chooses the width of
	 * the next epoch accordingly, up to width_max. 0: the width is fixed.
	 */
	double load;
	uint64_t width_max;
	struct sketch_deep deep;
	uint64_t seed; /* seed of the hash; instances merge only if it is equal */
	struct sketch_allocator allocator;
};

enum sketch_caps {
	SKETCH_MERGEABLE = 1 << 0, /* has merge(); all sketches without SKETCH_EXACT have it */
	/* The candidates of all instances together are the complete result, without a merge. */
	SKETCH_EXACT = 1 << 1,
	SKETCH_SUBTRACTABLE = 1 << 2, /* has subtract() */
	SKETCH_DETAILS = 1 << 3, /* update() reads time[], tcp[] and other details of a burst */
	SKETCH_RECORDS = 1 << 4, /* candidates have times and TCP flags */
};

/*
 * Heavy key in the list of an instance. Its packets are counted from the time when it was listed.
 *
 *     packets <= true packets, bytes <= true bytes
 *     true count in the metric <= (packets or bytes) + before
 *
 * `before` bounds the packets that are not counted here: earlier packets of the key, and packets
 * that were missed because of other writers. If several threads share the instance, each may have
 * listed the key. The key is then emitted once per thread with the same `before`, and
 *
 *     true count in the metric <= (sum of packets or bytes) + before
 */
struct sketch_candidate {
	struct key key;
	struct key_hash hash;
	uint64_t packets, bytes; /* since the key was listed */
	uint64_t before; /* upper bound of all other packets, in the metric; UINT64_MAX: unknown */
	/* Only with SKETCH_RECORDS, since the key was listed: */
	int64_t first, last; /* packet times, ns since 1970-01-01 UTC */
	uint64_t ip_bytes;   /* bytes of IP packets without layer 2; 0 without params.ip_bytes */
	uint8_t tcp_flags;   /* all flags seen */
	bool idle;           /* true: idle for longer than params.idle_timeout */
	struct flow_figures figures; /* details; FLOW_FIGURES_NONE without params.deep */
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
	uint64_t flows; /* upper bound of the number of flows */
	uint64_t packets, bytes;
	/*
		 * Upper bound of the count of each of these keys, in the metric; UINT64_MAX:
		 * unknown.
		 */
	uint64_t largest;
};

typedef void (*sketch_emit_fn)(const struct sketch_candidate *candidate, void *arg);

struct kernel_layout;
struct option_owner;
struct sketch_ops;

struct sketch {
	const struct sketch_ops *ops;
	struct sketch_params params; /* parameters completed by check() */
};

/* Estimate of a key. Never below the true count, unless saturated: then only a lower bound. */
struct sketch_estimate {
	uint64_t value;
	bool saturated;
};

typedef void (*sketch_update_fn)(struct sketch *sketch, const struct key_burst *burst);

/* Operations of a sketch. A function may be NULL only if its comment permits it. */
struct sketch_ops {
	const char *name;  /* name for --sketch */
	const char *alias; /* short name */
	const char *suits; /* one line of help: when to choose this sketch */
	/*
	 * Options of a measurement with this sketch, and the function that applies them to the
	 * parameters. NULL: none.
	 */
	const struct option_owner *options;
	void (*configure)(struct sketch_params *params, const void *options);
	const char *width_option; /* option by which configure() may set the width; NULL: none */
	const char *load_option;  /* option by which configure() may set load; NULL: none */
	bool any_width;           /* true: the width may be any number, not only a power of two */
	uint32_t caps;
	uint32_t default_depth;
	uint64_t default_width;
	/*
	 * Memory that the eBPF program updates (sketch/kernel_layout.h). NULL: the program cannot
	 * update it.
	 */
	const struct kernel_layout *kernel;

	/*
	 * Sets depth, width and other parameters that are 0 to their defaults. Returns NULL, or the
	 * reason if the shape is not supported. Does not check memory.
	 */
	const char *(*check)(struct sketch_params *params);
	/*
	 * Returns NULL, or the reason if keys of this rule are not supported. NULL: all keys are
	 * supported.
	 */
	const char *(*check_key)(const struct key_rule *rule);
	/*
	 * Returns NULL, or the reason if threads cannot share an instance. Then sets *option to the
	 * name of the responsible option. NULL: sharing is possible if update[SHARING_SHARED] is
	 * not NULL.
	 */
	const char *(*check_shared)(const struct sketch_params *params, const char **option);
	/* Returns the bytes of one instance. check() must have accepted `params`. */
	size_t (*memory)(const struct sketch_params *params);

	/* Returns NULL if out of memory. check() must have accepted `params`. */
	struct sketch *(*create)(const struct sketch_params *params);
	void (*destroy)(struct sketch *sketch);

	/* Restores the state after create(). */
	void (*reset)(struct sketch *sketch);

	/*
	 * Returns the width that suits the number of keys so far (params.load). NULL: the width
	 * never changes.
	 */
	uint64_t (*fit)(const struct sketch *sketch);

	/*
	 * Counts a burst with hashes. The result depends on the order of packets, but not on burst
	 * boundaries. update[SHARING_SHARED] is NULL if threads cannot share an instance.
	 */
	sketch_update_fn update[SHARING_COUNT];
	/*
	 * Counts a burst with weights. The result equals that of an update with each packet, unless
	 * a counter is saturated. Then its value is still a valid bound. NULL if update is NULL, or
	 * if the sketch cannot count weights.
	 */
	sketch_update_fn update_weighted[SHARING_COUNT];
	/*
	 * Prefetches the memory that the next update with this burst will access. NULL: update()
	 * itself prefetches early enough.
	 */
	void (*fetch)(const struct sketch *sketch, const struct key_burst *burst);

	/* Returns the estimate of a key. NULL with SKETCH_EXACT. */
	struct sketch_estimate (*query)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * Merges src into dst, as if dst had counted both streams. Does not merge candidates. Emit
	 * those of dst and src instead: they are more than a merged list could hold. Returns 0, or
	 * -EINVAL if shape, seed or type differ or if src is dst. NULL without SKETCH_MERGEABLE.
	 */
	int (*merge)(struct sketch *dst, const struct sketch *src);

	/*
	 * Subtracts the counts of src from those of dst, and keeps the keys of both. A difference
	 * may be negative (two's complement). A key with the difference 0 is not a candidate. Returns
	 * the same values as merge(). NULL without SKETCH_SUBTRACTABLE.
	 */
	int (*subtract)(struct sketch *dst, const struct sketch *src);

	/*
	 * Emits the candidates: the keys in the list of the instance. Their order depends only on
	 * the stream.
	 */
	void (*candidates)(const struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/* Returns true if every key of the stream is a candidate or has expired. */
	bool (*lists_all_keys)(const struct sketch *sketch);

	/*
	 * Returns the sum of the metric over all packets, from the counters of a merged sketch, or
	 * UINT64_MAX if its rows have different sums. NULL with SKETCH_EXACT. There, candidates(),
	 * shed() and undecoded() together give this sum.
	 */
	uint64_t (*total)(const struct sketch *sketch);

	/*
	 * Recovers keys from the counters, once after merging. Emits keys with at least `smallest`
	 * in the metric, the heaviest first, until about `wanted` keys (0: all) are found. Sets
	 * `before` to their estimates and their counts to 0. Returns an upper bound of all keys
	 * that were not emitted: at least smallest - 1, higher if the work budget was used up,
	 * UINT64_MAX if unknown. NULL for a sketch that stores its keys.
	 */
	uint64_t (*recover)(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
		sketch_emit_fn emit, void *arg);

	/*
	 * Returns an upper bound of the error of estimates, in the metric. With probability
	 * `confidence`, it holds for all of `keys` distinct keys together. Returns UINT64_MAX if
	 * there is no bound, for example because keys are listed. Call it only for a merged sketch.
	 * NULL with SKETCH_EXACT.
	 */
	uint64_t (*error_bound)(const struct sketch *sketch, uint64_t keys, double confidence);

	/*
	 * Returns an upper bound of the count of this key, in the metric, if it is not a candidate.
	 * NULL without SKETCH_EXACT.
	 */
	uint64_t (*missed)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * Returns an upper bound, in the metric, of the count of each key that no part lists as a
	 * candidate, or UINT64_MAX if unknown. The parts are instances that merge() would accept.
	 * The function is NULL if the sketch has no such bound, or if recover() returns it.
	 */
	uint64_t (*unlisted)(struct sketch *const *parts, uint32_t nb_parts);

	/* Returns the packets that update() could not count. NULL for a sketch that counts all. */
	struct sketch_shed (*shed)(const struct sketch *sketch);

	/* Returns the counts that belong to no candidate. NULL if there are none. */
	struct sketch_undecoded (*undecoded)(const struct sketch *sketch);

	/*
	 * Functions for params.idle_timeout. Both are NULL if it is not supported.
	 *
	 * Emits the keys that were idle and were removed. May run while another thread updates the
	 * sketch, but not concurrently with itself.
	 */
	void (*expired)(struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/*
	 * Removes idle keys. Called by the updating thread if it had no packets until `now`, ns
	 * since 1970-01-01 UTC.
	 */
	void (*remove_idle)(struct sketch *sketch, int64_t now);

	/*
	 * Functions for flow states (sketch/flow_states.h). Both are NULL if they are not
	 * supported.
	 *
	 * Sets the mapping of flow states, from the next packet of each flow on. A reset keeps it.
	 * Called by the updating thread between bursts. Has no effect without --flow-detail.
	 */
	void (*set_states)(struct sketch *sketch, const struct flow_states *states);
	/*
	 * Returns an array [FLOW_STATES]: packets since the reset, by the own state of their flow.
	 * NULL without --flow-detail.
	 */
	const uint64_t *(*state_packets)(const struct sketch *sketch);
};

/* All sketches that meson.build lists. NULL ends the array. The first is the default. */
extern const struct sketch_ops *const sketches[];

/* Returns the sketch with a name or alias, or NULL. */
const struct sketch_ops *sketch_find(const char *name);

/* Returns the index in sketches[]. */
uint32_t sketch_index(const struct sketch_ops *ops);

/*
 * Returns NULL, or the reason if the sketch cannot run with these parameters, with advice.
 * weighted: some bursts have weights.
 */
const char *sketch_inapplicable(const struct sketch_ops *ops, const struct sketch_params *params,
	enum sketch_sharing sharing, bool weighted);

/*
 * Returns the largest width, a power of two, that check() accepts and that fits `size` bytes.
 * Returns 0 if there is none.
 */
uint64_t sketch_width_for(
	const struct sketch_ops *ops, const struct sketch_params *params, size_t size);
