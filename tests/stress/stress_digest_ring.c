/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One thread puts digests of all kinds and marks into a small ring; another takes them out and
 * sometimes pauses. In the end each digest was taken once and in order, or was refused, and each
 * mark follows everything that was put before it.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "parallel/designs/digest_ring.h"

#define UNITS   64
#define DIGESTS 300000
#define EPOCH   1000 /* digests between two marks */

static struct digest_unit units[DIGEST_RING_UNITS(UNITS)];
static struct digest_ring ring = {.units = units, .size = UNITS};
static _Atomic uint64_t
	epochs_left; /* written by the consumer; the producer waits for it before a third mark */
static uint64_t refused, taken, marks;

static void put(struct random *random, uint32_t number)
{
	enum digest_kind kind = (enum digest_kind)random_below(random, DIGEST_EPOCH);
	struct digest digest = {.wire_len = number, .kind = (uint8_t)kind};
	uint32_t n = digest_units(kind);

	/* The last byte of each unit identifies its digest. */
	for (uint32_t u = 0; u < n; u++)
		((uint8_t *)&digest)[(u + 1) * DIGEST_UNIT - 1] = (uint8_t)(number * 7);
	if (digest_ring_has_room(&ring, n))
		memcpy(digest_ring_put(&ring, n), &digest, (size_t)n * DIGEST_UNIT);
	else
		refused++;
}

static void *feed(void *arg)
{
	struct random random;
	uint64_t epoch = 0;

	(void)arg;
	random_init(&random, 1);
	for (uint32_t i = 0; i < DIGESTS; i++) {
		put(&random, i);
		if (i % 16 == 15)
			digest_ring_publish(&ring);
		if (i % 512 == 511)
			sched_yield();
		if (i % EPOCH != EPOCH - 1)
			continue;
		while (epoch > atomic_load_explicit(&epochs_left, memory_order_acquire))
			sched_yield();
		digest_ring_mark(&ring, DIGEST_EPOCH, ++epoch);
	}
	digest_ring_mark(&ring, DIGEST_END, DIGESTS);
	return NULL;
}

static void check(const struct digest *digest, uint32_t n, uint32_t *next)
{
	assert_true(digest->wire_len >= *next && digest->wire_len < DIGESTS);
	assert_int_equal(digest->wire_len / EPOCH, marks);
	for (uint32_t u = 0; u < n; u++)
		assert_int_equal(((const uint8_t *)digest)[(u + 1) * DIGEST_UNIT - 1],
			(uint8_t)(digest->wire_len * 7));
	*next = digest->wire_len + 1;
	taken++;
}

static void take_all(void)
{
	struct random random;
	uint32_t next = 0;

	random_init(&random, 2);
	for (;;) {
		const struct digest *digest = digest_ring_take(&ring);

		if (digest == NULL) {
			digest_ring_give_back(&ring);
			sched_yield();
			continue;
		}
		if (digest->kind == DIGEST_END)
			return;
		if (digest->kind != DIGEST_EPOCH) {
			check(digest, digest_units((enum digest_kind)digest->kind), &next);
			if (random_below(&random, 8) == 0)
				digest_ring_give_back(&ring);
			continue;
		}
		assert_int_equal(digest->number, ++marks);
		digest_ring_give_back(&ring);
		atomic_store_explicit(&epochs_left, marks, memory_order_release);
	}
}

static void test_digest_ring(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, feed, NULL), 0);
	take_all();
	pthread_join(thread, NULL);
	assert_int_equal(taken + refused, DIGESTS);
	assert_int_equal(marks, DIGESTS / EPOCH);
	assert_true(taken > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digest_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
