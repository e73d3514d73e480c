/* SPDX-License-Identifier: BSD-3-Clause */

/* Keys: printing, comparison, and key rules. */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "base/router_names.h"
#include "key/key_burst.h"

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

/* Returns the key that a rule makes of one packet. */
static struct key key_of(
	const struct key_rule *rule, const struct key *tuple, const struct key_extra *extra)
{
	static struct key_burst src, dst;

	src.n = 1;
	src.v6 = tuple->family == KEY_IPV6;
	src.key4[0] = tuple->v4;
	src.key6[0] = tuple->v6;
	src.extra[0] = *extra;
	key_burst_mask(&dst, &src, rule);
	return key_burst_get(&dst, 0);
}

static struct key_rule make_rule(const char *text)
{
	char why[KEY_RULE_WHY_MAX] = "";
	struct key_rule rule;

	if (!key_rule_parse(&rule, text, why))
		fail_msg("%s %s", text, why);
	assert_string_equal(rule.name, text);
	return rule;
}

/* Compares the text of every field of the rule, in the order of the table; "" if empty. */
static void assert_prints(const char *text, const struct key *tuple, const struct key_extra *extra,
	const char *const fields[KEY_FIELD_COUNT])
{
	struct key_rule rule = make_rule(text);
	struct key key = key_of(&rule, tuple, extra);
	char buffer[KEY_FIELD_TEXT_MAX];

	assert_true(key_rule_allows(&rule, &key));
	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		if (!key_rule_has(&rule, (enum key_field_id)f)) {
			assert_null(fields[f]);
			continue;
		}
		assert_int_equal(key_field_print(&rule, &key, (enum key_field_id)f, buffer),
			strlen(fields[f]));
		assert_string_equal(buffer, fields[f]);
	}
}

/* Every value of an octet, at each of the four positions. */
static void prints_all_octets(void **state)
{
	const char *fields[KEY_FIELD_COUNT] = {NULL};

	(void)state;
	for (uint32_t octet = 0; octet < 256; octet++)
		for (uint32_t place = 0; place < 4; place++) {
			uint32_t octets[4] = {255, 0, 99, 7};
			char address[16];
			struct key key;

			octets[place] = octet;
			snprintf(address, sizeof(address), "%u.%u.%u.%u", octets[0], octets[1],
				octets[2], octets[3]);
			key = make_key(address, "10.0.0.1", 0, 0, 0);
			fields[KEY_SRC_IP] = address;
			assert_prints("src", &key, &(struct key_extra){0}, fields);
		}
}

