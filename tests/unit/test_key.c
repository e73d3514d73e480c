/* SPDX-License-Identifier: BSD-3-Clause */

/* Keys: how they print, compare, and what a rule leaves of them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "base/key_burst.h"

static struct key make_key(
	const char *src, const char *dst, uint16_t src_port, uint16_t dst_port, uint8_t proto)
{
	bool v4 = strchr(src, ':') == NULL;
	int family = v4 ? AF_INET : AF_INET6;
	struct key key = {.family = v4 ? KEY_IPV4 : KEY_IPV6};
	uint16_t ports[2] = {htons(src_port), htons(dst_port)};

	assert_int_equal(inet_pton(family, src, v4 ? key.v4.src_ip : key.v6.src_ip), 1);
	assert_int_equal(inet_pton(family, dst, v4 ? key.v4.dst_ip : key.v6.dst_ip), 1);
	memcpy(v4 ? key.v4.src_port : key.v6.src_port, &ports[0], 2);
	memcpy(v4 ? key.v4.dst_port : key.v6.dst_port, &ports[1], 2);
	*(v4 ? &key.v4.proto : &key.v6.proto) = proto;
	return key;
}

static void assert_prints(const struct key *key, const char *const text[KEY_FIELD_COUNT])
{
	char buffer[KEY_FIELD_TEXT_MAX];

	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		assert_int_equal(
			key_field_print(key, (enum key_field_id)f, buffer), strlen(text[f]));
		assert_string_equal(buffer, text[f]);
	}
}

static void prints_fields(void **state)
{
	struct key v4 = make_key("192.0.2.1", "255.255.255.255", 65535, 80, 6);
	struct key v6 = make_key("2001:db8::1", "::ffff:198.51.100.2", 0, 443, 255);
	struct key longest = make_key("1111:2222:3333:4444:5555:6666:7777:8888", "::", 0, 0, 0);

	(void)state;
	v6.v6.tcp_flags = 0x12;
	assert_prints(&v4,
		(const char *const[]){"192.0.2.1", "255.255.255.255", "65535", "80", "6", "0"});
	assert_prints(&v6, (const char *const[]){
				   "2001:db8::1", "::ffff:198.51.100.2", "0", "443", "255", "18"});
	assert_prints(&longest, (const char *const[]){"1111:2222:3333:4444:5555:6666:7777:8888",
					"::", "0", "0", "0", "0"});
}

static void names_fields(void **state)
{
	static const char *const names[] = {
		"src_ip", "dst_ip", "src_port", "dst_port", "proto", "tcp_flags"};

	(void)state;
	for (int f = 0; f < KEY_FIELD_COUNT; f++)
		assert_string_equal(key_fields[f].name, names[f]);
}

/* Ascending in the order that the outputs rank ties by. */
static void compares_numerically(void **state)
{
	const struct key ascending[] = {
		make_key("0.0.0.0", "0.0.0.0", 0, 0, 0),
		make_key("1.0.0.0", "9.0.0.0", 9, 9, 9),
		make_key("2.0.0.0", "1.0.0.255", 9, 9, 9),
		make_key("2.0.0.0", "1.0.1.0", 1, 255, 9),
		make_key("2.0.0.0", "1.0.1.0", 1, 256, 0),
		make_key("2.0.0.0", "1.0.1.0", 256, 0, 0),
		make_key("2.0.0.0", "1.0.1.0", 256, 0, 1),
		make_key("255.255.255.255", "0.0.0.0", 0, 0, 0),
		make_key("::", "::", 0, 0, 0),
		make_key("::", "::1", 0, 0, 0),
		make_key("::1:0", "::1", 0, 0, 0),
		make_key("::1:0", "::1", 0, 0, 200),
		make_key("ffff::", "::", 0, 0, 0),
	};
	const size_t n = sizeof(ascending) / sizeof(ascending[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			int order = key_compare(&ascending[i], &ascending[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
			assert_int_equal(key_equal(&ascending[i], &ascending[j]), i == j);
		}
	}
}

static void finds_rules(void **state)
{
	static const char *const names[] = {"5tuple", "src", "dst", "src-dst", "6tuple"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_ptr_equal(key_rule_find(names[i]), &key_rules[i]);
		assert_string_equal(key_rules[i].name, names[i]);
	}
	assert_null(key_rules[5].name);
	assert_null(key_rule_find(""));
	assert_null(key_rule_find("srcs"));
	assert_null(key_rule_find("sr"));
}

/* A rule's masks keep the bytes of its fields, all of them and no others. */
static void masks_match_fields(void **state)
{
	(void)state;
	for (const struct key_rule *rule = key_rules; rule->name != NULL; rule++) {
		uint8_t mask4[sizeof(struct key4)] = {0}, mask6[sizeof(struct key6)] = {0};

		for (int f = 0; f < KEY_FIELD_COUNT; f++) {
			if (!(rule->fields >> f & 1))
				continue;
			memset(mask4 + key_fields[f].offset4, 0xff, key_fields[f].width4);
			memset(mask6 + key_fields[f].offset6, 0xff, key_fields[f].width6);
		}
		assert_memory_equal(&rule->mask4, mask4, sizeof(mask4));
		assert_memory_equal(&rule->mask6, mask6, sizeof(mask6));
	}
}

static void fill_random(void *memory, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)memory)[i] = (uint8_t)(random() >> 8);
}

