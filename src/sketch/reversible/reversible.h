/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Internals of the reversible sketch, for the files of this folder and tests. Other code uses
 * sketch.h.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "key/hash.h"
#include "sketch/candidates.h"
#include "sketch/counter_rows.h"
#include "sketch/reversible/chunk_rows.h"
#include "sketch/sketch.h"

/*
 * Bits of a key with a fixed value, so that a random combination of recovery passes as a key with
 * probability 2^-24. In an IPv6 5-tuple they are the three bytes after its fields.
 */
#define REVERSIBLE_REDUNDANT_BITS 24

_Static_assert(sizeof(struct key4) - offsetof(struct key4, spare) == 3 &&
		       sizeof(struct key6) - offsetof(struct key6, spare) == 3,
	"a 5-tuple leaves 24 bits, including the reserved byte");

struct reversible {
	struct sketch sketch;
	struct hash_key hash_key;     /* keyed by params.seed; recovery inverts its mangling */
	struct counter_rows counters; /* for estimates and bounds */
	struct chunk_rows rows4;      /* for recovery of IPv4 keys */
	struct chunk_rows rows6;      /* for recovery of IPv6 keys */
	/* Apart from the read-only fields. */
	_Atomic bool has_ipv6 __attribute__((aligned(64))); /* false: rows6 is all zero */
	/*
	 * One list per thread that shares the instance, with counts that are not in the rows yet.
	 */
	uint32_t nb_lists;
	struct candidates lists[];
};

extern const struct sketch_ops reversible_ops;

static inline const struct reversible *reversible_of_const(const struct sketch *sketch)
{
	return (const struct reversible *)sketch;
}

/* sketch_ops.recover (reversible_recover.c) */
uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg);
