/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ring of digests, compared with a list: order, refused digests, and room for marks at any
 * time.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "parallel/designs/digest_ring.h"

#define UNITS 32
#define STEPS 200000

/* Expected contents of the ring. */
struct list {
	uint64_t first, last; /* numbers of digests and marks since the start */
	uint64_t put_units, taken_units;
	enum digest_kind kinds[STEPS];
};

struct world {
	struct digest_unit units[DIGEST_RING_UNITS(UNITS)];
	struct digest_ring ring;
	struct list list;
	struct random random;
	uint32_t marks; /* marks in the ring */
};

static int make_world(void **state)
{
	struct world *world = aligned_alloc(64, (sizeof(*world) + 63) / 64 * 64);

	memset(world, 0, sizeof(*world));
	world->ring.units = world->units;
	world->ring.size = UNITS;
	random_init(&world->random, 7);
	*state = world;
	return 0;
}

static int free_world(void **state)
{
	free(*state);
	return 0;
}

/* Returns the digest of a number: every byte depends on the number. */
static struct digest digest_of(uint64_t number, enum digest_kind kind)
{
	struct digest digest;

	memset(&digest, (int)(number % 251), sizeof(digest));
	digest.kind = (uint8_t)kind;
	digest.wire_len = (uint32_t)number;
	return digest;
}

static uint64_t free_units(const struct world *world)
{
	return UNITS - (world->list.put_units - world->list.taken_units);
}

static void put_digest(struct world *world)
{
	enum digest_kind kind = (enum digest_kind)random_below(&world->random, DIGEST_EPOCH);
	struct digest digest = digest_of(world->list.last, kind);
	uint32_t units = digest_units(kind);
	bool room = digest_ring_has_room(&world->ring, units);

	assert_int_equal(room, free_units(world) >= units + DIGEST_MARKS);
	if (!room)
		return;
	memcpy(digest_ring_put(&world->ring, units), &digest, (size_t)units * DIGEST_UNIT);
	world->list.kinds[world->list.last++] = kind;
	world->list.put_units += units;
}

static void put_mark(struct world *world)
{
	if (world->marks == DIGEST_MARKS)
		return;
	assert_true(free_units(world) > 0);
	digest_ring_mark(&world->ring, DIGEST_EPOCH, world->list.last);
	world->list.kinds[world->list.last++] = DIGEST_EPOCH;
	world->list.put_units++;
	world->marks++;
}

static void take_all(struct world *world, uint64_t most)
{
	struct list *list = &world->list;
	const struct digest *digest;

	digest_ring_publish(&world->ring);
	while (most-- > 0 && (digest = digest_ring_take(&world->ring)) != NULL) {
		enum digest_kind kind = (enum digest_kind)digest->kind;
		struct digest wanted = digest_of(list->first, kind);
		uint32_t units = digest_units(kind);

		assert_true(list->first < list->last);
		assert_int_equal(kind, list->kinds[list->first]);
		if (kind == DIGEST_EPOCH) {
			assert_int_equal(digest->number, list->first);
			world->marks--;
		} else {
			assert_memory_equal(digest, &wanted, (size_t)units * DIGEST_UNIT);
		}
		list->first++;
		list->taken_units += units;
	}
	digest_ring_give_back(&world->ring);
}

static void test_against_a_list(void **state)
{
	struct world *world = *state;

	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t choice = random_below(&world->random, 16);

		if (choice < 10)
			put_digest(world);
		else if (choice < 11)
			put_mark(world);
		else
			take_all(world, random_below(&world->random, 12));
	}
	take_all(world, UINT64_MAX);
	assert_int_equal(world->list.first, world->list.last);
	assert_true(world->list.last > STEPS / 4);
}

/* A ring that is not emptied keeps its contents, refuses digests, and accepts two marks. */
static void test_nothing_is_overwritten(void **state)
{
	struct world *world = *state;

	for (uint32_t i = 0; i < 10 * UNITS; i++)
		put_digest(world);
	put_mark(world);
	put_mark(world);
	for (uint32_t i = 0; i < 10 * UNITS; i++)
		put_digest(world);
	take_all(world, UINT64_MAX);
	assert_int_equal(world->list.first, world->list.last);
}

/* Digests are invisible before they are published. */
static void test_unpublished(void **state)
{
	struct world *world = *state;

	put_digest(world);
	assert_null(digest_ring_take(&world->ring));
	take_all(world, UINT64_MAX);
	assert_int_equal(world->list.first, 1);
	assert_null(digest_ring_take(&world->ring));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_against_a_list, make_world, free_world),
		cmocka_unit_test_setup_teardown(
			test_nothing_is_overwritten, make_world, free_world),
		cmocka_unit_test_setup_teardown(test_unpublished, make_world, free_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
