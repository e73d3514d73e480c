/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rules: valid and invalid files, 50 000 random prefixes of both families compared with a linear
 * search, and credits compared with chains of prefixes found in the same way.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <rte_errno.h>
#include <unistd.h>

#include "key/hash.h"
#include "eal.h"
#include "rx/filter/prefix_filter.h"
#include "base/random.h"
#include "base/signals.h"

#define RULES  50000
#define BURSTS 20

static char path[] = "/tmp/test_monitor_XXXXXX";
static char error[PREFIX_ERROR_MAX];
static bool mistake; /* the error is in the text */

static int start_eal(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	return fd >= 0 ? eal_begin("test_monitor", 1024) : -1;
}

static int stop_eal(void **state)
{
	(void)state;
	unlink(path);
	return eal_end();
}

static struct prefix_list *read_bytes(const char *text, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	fclose(file);
	return prefix_rules_read(path, &mistake, error);
}

static struct prefix_list *read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* --- files --- */

static void files_are_sorted_into_chains(void **state)
{
	struct prefix_list *rules = read_text("\xEF\xBB\xBF"
					      "10.1.0.0/16 ten one\r\n"
					      "# customers\r\n"
					      "\n"
					      "  2001:db8::1\thost six\n"
					      "10.0.0.0/8 ten\n"
					      "10.1.0.0/16 ten one\n"
					      "0.0.0.0/0 all\n"
					      "10.1.2.3 host\n"
					      "::/0 all six # and this is its name");

	(void)state;
	assert_non_null(rules);
	assert_int_equal(rules->n, 6);
	assert_int_equal(rules->nb_ipv6, 2);
	assert_string_equal(rules->rules[0].prefix, "0.0.0.0/0");
	assert_string_equal(rules->rules[2].name, "ten one");
	assert_string_equal(rules->rules[3].prefix, "10.1.2.3/32");
	assert_string_equal(rules->rules[4].name, "all six # and this is its name");
	assert_string_equal(rules->rules[5].prefix, "2001:db8::1/128");
	assert_int_equal(rules->rules[0].parent, PREFIX_NO_ENTRY);
	assert_int_equal(rules->rules[1].parent, 0);
	assert_int_equal(rules->rules[2].parent, 1);
	assert_int_equal(rules->rules[3].parent, 2);
	assert_int_equal(rules->rules[4].parent, PREFIX_NO_ENTRY);
	assert_int_equal(rules->rules[5].parent, 4);
	prefix_rules_free(rules);
}

static void bad_lines_are_named(void **state)
{
	static const struct {
		const char *text;
		const char *mention;
	} rows[] = {{"10.0.0.0/8 a\n10.1.2.3/16 b\n", "line 2: 10.1.2.3/16 has host bits set; "
						      "write 10.1.0.0/16"},
		{"2001:db8::1/64 x\n", "write 2001:db8::/64"}, {"10.0.0.0/33 a\n", "0 to 32"},
		{"::/129 a\n", "0 to 128"}, {"10.0.0.0/ a\n", "length"},
		{"10.0.0.0/-1 a\n", "length"}, {"10.0.0/8 a\n", "not an IP address"},
		{"name 10.0.0.0/8\n", "not an IP address"},
		{"\n\n10.0.0.0/8\n", "line 3: 10.0.0.0/8 has no name"},
		{"10.0.0.0/8 a\n# \n10.0.0.0/8 b\n", "line 3: 10.0.0.0/8 is already 'a' in line 1"},
		{"10.0.0.0/8 b\xff\x01\n", "control character"}, {"# nothing\n", "no rule"},
		{"", "no rule"}};
	char *longest = malloc(3000);

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		assert_null(read_text(rows[r].text));
		assert_true(mistake);
		if (strstr(error, rows[r].mention) == NULL || strstr(error, path) != error)
			fail_msg("%s: %s", rows[r].text, error);
	}
	assert_null(read_bytes("10.0.0.0/8 a\n1\0\n", 16));
	assert_true(mistake);
	assert_non_null(strstr(error, "line 2"));
	memset(longest, 'a', 2999);
	longest[2999] = '\0';
	assert_null(read_text(longest));
	memcpy(longest, "10.0.0.0/8 ", 11);
	longest[100] = '\0';
	assert_null(read_text(longest));
	assert_non_null(strstr(error, "the maximum is 63"));
	free(longest);
	assert_null(prefix_rules_read("/nonexistent/rules", &mistake, error));
	assert_false(mistake);
	assert_non_null(strstr(error, "/nonexistent/rules: cannot open"));
}

