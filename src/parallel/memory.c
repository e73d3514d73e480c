/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/memory.h"

#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Preferred, not bound: a node that is full costs speed, not the run. */
static void prefer_node(void *memory, size_t size, int node)
{
	unsigned long nodes[16] = {0};

	if (node < 0 || node >= (int)(sizeof(nodes) * 8))
		return;
	nodes[(size_t)node / (8 * sizeof(nodes[0]))] |= 1UL
							<< (size_t)node % (8 * sizeof(nodes[0]));
	syscall(SYS_mbind, memory, size, MPOL_PREFERRED, nodes, sizeof(nodes) * 8, 0);
}

static void *node_alloc(size_t size, void *arg)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	if (size >= HUGE_PAGE)
		madvise(memory, size, MADV_HUGEPAGE);
	prefer_node(memory, size, (int)(intptr_t)arg);
	memset(memory, 0, size);
	return memory;
}

static void node_free(void *memory, size_t size, void *arg)
{
	(void)arg;
	munmap(memory, size);
}

struct sketch_allocator memory_on_node(int node)
{
	return (struct sketch_allocator){node_alloc, node_free, (void *)(intptr_t)node};
}

size_t memory_available(void)
{
	FILE *meminfo = fopen("/proc/meminfo", "re");
	char line[128];
	size_t kilobytes = SIZE_MAX / 1024;

	if (meminfo == NULL)
		return SIZE_MAX;
	while (fgets(line, sizeof(line), meminfo) != NULL)
		if (sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1)
			break;
	fclose(meminfo);
	return kilobytes * 1024;
}
