/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What every sketch offers. This folder is a library of its own that does not know DPDK: memory
 * comes through the allocator in the parameters, hashes come with the burst.
 *
 * A sketch is either written by one thread (SHARING_SEPARATE) or by several (SHARING_SHARED); the
 * two are two slots of update[]. All other calls need the sketch to themselves: the caller makes
 * sure that no update runs (parallel/epoch.h says how).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/hash.h"
#include "key/key.h"
#include "key/key_burst.h"
#include "sketch/flow_states.h"

/* Memory for sketches: zeroed, aligned to 64 bytes or more. alloc returns NULL when there is
 * none. */
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

/* How threads that share an instance add to its counters. */
enum sketch_atomic {
	ATOMIC_CAS, /* a compare-and-swap loop */
	ATOMIC_ADD, /* fetch-and-add where it can replace the loop */
};

/* Of flows that have states (sketch/flow_states.h). */
struct sketch_deep {
	enum flow_depth deepest; /* that a flow comes to; FLOW_COUNT: there are no states */
	uint32_t flows;          /* that may have been deeper at once; 0: the sketch's default */
	uint32_t after;          /* packets in count, until rate */
	double share;            /* of the packets, that brings to tcp */
};

struct sketch_params {
	uint32_t depth;            /* rows; 0: the sketch's default */
	uint64_t width;            /* counters per row, a power of two; 0: the sketch's default */
	enum sketch_metric metric; /* what the counters count */
	enum sketch_atomic atomic; /* of SHARING_SHARED */
	uint32_t writers;          /* threads that share an instance; 0: one */
	uint32_t candidates;       /* heavy keys that an instance remembers at least */
	/* Whose keys it is given; lives as long as the sketch. NULL: 5-tuples. */
	const struct key_rule *key;
	/* Of SKETCH_RECORDS: ns; a key that was idle for longer is given out (expired()) and forgotten; 0: none is. */
	uint64_t idle_timeout;
	/* Of SKETCH_RECORDS: bytes of IP packets are counted too, by the overhead of a burst. */
	bool ip_bytes;
	/* Called again and again while there is no room to give out, until expired() has made some.
	 * NULL: nobody waits, the key stays until there is. */
	void (*wait)(const void *arg);
	const void *wait_arg;
	/* Of a sketch that has fit(): keys per counter that the next epoch's rows are made for, up to
	 * a width; 0: the width stays. */
	double load;
	uint64_t width_max;
	struct sketch_deep deep;
	uint64_t seed; /* of the hash; instances merge only where it agrees */
	struct sketch_allocator allocator;
};

enum sketch_caps {
	SKETCH_MERGEABLE = 1 << 0, /* merge() is there, as in all that are not SKETCH_EXACT */
	/* Candidates are what there is to know, of each part. */
	SKETCH_EXACT = 1 << 1,
	SKETCH_SUBTRACTABLE = 1 << 2, /* subtract() is there */
	SKETCH_DETAILS = 1 << 3,      /* update() reads the details of a burst */
	SKETCH_RECORDS = 1 << 4,      /* candidates bring times and TCP flags */
};

/*
 * A heavy key as one instance remembers it. From the moment it was listed its packets were counted;
 * what came before is known only by its upper bound, in the sketch's metric, and so is what was
 * missed since where several threads wrote:
 *     packets <= true packets,  bytes <= true bytes,
 *     true metric <= (packets or bytes) + before.
 * Where several threads wrote to the instance each may have counted packets of a key: then it is
 * emitted for each, with the same before, and true metric <= (sum of packets or bytes) + before.
 */
struct sketch_candidate {
	struct key key;
	struct key_hash hash;
	uint64_t packets, bytes; /* since it was listed */
	uint64_t before;         /* upper bound of the metric before; UINT64_MAX: saturated */
	/* Of SKETCH_RECORDS, since it was listed. */
	int64_t first, last;         /* packets' times, ns since 1970-01-01 UTC */
	uint64_t ip_bytes;           /* of params.ip_bytes: of IP packets alone */
	uint8_t tcp_flags;           /* of any packet */
	bool idle;                   /* for longer than params.idle_timeout */
	struct flow_figures figures; /* of params.deep */
};