static void masks_bursts(void **state)
{
	static struct key_burst src, dst;

	(void)state;
	srandom(1);
	for (uint32_t n = 0; n <= BURST_MAX; n++) {
		for (const struct key_rule *rule = key_rules; rule->name != NULL; rule++) {
			fill_random(&src, sizeof(src));
			src.n = n;
			src.v6 &= n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
			key_burst_mask(&dst, &src, rule);
			key_burst_copy_details(&dst, &src);
			assert_int_equal(dst.n, n);
			assert_memory_equal(dst.time, src.time, n * sizeof(src.time[0]));
			assert_memory_equal(dst.tcp_flags, src.tcp_flags, n);
			assert_memory_equal(
				dst.flow_hash, src.flow_hash, n * sizeof(src.flow_hash[0]));
			assert_true(dst.v6 == src.v6);
			assert_memory_equal(
				dst.wire_len, src.wire_len, n * sizeof(src.wire_len[0]));
			for (uint32_t i = 0; i < n; i++) {
				bool v6 = src.v6 >> i & 1;
				const uint8_t *full = v6 ? (const uint8_t *)&src.key6[i]
							 : (const uint8_t *)&src.key4[i];
				const uint8_t *got = v6 ? (const uint8_t *)&dst.key6[i]
							: (const uint8_t *)&dst.key4[i];
				const uint8_t *mask = v6 ? (const uint8_t *)&rule->mask6
							 : (const uint8_t *)&rule->mask4;

				size_t size = v6 ? sizeof(struct key6) : sizeof(struct key4);
				size_t flags_at = v6 ? offsetof(struct key6, tcp_flags)
						     : offsetof(struct key4, tcp_flags);

				/* The key's flags are the packet's, whatever stood there. */
				for (size_t b = 0; b < size; b++)
					assert_int_equal(got[b],
						(b == flags_at ? src.tcp_flags[i] : full[b]) &
							mask[b]);
			}
		}
	}
}

static void gets_keys_of_bursts(void **state)
{
	static struct key_burst burst = {.n = 2, .v6 = 2};
	const struct key v4 = make_key("192.0.2.1", "192.0.2.2", 1, 2, 6);
	const struct key v6 = make_key("2001:db8::1", "2001:db8::2", 1, 2, 6);
	struct key got;

	(void)state;
	burst.key4[0] = v4.v4;
	burst.key6[1] = v6.v6;
	got = key_burst_get(&burst, 0);
	assert_true(key_equal(&got, &v4));
	got = key_burst_get(&burst, 1);
	assert_true(key_equal(&got, &v6));
}

/* key6 of the bursts lies where every access is a fault. */
static void ipv4_bursts_do_not_touch_key6(void **state)
{
	const size_t page = 65536;
	const size_t before = offsetof(struct key_burst, key6);
	struct key_burst *bursts[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		char *pages = mmap(
			NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(pages != MAP_FAILED);
		assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
		bursts[i] = (struct key_burst *)(void *)(pages + page - before);
	}
	bursts[0]->n = BURST_MAX;
	bursts[0]->key4[BURST_MAX - 1].proto = 17;
	key_burst_mask(bursts[1], bursts[0], &key_rules[0]);
	assert_int_equal(bursts[1]->key4[BURST_MAX - 1].proto, 17);
	for (int i = 0; i < 2; i++)
		munmap((char *)bursts[i] + before - page, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_fields),
		cmocka_unit_test(names_fields),
		cmocka_unit_test(compares_numerically),
		cmocka_unit_test(finds_rules),
		cmocka_unit_test(masks_match_fields),
		cmocka_unit_test(masks_bursts),
		cmocka_unit_test(gets_keys_of_bursts),
		cmocka_unit_test(ipv4_bursts_do_not_touch_key6),
	};

	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
