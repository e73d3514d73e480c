/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rx/kernel/layout.h"

struct kernel_reader {
	struct kernel_ring *ring;
	uint32_t slots; /* slots of the ring, a power of two */
	uint64_t at;    /* slots read since the start */
	uint64_t head;  /* slots that the program had filled at the last kernel_reader_look() */
};

/* Skips all packets that are already in the ring. */
void kernel_reader_start(struct kernel_reader *reader, struct kernel_ring *ring, uint32_t slots);

bool kernel_reader_look(struct kernel_reader *reader);

/* The entry, or NULL, is valid until kernel_reader_release(). Copied bytes follow the entry. */
static inline const struct kernel_entry *kernel_reader_next(struct kernel_reader *reader)
{
	const struct kernel_entry *entries = (const struct kernel_entry *)(reader->ring + 1);
	const struct kernel_entry *entry = &entries[reader->at & (reader->slots - 1)];

	if (reader->at == reader->head)
		return NULL;
	reader->at += entry->kind == KERNEL_ENTRY_HEADERS ? 1 + KERNEL_HEADERS_SLOTS : 1;
	return entry;
}

/* Returns the slots that were filled at the last look and are not read yet. */
static inline uint64_t kernel_reader_waiting(const struct kernel_reader *reader)
{
	return reader->head - reader->at;
}

void kernel_reader_turn(struct kernel_reader *reader, uint64_t generation);

/* Lets the program overwrite all entries that were read. */
void kernel_reader_release(struct kernel_reader *reader);

uint64_t kernel_ring_received(const struct kernel_ring *ring);
uint64_t kernel_ring_full(const struct kernel_ring *ring);
/* Returns the packets that matched no rule of --prefixes in this generation. */
uint64_t kernel_ring_filtered(const struct kernel_ring *ring, uint64_t generation);
