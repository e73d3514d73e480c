/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Interface of all sketches. This folder is a library without DPDK: memory comes from the allocator
 * in the parameters, hashes come with the burst.
 *
 * One thread writes to a sketch (SHARING_SEPARATE), or several (SHARING_SHARED); each case has its
 * slot in update[]. All other calls need exclusive access: the caller ensures that no update runs
 * (see parallel/epoch.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"
#include "sketch/flow_states.h"

/* Memory for sketches: zeroed, aligned to 64 bytes or more. alloc returns NULL if out of memory. */
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

/* Method by which threads add to the counters of a shared instance. */
enum sketch_atomic {
	ATOMIC_CAS, /* a compare-and-swap loop */
	ATOMIC_ADD, /* fetch-and-add if it can replace the loop */
};

/* Parameters of flow states (sketch/flow_states.h). */
struct sketch_deep {
	enum flow_depth deepest; /* most detailed state allowed; FLOW_COUNT: no flow has details */
	uint32_t flows;          /* flows that may have details at once; 0: the sketch's default */
	uint32_t after;          /* packets of a flow in state count before state rate */
	double share;            /* share of the packets at which a flow enters state tcp, 0 to 1 */
};

struct sketch_params {
	uint32_t depth;            /* rows; 0: the sketch's default */
	uint64_t width;            /* counters per row, a power of two; 0: the sketch's default */
	enum sketch_metric metric; /* unit of the counters */
	enum sketch_atomic atomic; /* used with SHARING_SHARED */
	uint32_t writers;          /* threads that share an instance; 0: 1 */
	uint32_t candidates;       /* least number of heavy keys in the list of an instance */
	/* Rule of the keys in the bursts; must live as long as the sketch. NULL: 5-tuples. */
	const struct key_rule *key;
	/*
	 * SKETCH_RECORDS: idle time in ns after which a key is emitted by expired() and removed; 0:
	 * never.
	 */
	uint64_t idle_timeout;
	/* SKETCH_RECORDS: also count the bytes of IP packets: frame bytes less the `overhead` of the
	 * burst. */
	bool ip_bytes;
	/*
	 * Called repeatedly while the queue of expired keys is full, until expired() empties it.
	 * NULL: do not wait; the key stays until there is room.
	 */
	void (*wait)(const void *arg);
	const void *wait_arg;
	/*
	 * For a sketch with fit(): keys per counter for which it sizes the rows of the next epoch,
	 * up to width_max; 0: the width stays.
	 */
	double load;
	uint64_t width_max;
	struct sketch_deep deep;
	uint64_t seed; /* seed of the hash; instances merge only if it is equal */
	struct sketch_allocator allocator;
};

enum sketch_caps {
	SKETCH_MERGEABLE = 1 << 0, /* has merge(); true for all without SKETCH_EXACT */
	/* The candidates of each part are the complete result. */
	SKETCH_EXACT = 1 << 1,
	SKETCH_SUBTRACTABLE = 1 << 2, /* has subtract() */
	SKETCH_DETAILS = 1 << 3,      /* update() reads the details of a burst */
	SKETCH_RECORDS = 1 << 4,      /* candidates have times and TCP flags */
};

/*
 * A heavy key in the list of one instance. Its packets are counted from when it was listed.
 * `before` is an upper bound, in the sketch's metric, of its count before that, and of packets
 * missed since because of other writers:
 *     packets <= true packets,  bytes <= true bytes,
 *     true metric <= (packets or bytes) + before.
 * If several threads wrote to the instance, each may have counted packets of a key. Then the key is
 * emitted once per thread, with the same before, and true metric <= (sum of packets or bytes) +
 * before.
 */
struct sketch_candidate {
	struct key key;
	struct key_hash hash;
	uint64_t packets, bytes; /* since the key was listed */
	uint64_t before; /* upper bound of its earlier count in the metric; UINT64_MAX: saturated */
	/* Of SKETCH_RECORDS, since it was listed. */
	int64_t first, last;         /* packet times, ns since 1970-01-01 UTC */
	uint64_t ip_bytes;           /* bytes of IP packets only; 0 without params.ip_bytes */
	uint8_t tcp_flags;           /* all flags seen */
	bool idle;                   /* true: idle for longer than params.idle_timeout */
	struct flow_figures figures; /* details; empty without params.deep */
};

/* Packets that a sketch had no room for. */
struct sketch_shed {
	uint64_t packets, bytes;
	uint64_t added, added_bytes; /* part of these that weights added (key_weights.shift) */
	uint64_t details;            /* flows that stayed in state count because details ran out */
};

/* Packets that a sketch counted but cannot assign to a key. */
struct sketch_undecoded {
	uint64_t flows; /* upper bound of the number of flows */
	uint64_t packets, bytes;
	uint64_t
		largest; /* upper bound of each of these keys, in the metric; UINT64_MAX: unknown */
};

typedef void (*sketch_emit_fn)(const struct sketch_candidate *candidate, void *arg);

struct kernel_layout;
struct option_owner;
struct sketch_ops;

struct sketch {
	const struct sketch_ops *ops;
	struct sketch_params params; /* parameters completed by check() */
};

/* Estimate of a key, never below the true count. A saturated value is only a lower limit. */
struct sketch_estimate {
	uint64_t value;
	bool saturated;
};

typedef void (*sketch_update_fn)(struct sketch *sketch, const struct key_burst *burst);

/* Operations of a sketch. A pointer is NULL only in the cases that its comment names. */
struct sketch_ops {
	const char *name;  /* name for --sketch */
	const char *alias; /* short name */
	const char *suits; /* when to choose it: one line of help */
	/*
	 * Options of the sketch in a measurement, and the function that applies them to the
	 * parameters; NULL: none.
	 */
	const struct option_owner *options;
	void (*configure)(struct sketch_params *params, const void *options);
	const char *width_option; /* option by which configure() may set the width; NULL: none */
	const char *load_option;  /* option by which configure() may set load; NULL: none */
	bool any_width;           /* width need not be a power of two */
	uint32_t caps;
	uint32_t default_depth;
	uint64_t default_width;
	/* Memory that the eBPF program updates (sketch/kernel_layout.h); NULL: it cannot. */
	const struct kernel_layout *kernel;

	/*
	 * Fills in defaults of params. Returns NULL, or why the shape is not supported. Ignores
	 * memory.
	 */
	const char *(*check)(struct sketch_params *params);
	/*
	 * Returns NULL, or why it does not support keys of the rule. NULL: all keys are supported.
	 */
	const char *(*check_key)(const struct key_rule *rule);
	/*
	 * Returns NULL, or why threads cannot share an instance; sets *option to the option
	 * responsible. NULL: sharing is possible if update[SHARING_SHARED] is set.
	 */
	const char *(*check_shared)(const struct sketch_params *params, const char **option);
	/* Returns the bytes of one instance; params must be checked. */
	size_t (*memory)(const struct sketch_params *params);

	/* Returns NULL if out of memory. params must be checked. */
	struct sketch *(*create)(const struct sketch_params *params);
	void (*destroy)(struct sketch *sketch);

	/* Restores the state after create(). */
	void (*reset)(struct sketch *sketch);

	/* Returns the width for the number of keys in the stream; NULL: the width never changes. */
	uint64_t (*fit)(const struct sketch *sketch);

	/*
	 * Counts a burst with hashes. The result depends on the order of packets, not on burst
	 * boundaries. SHARING_SHARED is NULL if threads cannot share an instance.
	 */
	sketch_update_fn update[SHARING_COUNT];
	/*
	 * Counts a burst with weights. The result equals that of the packets counted one by one,
	 * unless a counter is saturated; its value is then still a valid bound. NULL if update is
	 * NULL, or if the sketch counts only single packets.
	 */
	sketch_update_fn update_weighted[SHARING_COUNT];
	/*
	 * Prefetches the memory that the update with a burst will touch, some time before it. NULL:
	 * update() prefetches early enough.
	 */
	void (*fetch)(const struct sketch *sketch, const struct key_burst *burst);

	/* Returns the estimate of a key. NULL with SKETCH_EXACT. */
	struct sketch_estimate (*query)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * Merges src into dst, as if dst had counted both streams. Candidates are not merged: the
	 * parts still have theirs (candidates()), which is more than a merged list could hold.
	 * Returns 0, or -EINVAL if shape, seed or type differ, or if src is dst. NULL without
	 * SKETCH_MERGEABLE.
	 */
	int (*merge)(struct sketch *dst, const struct sketch *src);

	/*
	 * Subtracts src from dst: keeps the keys of both, each with dst's counts minus src's. A
	 * difference may be negative (two's complement); a key with difference 0 is no longer a
	 * candidate. Returns the same values as merge(). NULL without SKETCH_SUBTRACTABLE.
	 */
	int (*subtract)(struct sketch *dst, const struct sketch *src);

	/*
	 * Emits the keys in the list of the instance, in an order that depends only on the stream.
	 */
	void (*candidates)(const struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/* Returns true if every key of the stream is a candidate or has expired. */
	bool (*lists_all_keys)(const struct sketch *sketch);

	/*
	 * Returns the sum of the metric over all packets, from the counters of a merged sketch;
	 * UINT64_MAX if its rows disagree. NULL with SKETCH_EXACT: candidates(), shed() and
	 * undecoded() add up to it.
	 */
	uint64_t (*total)(const struct sketch *sketch);

	/*
	 * Recovers keys from the counters. Called once, after merging. Emits keys with at least
	 * `smallest` in the metric, heaviest first, until about `wanted` keys (0: all) are found.
	 * Their `before` is the estimate, and their counts are 0. Returns an upper bound of every
	 * key that was not emitted: at least smallest - 1, higher if a work budget ran out,
	 * UINT64_MAX if unknown. NULL for a sketch that stores its keys.
	 */
	uint64_t (*recover)(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
		sketch_emit_fn emit, void *arg);

	/*
	 * Returns a bound of the over-estimation, in units of the metric. With probability
	 * `confidence`, it holds for all of `keys` distinct keys together. Returns UINT64_MAX if
	 * there is no bound, as for a sketch with listed keys. Requires a merged sketch. NULL with
	 * SKETCH_EXACT.
	 */
	uint64_t (*error_bound)(const struct sketch *sketch, uint64_t keys, double confidence);

	/*
	 * Returns an upper bound, in units of the metric, of each key that is not a candidate. NULL
	 * without SKETCH_EXACT.
	 */
	uint64_t (*missed)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * Returns an upper bound, in units of the metric, of every key that is not a candidate of
	 * any part, or UINT64_MAX if unknown. The parts are instances as for merge(). NULL if
	 * recover() returns this bound, or if it is never known.
	 */
	uint64_t (*unlisted)(struct sketch *const *parts, uint32_t nb_parts);

	/* Returns the packets that update() could not count. NULL for a sketch that counts all. */
	struct sketch_shed (*shed)(const struct sketch *sketch);

	/* Returns the counts that belong to no candidate. NULL if there are none. */
	struct sketch_undecoded (*undecoded)(const struct sketch *sketch);

	/*
	 * For params.idle_timeout; both NULL if not supported.
	 *
	 * Emits keys that were idle and are no longer candidates. The only call that may run while
	 * a thread updates; not concurrently with itself.
	 */
	void (*expired)(struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/*
	 * Removes idle keys. Called by the updating thread if it was idle until `now`, ns since
	 * 1970-01-01 UTC.
	 */
	void (*rest)(struct sketch *sketch, int64_t now);

	/*
	 * For flow states (sketch/flow_states.h); both NULL if not supported.
	 *
	 * Sets the mapping of flow states, from the next packet of each flow on; a reset keeps it.
	 * Called by the updating thread between bursts. No effect without --flow-detail.
	 */
	void (*set_states)(struct sketch *sketch, const struct flow_states *states);
	/*
	 * Returns an array [FLOW_STATES]: packets since the reset by the state of their flow,
	 * without the mapping; NULL without --flow-detail.
	 */
	const uint64_t *(*state_packets)(const struct sketch *sketch);
};

/* All sketches listed in meson.build, NULL at the end. The first is the default. */
extern const struct sketch_ops *const sketches[];

/* Returns the sketch with a name or alias, or NULL. */
const struct sketch_ops *sketch_find(const char *name);

/* Returns the index in sketches[]. */
uint32_t sketch_index(const struct sketch_ops *ops);

/*
 * Returns NULL, or why the sketch cannot run with these parameters, and the option to change.
 * weighted: some bursts have weights.
 */
const char *sketch_inapplicable(const struct sketch_ops *ops, const struct sketch_params *params,
	enum sketch_sharing sharing, bool weighted);

/*
 * Returns the largest width (a power of two) that check() accepts and that fits into `size` bytes;
 * 0 if there is none.
 */
uint64_t sketch_width_for(
	const struct sketch_ops *ops, const struct sketch_params *params, size_t size);
