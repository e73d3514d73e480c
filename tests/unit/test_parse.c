/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The key rule on hand-made packets, one per corner case, and invariants for any bytes: nothing
 * outside the packet is read (the copies below have the exact length, so that ASan detects an
 * overread), the first `need` bytes decide, and bursts give the same results as parse_packet().
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "eal.h"
#include "rx/packet/meta.h"
#include "rx/packet/parse.h"
#include "rx/packet/parse_burst.h"

#define PACKET_MAX 512

#define MACS "020000000001 020000000002 "
#define ETH4 MACS "0800 "
#define ETH6 MACS "86dd "

/* 192.0.2.1 to 198.51.100.2 */
#define IP4_FULL(version_ihl, fragment, proto)                                                     \
	version_ihl "00 ffff 0000 " fragment " 40" proto " 0000 c0000201 c6336402 "
#define IP4(proto) IP4_FULL("45", "0000", proto)
#define OPTIONS16  "01010101 01010101 01010101 01010101 "
#define OPTIONS40  OPTIONS16 OPTIONS16 "01010101 01010101 "

/* 2001:db8::1 to 2001:db8::2 */
#define IP6_FULL(version, next)                                                                    \
	version "0000000 ffff " next "40 20010db8000000000000000000000001 "                        \
		"20010db8000000000000000000000002 "
#define IP6(next) IP6_FULL("6", next)

#define PORTS "c000 01bb " /* 49152 to 443 */
#define TCP   "06"
#define UDP   "11"
#define SCTP  "84"

/* IPv6 extension headers: next header, length, rest. Hop-by-hop 0, routing 2b, fragment 2c ... */
#define EXT8(next)              next "00 000000000000 "
#define EXT16(next)             next "01 000000000000 0000000000000000 "
#define AH12(next)              next "01 0000 00000001 00000001 "
#define FRAGMENT6(next, offset) next "00 " offset " 00000001 "

#define MPLS(bottom) "00064" bottom "40 "
/* As above, followed by PORTS: the IP packet after labels must have a valid length and checksum. */
#define IP4_PORTS(length, proto, checksum)                                                         \
	"4500 " length " 0000 0000 40" proto " " checksum " c0000201 c6336402 " PORTS
#define IP4_TCP IP4_PORTS("0018", TCP, "8ea9")
#define IP4_UDP IP4_PORTS("0018", UDP, "8e9e")
#define IP6_PORTS(length, next, limit)                                                             \
	"60000000 " length " " next limit " 20010db8000000000000000000000001 "                     \
	"20010db8000000000000000000000002 " PORTS

struct packet_row {
	const char *name;
	enum link_type link;
	const char *hex;
	enum parse_verdict verdict;
	uint32_t need;
	/* if the verdict has a key */
	uint8_t proto;
	bool ports; /* PORTS, otherwise 0 */
	bool fragment;
};

