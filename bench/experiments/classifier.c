/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * classifier > classifier.csv: ns per lookup of key/classifier.c, which finds all matching queries;
 * of key/classifier.c in order of random ranks, up to the lowest of each half; and of rte_acl, which
 * finds one. Queries have a source network, a destination port and a protocol, or all queries match
 * all keys. Columns: queries; 1 if all match; the three times, minima of rounds in turns; KB of the
 * first; matches per lookup.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_acl.h>
#include <rte_eal.h>

#include "base/random.h"
#include "key/classifier.h"

#define KEYS   4096
#define ROUNDS 25
#define MOST   4096

static struct rte_acl_field_def fields[] = {
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, 12},
	{RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, 0},
	{RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, 4},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, 8},
	{RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, 10},
};
RTE_ACL_RULE_DEF(rule, 5);

static struct key4 keys[KEYS];
static const uint8_t *data[KEYS];
static struct match matches[MOST];
static uint32_t order[MOST];
static struct random random_state;

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void fail(const char *why)
{
	fprintf(stderr, "classifier: %s\n", why);
	exit(1);
}

static void make_keys(void)
{
	for (uint32_t i = 0; i < KEYS; i++) {
		keys[i] = (struct key4){.src_ip = {10, (uint8_t)random_below(&random_state, 16),
						(uint8_t)random_below(&random_state, 256),
						(uint8_t)random_below(&random_state, 256)},
			.dst_ip = {192, 0, 2, (uint8_t)random_below(&random_state, 256)},
			.src_port = {(uint8_t)(128 + random_below(&random_state, 64)), 1},
			.dst_port = {0, (uint8_t)random_below(&random_state, 32)},
			.proto = random_below(&random_state, 2) == 0 ? 6 : 17};
		data[i] = (const uint8_t *)&keys[i];
	}
}

static void make_queries(struct rte_acl_ctx *acl, uint32_t n, bool all_match)
{
	for (uint32_t q = 0; q < n; q++) {
		uint32_t high = (uint32_t)random_below(&random_state, 16),
			 low = (uint32_t)random_below(&random_state, 256),
			 bits = random_below(&random_state, 2) == 0 ? 16 : 24,
			 port = (uint32_t)random_below(&random_state, 32),
			 proto = random_below(&random_state, 2) == 0 ? 6 : 17;
		struct rule rule = {.data = {1, (int32_t)(MOST - q), q + 1}};
		char text[128], why[MATCH_WHY_MAX];

		low = bits == 16 ? 0 : low;
		snprintf(text, sizeof(text), "src net 10.%u.%u.0/%u and dst port %u and proto %u",
			high, low, bits, port, proto);
		if (!match_compile(&matches[q], all_match ? "ip or ip6" : text, why))
			fail(why);
		order[q] = (q < n / 2 ? 0 : 255) + (uint32_t)random_below(&random_state, 254);
		rule.field[0] = (struct rte_acl_field){{.u8 = (uint8_t)proto}, {.u8 = 0xff}};
		rule.field[1].value.u32 = 10U << 24 | high << 16 | low << 8;
		rule.field[1].mask_range.u32 = bits;
		rule.field[3].mask_range.u16 = UINT16_MAX;
		rule.field[4].value.u16 = rule.field[4].mask_range.u16 = (uint16_t)port;
		if (rte_acl_add_rules(acl, (const struct rte_acl_rule *)&rule, 1) != 0)
			fail("cannot add a rule");
	}
}

static double time_ours(const struct classifier *classifier, uint64_t *found)
{
	double start = now_ns();

	*found = 0;
	for (uint32_t i = 0; i < KEYS; i++) {
		struct classifier_lookup lookup;

		classifier_look_up4(classifier, &keys[i], &lookup);
		while (classifier_next(&lookup) != CLASSIFIER_NONE)
			++*found;
	}
	return (now_ns() - start) / KEYS;
}

static double time_lowest(const struct classifier *classifier, uint32_t boxes)
{
	double start = now_ns();

	for (uint32_t i = 0; i < KEYS; i++) {
		struct classifier_lookup lookup;

		classifier_look_up4(classifier, &keys[i], &lookup);
		for (uint32_t half = 0; half < 2; half++) {
			if (classifier_next(&lookup) == CLASSIFIER_NONE)
				break;
			classifier_skip(&lookup, boxes);
		}
	}
	return (now_ns() - start) / KEYS;
}

static double time_acl(const struct rte_acl_ctx *acl)
{
	static uint32_t results[KEYS];
	double start = now_ns();

	if (rte_acl_classify(acl, data, results, KEYS, 1) != 0)
		fail("cannot classify");
	return (now_ns() - start) / KEYS;
}

static void measure(uint32_t n, bool all_match)
{
	struct rte_acl_param params = {.name = "queries",
		.socket_id = SOCKET_ID_ANY,
		.rule_size = RTE_ACL_RULE_SZ(5),
		.max_rule_num = MOST};
	struct rte_acl_config config = {.num_categories = 1, .num_fields = 5};
	struct rte_acl_ctx *acl = rte_acl_create(&params);
	struct classifier *classifier, *ordered;
	double ours = INFINITY, lowest = INFINITY, theirs = INFINITY;
	uint64_t found = 0;
	uint32_t boxes = 0;

	if (acl == NULL)
		fail("rte_acl_create");
	memcpy(config.defs, fields, sizeof(fields));
	make_queries(acl, n, all_match);
	for (uint32_t q = 0; q < n / 2; q++)
		boxes += matches[q].n;
	classifier = classifier_create(matches, NULL, n);
	ordered = classifier_create(matches, order, n);
	if (classifier == NULL || ordered == NULL || rte_acl_build(acl, &config) != 0)
		fail("out of memory");
	for (uint32_t round = 0; round < ROUNDS; round++) {
		ours = fmin(ours, time_ours(classifier, &found));
		lowest = fmin(lowest, time_lowest(ordered, boxes));
		theirs = fmin(theirs, time_acl(acl));
	}
	printf("%u,%d,%.1f,%.1f,%.1f,%zu,%.2f\n", n, all_match, ours, lowest, theirs,
		classifier_bytes(classifier) >> 10, (double)found / KEYS);
	rte_acl_free(acl);
	classifier_destroy(classifier);
	classifier_destroy(ordered);
	for (uint32_t q = 0; q < n; q++)
		match_free(&matches[q]);
}

int main(void)
{
	char *arguments[] = {(char[]){"classifier"}, (char[]){"--no-huge"}, (char[]){"--no-pci"},
		(char[]){"-m"}, (char[]){"512"}, (char[]){"--no-shconf"}, NULL};
	static const uint32_t sizes[] = {1, 16, 256, 1024, 4096};

	if (rte_eal_init(6, arguments) < 0)
		fail("EAL does not start");
	random_init(&random_state, 1);
	make_keys();
	for (uint32_t s = 0; s < 2 * sizeof(sizes) / sizeof(sizes[0]); s++)
		measure(sizes[s / 2], s % 2 != 0);
	return 0;
}