static void prints_fields(void **state)
{
	const struct key v4 = make_key("192.0.2.201", "255.255.255.255", 65535, 80, 6);
	const struct key v6 = make_key("2001:db8::1", "::ffff:198.51.100.2", 0, 443, 255);
	const struct key longest =
		make_key("1111:2222:3333:4444:5555:6666:7777:8889", "::", 0, 0, 0);
	const struct key_extra extra = {
		{0x12}, {0x0f, 0xff}, {46}, {0x0f, 0xff, 0xff}, {1, 2}, {0, 7}, {0xff, 0xff}};

	(void)state;
	assert_prints("6tuple", &v4, &(struct key_extra){0},
		(const char *const[KEY_FIELD_COUNT]){
			"192.0.2.201", "255.255.255.255", "65535", "80", "6", "0"});
	assert_prints("6tuple", &v6, &extra,
		(const char *const[KEY_FIELD_COUNT]){
			"2001:db8::1", "::ffff:198.51.100.2", "0", "443", "255", "18"});
	assert_prints("5tuple", &longest, &extra,
		(const char *const[KEY_FIELD_COUNT]){
			"1111:2222:3333:4444:5555:6666:7777:8889", "::", "0", "0", "0"});
	assert_prints("src/25/127", &longest, &extra,
		(const char *const[KEY_FIELD_COUNT]){
			"1111:2222:3333:4444:5555:6666:7777:8888/127"});
	assert_prints(
		"src/25/127", &v4, &extra, (const char *const[KEY_FIELD_COUNT]){"192.0.2.128/25"});
	assert_prints("src/1,dst/32", &v6, &extra,
		(const char *const[KEY_FIELD_COUNT]){"2001:db8::1", "::ffff:198.51.100.2"});
	assert_prints("src/1,dst/32", &v4, &extra,
		(const char *const[KEY_FIELD_COUNT]){"128.0.0.0/1", "255.255.255.255"});
	assert_prints("in_port,mpls,dscp,vlan,src/24/33", &v6, &extra,
		(const char *const[KEY_FIELD_COUNT]){[KEY_SRC_IP] = "2001:db8::/33",
			[KEY_VLAN] = "4095",
			[KEY_DSCP] = "46",
			[KEY_MPLS] = "1048575",
			[KEY_IN_PORT] = "258"});
	/* Longer than 16 bytes, but still IPv4. */
	assert_prints("src,dst/32/64,src_port,dst_port,proto,vlan,dscp", &v4, &extra,
		(const char *const[KEY_FIELD_COUNT]){"192.0.2.201", "255.255.255.255", "65535",
			"80", "6", [KEY_VLAN] = "4095", [KEY_DSCP] = "46"});
	/* A router without a name prints its number; an unknown router prints nothing. */
	assert_prints("routers", &v6, &extra,
		(const char *const[KEY_FIELD_COUNT]){[KEY_INGRESS] = "7", [KEY_EGRESS] = ""});
	assert_true(router_name_put(7, "core-1/2"));
	assert_prints("routers", &v4, &extra,
		(const char *const[KEY_FIELD_COUNT]){
			[KEY_INGRESS] = "core-1/2", [KEY_EGRESS] = ""});
	assert_false(router_name_put(ROUTER_UNKNOWN, "none"));
	/* One key for both families. */
	assert_prints("dst_port", &v6, &extra,
		(const char *const[KEY_FIELD_COUNT]){[KEY_DST_PORT] = "443"});
	assert_prints("vlan,tcp_flags", &v6, &extra,
		(const char *const[KEY_FIELD_COUNT]){[KEY_TCP_FLAGS] = "18", [KEY_VLAN] = "4095"});
}

static void names_fields(void **state)
{
	static const char *const names[] = {"src_ip", "dst_ip", "src_port", "dst_port", "proto",
		"tcp_flags", "vlan", "dscp", "mpls", "in_port", "ingress", "egress"};

	(void)state;
	for (size_t f = 0; f < sizeof(names) / sizeof(names[0]); f++)
		assert_string_equal(key_fields[f].name, names[f]);
}

/* Ascending in the order that breaks ties in output ranks. */
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
	static const char *const names[] = {"5tuple", "src", "dst", "src-dst", "6tuple", "routers"};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		assert_ptr_equal(key_rule_find(names[i]), &key_rules[i]);
		assert_string_equal(key_rules[i].name, names[i]);
	}
	assert_null(key_rules[6].name);
	assert_null(key_rule_find(""));
	assert_null(key_rule_find("srcs"));
	assert_null(key_rule_find("sr"));
}

static void fill_random(void *memory, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)memory)[i] = (uint8_t)(random() >> 8);
}

/*
 * Writes a random key rule and returns its fields. lens[f]: prefix lengths of addresses, 0 for full
 * length.
 */
static uint32_t random_rule(char text[128], uint32_t lens[2][2])
{
	uint32_t fields = 0;
	size_t used = 0;

	memset(lens, 0, 4 * sizeof(lens[0][0]));
	text[0] = '\0';
	while (fields == 0 || random() % 4 != 0) {
		uint32_t f = (uint32_t)random() % KEY_FIELD_COUNT;

		if (fields >> f & 1)
			continue;
		used += (size_t)snprintf(text + used, 128 - used, "%s%s", fields == 0 ? "" : ",",
			key_fields[f].word);
		fields |= UINT32_C(1) << f;
		if (f > KEY_DST_IP || random() % 2 == 0)
			continue;
		lens[f][0] = 1 + (uint32_t)random() % 32;
		used += (size_t)snprintf(text + used, 128 - used, "/%u", lens[f][0]);
		if (random() % 4 == 0)
			continue;
		lens[f][1] = 1 + (uint32_t)random() % 128;
		used += (size_t)snprintf(text + used, 128 - used, "/%u", lens[f][1]);
	}
	return fields;
}

