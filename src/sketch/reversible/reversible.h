/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "key/hash.h"
#include "sketch/candidates.h"
#include "sketch/counter_rows.h"
#include "sketch/reversible/chunk_rows.h"
#include "sketch/sketch.h"

/* Bits that are 0 in every key. A wrong key passes with a probability of at most 2^-24. */
#define REVERSIBLE_REDUNDANT_BITS 24

_Static_assert(sizeof(struct key4) - offsetof(struct key4, spare) == 3 &&
		       sizeof(struct key6) - offsetof(struct key6, spare) == 3,
	"a 5-tuple leaves 24 bits, including the reserved byte");

struct reversible {
	struct sketch sketch;
	/* Recovery inverts the mangling with these keys. */
	struct hash_key hash_key;
	struct counter_rows counters;
	struct chunk_rows rows4;
	struct chunk_rows rows6;
	_Atomic bool has_ipv6 __attribute__((aligned(64))); /* false: rows6 is all zero */
	/* One list per thread. The rows do not contain the counts in the lists. */
	uint32_t nb_lists;
	struct candidates lists[];
};

extern const struct sketch_ops reversible_ops;

static inline const struct reversible *reversible_of_const(const struct sketch *sketch)
{
	return (const struct reversible *)sketch;
}

uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg);