static const struct packet_row rows[] = {
	/* Ethernet and IPv4 */
	{"TCP", LINK_ETHERNET, ETH4 IP4(TCP) PORTS "00000000", PARSE_IPV4, 38, 6, true, false},
	{"UDP", LINK_ETHERNET, ETH4 IP4(UDP) PORTS, PARSE_IPV4, 38, 17, true, false},
	{"SCTP", LINK_ETHERNET, ETH4 IP4(SCTP) PORTS, PARSE_IPV4, 38, 132, true, false},
	{"ICMP has no ports", LINK_ETHERNET, ETH4 IP4("01") "0800f7ff 00000000", PARSE_IPV4, 34, 1,
		false, false},
	{"DCCP has none either", LINK_ETHERNET, ETH4 IP4("21") PORTS, PARSE_IPV4, 34, 33, false,
		false},
	{"4 in 4 is not entered", LINK_ETHERNET, ETH4 IP4("04") IP4(UDP) PORTS, PARSE_IPV4, 34, 4,
		false, false},
	{"ports truncated: 3 bytes", LINK_ETHERNET, ETH4 IP4(TCP) "c00001", PARSE_IPV4, 34, 6,
		false, false},
	{"ports truncated: 0 bytes", LINK_ETHERNET, ETH4 IP4(UDP), PARSE_IPV4, 34, 17, false,
		false},
	{"first fragment", LINK_ETHERNET, ETH4 IP4_FULL("45", "2000", UDP) PORTS, PARSE_IPV4, 38,
		17, true, true},
	{"middle fragment", LINK_ETHERNET, ETH4 IP4_FULL("45", "2001", UDP) PORTS, PARSE_IPV4, 34,
		17, false, true},
	{"last fragment", LINK_ETHERNET, ETH4 IP4_FULL("45", "1fff", TCP) PORTS, PARSE_IPV4, 34, 6,
		false, true},
	{"fragment at 256 x 8", LINK_ETHERNET, ETH4 IP4_FULL("45", "0100", TCP) PORTS, PARSE_IPV4,
		34, 6, false, true},
	{"don't fragment", LINK_ETHERNET, ETH4 IP4_FULL("45", "4000", TCP) PORTS, PARSE_IPV4, 38, 6,
		true, false},
	{"reserved bit", LINK_ETHERNET, ETH4 IP4_FULL("45", "8000", TCP) PORTS, PARSE_IPV4, 38, 6,
		true, false},
	{"options", LINK_ETHERNET, ETH4 IP4_FULL("46", "0000", TCP) "01010101" PORTS, PARSE_IPV4,
		42, 6, true, false},
	{"all options", LINK_ETHERNET, ETH4 IP4_FULL("4f", "0000", UDP) OPTIONS40 PORTS, PARSE_IPV4,
		78, 17, true, false},
	{"options, ports truncated", LINK_ETHERNET,
		ETH4 IP4_FULL("46", "0000", TCP) "01010101 c000", PARSE_IPV4, 38, 6, false, false},
	{"options truncated", LINK_ETHERNET, ETH4 IP4_FULL("46", "0000", TCP) "010101",
		PARSE_BAD_IHL, 34, 0, false, false},
	{"IHL 4", LINK_ETHERNET, ETH4 IP4_FULL("44", "0000", TCP) PORTS, PARSE_BAD_IHL, 34, 0,
		false, false},
	{"IHL 0", LINK_ETHERNET, ETH4 IP4_FULL("40", "0000", TCP) PORTS, PARSE_BAD_IHL, 34, 0,
		false, false},
	{"version 6 as IPv4", LINK_ETHERNET, ETH4 IP4_FULL("65", "0000", TCP) PORTS,
		PARSE_BAD_VERSION, 34, 0, false, false},
	{"IPv4 truncated: 19 bytes", LINK_ETHERNET, ETH4 "450000280000000040060000c0000201c63364",
		PARSE_CUT_IP, 14, 0, false, false},
	{"IPv4 truncated: no byte", LINK_ETHERNET, ETH4, PARSE_CUT_IP, 14, 0, false, false},
	/* Ethernet and what it carries */
	{"empty", LINK_ETHERNET, "", PARSE_CUT_LINK, 0, 0, false, false},
	{"Ethernet truncated", LINK_ETHERNET, MACS "08", PARSE_CUT_LINK, 0, 0, false, false},
	{"ARP", LINK_ETHERNET, MACS "0806 0001", PARSE_NON_IP, 14, 0, false, false},
	{"LLC", LINK_ETHERNET, MACS "0026 424203", PARSE_NON_IP, 14, 0, false, false},
	{"PPPoE", LINK_ETHERNET, MACS "8864 11000001 0016 0021" IP4(TCP) PORTS, PARSE_NON_IP, 14, 0,
		false, false},
	{"VLAN", LINK_ETHERNET, MACS "8100 0001 0800" IP4(TCP) PORTS, PARSE_IPV4, 42, 6, true,
		false},
	{"VLAN, four bytes before it what looks like IPv4", LINK_ETHERNET,
		"020000000001 0200 0800 4500 8100 0001 0800" IP4(TCP) PORTS, PARSE_IPV4, 42, 6,
		true, false},
	{"four tags", LINK_ETHERNET,
		MACS "88a8 0001 8100 0002 9100 0003 9200 0004 0800" IP4(TCP) PORTS, PARSE_IPV4, 54,
		6, true, false},
	{"VLAN and IPv6", LINK_ETHERNET, MACS "8100 0001 86dd" IP6(UDP) PORTS, PARSE_IPV6, 62, 17,
		true, false},
	{"VLAN and ARP", LINK_ETHERNET, MACS "8100 0001 0806", PARSE_NON_IP, 18, 0, false, false},
	{"VLAN truncated", LINK_ETHERNET, MACS "8100 0001 08", PARSE_CUT_LINK, 14, 0, false, false},
	{"second tag truncated", LINK_ETHERNET, MACS "88a8 0001 8100 0002", PARSE_CUT_LINK, 18, 0,
		false, false},
	/* MPLS */
	{"MPLS", LINK_ETHERNET, MACS "8847" MPLS("1") IP4_TCP, PARSE_IPV4, 42, 6, true, false},
	{"MPLS multicast, three labels", LINK_ETHERNET,
		MACS "8848" MPLS("0") MPLS("0") MPLS("1") IP6_PORTS("0004", TCP, "40"), PARSE_IPV6,
		70, 6, true, false},
	{"VLAN and MPLS", LINK_ETHERNET, MACS "8100 0001 8847" MPLS("1") IP4_UDP, PARSE_IPV4, 46,
		17, true, false},
	{"pseudowire", LINK_ETHERNET, MACS "8847" MPLS("1") "00000000" ETH4, PARSE_NON_IP, 19, 0,
		false, false},
	{"no bottom of stack", LINK_ETHERNET, MACS "8847" MPLS("0") MPLS("0") "000641",
		PARSE_CUT_MPLS, 22, 0, false, false},
	{"label truncated", LINK_ETHERNET, MACS "8847 000641", PARSE_CUT_MPLS, 14, 0, false, false},
	{"nothing after the bottom", LINK_ETHERNET, MACS "8847" MPLS("1"), PARSE_CUT_MPLS, 18, 0,
		false, false},
	{"one byte after the bottom", LINK_ETHERNET, MACS "8847" MPLS("1") "45", PARSE_CUT_IP, 19,
		0, false, false},
	/* IPv6 */
	{"IPv6 TCP", LINK_ETHERNET, ETH6 IP6(TCP) PORTS "00", PARSE_IPV6, 58, 6, true, false},
	{"IPv6 ICMP", LINK_ETHERNET, ETH6 IP6("3a") "80000000", PARSE_IPV6, 54, 58, false, false},
	{"IPv6 no next header", LINK_ETHERNET, ETH6 IP6("3b"), PARSE_IPV6, 54, 59, false, false},
	{"IPv6 ports truncated", LINK_ETHERNET, ETH6 IP6(SCTP) "c000", PARSE_IPV6, 54, 132, false,
		false},
	{"IPv6 truncated", LINK_ETHERNET, ETH6 "60000000", PARSE_CUT_IP, 14, 0, false, false},
	{"version 4 as IPv6", LINK_ETHERNET, ETH6 IP6_FULL("4", TCP) PORTS, PARSE_BAD_VERSION, 54,
		0, false, false},
	{"hop-by-hop", LINK_ETHERNET, ETH6 IP6("00") EXT8(TCP) PORTS, PARSE_IPV6, 66, 6, true,
		false},
	{"each kind", LINK_ETHERNET,
		ETH6 IP6("00") EXT8("3c") EXT16("2b") EXT8("33") AH12("2c") FRAGMENT6(UDP, "0001")
			PORTS,
		PARSE_IPV6, 110, 17, true, true},
	{"AH counts in fours", LINK_ETHERNET, ETH6 IP6("33") AH12(TCP) PORTS, PARSE_IPV6, 70, 6,
		true, false},
	{"the least AH", LINK_ETHERNET, ETH6 IP6("33") "0600 0000 00000001" PORTS, PARSE_IPV6, 66,
		6, true, false},
	{"ESP ends the walk", LINK_ETHERNET, ETH6 IP6("32") PORTS, PARSE_IPV6, 54, 50, false,
		false},
	{"first fragment", LINK_ETHERNET, ETH6 IP6("2c") FRAGMENT6(UDP, "0001") PORTS, PARSE_IPV6,
		66, 17, true, true},
	{"atomic fragment", LINK_ETHERNET, ETH6 IP6("2c") FRAGMENT6(TCP, "0000") PORTS, PARSE_IPV6,
		66, 6, true, true},
	{"reserved bits of a fragment", LINK_ETHERNET, ETH6 IP6("2c") FRAGMENT6(TCP, "0007") PORTS,
		PARSE_IPV6, 66, 6, true, true},
	{"later fragment", LINK_ETHERNET, ETH6 IP6("2c") FRAGMENT6(UDP, "0008") PORTS, PARSE_IPV6,
		62, 17, false, true},
	{"later fragment stops the walk", LINK_ETHERNET,
		ETH6 IP6("2c") FRAGMENT6("3c", "fff9") EXT8(TCP) PORTS, PARSE_IPV6, 62, 60, false,
		true},
	{"fragment's length byte is reserved", LINK_ETHERNET,
		ETH6 IP6("2c") "06ff 0000 00000001" PORTS, PARSE_IPV6, 66, 6, true, true},
	{"a header longer than the packet", LINK_ETHERNET, ETH6 IP6("00") "06ff 000000000000" PORTS,
		PARSE_IPV6, 62, 6, false, false},
	{"and another header after it", LINK_ETHERNET, ETH6 IP6("00") "3cff 000000000000" PORTS,
		PARSE_CUT_EXTENSION, 62, 0, false, false},
	{"extension truncated: 7 bytes", LINK_ETHERNET, ETH6 IP6("3c") "0600 0000000000",
		PARSE_CUT_EXTENSION, 54, 0, false, false},
	{"extension truncated: no byte", LINK_ETHERNET, ETH6 IP6("2c"), PARSE_CUT_EXTENSION, 54, 0,
		false, false},
	{"eight extensions", LINK_ETHERNET,
		ETH6 IP6("00") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c")
			EXT8("3c") EXT8(TCP) PORTS,
		PARSE_IPV6, 122, 6, true, false},
	{"nine extensions", LINK_ETHERNET,
		ETH6 IP6("00") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c")
			EXT8("3c") EXT8("3c") EXT8(TCP) PORTS,
		PARSE_LONG_EXTENSION, 118, 0, false, false},
	{"too long before truncation", LINK_ETHERNET,
		ETH6 IP6("00") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c") EXT8("3c")
			EXT8("3c") EXT8("3c"),
		PARSE_LONG_EXTENSION, 118, 0, false, false},
	/* raw IP */
	{"raw IPv4", LINK_RAW, IP4(TCP) PORTS, PARSE_IPV4, 24, 6, true, false},
	{"raw IPv6", LINK_RAW, IP6(UDP) PORTS, PARSE_IPV6, 44, 17, true, false},
	{"raw, other nibble", LINK_RAW, "50000000", PARSE_NON_IP, 1, 0, false, false},
	{"raw, empty", LINK_RAW, "", PARSE_CUT_LINK, 0, 0, false, false},
	{"raw IPv4 truncated", LINK_RAW, "4500", PARSE_CUT_IP, 1, 0, false, false},
	/* NULL and LOOP */
	{"NULL, little-endian", LINK_NULL, "02000000" IP4(TCP) PORTS, PARSE_IPV4, 28, 6, true,
		false},
	{"NULL, big-endian", LINK_NULL, "00000002" IP4(TCP) PORTS, PARSE_IPV4, 28, 6, true, false},
	{"NULL, Linux", LINK_NULL, "0a000000" IP6(UDP) PORTS, PARSE_IPV6, 48, 17, true, false},
	{"NULL, NetBSD", LINK_NULL, "00000018" IP6(UDP) PORTS, PARSE_IPV6, 48, 17, true, false},
	{"NULL, FreeBSD", LINK_NULL, "1c000000" IP6(UDP) PORTS, PARSE_IPV6, 48, 17, true, false},
	{"NULL, Darwin", LINK_NULL, "1e000000" IP6(UDP) PORTS, PARSE_IPV6, 48, 17, true, false},
	{"NULL, AppleTalk", LINK_NULL, "10000000" IP4(TCP) PORTS, PARSE_NON_IP, 4, 0, false, false},
	{"NULL, neither order is small", LINK_NULL, "02000100" IP4(TCP) PORTS, PARSE_NON_IP, 4, 0,
		false, false},
	{"NULL, family against version", LINK_NULL, "02000000" IP6(TCP) PORTS, PARSE_BAD_VERSION,
		24, 0, false, false},
	{"NULL truncated", LINK_NULL, "020000", PARSE_CUT_LINK, 0, 0, false, false},
	/* Linux cooked captures */
	{"SLL", LINK_SLL, "0000 0001 0006 0200000000010000 0800" IP4(TCP) PORTS, PARSE_IPV4, 40, 6,
		true, false},
	{"SLL and VLAN", LINK_SLL, "0000 0001 0006 0200000000010000 8100 0001 86dd" IP6(TCP) PORTS,
		PARSE_IPV6, 64, 6, true, false},
	{"SLL and MPLS", LINK_SLL, "0000 0001 0006 0200000000010000 8847" MPLS("1") IP4_TCP,
		PARSE_IPV4, 44, 6, true, false},
	{"SLL and ARP", LINK_SLL, "0000 0001 0006 0200000000010000 0806", PARSE_NON_IP, 16, 0,
		false, false},
	{"SLL truncated", LINK_SLL, "0000 0001 0006 0200000000010000 08", PARSE_CUT_LINK, 0, 0,
		false, false},
	{"SLL, VLAN truncated", LINK_SLL, "0000 0001 0006 0200000000010000 8100 000108",
		PARSE_CUT_LINK, 16, 0, false, false},
	{"SLL2", LINK_SLL2, "0800 0000 00000002 0001 00 06 0200000000010000" IP4(UDP) PORTS,
		PARSE_IPV4, 44, 17, true, false},
	{"SLL2 and tags", LINK_SLL2,
		"88a8 0000 00000002 0001 00 06 0200000000010000 0001 8100 0002 0800" IP4(UDP) PORTS,
		PARSE_IPV4, 52, 17, true, false},
	{"SLL2 truncated", LINK_SLL2, "0800 0000 00000002 0001 00 06 02000000000100",
		PARSE_CUT_LINK, 0, 0, false, false},
	{"SLL2, VLAN truncated", LINK_SLL2, "8100 0000 00000002 0001 00 06 0200000000010000",
		PARSE_CUT_LINK, 20, 0, false, false},
	/* PPP */
	{"PPP", LINK_PPP, "ff03 0021" IP4(TCP) PORTS, PARSE_IPV4, 28, 6, true, false},
	{"PPP without address and control", LINK_PPP, "0057" IP6(TCP) PORTS, PARSE_IPV6, 46, 6,
		true, false},
	{"PPP and MPLS", LINK_PPP, "ff03 0281" MPLS("1") IP4_TCP, PARSE_IPV4, 32, 6, true, false},
	{"PPP LCP", LINK_PPP, "ff03 c021 01", PARSE_NON_IP, 4, 0, false, false},
	{"PPP, an EtherType is not a protocol", LINK_PPP, "0800" IP4(TCP) PORTS, PARSE_NON_IP, 2, 0,
		false, false},
	{"PPP truncated: 1 byte", LINK_PPP, "ff", PARSE_CUT_LINK, 0, 0, false, false},
	{"PPP truncated: 3 bytes", LINK_PPP, "ff03 00", PARSE_CUT_LINK, 2, 0, false, false},
	/* Cisco HDLC */
	{"C-HDLC", LINK_C_HDLC, "0f00 0800" IP4(TCP) PORTS, PARSE_IPV4, 28, 6, true, false},
	{"C-HDLC and IPv6", LINK_C_HDLC, "0f00 86dd" IP6(TCP) PORTS, PARSE_IPV6, 48, 6, true,
		false},
	{"C-HDLC and MPLS", LINK_C_HDLC, "0f00 8847" MPLS("1") IP4_TCP, PARSE_IPV4, 32, 6, true,
		false},
	{"C-HDLC, VLAN tags are Ethernet's", LINK_C_HDLC, "0f00 8100 0001 0800" IP4(TCP) PORTS,
		PARSE_NON_IP, 4, 0, false, false},
	{"C-HDLC SLARP", LINK_C_HDLC, "8f00 8035 00000002", PARSE_NON_IP, 4, 0, false, false},
	{"C-HDLC truncated", LINK_C_HDLC, "0f00 08", PARSE_CUT_LINK, 0, 0, false, false},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t random_state;

/* xorshift64* (Vigna 2014). */
static uint64_t next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1d >> 16;
}