/* Writes the text of a field, computed directly from the packet. */
static void field_of(const struct key_burst *src, uint32_t i, enum key_field_id field,
	const uint32_t lens[2][2], char text[KEY_FIELD_TEXT_MAX])
{
	bool v6 = src->v6 >> i & 1;
	const uint8_t *tuple = v6 ? (const uint8_t *)&src->key6[i] : (const uint8_t *)&src->key4[i];
	const struct key_extra *extra = &src->extra[i];
	const uint8_t *ports = tuple + (v6 ? 32 : 8);
	uint64_t number = 0;

	if (field <= KEY_DST_IP) {
		uint32_t size = v6 ? 16 : 4, len = lens[field][v6];
		uint8_t address[16];

		memcpy(address, tuple + field * size, size);
		for (uint32_t bit = len; len > 0 && bit < 8 * size; bit++)
			address[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
		inet_ntop(v6 ? AF_INET6 : AF_INET, address, text, KEY_FIELD_TEXT_MAX);
		if (len > 0 && len < 8 * size)
			sprintf(text + strlen(text), "/%u", len);
		return;
	}
	switch (field) {
	case KEY_SRC_PORT: sprintf(text, "%u", ports[0] * 256 + ports[1]); break;
	case KEY_DST_PORT: sprintf(text, "%u", ports[2] * 256 + ports[3]); break;
	case KEY_PROTO: sprintf(text, "%u", ports[4]); break;
	default:
		assert_true(key_fields[field].extra);
		for (uint32_t b = 0; b < (key_fields[field].bits4 + 7u) / 8; b++)
			number = number * 256 +
				 ((const uint8_t *)extra)[key_fields[field].offset4 + b];
		if (key_fields[field].type == KEY_FIELD_ROUTER)
			router_name_get((uint32_t)number, text);
		else
			sprintf(text, "%" PRIu64, number);
	}
}

#define TEXTS_MAX 600

/* Writes all fields of the rule for a packet as one text. */
static void texts_of(const struct key_burst *src, uint32_t i, uint32_t fields,
	const uint32_t lens[2][2], char texts[TEXTS_MAX])
{
	size_t used = 0;

	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		char text[KEY_FIELD_TEXT_MAX] = "";

		if (fields >> f & 1)
			field_of(src, i, (enum key_field_id)f, lens, text);
		used += (size_t)snprintf(texts + used, TEXTS_MAX - used, "%s,", text);
	}
}

static void prints_of(const struct key_rule *rule, const struct key *key, char texts[TEXTS_MAX])
{
	size_t used = 0;

	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		char text[KEY_FIELD_TEXT_MAX] = "";

		if (key_rule_has(rule, (enum key_field_id)f)) {
			size_t len = key_field_print(rule, key, (enum key_field_id)f, text);

			assert_int_equal(len, strlen(text));
		}
		used += (size_t)snprintf(texts + used, TEXTS_MAX - used, "%s,", text);
	}
}

/*
 * Makes random packets whose fields have few values, so that some are partly or completely equal.
 */
