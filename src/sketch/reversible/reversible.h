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
 * Minimum number of bits of a key with a fixed value. A wrong combination of the recovery then
 * passes as a key with a probability of at most 2^-24. In an IPv6 5-tuple, these are the three
 * bytes after its fields.
 */
#define REVERSIBLE_REDUNDANT_BITS 24

_Static_assert(sizeof(struct key4) - offsetof(struct key4, spare) == 3 &&
		       sizeof(struct key6) - offsetof(struct key6, spare) == 3,
	"a 5-tuple leaves 24 bits, including the reserved byte");

struct reversible {
	struct sketch sketch;
	/* Round keys from params.seed; recovery needs them to invert the mangling. */
	struct hash_key hash_key;
	struct counter_rows counters; /* for estimates and bounds */
	struct chunk_rows rows4;      /* for recovery of IPv4 keys */
	struct chunk_rows rows6;      /* for recovery of IPv6 keys */
	/* In another cache line than the read-only members. */
	_Atomic bool has_ipv6 __attribute__((aligned(64))); /* false: rows6 is all zero */
	/*
	 * One list per thread that shares the instance. The rows do not contain the counts in the
	 * lists.
	 */
	uint32_t nb_lists;
	struct candidates lists[];
};

extern const struct sketch_ops reversible_ops;

static inline const struct reversible *reversible_of_const(const struct sketch *sketch)
{
	return (const struct reversible *)sketch;
}

/* Implements sketch_ops.recover (reversible_recover.c). */
uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg);