static int seed_random(void **state)
{
	(void)state;
	random_state = 0xda3e39cb94b95bdb;
	return 0;
}

/* Returns the number of bytes in the hex digits; spaces are skipped. */
static uint32_t bytes_of_hex(const char *hex, uint8_t bytes[PACKET_MAX])
{
	uint32_t digits = 0;

	memset(bytes, 0, PACKET_MAX);
	for (; *hex != '\0'; hex++) {
		char digit[2] = {*hex};

		if (*hex == ' ')
			continue;
		assert_true(digits / 2 < PACKET_MAX);
		bytes[digits / 2] = (uint8_t)(bytes[digits / 2] << 4 | strtoul(digit, NULL, 16));
		digits++;
	}
	assert_int_equal(digits % 2, 0);
	return digits / 2;
}

/* Parses a copy of exactly len bytes. */
static enum parse_verdict parse_exact(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *parsed)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	enum parse_verdict verdict;

	assert_non_null(copy);
	memcpy(copy, data, len);
	memset(parsed, 0xee, sizeof(*parsed));
	/* malloc(0) may return a readable byte, so a copy of 0 bytes starts after a block of 1. */
	verdict = parse_captured(len > 0 ? copy : copy + 1, len, wire_len, link, parsed);
	free(copy);
	return verdict;
}

static void assert_same_key(
	enum parse_verdict verdict, const struct parsed *a, const struct parsed *b)
{
	if (verdict == PARSE_IPV4)
		assert_memory_equal(&a->key4, &b->key4, sizeof(a->key4));
	if (verdict == PARSE_IPV6)
		assert_memory_equal(&a->key6, &b->key6, sizeof(a->key6));
	assert_int_equal(a->fragment, b->fragment);
	if (parse_verdicts[verdict].class != PARSE_CLASS_KEY)
		return;
	assert_memory_equal(&a->extra, &b->extra, sizeof(a->extra));
	assert_int_equal(a->ip_at, b->ip_at);
	assert_int_equal(a->transport_at, b->transport_at);
}

/* The version must be at the start of the IP header, and the ports at its end. */
static void assert_places(
	const uint8_t *data, enum parse_verdict verdict, const struct parsed *parsed, bool ports)
{
	static const uint8_t expected[4] = {0xc0, 0x00, 0x01, 0xbb};

	assert_int_equal(data[parsed->ip_at] >> 4, verdict == PARSE_IPV4 ? 4 : 6);
	if (ports)
		assert_memory_equal(data + parsed->transport_at, expected, 4);
}

/* need <= len, and the first `need` bytes give the same result. */
static void assert_need_decides(
	const uint8_t *data, uint32_t len, uint32_t wire_len, enum link_type link)
{
	struct parsed whole, prefix;
	enum parse_verdict verdict = parse_exact(data, len, wire_len, link, &whole);

	assert_true(verdict < PARSE_VERDICT_COUNT);
	assert_true(whole.need <= len);
	assert_int_equal(parse_exact(data, whole.need, wire_len, link, &prefix), verdict);
	assert_int_equal(prefix.need, whole.need);
	assert_same_key(verdict, &whole, &prefix);
}

static void assert_row_key4(const struct packet_row *row, const struct key4 *key)
{
	static const uint8_t ports[4] = {0xc0, 0x00, 0x01, 0xbb}, none[4] = {0};
	struct key4 expected = {{192, 0, 2, 1}, {198, 51, 100, 2}, {0}, {0}, row->proto, {0}, 0};

	memcpy(expected.src_port, row->ports ? ports : none, 2);
	memcpy(expected.dst_port, row->ports ? ports + 2 : none, 2);
	assert_memory_equal(key, &expected, sizeof(expected));
}