static void random_packets(struct key_burst *src, uint32_t n)
{
	fill_random(src, sizeof(*src));
	src->has_tcp = (random() & 1) != 0;
	src->has_overhead = (random() & 1) != 0;
	src->n = n;
	src->v6 &= n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *bytes[] = {(uint8_t *)&src->key4[i], (uint8_t *)&src->key6[i],
			(uint8_t *)&src->extra[i]};
		const size_t sizes[] = {KEY4_ROOM - 2, KEY6_ROOM - 2, sizeof(struct key_extra)};

		for (int s = 0; s < 3; s++)
			for (size_t b = 0; random() % 8 != 0 && b < sizes[s]; b++)
				bytes[s][b] &= random() % 8 == 0 ? 0x81 : 0;
		for (int f = 0; f < KEY_FIELD_COUNT; f++)
			if (key_fields[f].extra && key_fields[f].bits4 % 8 != 0)
				bytes[2][key_fields[f].offset4] &=
					(uint8_t)((1 << key_fields[f].bits4 % 8) - 1);
	}
}

static void compare_with_first(const struct key_rule *rule, const struct key_burst *dst,
	const struct key_burst *src, uint32_t fields, const uint32_t lens[2][2], uint32_t i)
{
	char first[TEXTS_MAX], texts[TEXTS_MAX], printed[TEXTS_MAX];
	struct key key = key_burst_get(dst, i), before = key_burst_get(dst, 0);

	texts_of(src, 0, fields, lens, first);
	texts_of(src, i, fields, lens, texts);
	prints_of(rule, &key, printed);
	assert_string_equal(printed, texts);
	/* Keys are equal if and only if all their texts are. */
	assert_int_equal(key_equal(&key, &before), strcmp(first, texts) == 0);
	assert_true(key_rule_allows(rule, &key));
	if (key.family == KEY_IPV4)
		assert_int_equal(key.v4.reserved, 0);
}

/* Random rules and packets, compared with the fields of the packets. */
static void makes_keys_of_bursts(void **state)
{
	static struct key_burst src, dst;
	uint32_t made = 0, wide = 0, too_long = 0;

	(void)state;
	srandom(1);
	for (uint32_t round = 0; round < 3000; round++) {
		char text[128], why[KEY_RULE_WHY_MAX] = "";
		uint32_t n = round % (BURST_MAX + 1), lens[2][2];
		uint32_t fields = random_rule(text, lens);
		struct key_rule rule;

		if (!key_rule_parse(&rule, text, why)) {
			assert_non_null(strstr(why, "bytes of an IPv6 packet"));
			too_long++;
			continue;
		}
		assert_int_equal(rule.fields, fields);
		random_packets(&src, n);
		key_burst_mask(&dst, &src, &rule);
		key_burst_copy_details(&dst, &src);
		assert_int_equal(dst.n, n);
		assert_true(n == 64 || dst.v6 >> n == 0);
		assert_memory_equal(dst.time, src.time, n * sizeof(src.time[0]));
		assert_memory_equal(dst.tcp_flags, src.tcp_flags, n);
		assert_int_equal(dst.has_tcp, src.has_tcp);
		if (src.has_tcp)
			assert_memory_equal(dst.tcp, src.tcp, n * sizeof(src.tcp[0]));
		assert_int_equal(dst.has_overhead, src.has_overhead);
		if (src.has_overhead)
			assert_memory_equal(
				dst.overhead, src.overhead, n * sizeof(src.overhead[0]));
		assert_memory_equal(dst.wire_len, src.wire_len, n * sizeof(src.wire_len[0]));
		for (uint32_t i = 0; i < n; i++)
			compare_with_first(&rule, &dst, &src, fields, lens, i);
		made++;
		wide += rule.ipv4.wide;
	}
	assert_true(made > 2000 && wide > 50 && too_long > 10);
}