/* What a sketch had no room for. */
struct sketch_shed {
	uint64_t packets, bytes;
	uint64_t added, added_bytes; /* of these, what weights add to packets (key_weights.shift) */
	uint64_t details;            /* flows that stayed in state count for lack of room */
};

/* What a sketch counted and cannot say whose it is. */
struct sketch_undecoded {
	uint64_t flows; /* at most so many */
	uint64_t packets, bytes;
	uint64_t largest; /* no key among them has more, in the metric; UINT64_MAX: not known */
};

typedef void (*sketch_emit_fn)(const struct sketch_candidate *candidate, void *arg);

struct option_owner;
struct sketch_ops;

struct sketch {
	const struct sketch_ops *ops;
	struct sketch_params params; /* as init() completed them */
};

/* The value is never below the truth; a saturated one says only "at least this". */
struct sketch_estimate {
	uint64_t value;
	bool saturated;
};

typedef void (*sketch_update_fn)(struct sketch *sketch, const struct key_burst *burst);

/* Slots are there in every sketch, unless they say when one is NULL. */
struct sketch_ops {
	const char *name;  /* the word after --sketch */
	const char *alias; /* a shorter one */
	const char *suits; /* when to choose it: a line of help */
	/* Options of its own, of a measurement, and what they make of its parameters; NULL: none. */
	const struct option_owner *options;
	void (*configure)(struct sketch_params *params, const void *options);
	const char *width_option; /* by which configure() may give the width; NULL: none */
	bool any_width;           /* a width need not be a power of two */
	uint32_t caps;
	uint32_t default_depth;
	uint64_t default_width;

	/* Completes params (defaults). Returns NULL or why this shape cannot be; memory is not
	 * asked. */
	const char *(*check)(struct sketch_params *params);
	/* Returns NULL or why it cannot take keys of the rule. NULL: it takes any. */
	const char *(*check_key)(const struct key_rule *rule);
	/* Returns NULL or why threads cannot share an instance, with the option that says it. NULL:
	 * they can where update[SHARING_SHARED] is there. */
	const char *(*check_shared)(const struct sketch_params *params, const char **option);
	/* Bytes of one instance of checked params. */
	size_t (*memory)(const struct sketch_params *params);

	/* Returns NULL when the allocator has no memory. params must have passed check(). */
	struct sketch *(*create)(const struct sketch_params *params);
	void (*destroy)(struct sketch *sketch);

	/* Back to the state after create(). */
	void (*reset)(struct sketch *sketch);

	/* The width for as many keys as the stream had; NULL: the width never changes. */
	uint64_t (*fit)(const struct sketch *sketch);

	/*
	 * Counts a burst whose hashes are filled; the order within it matters, its borders do not.
	 * NULL for SHARING_SHARED where threads cannot share an instance.
	 */
	sketch_update_fn update[SHARING_COUNT];
	/*
	 * The same for a burst with weights. It leaves behind what a burst of the packets that they
	 * stand for would, as far as no counter is saturated; where one is, what it says still
	 * holds. NULL where update is, or if the sketch takes packets one by one only.
	 */
	sketch_update_fn update_weighted[SHARING_COUNT];
	/* Fetches what the update with a burst will touch, some time before it. NULL: it does so
	 * itself, and soon enough. */
	void (*fetch)(const struct sketch *sketch, const struct key_burst *burst);

	/* NULL with SKETCH_EXACT. */
	struct sketch_estimate (*query)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * dst := the sketch that had seen both streams. Its candidates are not merged: each part
	 * knows its own (candidates()), and together they know more than a merged list could.
	 * Returns 0, or -EINVAL for another shape, another seed, another kind, or itself.
	 * NULL without SKETCH_MERGEABLE.
	 */
	int (*merge)(struct sketch *dst, const struct sketch *src);

	/*
	 * dst := the keys of both, each with dst's counts less src's: a difference may be negative
	 * (two's complement), and a key without one is no candidate. Returns as merge() does. NULL
	 * without SKETCH_SUBTRACTABLE.
	 */
	int (*subtract)(struct sketch *dst, const struct sketch *src);

