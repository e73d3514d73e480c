/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rx/generate/synthetic.h"

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
		fail_msg("%s was accepted", text);
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

/* 100 Gb/s = 12.5e9 B/s, and 24 bytes per frame on the wire in addition. */
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

static void test_changes(void **state)
{
	struct synthetic_spec spec = parse("rate=0-20M");

	(void)state;
	assert_int_equal(spec.load, SYNTHETIC_RAMP);
	assert_int_equal(spec.rate_from, 0);
	assert_int_equal(spec.rate, 20000000);
	assert_int_equal(spec.load_time, 1000000000);
	assert_int_equal(parse("rate=3kpps-1pps,over=1d").load_time, UINT64_C(86400000000000));
	assert_int_equal(parse("rate=3kpps-1pps").rate_from, 3000);
	assert_int_equal(parse("rate=3kpps-1pps").rate, 1);
	spec = parse("rate=sine:10M:100ms");
	assert_int_equal(spec.load, SYNTHETIC_SINE);
	assert_int_equal(spec.rate, 10000000);
	assert_int_equal(spec.load_time, 100000000);
	assert_int_equal(parse("rate=sine:2:1s").rate, 2);
	assert_int_equal(parse("rate=5M").load, SYNTHETIC_STEADY);
	spec = parse("zipf=1.5-1.0,packets=0,over=500ms");
	assert_true(spec.drifts);
	assert_int_equal(spec.zipf_e6, 1500000);
	assert_int_equal(spec.zipf_to_e6, 1000000);
	assert_int_equal(spec.drift_time, 500000000);
	assert_int_equal(parse("zipf=0-10").zipf_to_e6, 10000000);
	assert_int_equal(parse("zipf=0-10").drift_time, 0);
	assert_false(parse("zipf=1.5").drifts);
	assert_rejected("rate=0-2G", "rate=0-2G", "FROM-TO");
	assert_rejected("rate=5M-0", "rate=5M-0", "FROM may be 0");
	assert_rejected("rate=sine:2:999ms", "rate=sine:2:999ms", "one or more packets per");
	assert_rejected("rate=sine:1M:2d", "rate=sine:1M:2d", "up to 1d");
	assert_rejected("rate=0-1M,over=0", "over=0", "up to 1d");
	assert_rejected("rate=0-1M,over=25h", "over=25h", "up to 1d");
	assert_rejected("over=1s", "over", "needs rate=FROM-TO");
	assert_rejected("rate=sine:1M:1s,over=1s", "over", "needs rate=FROM-TO");
	assert_rejected("zipf=1-2,packets=0", "zipf=FROM-TO", "over=10s");
	assert_rejected("zipf=1-2,uniform", "uniform", "an earlier");
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
		"zipf=1-",
		"zipf=1-2-3",
		"zipf=1-random",
		"zipf=random-1",
		"zipf=1-10.1",
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
		"rate=-1M",
		"rate=1M-",
		"rate=1M-2M-3M",
		"rate=sine",
		"rate=sine:",
		"rate=sine:1M",
		"rate=sine:1M:",
		"rate=sine:0:1s",
		"rate=sine:1M:100",
		"rate=sine:1M:1s:1s",
		"rate=0-sine:1M:1s",
		"over=1",
		"over=",
		"ipv6=yes",
		"seed=x",
		"seed=18446744073709551616",
		"randomly",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_rejected(texts[i], ": ", "");
	assert_rejected("flow=1", "flow=1", "flows, zipf, size");
	assert_rejected("flows=1,,seed=2", "empty field", "unknown field");
	assert_rejected("flows=1\n", "flows=1?", "allowed");
}

static void test_duplicates(void **state)
{
	(void)state;
	assert_rejected("seed=1,seed=1", "seed=1", "twice");
	assert_rejected("flows=1,seed=2,flows=1", "flows=1", "twice");
	assert_rejected("random,zipf=1", "zipf=1", "an earlier");
	assert_rejected("random,uniform", "uniform", "an earlier");
}

static void test_long_text(void **state)
{
	char text[5000];

	(void)state;
	memset(text, '1', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_rejected(text, "", "longer than");
	memcpy(text, "seed=", 5);
	assert_rejected(text, "", "longer than");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_zipf_words),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
