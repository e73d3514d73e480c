/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Datagrams split into fragments in any order must be reassembled unchanged; limits and
 * contradictions cost exactly the datagrams that they should. Packets are copies of exact length.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/fragments.h"

#define PAYLOAD_MAX   65507 /* maximum UDP payload in IPv4 */
#define PACKETS_MAX   8192
#define SECOND        1000000000LL
#define START         (1700000000 * SECOND)
#define UDP_HEADER    8
#define SPORT         2055
#define DPORT         6343
#define FIRST_HEADERS 256

/* A captured packet. */
struct packet {
	uint8_t *bytes;
	uint32_t len;
};

struct original {
	bool ipv6;
	uint32_t id;
	uint32_t len; /* payload length */
	uint8_t udp[UDP_HEADER + PAYLOAD_MAX];
};

static struct packet packets[PACKETS_MAX];
static uint32_t nb_packets;
static struct random random_state;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)random_below(&random_state, bound);
}

static void write16(uint8_t *to, uint32_t number)
{
	to[0] = (uint8_t)(number >> 8);
	to[1] = (uint8_t)number;
}

static void make_original(struct original *original, bool ipv6, uint32_t id, uint32_t len)
{
	original->ipv6 = ipv6;
	original->id = id;
	original->len = len;
	write16(original->udp, SPORT);
	write16(original->udp + 2, DPORT);
	write16(original->udp + 4, UDP_HEADER + len);
	write16(original->udp + 6, 0);
	for (uint32_t i = 0; i < len; i++)
		original->udp[UDP_HEADER + i] = (uint8_t)random_next(&random_state);
}

static const uint8_t src6[16] = {0x20, 1, 0xd, 0xb8, [15] = 1};
static const uint8_t dst6[16] = {0x20, 1, 0xd, 0xb8, [15] = 2};

static uint32_t write_ipv4(uint8_t *at, uint32_t id, uint32_t offset, bool more, uint32_t len)
{
	static const uint8_t addresses[8] = {192, 0, 2, 1, 192, 0, 2, 2};

	memset(at, 0, 20);
	at[0] = 0x45;
	write16(at + 2, 20 + len);
	write16(at + 4, id);
	write16(at + 6, offset / 8 | (more ? 0x2000 : 0));
	at[8] = 64;
	at[9] = 17;
	memcpy(at + 12, addresses, 8);
	return 20;
}

/* Writes an IPv6 header; a fragment header follows hop-by-hop options. */
static uint32_t write_ipv6(uint8_t *at, uint32_t id, uint32_t offset, bool more, uint32_t len)
{
	bool fragment = offset != 0 || more;

	memset(at, 0, 56);
	at[0] = 0x60;
	write16(at + 4, (fragment ? 16 : 0) + len);
	at[6] = fragment ? 0 : 17;
	at[7] = 64;
	memcpy(at + 8, src6, 16);
	memcpy(at + 24, dst6, 16);
	if (!fragment)
		return 40;
	at[40] = 44;
	at[48] = 17;
	write16(at + 50, offset | more);
	write16(at + 54, id);
	return 56;
}

/* Appends the piece [offset, offset + len) of the datagram as an Ethernet packet with padding. */
static void add_piece(const struct original *original, uint32_t offset, uint32_t len, bool more)
{
	uint8_t headers[FIRST_HEADERS] = {0};
	uint32_t at = 14, padding = below(3) * 7;
	struct packet *packet = &packets[nb_packets++];

	assert_true(nb_packets <= PACKETS_MAX);
	write16(headers + 12, original->ipv6 ? 0x86dd : 0x0800);
	at += original->ipv6 ? write_ipv6(headers + at, original->id, offset, more, len)
			     : write_ipv4(headers + at, original->id, offset, more, len);
	packet->len = at + len + padding;
	packet->bytes = malloc(packet->len);
	assert_non_null(packet->bytes);
	memcpy(packet->bytes, headers, at);
	memcpy(packet->bytes + at, original->udp + offset, len);
	memset(packet->bytes + at + len, 0xee, padding);
}

/* Appends the datagram in pieces of random sizes of at least `least` bytes. */
static void add_fragments(const struct original *original, uint32_t least)
{
	uint32_t whole = UDP_HEADER + original->len;

	for (uint32_t offset = 0; offset < whole;) {
		uint32_t len = (least + below(2 * least)) / 8 * 8;

		if (offset + len >= whole)
			len = whole - offset;
		add_piece(original, offset, len, offset + len < whole);
		offset += len;
	}
}

