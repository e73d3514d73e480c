/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Allocates large zeroed memory, in transparent huge pages if the kernel allows them. The kernel
 * places each page on the NUMA node of the thread that first touches it.
 */

#include <stddef.h>

/* Returns NULL if out of memory. */
void *huge_map(size_t size);
void huge_unmap(void *memory, size_t size);