static void assert_row_key6(const struct packet_row *row, const struct key6 *key)
{
	static const uint8_t ports[4] = {0xc0, 0x00, 0x01, 0xbb}, none[4] = {0};
	struct key6 expected = {.proto = row->proto};

	assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", expected.src_ip), 1);
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::2", expected.dst_ip), 1);
	memcpy(expected.src_port, row->ports ? ports : none, 2);
	memcpy(expected.dst_port, row->ports ? ports + 2 : none, 2);
	assert_memory_equal(key, &expected, sizeof(expected));
}

static void corners(void **state)
{
	uint32_t seen = 0;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		const struct packet_row *row = &rows[i];
		uint8_t data[PACKET_MAX];
		uint32_t len = bytes_of_hex(row->hex, data);
		struct parsed parsed;
		enum parse_verdict verdict = parse_exact(data, len, len, row->link, &parsed);

		if (verdict != row->verdict || parsed.need != row->need ||
			parsed.fragment != row->fragment)
			fail_msg("%s: %s, need %u, fragment %d", row->name,
				parse_verdicts[verdict].name, parsed.need, parsed.fragment);
		if (verdict == PARSE_IPV4)
			assert_row_key4(row, &parsed.key4);
		if (verdict == PARSE_IPV6)
			assert_row_key6(row, &parsed.key6);
		if (parse_verdicts[verdict].class == PARSE_CLASS_KEY)
			assert_places(data, verdict, &parsed, row->ports);
		seen |= 1u << verdict;
	}
	assert_int_equal(seen, (1u << PARSE_VERDICT_COUNT) - 1);
}

static void every_cut_of_the_corners(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		uint8_t data[PACKET_MAX];
		uint32_t len = bytes_of_hex(rows[i].hex, data);

		for (uint32_t cut = 0; cut <= len; cut++)
			for (int link = 0; link < LINK_COUNT; link++) {
				assert_need_decides(data, cut, cut, (enum link_type)link);
				assert_need_decides(data, cut, len, (enum link_type)link);
			}
	}
}

/* --- packets after labels --- */

struct labelled_row {
	const char *name;
	const char *hex; /* after the bottom of the stack */
	uint32_t more;   /* bytes of the frame that were not captured */
	enum parse_verdict verdict;
};

#define ETH_IP4        "0800 " IP4_TCP
#define FILL32         "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
#define ETH6_MACS(mac) mac "020000000009 86dd " IP6_PORTS("0004", UDP, "40")

static const struct labelled_row labelled_rows[] = {
	{"whole", IP4_TCP, 0, PARSE_IPV4},
	{"padding and FCS", IP4_TCP FILL32, 0, PARSE_IPV4},
	{"captured in part", IP4_PORTS("05dc", TCP, "88e5"), 1476, PARSE_IPV4},
	{"options", "4600 001c 0000 0000 4006 8ba3 c0000201 c6336402 01010101 " PORTS, 0,
		PARSE_IPV4},
	{"checksum left to the card", IP4_PORTS("0018", TCP, "0000"), 0, PARSE_IPV4},
	{"no checksum, and padding", IP4_PORTS("0018", TCP, "0000") FILL32, 0, PARSE_NON_IP},
	{"wrong checksum", IP4_PORTS("0018", TCP, "1234"), 0, PARSE_NON_IP},
	{"longer than its frame", IP4_PORTS("05dc", TCP, "88e5"), 1475, PARSE_NON_IP},
	{"shorter than its header", IP4_PORTS("0013", TCP, "8eae"), 0, PARSE_NON_IP},
	{"much shorter than its frame", IP4_TCP FILL32 FILL32 "00", 0, PARSE_NON_IP},
	{"IPv6", IP6_PORTS("0004", UDP, "40"), 0, PARSE_IPV6},
	{"IPv6 and padding", IP6_PORTS("0004", UDP, "40") FILL32, 0, PARSE_IPV6},
	{"IPv6 captured in part", IP6_PORTS("0500", UDP, "40"), 1276, PARSE_IPV6},
	{"IPv6 longer than its frame", IP6_PORTS("0500", UDP, "40"), 1275, PARSE_NON_IP},
	{"IPv6 of hop limit 0", IP6_PORTS("0004", UDP, "00"), 0, PARSE_NON_IP},
	{"IPv6 much shorter than its frame", IP6_PORTS("0004", UDP, "40") FILL32 FILL32 "00", 0,
		PARSE_NON_IP},
	{"frame, MAC address 40", "405e0c112233 020000000009 " ETH_IP4, 0, PARSE_BAD_IHL},
	{"frame, MAC address 45", "455e0c112233 020000000009 " ETH_IP4, 0, PARSE_NON_IP},
	{"frame, MAC address 46", "460000260000 020000000009 " ETH_IP4, 0, PARSE_NON_IP},
	{"frame, MAC address 48", "48df370000ff 020000000009 " ETH_IP4, 0, PARSE_NON_IP},
	{"frame, MAC address that has the length", "450000260000 00000a000009 " ETH_IP4, 0,
		PARSE_NON_IP},
	{"frame, MAC address 60", "600308112233 020000000009 " ETH_IP4 FILL32, 0, PARSE_NON_IP},
	{"frame of IPv6, MAC address 64", ETH6_MACS("64d154aabbcc "), 0, PARSE_NON_IP},
	{"frame, MAC address of hop limit 0", "600000000006 000000000009 " ETH_IP4 FILL32, 0,
		PARSE_NON_IP},
};

/* IP after labels has a valid IP length and checksum; a pseudowire frame does not. */
static void behind_labels(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(labelled_rows) / sizeof(labelled_rows[0]); i++) {
		const struct labelled_row *row = &labelled_rows[i];
		uint8_t data[2 * PACKET_MAX]; /* room for bytes_of_hex(), which fills PACKET_MAX */
		uint32_t len = bytes_of_hex(MACS "8847" MPLS("0") MPLS("1"), data);
		struct parsed parsed;
		enum parse_verdict verdict;

		len += bytes_of_hex(row->hex, data + len);
		verdict = parse_exact(data, len, len + row->more, LINK_ETHERNET, &parsed);
		if (verdict != row->verdict)
			fail_msg("%s: %s", row->name, parse_verdicts[verdict].name);
		assert_need_decides(data, len, len + row->more, LINK_ETHERNET);
	}
}

/* The same for a part of a packet without the frame length, as exporters send it. */
static const struct labelled_row part_rows[] = {
	{"whole", IP4_TCP, 0, PARSE_IPV4},
	{"longer than the part", IP4_PORTS("05dc", TCP, "88e5"), 0, PARSE_IPV4},
	{"without checksum", IP4_PORTS("05dc", TCP, "0000"), 0, PARSE_NON_IP},
	{"wrong checksum", IP4_PORTS("05dc", TCP, "1234"), 0, PARSE_NON_IP},
	{"much shorter than the part", IP4_TCP FILL32 FILL32 "00", 0, PARSE_NON_IP},
	{"IPv6", IP6_PORTS("0500", UDP, "40"), 0, PARSE_IPV6},
	{"IPv6 much shorter", IP6_PORTS("0004", UDP, "40") FILL32 FILL32 "00", 0, PARSE_NON_IP},
	{"frame, MAC address 45", "455e0c112233 020000000009 " ETH_IP4, 0, PARSE_NON_IP},
	{"frame, MAC address 60", "600308112233 001b00000009 " ETH_IP4 FILL32, 0, PARSE_NON_IP},
	{"tagged frame", "640308112233 001b00000009 81000005 " ETH_IP4 FILL32, 0, PARSE_NON_IP},
};

