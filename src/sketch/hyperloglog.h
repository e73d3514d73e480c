/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts distinct keys by HyperLogLog (Flajolet et al. 2007). The estimator is algorithm 6 of Ertl,
 * New cardinality estimation algorithms for HyperLogLog sketches (2017), which needs no bias
 * tables. With 2^14 registers the standard error is 1.04 / sqrt(2^14) = 0.81 %.
 */

#include <stdint.h>

#include "key/key_burst.h"

#define HYPERLOGLOG_BITS  14
#define HYPERLOGLOG_ERROR 0.008125 /* standard error, relative */

struct hyperloglog {
	uint8_t registers[1 << HYPERLOGLOG_BITS] __attribute__((aligned(64)));
};

void hyperloglog_reset(struct hyperloglog *hll);
void hyperloglog_update(struct hyperloglog *hll, const struct key_burst *burst);
/* Merges src into dst, as if dst had counted both streams. */
void hyperloglog_merge(struct hyperloglog *dst, const struct hyperloglog *src);
uint64_t hyperloglog_estimate(const struct hyperloglog *hll);
