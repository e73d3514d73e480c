/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Consumer of the ring of one CPU (layout.h) */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rx/kernel/layout.h"

struct kernel_reader {
	struct kernel_ring *ring;
	uint32_t slots; /* slots of the ring, a power of two */
	uint64_t at;    /* slots consumed since the start */
	uint64_t head;  /* slots available since the start */
};

/* Starts at the present end of the ring. */
void kernel_reader_start(struct kernel_reader *reader, struct kernel_ring *ring, uint32_t slots);

/* Updates reader->head. Returns false if there is no entry to read. */
bool kernel_reader_look(struct kernel_reader *reader);

/*
 * Returns the next entry, or NULL. If its kind is KERNEL_ENTRY_HEADERS, the copied bytes follow it.
 * They and the entry are valid until kernel_reader_release().
 */
static inline const struct kernel_entry *kernel_reader_next(struct kernel_reader *reader)
{
	const struct kernel_entry *entries = (const struct kernel_entry *)(reader->ring + 1);
	const struct kernel_entry *entry = &entries[reader->at & (reader->slots - 1)];

	if (reader->at == reader->head)
		return NULL;
	reader->at += entry->kind == KERNEL_ENTRY_HEADERS ? 1 + KERNEL_HEADERS_SLOTS : 1;
	return entry;
}

/* Selects the generation of tables and rules that the program uses. */
void kernel_reader_turn(struct kernel_reader *reader, uint64_t generation);

/* Releases the slots that were read, so that the program can overwrite them. */
void kernel_reader_release(struct kernel_reader *reader);

/*
 * Return the packets that the program received on this CPU, and those dropped because the ring was
 * full.
 */
uint64_t kernel_ring_received(const struct kernel_ring *ring);
uint64_t kernel_ring_full(const struct kernel_ring *ring);
/* Returns the packets that matched no rule while the program used the generation. */
uint64_t kernel_ring_filtered(const struct kernel_ring *ring, uint64_t generation);
