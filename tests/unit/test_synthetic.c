/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rx/capture/synthetic.h"

static struct synthetic_spec parse(const char *text)
{
	struct synthetic_spec spec;
	char error[SOURCE_ERROR_MAX] = "";

	if (!synthetic_parse(text, &spec, error))
		fail_msg("%s: %s", text, error);
	return spec;
}

static void assert_rejected(const char *text, const char *item, const char *why)
{
	struct synthetic_spec spec;
	char error[SOURCE_ERROR_MAX] = "";

	if (synthetic_parse(text, &spec, error))
		fail_msg("%s was taken", text);
	if (strstr(error, item) == NULL || strstr(error, why) == NULL || strchr(error, '\n'))
		fail_msg("%s: \"%s\" lacks \"%s\" or \"%s\"", text, error, item, why);
}

static void test_defaults(void **state)
{
	struct synthetic_spec spec = parse("");

	(void)state;
	assert_int_equal(spec.flows, 1000000);
	assert_false(spec.random);
	assert_int_equal(spec.zipf_e6, 1050000);
	assert_int_equal(spec.size, SYNTHETIC_SIZE_RANGE);
	assert_int_equal(spec.size_min, 64);
	assert_int_equal(spec.size_max, 64);
	assert_int_equal(spec.packets, 5000000);
	assert_int_equal(spec.ipv6_e6, 0);
	assert_int_equal(spec.vlan_e6, 0);
	assert_int_equal(spec.seed, 1);
}

static void test_all_fields(void **state)
{
	struct synthetic_spec spec = parse(
		"seed=7,vlan=10%,ipv6=0.25,rate=2Mpps,packets=0,size=100-9000,zipf=0.987654,flows=64K");

	(void)state;
	assert_int_equal(spec.flows, 64000);
	assert_int_equal(spec.zipf_e6, 987654);
	assert_int_equal(spec.size, SYNTHETIC_SIZE_RANGE);
	assert_int_equal(spec.size_min, 100);
	assert_int_equal(spec.size_max, 9000);
	assert_int_equal(spec.packets, 0);
	assert_int_equal(spec.rate, 2000000);
	assert_int_equal(spec.ipv6_e6, 250000);
	assert_int_equal(spec.vlan_e6, 100000);
	assert_int_equal(spec.seed, 7);
}

static void test_zipf_words(void **state)
{
	(void)state;
	assert_true(parse("random").random);
	assert_true(parse("zipf=random").random);
	assert_true(parse("flows=1M,random,size=64").random);
	assert_int_equal(parse("uniform").zipf_e6, 0);
	assert_int_equal(parse("zipf=uniform").zipf_e6, 0);
	assert_false(parse("uniform").random);
	assert_int_equal(parse("zipf=0").zipf_e6, 0);
	assert_int_equal(parse("zipf=1").zipf_e6, 1000000);
	assert_int_equal(parse("zipf=10.0").zipf_e6, 10000000);
	assert_int_equal(parse("zipf=0.000001").zipf_e6, 1);
}

/* 100 Gb/s = 12.5e9 B/s, and 24 bytes more than the frame on the wire. */
static void test_rate(void **state)
{
	(void)state;
	assert_int_equal(parse("size=60").rate, 148809523);
	assert_int_equal(parse("size=64").rate, 142045454);
	assert_int_equal(parse("size=1514").rate, 8127438);
	assert_int_equal(parse("size=60-1514").rate, 15413070);
	assert_int_equal(parse("size=imix").rate, 32537960);
	assert_int_equal(parse("rate=1000").rate, 1000);
	assert_int_equal(parse("rate=1G").rate, 1000000000);
}

static void test_bounds(void **state)
{
	(void)state;
	assert_int_equal(parse("flows=1").flows, 1);
	assert_int_equal(parse("flows=268435456").flows, 268435456);
	assert_int_equal(parse("size=60").size_min, 60);
	assert_int_equal(parse("size=9000").size_max, 9000);
	assert_int_equal(parse("ipv6=1,vlan=1").ipv6_e6, 1000000);
	assert_rejected("flows=0", "flows=0", "268435456");
	assert_rejected("flows=268435457", "flows=268435457", "268435456");
	assert_rejected("zipf=10.000001", "zipf=10.000001", "0 to 10");
	assert_rejected("size=59", "size=59", "60 to 9000");
	assert_rejected("size=9001", "size=9001", "60 to 9000");
	assert_rejected("size=100-99", "size=100-99", "MIN-MAX");
	assert_rejected("rate=0", "rate=0", "1Gpps");
	assert_rejected("rate=2G", "rate=2G", "1Gpps");
	assert_rejected("ipv6=1.1", "ipv6=1.1", "0 to 1");
	assert_rejected("vlan=-0.1", "vlan=-0.1", "0 to 1");
}

static void test_nonsense(void **state)
{
	static const char *const texts[] = {
		"flows",
		"flows=",
		"flows=1X",
		"flow=1",
		"=1",
		"=",
		",",
		"flows=1,",
		",flows=1",
		"flows=1,,seed=2",
		" flows=1",
		"FLOWS=1",
		"zipf=",
		"zipf=.",
		"zipf=.5",
		"zipf=-1",
		"zipf=1e0",
		"zipf=1,05",
		"zipf=1.0000001",
		"zipf=99999999999999999999",
		"zipf=rand",
		"size=",
		"size=-",
		"size=64-",
		"size=-64",
		"size=64-65-66",
		"size=IMIX",
		"packets=-1",
		"packets=99999999999999999999",
		"rate=fast",
		"rate=2Mbps",
		"ipv6=yes",
		"seed=x",
		"seed=18446744073709551616",
		"randomly",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_rejected(texts[i], "--synthetic: ", "");
	assert_rejected("flow=1", "flow=1", "flows, zipf, size");
	assert_rejected("flows=1,,seed=2", "an empty field", "NAME=VALUE");
	assert_rejected("flows=1\n", "flows=1?", "allowed");
}

static void test_duplicates(void **state)
{
	(void)state;
	assert_rejected("seed=1,seed=1", "seed=1", "twice");
	assert_rejected("flows=1,seed=2,flows=1", "flows=1", "twice");
	assert_rejected("random,zipf=1", "zipf=1", "the second of");
	assert_rejected("random,uniform", "uniform", "the second of");
}

static void test_long_text(void **state)
{
	char text[5000];

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_rejected(text, "--synthetic", "longer than");
	memcpy(text, "seed=", 5);
	assert_rejected(text, "--synthetic", "longer than");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_zipf_words),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