	/* Emits the keys that the instance remembers, in an order that depends on the stream
	 * alone. */
	void (*candidates)(const struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/* True while every key of the stream is among the candidates, or was given out. */
	bool (*lists_all_keys)(const struct sketch *sketch);

	/*
	 * The metric of all packets, added up from what a merged sketch holds; UINT64_MAX where its
	 * rows disagree. NULL with SKETCH_EXACT: there candidates(), shed() and undecoded() say it.
	 */
	uint64_t (*total)(const struct sketch *sketch);

	/*
	 * NULL for a sketch that remembers its keys. One that finds them again from its counters is
	 * asked here, and once, after merging: emits keys of no less than `smallest` in the metric,
	 * the heaviest first, until about `wanted` (0: all) were found. Their `before` is their
	 * estimate, and nothing was counted since. Returns what no key that was not emitted
	 * exceeds: smallest - 1 or more, and more than was asked for where a budget was reached;
	 * UINT64_MAX where nothing is known.
	 */
	uint64_t (*recover)(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
		sketch_emit_fn emit, void *arg);

	/*
	 * The largest error: with probability >= confidence no one of `keys` distinct keys is
	 * over-estimated by more than the returned value, in the metric. UINT64_MAX: no bound is
	 * known, as of a sketch that remembers keys; it is asked of a merged one. NULL with
	 * SKETCH_EXACT.
	 */
	uint64_t (*error_bound)(const struct sketch *sketch, uint64_t keys, double confidence);

	/* Upper bound, in the metric, of a key that is not among the candidates. NULL without
	 * SKETCH_EXACT. */
	uint64_t (*missed)(const struct sketch *sketch, const struct key_hash *hash);

	/*
	 * What no key exceeds, in the metric, that is a candidate of none of the parts, instances
	 * as merge() takes them; UINT64_MAX: not known. NULL: recover() says it, or nobody does.
	 */
	uint64_t (*unlisted)(struct sketch *const *parts, uint32_t nb_parts);

	/* Packets that update() was given and could not count; NULL for a sketch that counts
	 * all. */
	struct sketch_shed (*shed)(const struct sketch *sketch);

	/* What is counted in the sketch and of no candidate; NULL where there is no such thing. */
	struct sketch_undecoded (*undecoded)(const struct sketch *sketch);

	/*
	 * Both of params.idle_timeout, NULL where there is no such thing.
	 *
	 * Emits what is known of keys that were idle, and are no candidates any more. The one call
	 * that may run while a thread updates; not while another thread calls it.
	 */
	void (*expired)(struct sketch *sketch, sketch_emit_fn emit, void *arg);
	/* The thread that updates has had nothing to do until `now`, ns since 1970-01-01 UTC: it
	 * looks for idle keys. */
	void (*rest)(struct sketch *sketch, int64_t now);

	/*
	 * Of flows that have states (sketch/flow_states.h); NULL where there is no such thing.
	 *
	 * The thread that updates, between bursts: how flows are held back, from the next packet of
	 * each on and beyond a reset. Without --flow-detail it has no effect.
	 */
	void (*set_states)(struct sketch *sketch, const struct flow_states *states);
	/* [FLOW_STATES]: packets that met a flow in each state since the reset, however it was held
	 * back; NULL without --flow-detail. */
	const uint64_t *(*state_packets)(const struct sketch *sketch);
};

/* Every sketch of meson.build's list, NULL at the end. The first is the default. */
extern const struct sketch_ops *const sketches[];

/* By name or alias; NULL where there is none. */
const struct sketch_ops *sketch_find(const char *name);

/* Its place in sketches[]. */
uint32_t sketch_index(const struct sketch_ops *ops);

/*
 * Returns NULL or why the sketch cannot be run so: it lacks an operation, and which option avoids
 * that. weighted: some bursts bring weights.
 */
const char *sketch_inapplicable(const struct sketch_ops *ops, const struct sketch_params *params,
	enum sketch_sharing sharing, bool weighted);

/*
 * Largest width (a power of two) whose instance check() accepts and fits into `size` bytes; 0 where
 * none does.
 */
uint64_t sketch_width_for(
	const struct sketch_ops *ops, const struct sketch_params *params, size_t size);