/* A reload reads the file again: endless files and FIFOs are refused at once. */
static void what_is_no_file_is_refused(void **state)
{
	char fifo[sizeof(path) + 8];

	(void)state;
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_null(prefix_rules_read(fifo, &mistake, error));
	assert_false(mistake);
	unlink(fifo);
	assert_non_null(strstr(error, "not a regular file"));
	assert_null(prefix_rules_read("/dev/zero", &mistake, error));
	assert_false(mistake);
	assert_non_null(strstr(error, "not a regular file"));
	assert_null(prefix_rules_read("/", &mistake, error));
	assert_false(mistake);
	assert_non_null(strstr(error, "not a regular file"));
}

/* The maximum line length, and one byte more. */
static void long_lines_are_refused(void **state)
{
	char text[600] = "10.0.0.0/8 a";
	struct prefix_list *rules;

	(void)state;
	memset(text + strlen(text), ' ', 511 - strlen(text));
	text[511] = '\n';
	rules = read_text(text);
	assert_non_null(rules);
	assert_int_equal(rules->n, 1);
	prefix_rules_free(rules);
	text[511] = ' ';
	text[512] = '\n';
	assert_null(read_text(text));
	assert_non_null(strstr(error, "line 1: longer than 512 bytes"));
}

static void garbage_is_refused(void **state)
{
	struct random random;
	char text[200];

	(void)state;
	random_init(&random, 1);
	for (uint32_t t = 0; t < 3000; t++) {
		size_t length = random_below(&random, sizeof(text));
		struct prefix_list *rules;

		for (size_t i = 0; i < length; i++)
			text[i] = "10./8:abcdef# \t\r\n\0\xff"[random_below(&random, 19)];
		rules = read_bytes(text, length);
		if (rules == NULL)
			assert_null(strchr(error, '\n'));
		prefix_rules_free(rules);
	}
}

/* --- matching --- */

/* Few distinct prefixes, so that they contain each other and packets match them. */
static void random_address(struct random *random, bool ipv6, uint8_t *bits)
{
	memset(bits, 0, 16);
	for (uint32_t b = 0; b < (ipv6 ? 16 : 4); b++)
		bits[b] = (uint8_t)(b < 2   ? random_below(random, 4)
				    : b > 8 ? random_below(random, 3)
					    : random_next(random));
	if (ipv6)
		memcpy(bits + 4, "\x20\x01\x0d", 3);
}

static uint8_t mask_of(uint32_t length, uint32_t byte)
{
	uint32_t left = length > 8 * byte ? length - 8 * byte : 0;
	uint32_t mask = left >= 8 ? 0xff : 0xff00 >> left;

	return (uint8_t)mask;
}

static struct prefix_list *random_rules(struct random *random, uint32_t n)
{
	FILE *file = fopen(path, "w");

	for (uint32_t i = 0; i < n; i++) {
		bool ipv6 = random_next(random) & 1;
		uint32_t length = (uint32_t)random_below(random, ipv6 ? 129 : 33);
		char text[INET6_ADDRSTRLEN];
		uint8_t bits[16];

		if (random_below(random, 3) > 0)
			length = ipv6 ? 64 : 32;
		random_address(random, ipv6, bits);
		for (uint32_t b = 0; b < 16; b++)
			bits[b] &= mask_of(length, b);
		inet_ntop(ipv6 ? AF_INET6 : AF_INET, bits, text, sizeof(text));
		fprintf(file, "%s/%u same\n", text, length);
	}
	fclose(file);
	return prefix_rules_read(path, &mistake, error);
}

static bool holds(const struct prefix_entry *rule, bool ipv6, const uint8_t *bits)
{
	if (rule->ipv6 != ipv6)
		return false;
	for (uint32_t b = 0; b < 16; b++)
		if (((rule->bits[b] ^ bits[b]) & mask_of(rule->length, b)) != 0)
			return false;
	return true;
}

/* Linear search. */
static uint32_t longest(const struct prefix_list *rules, bool ipv6, const uint8_t *bits)
{
	uint32_t best = PREFIX_NO_ENTRY;

	for (uint32_t r = 0; r < rules->n; r++)
		if (holds(&rules->rules[r], ipv6, bits) &&
			(best == PREFIX_NO_ENTRY ||
				rules->rules[r].length > rules->rules[best].length))
			best = r;
	return best;
}

struct sides {
	bool ipv6;
	uint8_t src[16], dst[16];
};

