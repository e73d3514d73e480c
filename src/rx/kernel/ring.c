/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/ring.h"

#include "base/assertion.h"

void kernel_reader_start(struct kernel_reader *reader, struct kernel_ring *ring, uint32_t slots)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	VERIFY(slots & (slots - 1), ==, 0);
	*reader = (struct kernel_reader){.ring = ring, .slots = slots, .at = head, .head = head};
	kernel_reader_release(reader);
}

bool kernel_reader_look(struct kernel_reader *reader)
{
	/* Pairs with the store of head in publish(), monitor.bpf.c. */
	reader->head = __atomic_load_n(&reader->ring->head, __ATOMIC_ACQUIRE);
	return reader->head != reader->at;
}

void kernel_reader_release(struct kernel_reader *reader)
{
	/* Pairs with the load of tail in has_room(), monitor.bpf.c. */
	__atomic_store_n(&reader->ring->tail, reader->at, __ATOMIC_RELEASE);
}

void kernel_reader_turn(struct kernel_reader *reader, uint64_t generation)
{
	/* Programs may use the old generation until kernel_program_wait() returns. */
	__atomic_store_n(&reader->ring->generation, generation & 1, __ATOMIC_SEQ_CST);
}

uint64_t kernel_ring_received(const struct kernel_ring *ring)
{
	return __atomic_load_n(&ring->received, __ATOMIC_RELAXED);
}

uint64_t kernel_ring_full(const struct kernel_ring *ring)
{
	return __atomic_load_n(&ring->ring_full, __ATOMIC_RELAXED);
}

uint64_t kernel_ring_filtered(const struct kernel_ring *ring, uint64_t generation)
{
	return __atomic_load_n(&ring->filtered[generation & 1], __ATOMIC_RELAXED);
}