static void shuffle(void)
{
	for (uint32_t i = nb_packets; i > 1; i--) {
		uint32_t other = below(i);
		struct packet packet = packets[other];

		packets[other] = packets[i - 1];
		packets[i - 1] = packet;
	}
}

static void free_packets(void)
{
	for (uint32_t i = 0; i < nb_packets; i++)
		free(packets[i].bytes);
	nb_packets = 0;
}

static struct fragments *create(uint32_t datagrams, size_t bytes)
{
	struct fragments_limits limits = {datagrams, bytes, 30 * SECOND};
	struct fragments *fragments = fragments_create(&limits);

	assert_non_null(fragments);
	return fragments;
}

static bool give(struct fragments *fragments, uint32_t i, int64_t time, struct datagram *out)
{
	return fragments_add(fragments, packets[i].bytes, packets[i].len, packets[i].len,
		LINK_ETHERNET, time, out);
}

static void assert_is(const struct datagram *datagram, const struct original *original)
{
	static const uint8_t mapped[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};

	assert_int_equal(datagram->len, original->len);
	assert_memory_equal(datagram->data, original->udp + UDP_HEADER, original->len);
	assert_int_equal(datagram->src_port, SPORT);
	assert_int_equal(datagram->dst_port, DPORT);
	assert_memory_equal(&datagram->src, original->ipv6 ? src6 : mapped, 16);
}

static void whole_packets(void **state)
{
	static struct original original;
	struct fragments *fragments = create(4, 1 << 20);

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct datagram out;

		make_original(&original, i % 2, i, below(3000));
		add_piece(&original, 0, UDP_HEADER + original.len, false);
		assert_true(give(fragments, 0, START + i, &out));
		assert_is(&out, &original);
		assert_int_equal(out.time, START + i);
		/* not copied */
		assert_true(out.data > packets[0].bytes &&
			    out.data <= packets[0].bytes + packets[0].len);
		free_packets();
	}
	assert_int_equal(fragments_counted(fragments)->whole, 200);
	assert_int_equal(fragments_waiting(fragments), 0);
	fragments_destroy(fragments);
}

/* Several datagrams at once, in any order, with a quarter of the fragments repeated. */
static void any_order_and_repeated(void **state)
{
	static struct original originals[6];
	struct fragments *fragments = create(64, 64 << 20);
	uint32_t datagrams = 0;

	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		bool seen[6] = {false};

		for (uint32_t d = 0; d < 6; d++) {
			make_original(&originals[d], d % 2, round * 6 + d,
				1500 + below(d == 0 ? PAYLOAD_MAX - 1500 : 8000));
			add_fragments(&originals[d], 64 + below(400));
		}
		shuffle();
		for (uint32_t i = 0; i < nb_packets; i++) {
			struct datagram out;
			bool whole = give(fragments, i, START, &out);
			uint32_t d;

			/* Repeating the last fragment would start the datagram again. */
			if (!whole && i % 4 == 0)
				whole = give(fragments, i, START, &out);
			if (!whole)
				continue;
			for (d = 0; d < 6; d++)
				if (out.len == originals[d].len &&
					memcmp(out.data, originals[d].udp + UDP_HEADER, out.len) ==
						0)
					break;
			assert_true(d < 6 && !seen[d]);
			assert_is(&out, &originals[d]);
			seen[d] = true;
			datagrams++;
		}
		free_packets();
	}
	assert_int_equal(datagrams, 360);
	assert_int_equal(fragments_counted(fragments)->completed, 360);
	assert_int_equal(fragments_counted(fragments)->overlapping, 0);
	assert_int_equal(fragments_waiting(fragments), 0);
	fragments_destroy(fragments);
}

/*
 * A fragment with different bytes for a part already received: the datagram and its remaining
 * fragments are dropped.
 */
