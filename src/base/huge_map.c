/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/huge_map.h"

#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *huge_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (size >= HUGE_PAGE)
		madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

void huge_unmap(void *memory, size_t size)
{
	if (memory != NULL)
		munmap(memory, size);
}