static void fill_burst(struct random *random, struct key_burst *burst, struct sides *sides)
{
	memset(burst, 0, sizeof(*burst));
	burst->n = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		struct sides *s = &sides[i];

		s->ipv6 = random_next(random) & 1;
		random_address(random, s->ipv6, s->src);
		random_address(random, s->ipv6, s->dst);
		burst->wire_len[i] = 100 + i;
		burst->tcp_flags[i] = (uint8_t)i;
		if (s->ipv6) {
			burst->v6 |= UINT64_C(1) << i;
			memcpy(burst->key6[i].src_ip, s->src, 16);
			memcpy(burst->key6[i].dst_ip, s->dst, 16);
		} else {
			memcpy(burst->key4[i].src_ip, s->src, 4);
			memcpy(burst->key4[i].dst_ip, s->dst, 4);
		}
	}
}

/* Entries stand for more packets than bytes, so that a mix-up is detected. */
static void check_weights(const struct prefix_filter *table, const struct key_burst *burst)
{
	static struct key_burst plain, weighted;
	static struct key_weights weights;
	struct prefix_matches hits = {0}, weighted_hits = {0};
	struct prefix_unmatched left_out;
	uint64_t packets = 0, bytes;

	plain = weighted = *burst;
	weighted.weights = &weights;
	for (uint32_t i = 0; i < burst->n; i++) {
		packets += weights.packets[i] = 1000 * burst->wire_len[i];
		weights.bytes[i] = burst->wire_len[i];
	}
	bytes = prefix_match(table, &plain, &hits);
	prefix_match_weights(table, &weighted, &weighted_hits, &left_out);
	assert_int_equal(weighted.n, plain.n);
	assert_int_equal(weighted.v6, plain.v6);
	assert_memory_equal(weighted_hits.dst, hits.dst, plain.n * sizeof(hits.dst[0]));
	assert_memory_equal(weighted_hits.src, hits.src, plain.n * sizeof(hits.src[0]));
	for (uint32_t i = 0; i < plain.n; i++) {
		assert_int_equal(weights.bytes[i], plain.wire_len[i]);
		assert_int_equal(weights.packets[i], 1000 * plain.wire_len[i]);
		packets -= weights.packets[i];
	}
	assert_int_equal(left_out.bytes, bytes);
	assert_int_equal(left_out.packets, packets);
}

/* Checks the remaining burst, its order, and the credits of every rule. */
static void check_side(const struct prefix_filter *table, struct prefix_counts *counts,
	enum prefix_side side, struct random *random)
{
	static struct key_burst burst;
	static uint64_t expected[RULES];
	const struct prefix_list *rules = prefix_filter_entries(table);
	struct hash_key key;
	uint32_t matched = 0;

	hash_key_init(&key, 1);
	memset(expected, 0, sizeof(expected));
	memset(counts, 0, rules->n * sizeof(counts[0]));
	for (uint32_t b = 0; b < BURSTS; b++) {
		struct sides sides[BURST_MAX];
		struct prefix_matches hits;
		uint64_t bytes, left_out = 0;
		uint32_t kept = 0;

		fill_burst(random, &burst, sides);
		check_weights(table, &burst);
		bytes = prefix_match(table, &burst, &hits);
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			const struct sides *s = &sides[i];
			uint32_t dst = side == PREFIX_SRC ? PREFIX_NO_ENTRY
							  : longest(rules, s->ipv6, s->dst);
			uint32_t src = side == PREFIX_DST ? PREFIX_NO_ENTRY
							  : longest(rules, s->ipv6, s->src);

			if (dst == PREFIX_NO_ENTRY && src == PREFIX_NO_ENTRY) {
				left_out += 100 + i;
				continue;
			}
			assert_true(kept < burst.n);
			assert_int_equal(hits.dst[kept], dst);
			assert_int_equal(hits.src[kept], src);
			assert_int_equal(burst.wire_len[kept], 100 + i);
			assert_int_equal(burst.tcp_flags[kept], i);
			assert_int_equal(burst.v6 >> kept & 1, s->ipv6);
			kept++;
			for (uint32_t r = 0; r < rules->n; r++)
				expected[r] += (dst != PREFIX_NO_ENTRY &&
						       holds(&rules->rules[r], s->ipv6, s->dst)) ||
					       (src != PREFIX_NO_ENTRY &&
						       holds(&rules->rules[r], s->ipv6, s->src));
		}
		assert_int_equal(kept, burst.n);
		assert_int_equal(bytes, left_out);
		matched += kept;
		hash_burst(&key, &burst);
		prefix_credit(table, &burst, &hits, counts);
	}
	assert_in_range(matched, 1, BURSTS * BURST_MAX);
	for (uint32_t r = 0; r < rules->n; r++)
		assert_int_equal(counts[r].packets, expected[r]);
}

