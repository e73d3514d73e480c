/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How the reversible sketch finds its heavy keys.
 *
 * A key that counts at least the threshold has, in every row of counters and of buckets, a cell
 * that counts at least as much: a heavy cell. A heavy cell says of each chunk of a mangled key
 * which values it may have: those in the bucket's set, and those that agree with the cell's own
 * number where the row's index is made of that chunk. The search goes through the chunks depth
 * first. In each row it keeps the heavy cells that agree with the chunks so far, and it follows a
 * value that at least one of them allows in every row. What is left at the last chunk has its
 * mangling taken back, and is a key only if its spare bytes are zero: what the intersection makes
 * up passes with probability 2^-24.
 *
 * The threshold falls step by step, so the heaviest keys come first and a search that has to stop
 * has found all above some count. It stops when enough keys were found, or when its budget is
 * reached: RECOVER_VISITS looks at a cell, which bounds the time, RECOVER_CELLS heavy cells in a
 * row, which bounds the memory, and RECOVER_MADE_UP keys that were none, which bounds the
 * probability that the next one passes: 2^14 x 2^-24 is about 0.001.
 */

#include "sketch/sketch.h"

#define RECOVER_VISITS  (UINT64_C(1) << 27)
#define RECOVER_CELLS   (UINT32_C(1) << 16)
#define RECOVER_MADE_UP (UINT32_C(1) << 14)

/* sketch_ops.recover */
uint64_t reversible_recover(const struct sketch *sketch, uint32_t wanted, uint64_t smallest,
	sketch_emit_fn emit, void *arg);
