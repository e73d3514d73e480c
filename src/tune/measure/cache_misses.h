/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The CPU's own count of a thread's cache misses, where the kernel and the machine give it. */

#include <stdint.h>

/* Of the calling thread. -1 where nobody counts; errno says why. */
int cache_misses_open(void);
void cache_misses_close(int counter);

/* From 0. */
void cache_misses_start(int counter);
uint64_t cache_misses_stop(int counter);