static void longest_prefix_wins(void **state)
{
	static const uint32_t sizes[] = {1, 2, 100, RULES};
	struct random random;

	(void)state;
	random_init(&random, 2);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (uint32_t side = PREFIX_DST; side <= PREFIX_EITHER; side++) {
			struct prefix_list *rules = random_rules(&random, sizes[s]);
			struct prefix_filter *table;

			assert_non_null(rules);
			table = prefix_filter_create(rules, side, 1, error);
			if (table == NULL)
				fail_msg("%s", error);
			if (sizes[s] >= 100)
				check_side(table, prefix_filter_counts(table, 1, 0), side, &random);
			prefix_filter_destroy(table);
		}
}

static void check_family(const struct prefix_filter *table, bool ipv6, struct key_burst *burst,
	const struct sides *sides)
{
	struct prefix_matches hits;
	uint32_t n = burst->n, kept = 0;

	prefix_match(table, burst, &hits);
	for (uint32_t i = 0; i < n; i++) {
		if (sides[i].ipv6 != ipv6)
			continue;
		assert_int_equal(hits.dst[kept], 0);
		assert_int_equal(hits.src[kept], 0);
		assert_int_equal(burst->wire_len[kept++], 100 + i);
	}
	assert_int_equal(burst->n, kept);
}

/* Rules of one family do not affect packets of the other, in bursts of any length. */
static void rules_of_one_family(void **state)
{
	static const char *const rules[] = {"0.0.0.0/0 all\n", "::/0 all\n"};
	struct random random;

	(void)state;
	random_init(&random, 4);
	for (uint32_t ipv6 = 0; ipv6 < 2; ipv6++) {
		struct prefix_filter *table =
			prefix_filter_create(read_text(rules[ipv6]), PREFIX_EITHER, 1, error);

		assert_non_null(table);
		for (uint32_t b = 0; b < 64 * BURST_MAX; b++) {
			static struct key_burst burst;
			struct sides sides[BURST_MAX];

			fill_burst(&random, &burst, sides);
			burst.n = b % BURST_MAX + 1;
			burst.v6 &= UINT64_MAX >> (64 - burst.n);
			check_family(table, ipv6 != 0, &burst, sides);
		}
		prefix_filter_destroy(table);
	}
}

/* The error is right after any earlier error of DPDK. */
static void no_memory_is_said(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 3);
	rte_errno = EEXIST;
	/* Counters beyond the address space. */
	assert_null(
		prefix_filter_create(random_rules(&random, 1000), PREFIX_DST, UINT32_MAX, error));
	assert_non_null(strstr(error, "out of memory for "));
	assert_non_null(strstr(error, rte_strerror(ENOMEM)));
}

/* Flows are within 5 standard errors; exact counts are close. */
static void flows_are_estimated(void **state)
{
	static const uint32_t flows[] = {1, 10, 100, 10000, 300000};
	struct prefix_filter *table;
	struct hash_key key;

	(void)state;
	hash_key_init(&key, 7);
	table = prefix_filter_create(read_text("0.0.0.0/0 all\n"), PREFIX_DST, 2, error);
	for (size_t f = 0; f < sizeof(flows) / sizeof(flows[0]); f++) {
		static struct key_burst burst;
		struct prefix_matches hits;
		struct prefix_counts *counts = prefix_filter_counts(table, 0, 1);
		double estimate;

		memset(counts, 0, sizeof(*counts));
		for (uint32_t flow = 0; flow < flows[f]; flow++) {
			memset(&burst.key4[0], 0, sizeof(burst.key4[0]));
			memcpy(burst.key4[0].src_ip, &flow, 4);
			burst.n = 1;
			hash_burst(&key, &burst);
			assert_int_equal(prefix_match(table, &burst, &hits), 0);
			prefix_credit(table, &burst, &hits, counts);
		}
		estimate = (double)prefix_flows(counts->registers);
		assert_true(estimate > 0.5 * flows[f] && estimate < 1.5 * flows[f] + 0.5);
		assert_int_equal(counts->packets, flows[f]);
	}
	prefix_filter_destroy(table);
}

/* Ends the process as well, so it is the last test. */
static void a_signal_ends_the_reading(void **state)
{
	(void)state;
	signals_request_stop();
	assert_null(read_text("10.0.0.0/8 a\n"));
	assert_non_null(strstr(error, "interrupted by a stop request"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_sorted_into_chains),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(long_lines_are_refused),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(longest_prefix_wins),
		cmocka_unit_test(rules_of_one_family),
		cmocka_unit_test(no_memory_is_said),
		cmocka_unit_test(flows_are_estimated),
		cmocka_unit_test(a_signal_ends_the_reading),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