static void behind_labels_of_a_part(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(part_rows) / sizeof(part_rows[0]); i++) {
		const struct labelled_row *row = &part_rows[i];
		uint8_t data[2 * PACKET_MAX];
		uint32_t len = bytes_of_hex(MPLS("0") MPLS("1"), data);
		struct parsed parsed;
		enum parse_verdict verdict;

		len += bytes_of_hex(row->hex, data + len);
		verdict = parse_exact(data, len, PARSE_WIRE_UNKNOWN, LINK_MPLS, &parsed);
		if (verdict != row->verdict)
			fail_msg("%s: %s", row->name, parse_verdicts[verdict].name);
	}
}

/* The "explicit null" labels name the IP version, so no further check is needed. */
static void behind_explicit_null(void **state)
{
	static const char *const frames[] = {
		MACS "8847 00000140" IP4(TCP) PORTS,
		MACS "8847 00002140" IP6(TCP) PORTS,
		MACS "8847 00002140" IP4(TCP) PORTS,
		MACS "8847 00000140" IP6(TCP) PORTS,
	};
	static const enum parse_verdict verdicts[] = {
		PARSE_IPV4, PARSE_IPV6, PARSE_NON_IP, PARSE_NON_IP};

	(void)state;
	for (int i = 0; i < 4; i++) {
		uint8_t data[PACKET_MAX];
		uint32_t len = bytes_of_hex(frames[i], data);
		struct parsed parsed;

		assert_int_equal(parse_exact(data, len, len, LINK_ETHERNET, &parsed), verdicts[i]);
	}
}

/* --- missing bytes --- */

struct missing_row {
	const char *name;
	enum link_type link;
	const char *hex;
	uint32_t wire_len, snaplen; /* wire_len 0: as captured */
	uint32_t missing;
};

#define NONE           0
#define UNKNOWN        PARSE_MISSING_UNKNOWN
#define SYN            "00000001 00000000 5002 ffff 0000 0000 "
#define JOINED         IP4_PORTS("fecd", TCP, "8ff3") SYN /* 65229 bytes, 40 of them captured */
#define NO_LENGTH      IP4_PORTS("0000", TCP, "8ec1") SYN
#define FULL           IP4_PORTS("05dc", TCP, "88e5") SYN
#define SLL2_IPV4      "0800 0000 00000002 0001 00 06 0200000000010000 "
/* The jumbo option in the place used by Linux and after padding: 100000 bytes. */
#define JUMBO(options) ETH6 IP6_FULL_LENGTH("0000", "00") "06" options PORTS SYN
#define IP6_FULL_LENGTH(length, next)                                                              \
	"60000000 " length next "40 20010db8000000000000000000000001 "                             \
	"20010db8000000000000000000000002 "

static const struct missing_row missing_rows[] = {
	{"whole", LINK_ETHERNET, ETH4 IP4_TCP, 0, 38, NONE},
	{"whole, with padding", LINK_ETHERNET, ETH4 IP4_TCP FILL32, 0, 70, NONE},
	{"the source has the length", LINK_ETHERNET, ETH4 JOINED, 65243, 54, NONE},
	{"the source has another length", LINK_ETHERNET, ETH4 JOINED, 1982, 54, NONE},
	{"truncated at the snap length", LINK_ETHERNET, ETH4 JOINED, 0, 54, 65189},
	{"truncated before the snap length", LINK_ETHERNET, ETH4 JOINED, 0, 128, 65189},
	{"only headers, any snap length", LINK_ETHERNET, ETH4 JOINED, 0, 262144, 65189},
	{"only headers, no snap length", LINK_ETHERNET, ETH4 JOINED, 0, 0, 65189},
	{"after a tag", LINK_ETHERNET, MACS "8100 0001 0800" JOINED, 0, 58, 65189},
	{"SLL", LINK_SLL, "0000 0001 0006 0200000000010000 0800" JOINED, 0, 56, 65189},
	{"SLL2", LINK_SLL2, SLL2_IPV4 JOINED, 0, 60, 65189},
	{"raw IP", LINK_RAW, JOINED, 0, 40, 65189},
	{"a frame with a forged length", LINK_ETHERNET, ETH4 JOINED "000000000000", 0, 262144,
		NONE},
	{"the same, where snaplen holds it", LINK_ETHERNET, ETH4 JOINED "000000000000", 0, 65243,
		NONE},
	{"the same, beyond snaplen", LINK_ETHERNET, ETH4 JOINED "000000000000", 0, 65242, 65183},
	{"wrong checksum", LINK_ETHERNET, ETH4 IP4_PORTS("fecd", TCP, "1234") SYN, 0, 128, NONE},
	{"wrong checksum, at snaplen", LINK_ETHERNET, ETH4 IP4_PORTS("fecd", TCP, "1234") SYN, 0,
		54, 65189},
	{"one frame's packet, truncated", LINK_ETHERNET, ETH4 FULL, 0, 54, 1460},
	{"one frame's packet, no sign of truncation", LINK_ETHERNET, ETH4 FULL, 0, 64, NONE},
	{"no length, at snaplen", LINK_ETHERNET, ETH4 NO_LENGTH, 0, 54, UNKNOWN},
	{"no length, whole", LINK_ETHERNET, ETH4 NO_LENGTH, 0, 55, NONE},
	{"no length, which the source has", LINK_ETHERNET, ETH4 NO_LENGTH, 180014, 54, NONE},
	{"IPv6", LINK_ETHERNET, ETH6 IP6_FULL_LENGTH("ffff", "06") PORTS SYN, 0, 74, 65515},
	{"IPv6 before snaplen", LINK_ETHERNET, ETH6 IP6_FULL_LENGTH("ffff", "06") PORTS SYN, 0, 96,
		65515},
	{"IPv6 without a length", LINK_ETHERNET, ETH6 IP6_FULL_LENGTH("0000", "06") PORTS SYN, 0,
		74, UNKNOWN},
	{"IPv6 no next header", LINK_ETHERNET, ETH6 IP6_FULL_LENGTH("0000", "3b"), 0, 54, NONE},
	{"jumbogram", LINK_ETHERNET, JUMBO("00 c204 000186a0"), 0, 82, 99972},
	{"jumbogram before snaplen", LINK_ETHERNET, JUMBO("00 c204 000186a0"), 0, 83, 99972},
	{"jumbogram, option behind padding", LINK_ETHERNET,
		JUMBO("01 0100 0000 c204 000186a0 0102 0000"), 0, 90, 99964},
	{"jumbogram of less than 65536", LINK_ETHERNET, JUMBO("00 c204 0000ffff"), 0, 82, UNKNOWN},
	{"an option of another length", LINK_ETHERNET, JUMBO("00 c203 000186a0"), 0, 82, UNKNOWN},
	{"a truncated option", LINK_ETHERNET, JUMBO("00 01ff 00000000"), 0, 82, UNKNOWN},
	{"more captured than the frame had", LINK_ETHERNET, ETH4 IP4_TCP FILL32, 60, 262144, 10},
};

/* Bytes that a source truncated without their number, computed from the packet's headers. */
static void missing_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(missing_rows) / sizeof(missing_rows[0]); i++) {
		const struct missing_row *row = &missing_rows[i];
		uint8_t data[PACKET_MAX];
		uint32_t len = bytes_of_hex(row->hex, data);
		uint32_t wire_len = row->wire_len > 0 ? row->wire_len : len, missing;
		uint8_t *copy = malloc(len);
		struct parsed parsed;
		enum parse_verdict verdict;

		assert_non_null(copy);
		memcpy(copy, data, len);
		verdict = parse_exact(data, len, wire_len, row->link, &parsed);
		if (parse_verdicts[verdict].class != PARSE_CLASS_KEY)
			fail_msg("%s: %s", row->name, parse_verdicts[verdict].name);
		missing = parse_missing_bytes(copy, len, wire_len, row->snaplen, &parsed);
		if (missing != row->missing)
			fail_msg("%s: %u", row->name, missing);
		free(copy);
	}
}

static void names_and_classes(void **state)
{
	(void)state;
	for (int v = 0; v < PARSE_VERDICT_COUNT; v++) {
		enum parse_class expected = v == PARSE_IPV4 || v == PARSE_IPV6 ? PARSE_CLASS_KEY
					    : v == PARSE_NON_IP                ? PARSE_CLASS_NON_IP
								: PARSE_CLASS_MALFORMED;

		assert_int_equal(parse_verdicts[v].class, expected);
		for (int w = 0; w < v; w++)
			assert_string_not_equal(parse_verdicts[v].name, parse_verdicts[w].name);
	}
}

