/* SPDX-License-Identifier: BSD-3-Clause */

/* Known routes between two prefixes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/dedup/route.h"

#define FLOWS 1000
#define STALE 1000

static struct routes create(void)
{
	struct routes routes;

	assert_true(routes_init(&routes, FLOWS, 7, STALE, &sketch_allocator_malloc));
	return routes;
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

/* More routes than there is room for: the oldest of a set is removed, the newest stays. */
static void test_bounded(void **state)
{
	struct routes routes = create();

	(void)state;
	for (uint32_t i = 0; i <= ROUTE_WAYS; i++) {
		struct route *route = route_find(&routes, 5 + i * routes.sets, 1 + i);

		assert_false(route->ends_known);
		route->ends_known = true;
	}
	assert_true(route_find(&routes, 5 + ROUTE_WAYS * routes.sets, 50)->ends_known);
	assert_false(route_find(&routes, 5, 60)->ends_known);
	routes_fini(&routes, FLOWS, &sketch_allocator_malloc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
