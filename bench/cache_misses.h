/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Counts the cache misses of a thread with the performance counters of the CPU, if kernel and
 * machine provide them.
 */

#include <stdint.h>

/* Opens a counter for the calling thread. Returns -1 with errno if it is not available. */
int cache_misses_open(void);
void cache_misses_close(int counter);

/* Starts counting at 0. */
void cache_misses_start(int counter);
uint64_t cache_misses_stop(int counter);