/* Fields of predefined key rules keep their positions. */
static void keeps_fields_of_the_5tuple_in_place(void **state)
{
	const struct key v4 = make_key("192.0.2.1", "198.51.100.2", 1, 2, 6);
	const struct key v6 = make_key("2001:db8::1", "2001:db8::2", 1, 2, 6);
	const struct key_extra extra = {.tcp_flags = {0x12}};
	struct key key = key_of(key_rule_find("dst"), &v4, &extra);

	(void)state;
	assert_memory_equal(&key.v4, (&(struct key4){.dst_ip = {198, 51, 100, 2}}), 16);
	key = key_of(key_rule_find("dst"), &v6, &extra);
	assert_memory_equal(key.v6.dst_ip, v6.v6.dst_ip, 16);
	memset(key.v6.dst_ip, 0, 16);
	assert_memory_equal(&key.v6, &(struct key6){0}, 40);
	key = key_of(key_rule_find("5tuple"), &v4, &extra);
	assert_memory_equal(&key.v4, &v4.v4, 16);
	key = key_of(key_rule_find("5tuple"), &v6, &extra);
	assert_memory_equal(&key.v6, &v6.v6, 40);
	key = key_of(key_rule_find("6tuple"), &v6, &extra);
	assert_int_equal(key.v6.spare[0], 0x12);
}

static void orders_keys_by_fields(void **state)
{
	const struct key_extra low = {.vlan = {0, 5}, .dscp = {9}}, high = {.vlan = {1, 0}};
	const struct key v4 = make_key("192.0.2.1", "198.51.100.2", 1, 2, 6);
	const struct key v6 = make_key("::", "::", 0, 0, 0);
	static const char *const rules[] = {
		"vlan,dscp", "dscp,vlan,src/32/64,dst,src_port,dst_port,proto", "vlan,src,dscp"};

	(void)state;
	for (size_t r = 0; r < 3; r++) {
		struct key_rule rule = make_rule(rules[r]);
		struct key a = key_of(&rule, &v4, &low), b = key_of(&rule, &v4, &high);
		struct key c = key_of(&rule, &v6, &low);

		assert_true(key_compare(&a, &b) < 0 && key_compare(&b, &a) > 0);
		if (r > 0) /* IPv4 before IPv6, also if it is stored in a key6 */
			assert_true(key_compare(&b, &c) < 0);
	}
}

static void rejects_other_text(void **state)
{
	static const struct {
		const char *text, *mention;
	} rows[] = {
		{"", "allowed: 5tuple"},
		{"srcs", "allowed: 5tuple"},
		{"sr", "dst_port"},
		{"src,", "in_port"},
		{",src", "tcp_flags"},
		{"src_ip", "vlan"},
		{"SRC", "src-dst"},
		{"src dst", "allowed"},
		{"src,dst,src", "src twice"},
		{"5tuple,proto", "proto twice"},
		{"src-dst,dst", "dst twice"},
		{"src/0", "/1 to /32"},
		{"src/33", "/1 to /32"},
		{"src/", "/1 to /32"},
		{"src/-1", "/1 to /32"},
		{"src/24/0", "/128"},
		{"src/24/129", "/128"},
		{"src/24/", "/128"},
		{"src//48", "/1 to /32"},
		{"src/24/48/1", "commas"},
		{"src/24x", "commas"},
		{"src/0024", "commas"},
		{"src/4294967320", "/1 to /32"},
		{"vlan/8", "vlan"},
		{"5tuple/24", "5tuple"},
		{"src-dst/24", "src-dst"},
		{"5tuple,tcp_flags,vlan", "takes 40 bytes of an IPv6 packet; at most 39"},
		{"5tuple,tcp_flags,vlan,dscp,mpls,in_port", "takes 46 bytes"},
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		char why[KEY_RULE_WHY_MAX] = "";
		struct key_rule rule;

		assert_false(key_rule_parse(&rule, rows[r].text, why));
		if (strstr(why, rows[r].mention) == NULL)
			fail_msg("%s %s", rows[r].text, why);
		assert_true(strlen(why) < KEY_RULE_WHY_MAX - 1);
	}
}

