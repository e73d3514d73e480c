/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Large zeroed memory, in transparent huge pages where the kernel has them for who asks. A page
 * lies where the thread runs that first touches it. */

#include <stddef.h>

/* NULL where there is none. */
void *huge_map(size_t size);
void huge_unmap(void *memory, size_t size);