static void overlaps(void **state)
{
	static struct original original, other;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct fragments *fragments = create(8, 8 << 20);
		struct datagram out;
		uint32_t whole;

		make_original(&original, i % 2, 5, 4000);
		make_original(&other, i % 2, 5, 4000);
		whole = UDP_HEADER + original.len;
		add_fragments(&original, 400);
		shuffle();
		/* The conflicting fragment comes first and overlaps the others. */
		add_piece(&other, 800 + 8 * below(100), 1200, true);
		assert_false(give(fragments, nb_packets - 1, START, &out));
		for (uint32_t p = 0; p + 1 < nb_packets; p++)
			assert_false(give(fragments, p, START, &out));
		assert_int_equal(fragments_counted(fragments)->overlapping, 1);
		assert_int_equal(fragments_counted(fragments)->completed, 0);
		/* After the timeout, the same ID belongs to a new datagram. */
		free_packets();
		add_fragments(&original, 400);
		for (uint32_t p = 0; p + 1 < nb_packets; p++)
			assert_false(give(fragments, p, START + 31 * SECOND, &out));
		assert_true(give(fragments, nb_packets - 1, START + 31 * SECOND, &out));
		assert_int_equal(out.len, whole - UDP_HEADER);
		assert_int_equal(fragments_counted(fragments)->given_up, 0);
		free_packets();
		fragments_destroy(fragments);
	}
}

/* Two last fragments with different ends, and a fragment beyond the end. */
static void ends_that_contradict(void **state)
{
	static struct original original;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct fragments *fragments = create(8, 8 << 20);
		struct datagram out;

		make_original(&original, i % 2, 6, 4000);
		add_piece(&original, 1600, 800, false);
		if (i == 0)
			add_piece(&original, 800, 400, false);
		else
			add_piece(&original, 2400, 800, true);
		add_piece(&original, 0, 1600, true);
		for (uint32_t p = 0; p < nb_packets; p++)
			assert_false(give(fragments, p, START, &out));
		assert_int_equal(fragments_counted(fragments)->overlapping, 1);
		free_packets();
		fragments_destroy(fragments);
	}
}

/* Room for four: the fifth evicts only the oldest. */
static void the_oldest_goes(void **state)
{
	static struct original originals[5];
	struct fragments *fragments = create(4, 64 << 20);
	struct datagram out;

	(void)state;
	for (uint32_t d = 0; d < 5; d++) {
		make_original(&originals[d], d % 2, d, 3000);
		add_piece(&originals[d], 0, 1600, true);
		add_piece(&originals[d], 1600, UDP_HEADER + 3000 - 1600, false);
	}
	for (uint32_t d = 0; d < 5; d++)
		assert_false(give(fragments, 2 * d, START + d, &out));
	assert_int_equal(fragments_waiting(fragments), 4);
	assert_int_equal(fragments_counted(fragments)->given_up, 1);
	for (uint32_t d = 1; d < 5; d++) {
		assert_true(give(fragments, 2 * d + 1, START + 5, &out));
		assert_is(&out, &originals[d]);
	}
	assert_false(give(fragments, 1, START + 5, &out));
	free_packets();
	fragments_destroy(fragments);
}

static void old_ones_go(void **state)
{
	static struct original original;
	struct fragments *fragments = create(4, 64 << 20);
	struct datagram out;

	(void)state;
	make_original(&original, false, 1, 3000);
	add_piece(&original, 0, 1600, true);
	add_piece(&original, 1600, UDP_HEADER + 3000 - 1600, false);
	assert_false(give(fragments, 0, START, &out));
	assert_true(give(fragments, 1, START + 30 * SECOND, &out));
	assert_false(give(fragments, 0, START, &out));
	assert_false(give(fragments, 1, START + 30 * SECOND + 1, &out));
	assert_int_equal(fragments_counted(fragments)->given_up, 1);
	assert_int_equal(fragments_waiting(fragments), 1);
	/* Extreme times. */
	assert_false(give(fragments, 0, INT64_MIN, &out));
	assert_false(give(fragments, 0, INT64_MAX, &out));
	free_packets();
	fragments_destroy(fragments);
}

/* The byte limit corresponds to a number of datagrams of maximum length. */
static void bytes_are_bounded(void **state)
{
	struct fragments_limits limits = {1000000, 1 << 20, SECOND};
	struct fragments *fragments;

	(void)state;
	assert_true(
		fragments_memory(&limits) < (1 << 20) + 4096 + FRAGMENTS_PORTS * sizeof(uint32_t));
	fragments = fragments_create(&limits);
	assert_non_null(fragments);
	for (uint32_t id = 0; id < 200; id++) {
		static struct original original;
		struct datagram out;

		make_original(&original, false, id, 3000);
		add_piece(&original, 0, 1600, true);
		assert_false(give(fragments, 0, START, &out));
		free_packets();
	}
	assert_in_range(fragments_waiting(fragments), 14, 15);
	assert_int_equal(
		fragments_counted(fragments)->given_up + fragments_waiting(fragments), 200);
	fragments_destroy(fragments);
	limits.bytes = 1000;
	assert_null(fragments_create(&limits));
}

