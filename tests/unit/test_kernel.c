/* SPDX-License-Identifier: BSD-3-Clause */

/* Values of --kernel. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rx/kernel/options.h"

static void assert_place(
	const char *text, const char *interface, enum kernel_hook hook, uint32_t directions)
{
	struct attach_point point;
	char why[OPTION_WHY_MAX] = "";

	if (!attach_point_parse(text, &point, why))
		fail_msg("'%s' is refused: %s", text, why);
	assert_string_equal(point.interface, interface);
	assert_int_equal(point.hook, hook);
	assert_int_equal(point.directions, directions);
}

static void assert_refused(const char *text, const char *part)
{
	struct attach_point point;
	char why[OPTION_WHY_MAX] = "";

	if (attach_point_parse(text, &point, why))
		fail_msg("'%s' is not refused", text);
	if (strstr(why, part) == NULL)
		fail_msg("'%s': '%s' does not contain '%s'", text, why, part);
}

static void test_hooks_and_directions(void **state)
{
	(void)state;
	assert_place("eth0", "eth0", KERNEL_HOOK_TC, KERNEL_IN | KERNEL_OUT);
	assert_place("eth0,hook=tc", "eth0", KERNEL_HOOK_TC, KERNEL_IN | KERNEL_OUT);
	assert_place("eth0,direction=in", "eth0", KERNEL_HOOK_TC, KERNEL_IN);
	assert_place("eth0,direction=out,hook=tc", "eth0", KERNEL_HOOK_TC, KERNEL_OUT);
	assert_place("eth0,direction=both", "eth0", KERNEL_HOOK_TC, KERNEL_IN | KERNEL_OUT);
	assert_place("eth0,hook=xdp", "eth0", KERNEL_HOOK_XDP, KERNEL_IN);
	assert_place("eth0,hook=xdp,direction=in", "eth0", KERNEL_HOOK_XDP, KERNEL_IN);
	assert_place("a23456789012345,hook=xdp", "a23456789012345", KERNEL_HOOK_XDP, KERNEL_IN);
}

static void test_what_is_none(void **state)
{
	(void)state;
	assert_refused("", "an interface name");
	assert_refused(",hook=tc", "an interface name");
	assert_refused("a234567890123456", "an interface name");
	assert_refused("et/h0", "an interface name");
	assert_refused("eth 0", "an interface name");
	assert_refused("eth0,", "''");
	assert_refused("eth0,tc", "'tc'");
	assert_refused("eth0,hook=tcx", "'hook=tcx'");
	assert_refused("eth0,hook=", "'hook='");
	assert_refused("eth0,hook=tc,hook=xdp", "twice");
	assert_refused("eth0,direction=in,hook=tc,direction=both", "twice");
	assert_refused("eth0,direction=up", "'direction=up'");
	assert_refused("eth0,hook=xdp,direction=out", "incoming packets only");
	assert_refused("eth0,direction=both,hook=xdp", "incoming packets only");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hooks_and_directions),
		cmocka_unit_test(test_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
