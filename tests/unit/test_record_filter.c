/* SPDX-License-Identifier: BSD-3-Clause */

/* Filter expressions on records: refused ones, and matching records of the others. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "collect/record_filter.h"
#include "rx/filter/filter_program.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct filter_set set;

static const struct bpf_program *compile(const char *expression)
{
	char error[FILTER_ERROR_MAX];

	filter_set_free(&set);
	if (filter_set_add_ethernet(&set, expression, error) < 0)
		fail_msg("'%s': %s", expression, error);
	return &set.programs[0];
}

static void expressions_are_judged(void **state)
{
	static const char *const known[] = {"tcp", "not tcp", "udp or icmp6", "ip", "ip6",
		"proto 47", "ip proto 50", "icmp", "arp", "not arp", "port 53", "tcp dst port 443",
		"sctp port 9", "portrange 1000-2000", "not portrange 1-1023", "host 10.0.0.1",
		"src net 10.0.0.0/8", "dst host 2001:db8::1", "ip6 net 2001:db8::/32",
		"ip multicast", "ip6 multicast", "vlan", "vlan 7", "not vlan",
		"vlan 7 and tcp port 80", "vlan and not host 10.0.0.1", "ip[1] & 0xfc = 184",
		"ip[9] = 6", "ip[6:2] & 0x1fff = 0",
		"(host 10.0.0.1 or host 10.0.0.2) and (port 1 or port 2) and not net 10.0.0.0/16",
		"ip[12:4] = 0x0a000001", "tcp[0:2] = 80", "ether proto 0x88cc"};
	static const char *const unknown[] = {"len > 100", "greater 64", "less 1000",
		"ether host 02:00:00:00:00:01", "ether broadcast", "ether multicast", "ip[8] = 64",
		"ip[1] = 0", "ip[1] & 3 != 0", "ip[2:2] > 500", "ip[6] & 0x20 != 0", "ip[4:2] = 7",
		"tcp[tcpflags] & tcp-syn != 0", "tcp[13] = 2", "tcp[4:4] = 0", "icmp[0] = 8",
		"icmp6 and ip6[40] = 128", "udp[8:2] = 3", "ip6[7] = 64", "ip6[1] & 0x30 = 0",
		"tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420", "mpls", "mpls 20", "pppoes",
		"host 10.0.0.1 or ip[8] < 5", "vlan and ether[14] & 0xe0 = 0xe0",
		"proto 47 and ip[20:2] = 0", "ip6 protochain 6"};
	char error[FILTER_ERROR_MAX];

	(void)state;
	for (uint32_t i = 0; i < COUNT(known); i++)
		if (!record_filter_check(compile(known[i]), known[i], error, sizeof(error)))
			fail_msg("%s", error);
	for (uint32_t i = 0; i < COUNT(unknown); i++) {
		if (record_filter_check(compile(unknown[i]), unknown[i], error, sizeof(error)))
			fail_msg("'%s' was accepted", unknown[i]);
		assert_non_null(strstr(error, "depends on more of a packet than records have"));
	}
}

static struct observation record(
	const char *src, const char *dst, uint16_t sport, uint16_t dport, uint8_t proto)
{
	struct observation made = {.family = strchr(src, ':') != NULL ? KEY_IPV6 : KEY_IPV4};
	uint16_t ports[2] = {htons(sport), htons(dport)};

	if (made.family == KEY_IPV6) {
		made.key6.proto = proto;
		assert_int_equal(inet_pton(AF_INET6, src, made.key6.src_ip), 1);
		assert_int_equal(inet_pton(AF_INET6, dst, made.key6.dst_ip), 1);
		memcpy(made.key6.src_port, ports, 4);
	} else {
		made.key4.proto = proto;
		assert_int_equal(inet_pton(AF_INET, src, made.key4.src_ip), 1);
		assert_int_equal(inet_pton(AF_INET, dst, made.key4.dst_ip), 1);
		memcpy(made.key4.src_port, ports, 4);
	}
	return made;
}

static bool matches(const char *expression, const struct observation *observation)
{
	const struct bpf_program *program = compile(expression);
	uint8_t frame[RECORD_FRAME_MAX];
	uint32_t len = record_frame_make(observation, record_filter_has_tags(expression), frame);

	return bpf_filter(program->bf_insns, frame, len, len) != 0;
}

/* Each expression with its matching records, as bits. */
static void records_match(void **state)
{
	struct observation records[] = {
		record("10.0.0.1", "10.0.0.2", 1000, 443, 6),
		record("10.0.0.2", "192.0.2.9", 53, 2000, 17),
		record("2001:db8::1", "2001:db9::1", 443, 1000, 6),
		record("192.0.2.1", "10.0.0.1", 0, 0, 1),
		record("2001:db8::1", "ff02::1", 0, 0, 58),
		record("10.1.0.1", "10.0.0.9", 7, 9, 132),
	};
	static const struct {
		const char *expression;
		uint32_t matching;
	} cases[] = {
		{"ip", 0x2b},
		{"ip6", 0x14},
		{"tcp", 0x05},
		{"tcp port 443", 0x05},
		{"ip and tcp port 443", 0x01},
		{"udp", 0x02},
		{"src port 53", 0x02},
		{"dst port 1000", 0x04},
		{"host 10.0.0.1", 0x09},
		{"src host 10.0.0.1", 0x01},
		{"net 10.0.0.0/8", 0x2b},
		{"not net 10.0.0.0/8", 0x14},
		{"icmp", 0x08},
		{"icmp6", 0x10},
		{"sctp", 0x20},
		{"sctp port 9", 0x20},
		{"dst net 2001:db9::/32", 0x04},
		{"ip6 multicast", 0x10},
		{"vlan", 0x02},
		{"not vlan", 0x3d},
		{"vlan 300", 0x02},
		{"vlan 301", 0},
		{"vlan 300 and udp port 53", 0x02},
		{"vlan 300 and tcp", 0},
		{"ip[1] & 0xfc = 184", 0x01},
		{"ip6[0:2] & 0x0fc0 = 0x0280", 0x10},
		{"arp", 0},
		{"port 0", 0},
	};

	(void)state;
	records[0].extra.dscp[0] = 46;
	records[1].extra.vlan[0] = 300 >> 8;
	records[1].extra.vlan[1] = 300 & 255;
	records[4].extra.dscp[0] = 10;
	for (uint32_t i = 0; i < COUNT(cases); i++)
		for (uint32_t r = 0; r < COUNT(records); r++)
			if (matches(cases[i].expression, &records[r]) !=
				(cases[i].matching >> r & 1))
				fail_msg("'%s' and record %u", cases[i].expression, r);
}

/* A longer name that contains the word does not match. */
static void words_are_whole(void **state)
{
	(void)state;
	assert_true(record_filter_has_tags("vlan"));
	assert_true(record_filter_has_tags("tcp and(vlan 7)"));
	assert_true(record_filter_has_tags("host vlanx or vlan"));
	assert_false(record_filter_has_tags("host vlan7"));
	assert_false(record_filter_has_tags("host myvlan"));
	assert_false(record_filter_has_tags("tcp"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_are_judged),
		cmocka_unit_test(records_match),
		cmocka_unit_test(words_are_whole),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	filter_set_free(&set);
	return failed;
}