/*
 * Also after labels, a packet truncated by the capture counts as truncated, not as a pseudowire
 * frame.
 */
static void cut_behind_labels(void **state)
{
	static const uint8_t label[4] = {0, 1, 1, 64};
	static struct original original;
	struct datagram out;

	(void)state;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct fragments *fragments = create(4, 1 << 20);
		uint8_t bytes[200] = {[12] = 0x88, 0x47};
		uint32_t len = 18;

		make_original(&original, ipv6, 1, 100);
		memcpy(bytes + 14, label, sizeof(label));
		len += ipv6 ? write_ipv6(bytes + len, 1, 0, false, UDP_HEADER + 100)
			    : write_ipv4(bytes + len, 1, 0, false, UDP_HEADER + 100);
		memcpy(bytes + len, original.udp, UDP_HEADER + 100);
		len += UDP_HEADER + 100;
		for (uint32_t cut = 1; cut < len; cut++)
			assert_false(fragments_add(
				fragments, bytes, cut, len, LINK_ETHERNET, START, &out));
		assert_int_equal(fragments_counted(fragments)->cut, len - 1);
		assert_true(fragments_add(fragments, bytes, len, len, LINK_ETHERNET, START, &out));
		assert_is(&out, &original);
		fragments_destroy(fragments);
	}
}

static void what_is_no_datagram(void **state)
{
	static struct original original;
	struct fragments *fragments = create(4, 64 << 20);
	const struct fragments_counts *counts = fragments_counted(fragments);
	struct datagram out;
	uint32_t len;

	(void)state;
	make_original(&original, false, 1, 100);
	add_piece(&original, 0, UDP_HEADER + 100, false);
	len = 14 + 20 + UDP_HEADER + 100;
	for (packets[0].len = 0; packets[0].len < len; packets[0].len++)
		assert_false(give(fragments, 0, START, &out));
	assert_int_equal(counts->cut, len);
	packets[0].len = len;
	/* TCP, ARP */
	packets[0].bytes[14 + 9] = 6;
	assert_false(give(fragments, 0, START, &out));
	packets[0].bytes[14 + 9] = 17;
	packets[0].bytes[13] = 6;
	assert_false(give(fragments, 0, START, &out));
	packets[0].bytes[13] = 0;
	assert_int_equal(counts->not_udp, 2);
	/* UDP length: below a header, beyond the packet; IP length: below its headers */
	write16(packets[0].bytes + 38, 7);
	assert_false(give(fragments, 0, START, &out));
	write16(packets[0].bytes + 38, UDP_HEADER + 101);
	assert_false(give(fragments, 0, START, &out));
	write16(packets[0].bytes + 38, UDP_HEADER + 99);
	assert_true(give(fragments, 0, START, &out));
	assert_int_equal(out.len, 99);
	write16(packets[0].bytes + 16, 19);
	assert_false(give(fragments, 0, START, &out));
	write16(packets[0].bytes + 16, 27);
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(counts->bad, 4);
	/* A fragment whose length is not a multiple of eight, or that ends beyond 65535. */
	free_packets();
	add_piece(&original, 0, 12, true);
	add_piece(&original, 0, 96, true);
	write16(packets[1].bytes + 20, 0x3fff);
	assert_false(give(fragments, 0, START, &out));
	assert_false(give(fragments, 1, START, &out));
	assert_int_equal(counts->bad, 6);
	assert_int_equal(fragments_waiting(fragments), 0);
	free_packets();
	fragments_destroy(fragments);
}

/* Payloads of TCP and SCTP are returned, although they are not datagrams. */
static void streams(void **state)
{
	static struct original original;
	struct fragments *fragments = create(4, 64 << 20);
	struct datagram out;
	uint8_t *packet;

	(void)state;
	make_original(&original, false, 1, 100);
	add_piece(&original, 0, UDP_HEADER + 100, false);
	packet = packets[0].bytes;
	packet[14 + 9] = 6;
	packet[34 + 12] = 0x80; /* a header of 32 bytes */
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(out.proto, 6);
	assert_int_equal(out.dst_port, DPORT);
	assert_ptr_equal(out.data, packet + 34 + 32);
	assert_int_equal(out.len, UDP_HEADER + 100 - 32);
	packet[34 + 12] = 0x10; /* less than a header */
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(out.proto, 0);
	packet[34 + 12] = 0xf0;
	packets[0].len = 34 + 60; /* no payload */
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(out.proto, 0);
	packets[0].len = 14 + 20 + UDP_HEADER + 100;
	packet[14 + 9] = 132;
	packet[34 + 12] = 3; /* a SACK chunk and a DATA chunk */
	write16(packet + 34 + 14, 15);
	packet[34 + 28] = 0;
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(out.proto, 132);
	assert_ptr_equal(out.data, packet + 34 + 28 + 16);
	for (uint32_t length = 0; length < 4; length++) {
		write16(packet + 34 + 14, length);
		assert_false(give(fragments, 0, START, &out));
		assert_int_equal(out.proto, 0);
	}
	free_packets();
	fragments_destroy(fragments);
}