/* A row's packet with some bytes changed, often to meaningful values, and sometimes truncated. */
static uint32_t random_packet(uint8_t data[PACKET_MAX], enum link_type *link)
{
	static const uint8_t telling[] = {0, 1, 4, 5, 6, 8, 17, 43, 44, 45, 51, 60, 132, 0x21, 0x45,
		0x46, 0x47, 0x57, 0x60, 0x81, 0x86, 0x88, 0xdd, 0xff};
	const struct packet_row *row = &rows[next_random() % ROWS];
	uint32_t len = bytes_of_hex(row->hex, data);
	uint32_t changes = (uint32_t)next_random() % 5;

	*link = next_random() % 8 == 0 ? (enum link_type)(next_random() % LINK_COUNT) : row->link;
	while (len > 0 && changes-- > 0) {
		uint8_t *byte = &data[next_random() % len];

		*byte = next_random() % 2 ? (uint8_t)next_random()
					  : telling[next_random() % sizeof(telling)];
	}
	if (next_random() % 4 == 0)
		len = (uint32_t)next_random() % (len + 1);
	else if (next_random() % 4 == 0)
		for (uint32_t more = (uint32_t)next_random() % 64; more > 0; more--)
			data[len++] = (uint8_t)(next_random() % 2 * 0x5a); /* flags, or padding */
	return len;
}

static void need_decides(void **state)
{
	(void)state;
	for (int i = 0; i < 500000; i++) {
		uint8_t data[PACKET_MAX];
		enum link_type link;
		uint32_t len = random_packet(data, &link);

		assert_need_decides(data, len, len + (uint32_t)next_random() % 64, link);
	}
}

/*
 * ---- Bursts
 */

static struct rte_mempool *pool;

static int start_eal(void **state)
{
	(void)state;
	if (eal_begin("test_parse", 64) != 0)
		return -1;
	pool = rte_pktmbuf_pool_create(
		"packets", 4 * BURST_MAX, 0, 0, RTE_PKTMBUF_HEADROOM + PACKET_MAX, SOCKET_ID_ANY);
	return pool == NULL ? -1 : packet_meta_register();
}

static int stop_eal(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	return eal_end();
}

static struct rte_mbuf *make_mbuf(const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(mbuf);
	/* The pattern makes an overread visible. */
	memset(mbuf->buf_addr, 0xee, mbuf->buf_len);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)len), data, len);
	return mbuf;
}

/* Expected results of parse_burst_*(), computed with parse_packet(). */
struct expected {
	uint32_t n;
	struct key keys[BURST_MAX];
	uint32_t wire_len[BURST_MAX];
	int64_t time[BURST_MAX];
	uint8_t tcp_flags[BURST_MAX];
	struct key_extra extra[BURST_MAX]; /* without in_port and stripped tags */
	struct key_tcp tcp[BURST_MAX];
	uint16_t overhead[BURST_MAX];
	struct parse_counts counts;
};

static void put_number(uint8_t *bytes, size_t width, uint32_t number)
{
	for (size_t b = width; b-- > 0; number >>= 8)
		bytes[b] = (uint8_t)number;
}

static uint32_t number_at(const uint8_t *bytes, size_t width)
{
	uint32_t number = 0;

	for (size_t b = 0; b < width; b++)
		number = number << 8 | bytes[b];
	return number;
}

/* Returns the expected TCP fields of a packet with a key. */
static struct key_tcp tcp_of(
	const uint8_t *data, uint32_t len, const struct parsed *parsed, bool v6, uint32_t wire_len)
{
	const uint8_t *ip = data + parsed->ip_at, *tcp = data + parsed->transport_at;
	int64_t length = number_at(ip + (v6 ? 4 : 2), 2);
	int64_t headers = (int64_t)parsed->transport_at - (int64_t)parsed->ip_at;

	if ((v6 ? parsed->key6.proto : parsed->key4.proto) != 6 || parsed->fragment ||
		parsed->transport_at + 16 > len)
		return (struct key_tcp){0};
	if (length == 0)
		length = (int64_t)wire_len - (int64_t)parsed->ip_at;
	else if (v6)
		length += 40;
	length -= headers + tcp[12] / 16 * 4;
	return (struct key_tcp){number_at(tcp + 4, 4), number_at(tcp + 8, 4),
		length > 0 ? (uint32_t)length : 0, (uint16_t)number_at(tcp + 14, 2), true};
}

/* Returns the expected bytes around the IP packet, for a packet with a key. */
static uint16_t expect_overhead(
	const uint8_t *data, const struct parsed *parsed, bool v6, uint32_t wire_len)
{
	uint32_t length = number_at(data + parsed->ip_at + (v6 ? 4 : 2), 2);
	uint32_t rest = wire_len - (uint32_t)parsed->ip_at;

	if (v6 && length > 0)
		length += 40;
	return (uint16_t)(length == 0 || length > rest ? parsed->ip_at : wire_len - length);
}

static void expect_packet(struct expected *expected, const uint8_t *data, uint32_t len,
	enum link_type link, uint32_t wire_len)
{
	struct parse_counts *counts = &expected->counts;
	struct key *key = &expected->keys[expected->n];
	struct parsed parsed;
	enum parse_verdict verdict = parse_captured(data, len, wire_len, link, &parsed);

	counts->verdicts[verdict]++;
	if (wire_len > counts->largest_frame)
		counts->largest_frame = wire_len;
	if (parse_verdicts[verdict].class != PARSE_CLASS_KEY)
		return;
	counts->bytes += wire_len;
	if (wire_len < counts->smallest_frame)
		counts->smallest_frame = wire_len;
	memset(key, 0, sizeof(*key));
	if (verdict == PARSE_IPV4) {
		key->family = KEY_IPV4;
		key->v4 = parsed.key4;
	} else {
		key->family = KEY_IPV6;
		key->v6 = parsed.key6;
	}
	expected->tcp_flags[expected->n] = parsed.extra.tcp_flags[0];
	memcpy(parsed.extra.in_port, expected->extra[expected->n].in_port, 2);
	expected->extra[expected->n] = parsed.extra;
	expected->tcp[expected->n] = tcp_of(data, len, &parsed, verdict == PARSE_IPV6, wire_len);
	expected->overhead[expected->n] =
		expect_overhead(data, &parsed, verdict == PARSE_IPV6, wire_len);
	expected->wire_len[expected->n++] = wire_len;
}

static void assert_burst(const struct key_burst *burst, const struct expected *expected)
{
	assert_int_equal(burst->n, expected->n);
	if (burst->n < 64)
		assert_true(burst->v6 >> burst->n == 0);
	for (uint32_t i = 0; i < burst->n; i++) {
		struct key key = key_burst_get(burst, i);

		assert_true(key_equal(&key, &expected->keys[i]));
		assert_int_equal(burst->wire_len[i], expected->wire_len[i]);
	}
}

static void assert_counts(const struct parse_counts *counts, const struct parse_counts *expected)
{
	for (int v = 0; v < PARSE_VERDICT_COUNT; v++)
		assert_true(counts->verdicts[v] == expected->verdicts[v]);
	assert_true(counts->bytes == expected->bytes);
	assert_int_equal(counts->largest_frame, expected->largest_frame);
	assert_int_equal(counts->smallest_frame, expected->smallest_frame);
}

static void assert_details(const struct key_burst *burst, const struct expected *expected)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		assert_int_equal(burst->time[i], expected->time[i]);
		assert_int_equal(burst->tcp_flags[i], expected->tcp_flags[i]);
	}
}

static void assert_tcp(const struct key_burst *burst, const struct expected *expected)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct key_tcp *got = &burst->tcp[i], *tcp = &expected->tcp[i];

		assert_int_equal(got->known, tcp->known);
		if (!tcp->known)
			continue;
		assert_int_equal(got->sequence, tcp->sequence);
		assert_int_equal(got->acknowledgement, tcp->acknowledgement);
		assert_int_equal(got->payload, tcp->payload);
		assert_int_equal(got->window, tcp->window);
	}
}