static void knows_equal_rules(void **state)
{
	struct key_rule a = make_rule("src,dst"), b = make_rule("dst,src");
	struct key_rule c = make_rule("src/24,dst"), d = make_rule("src/24/48,dst");
	struct key_rule e = make_rule("src/32/128,dst/32");

	(void)state;
	assert_true(key_rule_equal(&a, key_rule_find("src-dst")));
	assert_true(key_rule_equal(&a, &b));
	assert_true(key_rule_equal(&a, &e));
	assert_false(key_rule_equal(&a, &c));
	assert_false(key_rule_equal(&c, &d));
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

/* key6 of the bursts lies in an unmapped page. */
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

/* Copies random entries of a burst, with all their fields. */
static void picks_entries(void **state)
{
	static struct key_burst src, dst;

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		uint64_t entries;
		uint32_t n = 0;

		random_packets(&src, round % (BURST_MAX + 1));
		fill_random(src.hash, sizeof(src.hash));
		fill_random(src.time, sizeof(src.time));
		fill_random(src.tcp_flags, sizeof(src.tcp_flags));
		src.has_tcp = round % 2 == 1;
		for (uint32_t i = 0; i < src.n; i++)
			src.tcp[i] =
				(struct key_tcp){.sequence = round * 100 + i, .known = i % 2 == 0};
		fill_random(&entries, sizeof(entries));
		if (src.n < BURST_MAX)
			entries &= (UINT64_C(1) << src.n) - 1;
		key_burst_pick(&dst, &src, entries, true);
		for (uint32_t i = 0; i < src.n; i++) {
			struct key expected, got;

			if ((entries >> i & 1) == 0)
				continue;
			expected = key_burst_get(&src, i);
			got = key_burst_get(&dst, n);
			assert_true(key_equal(&expected, &got));
			assert_memory_equal(&dst.hash[n], &src.hash[i], sizeof(dst.hash[n]));
			assert_int_equal(dst.wire_len[n], src.wire_len[i]);
			assert_int_equal(dst.time[n], src.time[i]);
			assert_int_equal(dst.tcp_flags[n], src.tcp_flags[i]);
			if (src.has_tcp)
				assert_memory_equal(&dst.tcp[n], &src.tcp[i], sizeof(dst.tcp[n]));
			if (src.has_overhead)
				assert_int_equal(dst.overhead[n], src.overhead[i]);
			n++;
		}
		assert_int_equal(dst.n, n);
		assert_int_equal(dst.has_tcp, src.has_tcp);
		assert_int_equal(dst.has_overhead, src.has_overhead);
		assert_true(n == BURST_MAX || dst.v6 >> n == 0);
	}
}

static void finds_distinct_rules(void **state)
{
	static const char *const texts[] = {
		"src", "dst", "src,dst", "src/24", "src_port", "src-dst", "proto"};
	static const uint32_t places[] = {1, 2, 3, 4, 5, 3, 6};
	const struct key_rule *pointers[7], *distinct[8];
	struct key_rule rules[7];
	uint32_t of[7];

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		rules[i] = make_rule(texts[i]);
		pointers[i] = &rules[i];
	}
	assert_int_equal(key_rules_distinct(pointers, 0, distinct, of), 1);
	assert_ptr_equal(distinct[0], &key_rules[0]);
	assert_int_equal(key_rules_distinct(pointers, 7, distinct, of), 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(of[i], places[i]);
	assert_ptr_equal(distinct[3], pointers[2]);
	pointers[1] = &key_rules[0];
	assert_int_equal(key_rules_distinct(pointers, 2, distinct, of), 2);
	assert_int_equal(of[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_fields),
		cmocka_unit_test(prints_all_octets),
		cmocka_unit_test(names_fields),
		cmocka_unit_test(compares_numerically),
		cmocka_unit_test(finds_rules),
		cmocka_unit_test(makes_keys_of_bursts),
		cmocka_unit_test(keeps_fields_of_the_5tuple_in_place),
		cmocka_unit_test(orders_keys_by_fields),
		cmocka_unit_test(rejects_other_text),
		cmocka_unit_test(knows_equal_rules),
		cmocka_unit_test(finds_distinct_rules),
		cmocka_unit_test(gets_keys_of_bursts),
		cmocka_unit_test(picks_entries),
		cmocka_unit_test(ipv4_bursts_do_not_touch_key6),
	};

	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