/* Losses count by destination port, if it is known. */
static void ports_of_losses(void **state)
{
	static struct original original;
	struct fragments *fragments = create(4, 64 << 20);
	const uint32_t *ports = fragments_lost_ports(fragments);
	struct datagram out;

	(void)state;
	make_original(&original, false, 1, 100);
	add_piece(&original, 0, UDP_HEADER + 100, false);
	packets[0].len = 14 + 20 + UDP_HEADER + 50;
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(ports[DPORT], 1);
	packets[0].len = 14 + 20 + 2;
	assert_false(give(fragments, 0, START, &out));
	assert_int_equal(ports[0], 1);
	free_packets();
	/* The first fragment has the port; the other one does not. */
	add_piece(&original, 0, 48, true);
	assert_false(give(fragments, 0, START, &out));
	make_original(&original, false, 2, 100);
	add_piece(&original, 48, 48, true);
	assert_false(give(fragments, 1, START, &out));
	fragments_give_up(fragments);
	assert_int_equal(fragments_waiting(fragments), 0);
	assert_int_equal(fragments_counted(fragments)->given_up, 2);
	assert_int_equal(ports[DPORT], 2);
	assert_int_equal(ports[0], 2);
	free_packets();
	fragments_destroy(fragments);
}

/* Random changes of a packet: nothing outside it is read, and every packet is counted. */
static void anything_at_all(void **state)
{
	static struct original original;
	struct fragments *fragments = create(16, 4 << 20);
	const struct fragments_counts *counts = fragments_counted(fragments);
	uint64_t given = 0, whole = 0;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		make_original(&original, i % 2, below(20), 8 + below(3000));
		add_fragments(&original, 200);
		for (uint32_t p = 0; p < nb_packets; p++) {
			struct packet *packet = &packets[p];
			uint32_t len = packet->len - (below(8) == 0 ? below(packet->len) : 0);
			uint8_t *copy = malloc(len);
			struct datagram out;

			assert_non_null(copy);
			memcpy(copy, packet->bytes, len);
			for (uint32_t n = below(3); n > 0; n--)
				copy[below(len < 80 ? len : 80)] =
					(uint8_t)random_next(&random_state);
			if (fragments_add(fragments, copy, len, packet->len,
				    (enum link_type)(below(8) == 0), START + given, &out)) {
				uint64_t sum = 0;

				for (uint32_t b = 0; b < out.len; b++)
					sum += out.data[b];
				assert_true(sum <= 255u * 65535u);
				whole++;
			}
			given++;
			free(copy);
		}
		free_packets();
	}
	assert_int_equal(counts->whole + counts->completed, whole);
	/* Contents of fragments may also be bad or not UDP. */
	assert_true(
		counts->whole + counts->fragments + counts->not_udp + counts->cut + counts->bad >=
		given);
	assert_true(counts->whole + counts->fragments <= given);
	fragments_destroy(fragments);
}

static int seed(void **state)
{
	(void)state;
	random_init(&random_state, 5);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(whole_packets, seed),
		cmocka_unit_test_setup(any_order_and_repeated, seed),
		cmocka_unit_test_setup(overlaps, seed),
		cmocka_unit_test_setup(ends_that_contradict, seed),
		cmocka_unit_test_setup(the_oldest_goes, seed),
		cmocka_unit_test_setup(old_ones_go, seed),
		cmocka_unit_test_setup(bytes_are_bounded, seed),
		cmocka_unit_test_setup(cut_behind_labels, seed),
		cmocka_unit_test_setup(what_is_no_datagram, seed),
		cmocka_unit_test_setup(streams, seed),
		cmocka_unit_test_setup(ports_of_losses, seed),
		cmocka_unit_test_setup(anything_at_all, seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
