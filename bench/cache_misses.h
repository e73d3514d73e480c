/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

/* Opens a counter for the calling thread. Returns -1 with errno if the CPU or kernel has none. */
int cache_misses_open(void);
void cache_misses_close(int counter);

void cache_misses_start(int counter);
uint64_t cache_misses_stop(int counter);
