/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Inside of the reversible sketch, for its own files and its tests. Everybody else uses sketch.h.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "key/hash.h"
#include "sketch/candidates.h"
#include "sketch/counter_rows.h"
#include "sketch/reversible/chunk_rows.h"
#include "sketch/sketch.h"

/*
 * Bits of a key that are given, so that of what recovery makes up only 2^-24 pass for keys. Of an
 * IPv6 5-tuple they are the three bytes behind its fields.
 */
#define REVERSIBLE_REDUNDANT_BITS 24

_Static_assert(sizeof(struct key4) - offsetof(struct key4, spare) == 3 &&
		       sizeof(struct key6) - offsetof(struct key6, spare) == 3,
	"a 5-tuple leaves as many bits, the reserved byte among them");

struct reversible {
	struct sketch sketch;
	struct hash_key hash_key;     /* of params.seed; its mangling is what recovery takes back */
	struct counter_rows counters; /* give estimates and bounds */
	struct chunk_rows rows4;      /* give the keys, IPv4 */
	struct chunk_rows rows6;      /* and IPv6 */
	/* Apart from what is only read. */
	_Atomic bool seen_ipv6 __attribute__((aligned(64))); /* false: rows6 is all zero */
	/* Of each thread that shares the instance, what has not come to the rows yet. */
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
