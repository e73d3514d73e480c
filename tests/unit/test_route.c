/* SPDX-License-Identifier: BSD-3-Clause */

/* Who is on the way between two prefixes, by hand. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/observers.h"
#include "collect/route.h"

#define FLOWS 1000
#define STALE 1000

static void assert_near(double a, double b, double distance)
{
	assert_true(fabs(a - b) <= distance);
}

static struct routes create(void)
{
	struct routes routes;

	assert_true(routes_init(&routes, FLOWS, 7, STALE, &sketch_allocator_malloc));
	return routes;
}

static uint32_t observer(uint32_t exporter, uint32_t side)
{
	return exporter * OBSERVER_SIDES + side;
}

static void test_prefixes(void **state)
{
	struct routes routes = create();
	struct observation a, b;

	(void)state;
	memset(&a, 0, sizeof(a));
	a.family = KEY_IPV4;
	b = a;
	b.key4.src_ip[3] = 9;
	b.key4.dst_port[0] = 1;
	assert_true(route_key(&routes, &a) == route_key(&routes, &b));
	b.key4.src_ip[2] = 1;
	assert_true(route_key(&routes, &a) != route_key(&routes, &b));
	b.key4.src_ip[2] = 0;
	b.key4.dst_ip[2] = 1;
	assert_true(route_key(&routes, &a) != route_key(&routes, &b));
	a.key4.src_ip[2] = 1;
	b.key4.src_ip[2] = 0;
	assert_true(route_key(&routes, &a) != route_key(&routes, &b));
	memset(&a, 0, sizeof(a));
	a.family = KEY_IPV6;
	b = a;
	b.key6.dst_ip[6] = 1;
	assert_true(route_key(&routes, &a) == route_key(&routes, &b));
	b.key6.dst_ip[5] = 1;
	assert_true(route_key(&routes, &a) != route_key(&routes, &b));
	routes_fini(&routes, FLOWS, &sketch_allocator_malloc);
}

static void test_members(void **state)
{
	struct routes routes = create();
	struct route *route = route_find(&routes, 5, 1);

	(void)state;
	assert_ptr_equal(route_find(&routes, 5, 2), route);
	for (uint32_t e = 0; e < ROUTE_MEMBERS; e++)
		assert_int_equal(
			route_hear(&routes, route, observer(e, 0), 101, EXPORTER_NONE, 10), e);
	assert_near(route->sum, ROUTE_MEMBERS / 100.0, 1e-12);
	assert_int_equal(
		route_hear(&routes, route, observer(50, 0), 101, EXPORTER_NONE, 10), ROUTE_NOBODY);
	/* Another interval; then all but it fall silent. */
	route_hear(&routes, route, observer(3, 0), 11, EXPORTER_NONE, 11);
	assert_near(route->sum, (ROUTE_MEMBERS - 1) / 100.0 + 0.1, 1e-12);
	route_hear(&routes, route, observer(3, 0), 11, EXPORTER_NONE, STALE);
	route_hear(&routes, route, observer(3, 0), 11, EXPORTER_NONE, STALE + 500);
	assert_int_equal(route->nb, 1);
	assert_near(route->sum, 0.1, 1e-12);
	routes_fini(&routes, FLOWS, &sketch_allocator_malloc);
}

/* One observer sends to 2 and to 3: these weigh as much as one, on either side. */
static void test_branches(void **state)
{
	struct routes routes = create();
	struct route *route = route_find(&routes, 5, 1);

	(void)state;
	route_hear(&routes, route, observer(2, 1), 11, EXPORTER_NONE, 1);
	route_hear(&routes, route, observer(3, 1), 21, EXPORTER_NONE, 1);
	route_hear(&routes, route, observer(2, 2), 11, EXPORTER_NONE, 1);
	route_hear(&routes, route, observer(3, 2), 11, EXPORTER_NONE, 1);
	route_hear(&routes, route, observer(1, 1), 11, observer(2, 0), 1);
	assert_false(route->branches);
	assert_near(route->sum, 0.45, 1e-12);
	route_hear(&routes, route, observer(1, 1), 11, observer(3, 0), 1);
	assert_true(route->branches);
	/* 1, the coarser of each pair. */
	assert_near(route->sum, 0.1 + 0.05 + 0.1, 1e-12);
	assert_int_equal(route->group[0], route->group[1]);
	assert_int_equal(route->group[2], route->group[3]);
	assert_int_not_equal(route->group[0], route->group[2]);
	routes_fini(&routes, FLOWS, &sketch_allocator_malloc);
}

/* The next hop is who has the slot now, not who was there before. */
static void test_slot_of_another(void **state)
{
	struct routes routes = create();
	struct route *route = route_find(&routes, 5, 1);
	uint32_t later = UINT32_C(1) << GENERATION_SHIFT;

	(void)state;
	route_hear(&routes, route, observer(2, 1), 11, ROUTE_NOBODY, 1);
	route_hear(&routes, route, observer(3, 1), 11, ROUTE_NOBODY, 1);
	route_hear(&routes, route, observer(1, 1), 11, observer(3, 0), 1);
	route_hear(&routes, route, observer(1, 1), 11, observer(2, 0) + later, 1);
	assert_false(route->branches);
	assert_near(route->sum, 0.3, 1e-12);
	routes_fini(&routes, FLOWS, &sketch_allocator_malloc);
}

/* More routes than there is room for: the oldest of a set goes, the newest stays. */
static void test_bounded(void **state)
{
	struct routes routes = create();

	(void)state;
	for (uint32_t i = 0; i <= ROUTE_WAYS; i++) {
		struct route *route = route_find(&routes, 5 + i * routes.sets, 1 + i);

		assert_int_equal(route->nb, 0);
		route_hear(&routes, route, observer(1, 0), 11, EXPORTER_NONE, 1 + i);
	}
	assert_int_equal(route_find(&routes, 5 + ROUTE_WAYS * routes.sets, 50)->nb, 1);
	assert_int_equal(route_find(&routes, 5, 60)->nb, 0);
	routes_fini(&routes, FLOWS, &sketch_allocator_malloc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_slot_of_another),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