static void assert_extra(const struct key_burst *burst, const struct expected *expected)
{
	for (uint32_t i = 0; i < burst->n; i++)
		for (int f = 0; f < KEY_FIELD_COUNT; f++) {
			const struct key_field *field = &key_fields[f];

			if (field->extra)
				assert_memory_equal(
					(const uint8_t *)&burst->extra[i] + field->offset4,
					(const uint8_t *)&expected->extra[i] + field->offset4,
					(field->bits4 + 7) / 8);
		}
}

#define POLLED INT64_C(1234567890123456789)

static void parse_random(struct rte_mbuf **pkts, uint32_t n, struct key_burst *burst,
	struct parse_counts *counts, bool replay, enum parse_level level, bool overhead)
{
	static const struct packet_times times = {.polled = POLLED};
	static const uint16_t in_ports[RTE_MAX_ETHPORTS] = {[3] = 513};

	if (replay)
		parse_burst_replay(pkts, n, burst, counts, level, overhead);
	else
		parse_burst_port(pkts, n, burst, counts, level, overhead, &times, in_ports);
}

/* Random bursts through all functions; the counts add up over all of them. */
static void assert_bursts(bool replay, enum parse_level level, bool overhead)
{
	static struct key_burst burst;
	struct expected expected;
	struct parse_counts counts;

	parse_counts_reset(&counts);
	parse_counts_reset(&expected.counts);
	for (uint32_t round = 0; round < 4000; round++) {
		struct rte_mbuf *pkts[BURST_MAX];
		uint32_t n = round % (BURST_MAX + 1);

		expected.n = 0;
		memset(expected.extra, 0, sizeof(expected.extra));
		for (uint32_t i = 0; i < n; i++) {
			uint8_t data[PACKET_MAX];
			enum link_type link;
			uint32_t len = random_packet(data, &link);
			uint32_t wire_len = len + (uint32_t)next_random() % 2000;

			pkts[i] = make_mbuf(data, len);
			if (replay)
				*packet_meta(pkts[i]) = (struct packet_meta){.time = round + i,
					.wire_len = wire_len,
					.link = (uint16_t)link,
					.in_port = (uint16_t)(round * 7 + i)};
			else
				link = LINK_ETHERNET;
			pkts[i]->port = i % 2 == 0 ? 3 : i % 5 == 0 ? RTE_MBUF_PORT_INVALID : 1;
			put_number(expected.extra[expected.n].in_port, 2,
				replay       ? (uint16_t)(round * 7 + i)
				: i % 2 == 0 ? 513
					     : 0);
			/* Used if the packet has a key. */
			expected.time[expected.n] = replay ? round + i : POLLED;
			expect_packet(&expected, data, len, link, replay ? wire_len : len);
		}
		parse_random(pkts, n, &burst, &counts, replay, level, overhead);
		assert_burst(&burst, &expected);
		if (level >= PARSE_DETAILS)
			assert_details(&burst, &expected);
		assert_int_equal(burst.has_overhead, overhead);
		for (uint32_t i = 0; overhead && i < burst.n; i++)
			assert_int_equal(burst.overhead[i], expected.overhead[i]);
		if (level >= PARSE_EXTRA)
			assert_extra(&burst, &expected);
		assert_int_equal(burst.has_tcp, level >= PARSE_TCP);
		if (level >= PARSE_TCP)
			assert_tcp(&burst, &expected);
		for (uint32_t i = 0; i < n; i++)
			rte_pktmbuf_free(pkts[i]);
	}
	assert_counts(&counts, &expected.counts);
}

static void bursts_of_a_port(void **state)
{
	(void)state;
	for (int level = PARSE_KEYS; level <= PARSE_TCP; level++)
		for (int overhead = 0; overhead <= (level > PARSE_KEYS); overhead++)
			assert_bursts(false, (enum parse_level)level, overhead != 0);
}

static void bursts_of_a_replay(void **state)
{
	(void)state;
	for (int level = PARSE_KEYS; level <= PARSE_TCP; level++)
		for (int overhead = 0; overhead <= (level > PARSE_KEYS); overhead++)
			assert_bursts(true, (enum parse_level)level, overhead != 0);
}

/* Uses the clock of the port, if there is one and the time is at most a minute before the poll. */
static void stamps_of_devices(void **state)
{
	static struct packet_times times = {.polled = POLLED};
	static struct key_burst burst;
	struct rte_mbuf *pkts[7];
	struct parse_counts counts;
	uint8_t data[PACKET_MAX];
	uint32_t len = bytes_of_hex(ETH4 IP4(TCP) PORTS "00000000", data);
	static const struct {
		bool stamped;
		uint16_t port;
		uint64_t stamp;
		int64_t time;
	} packets[] = {
		{true, 1, 1000, POLLED - 400}, /* 8 ns per tick */
		{true, 1, 1050, POLLED},
		{true, 1, 1051, POLLED},                      /* after its poll */
		{true, 1, UINT64_MAX - 4999, POLLED - 48400}, /* before the clock wrapped */
		{true, 1, (uint64_t)-10000000000, POLLED},    /* more than a minute */
		{true, 0, 1000, POLLED},                      /* no clock model */
		{false, 1, 1000, POLLED},
	};

	(void)state;
	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&times.offset, &times.stamped), 0);
	times.lines[1] = (struct clock_line){.ticks = 1025, .utc = POLLED - 200, .ns_of_tick = 8};
	parse_counts_reset(&counts);
	for (uint32_t i = 0; i < 7; i++) {
		pkts[i] = make_mbuf(data, len);
		pkts[i]->port = packets[i].port;
		pkts[i]->ol_flags = packets[i].stamped ? times.stamped : 0;
		*RTE_MBUF_DYNFIELD(pkts[i], times.offset, rte_mbuf_timestamp_t *) =
			packets[i].stamp;
	}
	pkts[5]->port = RTE_MBUF_PORT_INVALID;
	parse_burst_port(pkts, 6, &burst, &counts, PARSE_DETAILS, false, &times, NULL);
	pkts[5]->port = 0;
	parse_burst_port(pkts, 7, &burst, &counts, PARSE_DETAILS, false, &times, NULL);
	assert_int_equal(burst.n, 7);
	for (uint32_t i = 0; i < 7; i++) {
		assert_true(burst.time[i] == packets[i].time);
		rte_pktmbuf_free(pkts[i]);
	}
}

/* A device may strip the outermost tag and report it. */
static void tags_that_were_taken_off(void **state)
{
	static const uint16_t in_ports[RTE_MAX_ETHPORTS];
	static const struct packet_times times = {.polled = POLLED};
	static const struct {
		const char *hex;
		uint16_t vlan;
	} packets[] = {
		{ETH4 IP4(TCP) PORTS "00000000", 0xabc},
		{MACS "8100e0050800" IP4(TCP) PORTS, 0xabc},
	};
	static struct key_burst burst;
	struct parse_counts counts;

	(void)state;
	parse_counts_reset(&counts);
	for (size_t r = 0; r < 2; r++) {
		uint8_t data[PACKET_MAX];
		struct rte_mbuf *pkt = make_mbuf(data, bytes_of_hex(packets[r].hex, data));

		pkt->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		pkt->vlan_tci = 0x7abc;
		parse_burst_port(&pkt, 1, &burst, &counts, PARSE_EXTRA, false, &times, in_ports);
		assert_int_equal(burst.n, 1);
		assert_int_equal(
			burst.extra[0].vlan[0] << 8 | burst.extra[0].vlan[1], packets[r].vlan);
		rte_pktmbuf_free(pkt);
	}
}

