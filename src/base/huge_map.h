/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Zeroed memory, in transparent huge pages if possible, on the NUMA node of the first access. */

#include <stddef.h>

void *huge_map(size_t size);
void huge_unmap(void *memory, size_t size);
