/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * HyperLogLog (Flajolet et al. 2007) with the estimator of algorithm 6 of Ertl, New cardinality
 * estimation algorithms for HyperLogLog sketches (2017).
 */

#include <stdint.h>

#include "key/key_burst.h"

#define HYPERLOGLOG_BITS  14
#define HYPERLOGLOG_ERROR 0.008125 /* relative standard error, 1.04 / sqrt(2^14) */

struct hyperloglog {
	uint8_t registers[1 << HYPERLOGLOG_BITS] __attribute__((aligned(64)));
};

void hyperloglog_reset(struct hyperloglog *hll);
void hyperloglog_update(struct hyperloglog *hll, const struct key_burst *burst);
void hyperloglog_merge(struct hyperloglog *dst, const struct hyperloglog *src);
uint64_t hyperloglog_estimate(const struct hyperloglog *hll);