/* The outermost tag, the top label, six bits of the traffic class. */
static void fields_beside_the_5tuple(void **state)
{
	static const struct {
		const char *hex;
		uint16_t vlan;
		uint32_t mpls;
		uint8_t dscp;
	} packets[] = {
		{ETH4 IP4(TCP) PORTS, 0, 0, 0},
		{MACS "8100f0050800" IP4(TCP) PORTS, 5, 0, 0},
		{MACS "88a82fff810000010800" IP4(TCP) PORTS, 0xfff, 0, 0},
		{MACS "8100e0000800" IP4(TCP) PORTS, 0, 0, 0},
		{MACS "8847ffffe0ff000011ff" IP4_TCP, 0, 0xffffe, 0},
		{MACS "810000078847000213ff45bb00180000000040068deec0000201c6336402" PORTS, 7, 0x21,
			0xbb >> 2},
		{MACS "86dd6ba0000000083a4020010db8000000000000000000000001 "
		      "20010db8000000000000000000000002",
			0, 0, 0xba >> 2},
	};

	(void)state;
	for (size_t r = 0; r < sizeof(packets) / sizeof(packets[0]); r++) {
		uint8_t data[PACKET_MAX];
		uint32_t len = bytes_of_hex(packets[r].hex, data);
		struct parsed parsed;
		enum parse_verdict verdict = parse_packet(data, len, LINK_ETHERNET, &parsed);

		assert_int_equal(parse_verdicts[verdict].class, PARSE_CLASS_KEY);
		assert_int_equal(parsed.extra.vlan[0] << 8 | parsed.extra.vlan[1], packets[r].vlan);
		assert_int_equal(parsed.extra.mpls[0] << 16 | parsed.extra.mpls[1] << 8 |
					 parsed.extra.mpls[2],
			packets[r].mpls);
		assert_int_equal(parsed.extra.dscp[0], packets[r].dscp);
	}
}

static void empty_burst(void **state)
{
	static struct key_burst burst = {.n = 7, .v6 = 7};
	struct parse_counts counts, none;

	(void)state;
	parse_counts_reset(&counts);
	parse_counts_reset(&none);
	parse_burst_port(NULL, 0, &burst, &counts, PARSE_KEYS, false, NULL, NULL);
	assert_int_equal(burst.n, 0);
	assert_true(burst.v6 == 0);
	assert_counts(&counts, &none);
	assert_int_equal(none.smallest_frame, UINT32_MAX);
}

/* Like make_mbuf(), split at random into up to four segments, some of them empty. */
static struct rte_mbuf *make_chain(const uint8_t *data, uint32_t len)
{
	uint32_t first = (uint32_t)next_random() % (len + 1);
	struct rte_mbuf *chain = make_mbuf(data, first);

	for (uint32_t at = first, left = 3; at < len; left--) {
		uint32_t rest = len - at;
		uint32_t n = left == 1 ? rest : (uint32_t)next_random() % (rest + 1);

		assert_int_equal(rte_pktmbuf_chain(chain, make_mbuf(data + at, n)), 0);
		at += n;
	}
	return chain;
}

static void assert_chains(enum parse_level level, bool overhead)
{
	static struct key_burst burst;
	struct parse_counts counts;
	struct expected expected;

	parse_counts_reset(&counts);
	parse_counts_reset(&expected.counts);
	for (uint32_t round = 0; round < 10000; round++) {
		uint8_t data[PACKET_MAX];
		enum link_type link;
		uint32_t len = random_packet(data, &link);
		struct rte_mbuf *chain = make_chain(data, len);
		struct parsed linear, chained;

		expected.n = 0;
		expected.time[0] = POLLED;
		expect_packet(&expected, data, len, LINK_ETHERNET, len);
		parse_random(&chain, 1, &burst, &counts, false, level, overhead);
		assert_burst(&burst, &expected);
		if (level >= PARSE_DETAILS)
			assert_details(&burst, &expected);
		for (uint32_t i = 0; overhead && i < burst.n; i++)
			assert_int_equal(burst.overhead[i], expected.overhead[i]);
		if (level >= PARSE_TCP)
			assert_tcp(&burst, &expected);
		memset(&linear, 0, sizeof(linear));
		memset(&chained, 0, sizeof(chained));
		assert_int_equal(parse_mbuf(chain, chain->pkt_len, LINK_ETHERNET, &chained),
			parse_packet(data, len, LINK_ETHERNET, &linear));
		assert_int_equal(chained.fragment, linear.fragment);
		rte_pktmbuf_free(chain);
	}
	assert_counts(&counts, &expected.counts);
}

/* A packet split into segments gives the same result as in one piece. */
static void chains_of_a_port(void **state)
{
	(void)state;
	for (int level = PARSE_KEYS; level <= PARSE_TCP; level++)
		for (int overhead = 0; overhead <= (level > PARSE_KEYS); overhead++)
			assert_chains((enum parse_level)level, overhead != 0);
}

/* A jumbo frame in segments of two kilobytes: the total length counts, its first bytes decide. */
static void jumbo_frames(void **state)
{
	static struct key_burst burst;
	struct parse_counts counts;
	uint8_t data[PACKET_MAX] = {0}, rest[PACKET_MAX] = {0};
	struct rte_mbuf *frame;

	(void)state;
	bytes_of_hex(ETH4 IP4(TCP) PORTS "00000000", data);
	frame = make_mbuf(data, PACKET_MAX);
	while (frame->pkt_len < 16 * PACKET_MAX)
		assert_int_equal(rte_pktmbuf_chain(frame, make_mbuf(rest, PACKET_MAX)), 0);
	parse_counts_reset(&counts);
	parse_burst_port(&frame, 1, &burst, &counts, PARSE_KEYS, false, NULL, NULL);
	assert_int_equal(burst.n, 1);
	assert_int_equal(burst.wire_len[0], 16 * PACKET_MAX);
	assert_int_equal(burst.key4[0].dst_port[0] << 8 | burst.key4[0].dst_port[1], 443);
	assert_int_equal(counts.bytes, 16 * PACKET_MAX);
	assert_int_equal(counts.largest_frame, 16 * PACKET_MAX);
	rte_pktmbuf_free(frame);
}

/* Segments with 80 KB of labels, with or without a bottom of stack and IPv4 after them. */
static void headers_behind_64_kb_of_labels(void **state)
{
	static struct key_burst burst;
	struct parse_counts counts;
	uint8_t labels[PACKET_MAX] = {0}, data[PACKET_MAX];
	uint32_t len;

	(void)state;
	for (int bottom = 0; bottom < 2; bottom++) {
		struct rte_mbuf *frame;

		len = bytes_of_hex(MACS "8847 0000", data);
		frame = make_mbuf(data, len);
		while (frame->pkt_len < 160 * PACKET_MAX)
			assert_int_equal(
				rte_pktmbuf_chain(frame, make_mbuf(labels, PACKET_MAX)), 0);
		len = bytes_of_hex(bottom ? "0000 00000100" IP4(TCP) PORTS : "0000 00000000", data);
		assert_int_equal(rte_pktmbuf_chain(frame, make_mbuf(data, len)), 0);
		parse_counts_reset(&counts);
		parse_burst_port(&frame, 1, &burst, &counts, PARSE_KEYS, false, NULL, NULL);
		assert_int_equal(burst.n, bottom);
		assert_true(counts.verdicts[bottom ? PARSE_IPV4 : PARSE_CUT_MPLS] == 1);
		rte_pktmbuf_free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corners),
		cmocka_unit_test(every_cut_of_the_corners),
		cmocka_unit_test(behind_labels),
		cmocka_unit_test(behind_labels_of_a_part),
		cmocka_unit_test(behind_explicit_null),
		cmocka_unit_test(missing_bytes),
		cmocka_unit_test(names_and_classes),
		cmocka_unit_test_setup(need_decides, seed_random),
		cmocka_unit_test_setup(bursts_of_a_port, seed_random),
		cmocka_unit_test_setup(bursts_of_a_replay, seed_random),
		cmocka_unit_test(stamps_of_devices),
		cmocka_unit_test(tags_that_were_taken_off),
		cmocka_unit_test(fields_beside_the_5tuple),
		cmocka_unit_test(empty_burst),
		cmocka_unit_test_setup(chains_of_a_port, seed_random),
		cmocka_unit_test(jumbo_frames),
		cmocka_unit_test(headers_behind_64_kb_of_labels),
	};

	return cmocka_run_group_tests_name("parse", tests, start_eal, stop_eal);
}
