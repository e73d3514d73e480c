/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How the reversible sketch finds its heavy keys.
 *
 * A key that counts at least the threshold has, in every row of buckets and of counters, one that
 * counts at least as much: a heavy one. The search goes through the chunks of the mangled key depth
 * first. In each row of buckets it keeps the heavy ones that agree with the chunks so far: a bucket
 * allows the values in its set, and where the row's index is made of the chunk, those of its own
 * number. It follows a value that a bucket allows in every row, as long as the index that it begins
 * leads to a heavy counter in every row (heavy_prefixes.h). What is left behind the last chunk has
 * its mangling taken back, and is a key only if all that is no field's is as in keys of the rule:
 * what the intersection makes up passes with probability 2^-24.
 *
 * The threshold falls step by step, so the heaviest keys come first and a search that has to stop
 * has found all above some count. It stops when enough keys were found, or when its budget is
 * reached: RECOVER_VISITS looks at a heavy bucket, which bounds the time, or RECOVER_MADE_UP keys
 * that were none, which bounds the probability that one passes: 2^14 x 2^-24 is about 0.001. Each
 * family has its own budget. What it remembers is bounded by the sketch's shape: a number for every
 * bucket of a row, and a map of at most 2^21 bits for every row of counters.
 */

#include "sketch/sketch.h"

#define RECOVER_VISITS  (UINT64_C(1) << 26)
#define RECOVER_MADE_UP (UINT32_C(1) << 14)

/* sketch_ops.recover */
uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg);
