/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sFlow datagrams, built word by word from the specification, and the expected records. Each is
 * decoded from a copy of exact length, so that ASan detects an overread.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "flow_protocols/flow_protocol.h"

#define DATAGRAM_MAX 65536
#define GIVEN_MAX    512

struct datagram_bytes {
	uint8_t bytes[DATAGRAM_MAX];
	uint32_t len;
	uint32_t samples;
};

static struct datagram_bytes built;

static void put(uint32_t word)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		built.bytes[built.len++] = (uint8_t)(word >> shift);
}

static void put_bytes(const void *bytes, uint32_t n)
{
	memcpy(built.bytes + built.len, bytes, n);
	built.len += n;
}

static void put_wide(uint64_t number)
{
	put((uint32_t)(number >> 32));
	put((uint32_t)number);
}

static void set(uint32_t at, uint32_t word)
{
	uint32_t len = built.len;

	built.len = at;
	put(word);
	built.len = len;
}

static void begin_datagram(void)
{
	built.len = 0;
	built.samples = 0;
	put(5);
	put(1);
	put(0x0a000001);
	put(7);
	put(100);
	put(123456);
	put(0);
}

/* Begins a structure; returns the position of its length. */
static uint32_t begin(uint32_t format)
{
	put(format);
	put(0);
	return built.len - 4;
}

static void end(uint32_t at)
{
	set(at, built.len - at - 4);
	while (built.len % 4 != 0)
		built.bytes[built.len++] = 0;
}

static uint32_t begin_sample(uint32_t format)
{
	set(24, ++built.samples);
	return begin(format);
}

static uint32_t begin_flow_sample(
	uint32_t source, uint32_t input, uint32_t output, uint32_t records)
{
	uint32_t at = begin_sample(1);

	put(11);
	put(source);
	put(400);
	put(8000);
	put(3);
	put(input);
	put(output);
	put(records);
	return at;
}

static uint32_t begin_expanded_sample(uint32_t class, uint32_t index, uint32_t in_format,
	uint32_t input, uint32_t out_format, uint32_t output, uint32_t records)
{
	uint32_t at = begin_sample(3);

	put(12);
	put(class);
	put(index);
	put(512);
	put(9000);
	put(4);
	put(in_format);
	put(input);
	put(out_format);
	put(output);
	put(records);
	return at;
}

static void put_raw_header(
	uint32_t protocol, uint32_t frame, uint32_t stripped, const void *header, uint32_t len)
{
	uint32_t at = begin(1);

	put(protocol);
	put(frame);
	put(stripped);
	put(len);
	put_bytes(header, len);
	while (built.len % 4 != 0)
		built.bytes[built.len++] = 0;
	end(at);
}

/* TCP, 10.0.0.1:1234 to 10.0.0.2:80, in VLAN 5; 1000 bytes of layer 3, DSCP 46, SYN and ACK. */
static const uint8_t tcp_frame[] = {
	0x02,
	0,
	0,
	0,
	0,
	1,
	0x02,
	0,
	0,
	0,
	0,
	2,
	0x81,
	0x00,
	0x20,
	0x05,
	0x08,
	0x00, /* Ethernet */
	0x45,
	0xb8,
	0x03,
	0xe8,
	0,
	0,
	0x40,
	0,
	64,
	6,
	0,
	0,
	10,
	0,
	0,
	1,
	10,
	0,
	0,
	2, /* IPv4 */
	0x04,
	0xd2,
	0x00,
	0x50,
	0,
	0,
	0,
	1,
	0,
	0,
	0,
	2,
	0x50,
	0x12,
	0,
	0,
	0,
	0,
	0,
	0, /* TCP */
	1,
	2,
	3,
	4,
	5,
	6,
};

#define TCP_IP_AT 18

static const struct key4 tcp_key = {
	{10, 0, 0, 1}, {10, 0, 0, 2}, {0x04, 0xd2}, {0x00, 0x50}, 6, {0}, 0};

/* UDP, 2001:db8::1:53 to 2001:db8::2:4096, 200 bytes after a 40-byte header, with options. */
static const uint8_t udp6_packet[] = {
	0x60,
	0,
	0,
	0,
	0,
	200,
	0,
	64,
	0x20,
	0x01,
	0x0d,
	0xb8,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	1,
	0x20,
	0x01,
	0x0d,
	0xb8,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	2,
	17,
	0,
	1,
	4,
	0,
	0,
	0,
	0,
	0,
	53,
	0x10,
	0x00,
	0,
	192,
	0,
	0,
};

/* Everything the record handler received. */
static struct {
	struct flow_record batch[DECODE_BATCH];
	struct flow_record records[GIVEN_MAX];
	struct interface_counters counters[GIVEN_MAX];
	struct sampler_state samplers[GIVEN_MAX];
	uint32_t nb_records, nb_counters, nb_samplers;
} given;

static void take_records(void *arg, uint32_t n)
{
	(void)arg;
	assert_in_range(n, 1, DECODE_BATCH);
	assert_true(given.nb_records + n <= GIVEN_MAX);
	memcpy(given.records + given.nb_records, given.batch, n * sizeof(given.batch[0]));
	given.nb_records += n;
}

static void take_counters(void *arg, const struct interface_counters *counters)
{
	(void)arg;
	assert_true(given.nb_counters < GIVEN_MAX);
	given.counters[given.nb_counters++] = *counters;
}

static void take_sampler(void *arg, const struct sampler_state *sampler)
{
	(void)arg;
	assert_true(given.nb_samplers < GIVEN_MAX);
	given.samplers[given.nb_samplers++] = *sampler;
}

static struct decode_result decode(const uint8_t *data, uint32_t len, uint32_t samples)
{
	struct record_handler sink = {
		.batch = given.batch,
		.records = take_records,
		.counters = take_counters,
		.sampler = take_sampler,
	};
	struct datagram_header header = {
		.protocol = FLOW_PROTOCOL_SFLOW, .len = 28, .total = len, .count = samples};
	uint8_t *copy = malloc(len);
	struct decode_result result;

	assert_non_null(copy);
	memcpy(copy, data, len);
	memset(given.batch, 0xee, sizeof(given.batch));
	given.nb_records = given.nb_counters = given.nb_samplers = 0;
	result = flow_protocol_decode(&header, NULL, copy, len, &sink);
	free(copy);
	assert_int_equal(result.records, given.nb_records);
	return result;
}

static struct decode_result decode_built(void)
{
	return decode(built.bytes, built.len, built.samples);
}

static void assert_key4(const struct flow_record *record, const struct key4 *key)
{
	assert_int_equal(record->key.family, KEY_IPV4);
	assert_memory_equal(&record->key.v4, key, sizeof(*key));
}

static uint32_t number16(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static void header_of_ethernet(void **state)
{
	const struct flow_record *record = &given.records[0];
	struct decode_result result;
	uint32_t sample;

	(void)state;
	begin_datagram();
	sample = begin_flow_sample(3, 3, 4, 1);
	put_raw_header(1, 1022, 4, tcp_frame, sizeof(tcp_frame));
	end(sample);
	result = decode_built();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 1);
	assert_int_equal(result.samples, 1);
	assert_int_equal(result.unusable, 0);
	assert_key4(record, &tcp_key);
	assert_int_equal(record->has, FLOW_SAMPLE | FLOW_PACKETS | FLOW_BYTES | FLOW_SAMPLING |
					      FLOW_INPUT | FLOW_OUTPUT | FLOW_DIRECTION);
	assert_int_equal(record->packets, 1);
	assert_int_equal(record->bytes, 1000);
	assert_int_equal(record->sampling, 400);
	assert_int_equal(record->input, 3);
	assert_int_equal(record->output, 4);
	assert_int_equal(record->direction, FLOW_INGRESS);
	assert_int_equal(record->extra.tcp_flags[0], 0x12);
	assert_int_equal(number16(record->extra.vlan), 5);
	assert_int_equal(record->extra.dscp[0], 46);
	assert_int_equal(given.nb_samplers, 1);
	assert_int_equal(given.samplers[0].source, 3);
	assert_int_equal(given.samplers[0].sequence, 11);
	assert_int_equal(given.samplers[0].sampling, 400);
	assert_int_equal(given.samplers[0].pool, 8000);
	assert_int_equal(given.samplers[0].drops, 3);
	assert_int_equal(given.samplers[0].discarded, 0);
}

/*
 * An ARP frame is a sample like any other and does not open the bounds; a truncated one may hide
 * IP.
 */
static void header_of_no_ip(void **state)
{
	uint8_t frame[60] = {[12] = 0x08, [13] = 0x06};
	struct decode_result result;
	uint32_t sample;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		begin_datagram();
		sample = begin_flow_sample(3, 3, 4, 1);
		frame[13] = cut ? 0x00 : 0x06;
		frame[14] = cut ? 0x45 : 0;
		put_raw_header(1, 64, 4, frame, cut ? 20 : sizeof(frame));
		end(sample);
		result = decode_built();
		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.records, 0);
		assert_int_equal(result.unusable, 1);
		assert_int_equal(result.harmless, !cut);
	}
}

static void headers_of_ip(void **state)
{
	struct decode_result result;
	uint32_t sample;

	(void)state;
	begin_datagram();
	sample = begin_expanded_sample(0, 9, 0, 70000, 0, 9, 1);
	put_raw_header(11, 1000, 0, tcp_frame + TCP_IP_AT, sizeof(tcp_frame) - TCP_IP_AT);
	end(sample);
	sample = begin_expanded_sample(0, 9, 0, 9, 0, 70000, 1);
	put_raw_header(12, 240, 0, udp6_packet, sizeof(udp6_packet));
	end(sample);
	result = decode_built();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 2);
	assert_key4(&given.records[0], &tcp_key);
	assert_int_equal(given.records[0].bytes, 1000);
	assert_int_equal(given.records[0].input, 70000);
	assert_int_equal(given.records[0].direction, FLOW_EGRESS);
	assert_int_equal(given.records[0].sampling, 512);
	assert_int_equal(given.records[1].key.family, KEY_IPV6);
	assert_memory_equal(given.records[1].key.v6.src_ip, udp6_packet + 8, 16);
	assert_memory_equal(given.records[1].key.v6.dst_ip, udp6_packet + 24, 16);
	assert_int_equal(given.records[1].key.v6.proto, 17);
	assert_int_equal(number16(given.records[1].key.v6.src_port), 53);
	assert_int_equal(number16(given.records[1].key.v6.dst_port), 4096);
	assert_int_equal(given.records[1].bytes, 240);
	assert_int_equal(given.records[1].direction, FLOW_INGRESS);
	assert_int_equal(given.records[1].output, 70000);
	assert_int_equal(given.samplers[0].source, 9);
}

/* Writes the checksum of the IPv4 header, which packets after labels need. */
static void sum_header(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (uint32_t i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* A label stack, with and without the frame length; IP over ATM; a truncated stack. */
static void headers_of_labels(void **state)
{
	static const uint8_t labels[] = {0, 1, 0x40, 64, 0, 2, 0x31, 64}; /* 20, 35 */
	uint8_t packet[sizeof(labels) + sizeof(tcp_frame) - TCP_IP_AT];
	const uint32_t len = sizeof(packet) - sizeof(labels);
	struct decode_result result;
	uint32_t sample;

	(void)state;
	memcpy(packet, labels, sizeof(labels));
	memcpy(packet + sizeof(labels), tcp_frame + TCP_IP_AT, len);
	sum_header(packet + sizeof(labels));
	begin_datagram();
	for (uint32_t i = 0; i < 2; i++) {
		sample = begin_flow_sample(3, 3, 4, 1);
		put_raw_header(13, i == 0 ? 1012 : 0, i == 0 ? 4 : 0, packet, sizeof(packet));
		end(sample);
	}
	sample = begin_flow_sample(3, 3, 4, 1);
	put_raw_header(10, 1000, 0, packet + sizeof(labels), len);
	end(sample);
	sample = begin_flow_sample(3, 3, 4, 1);
	put_raw_header(13, 1012, 4, packet, sizeof(labels));
	end(sample);
	result = decode_built();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_key4(&given.records[i], &tcp_key);
		assert_int_equal(given.records[i].bytes, 1000);
		assert_int_equal(number16(given.records[i].extra.mpls + 1), i < 2 ? 20 : 0);
	}
	assert_int_equal(result.unusable, 1);
	assert_int_equal(result.skipped[0].why, DECODE_SKIP_HEADER);
}

/* Each protocol that is not read has its own reason; the last ones share one. */
static void many_reasons_are_kept_apart(void **state)
{
	struct decode_result result;

	(void)state;
	begin_datagram();
	for (uint32_t i = 0; i < 24; i++) {
		uint32_t sample = begin_flow_sample(3, 3, 4, 1);

		put_raw_header(100 + i % 12, 1022, 4, tcp_frame, sizeof(tcp_frame));
		end(sample);
	}
	result = decode_built();
	assert_int_equal(result.unusable, 24);
	assert_int_equal(result.nb_skipped, DECODE_SKIPPED_MAX);
	for (uint32_t i = 0; i < DECODE_SKIPPED_MAX - 1; i++) {
		assert_int_equal(result.skipped[i].why, DECODE_SKIP_HEADER_PROTOCOL);
		assert_int_equal(result.skipped[i].detail, 100 + i);
		assert_int_equal(result.skipped[i].records, 2);
	}
	assert_int_equal(result.skipped[DECODE_SKIPPED_MAX - 1].why, DECODE_SKIP_OTHERS);
	assert_int_equal(
		result.skipped[DECODE_SKIPPED_MAX - 1].records, 24 - 2 * (DECODE_SKIPPED_MAX - 1));
}

/* Samples and flow records of other formats; standard ones may hide packets. */
static void unknown_formats_have_reasons(void **state)
{
	const uint32_t vendor = 4413u << 12 | 7;
	struct decode_result result;
	uint32_t sample, record;

	(void)state;
	begin_datagram();
	for (uint32_t i = 0; i < 2; i++) {
		sample = begin_sample(vendor);
		put(1);
		end(sample);
	}
	sample = begin_sample(6);
	end(sample);
	for (uint32_t i = 0; i < 4; i++) { /* 2: MAC addresses; 1012: completes a packet */
		static const uint32_t formats[] = {vendor, 2, 1012, vendor};

		sample = begin_flow_sample(3, 3, 4, i < 3 ? 1 : 2);
		record = begin(formats[i]);
		put(1);
		end(record);
		if (i == 3)
			put_raw_header(1, 1022, 4, tcp_frame, sizeof(tcp_frame));
		end(sample);
	}
	result = decode_built();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 1);
	assert_key4(&given.records[0], &tcp_key);
	assert_int_equal(result.unusable, 6);
	assert_int_equal(result.harmless, 2); /* vendor samples */
	assert_int_equal(result.nb_skipped, 5);
	for (uint32_t i = 0; i < 5; i++) {
		static const struct decode_skipped wanted[] = {
			{DECODE_SKIP_SAMPLE_FORMAT, 4413u << 12 | 7, 2},
			{DECODE_SKIP_SAMPLE_FORMAT, 6, 1},
			{DECODE_SKIP_FLOW_FORMAT, 4413u << 12 | 7, 1},
			{DECODE_SKIP_FLOW_FORMAT, 2, 1}, {DECODE_SKIP_NO_ADDRESSES, 0, 1}};

		assert_int_equal(result.skipped[i].why, wanted[i].why);
		assert_int_equal(result.skipped[i].detail, wanted[i].detail);
		assert_int_equal(result.skipped[i].records, wanted[i].records);
	}
}

/* NX-OS indices: their lower 24 bits may match another interface. */
static void long_indices(void **state)
{
	const uint32_t ethernet = 0x1a000000, channel = 0x16000000;
	uint32_t sample;

	(void)state;
	begin_datagram();
	sample = begin_expanded_sample(0, channel, 0, ethernet, 0, channel, 1);
	put_raw_header(11, 1000, 0, tcp_frame + TCP_IP_AT, sizeof(tcp_frame) - TCP_IP_AT);
	end(sample);
	sample = begin_expanded_sample(0, ethernet, 0, ethernet, 0, channel, 1);
	put_raw_header(11, 1000, 0, tcp_frame + TCP_IP_AT, sizeof(tcp_frame) - TCP_IP_AT);
	end(sample);
	assert_int_equal(decode_built().fault, DECODE_FINE);
	assert_int_equal(given.records[0].direction, FLOW_EGRESS);
	assert_int_equal(given.records[1].direction, FLOW_INGRESS);
	assert_true(given.samplers[0].source != given.samplers[1].source);
}

static void put_sampled_ipv4(void)
{
	uint32_t at = begin(3);

	put(777);
	put(6);
	put(0x0a000001);
	put(0x0a000002);
	put(1234);
	put(80);
	put(0x12);
	put(46 << 2 | 1);
	end(at);
}

static void sampled_addresses(void **state)
{
	static const uint8_t src[16] = {0x20, 1, [15] = 7}, dst[16] = {0x20, 2, [15] = 8};
	uint32_t sample, at;

	(void)state;
	begin_datagram();
	sample = begin_flow_sample(3, 0, 0x3fffffff, 1);
	put_sampled_ipv4();
	end(sample);
	sample = begin_flow_sample(2u << 24 | 3, 3, 1u << 30 | 259, 1);
	at = begin(4);
	put(888);
	put(58);
	put_bytes(src, 16);
	put_bytes(dst, 16);
	put(128);
	put(1);
	put(0x12);
	put(0x28);
	end(at);
	end(sample);
	assert_int_equal(decode_built().records, 2);
	assert_key4(&given.records[0], &tcp_key);
	assert_int_equal(given.records[0].bytes, 777);
	assert_int_equal(given.records[0].extra.tcp_flags[0], 0x12);
	assert_int_equal(given.records[0].extra.dscp[0], 46);
	assert_int_equal(
		given.records[0].has, FLOW_SAMPLE | FLOW_PACKETS | FLOW_BYTES | FLOW_SAMPLING);
	/* ICMPv6 has no ports and no flags; the sampled source is not an interface. */
	assert_memory_equal(given.records[1].key.v6.src_ip, src, 16);
	assert_memory_equal(given.records[1].key.v6.dst_ip, dst, 16);
	assert_int_equal(number16(given.records[1].key.v6.src_port), 0);
	assert_int_equal(number16(given.records[1].key.v6.dst_port), 0);
	assert_int_equal(given.records[1].extra.tcp_flags[0], 0);
	assert_int_equal(given.records[1].extra.dscp[0], 10);
	assert_int_equal(given.records[1].has,
		FLOW_SAMPLE | FLOW_PACKETS | FLOW_BYTES | FLOW_SAMPLING | FLOW_INPUT);
	assert_int_equal(given.records[1].output, 0);
}

/* An unreadable header does not affect the addresses before it. */
static void addresses_before_a_cut_header(void **state)
{
	uint32_t sample;

	(void)state;
	begin_datagram();
	sample = begin_flow_sample(3, 0, 0x3fffffff, 2);
	put_sampled_ipv4();
	put_raw_header(1, 1022, 4, tcp_frame, TCP_IP_AT + 10);
	end(sample);
	assert_int_equal(decode_built().records, 1);
	assert_key4(&given.records[0], &tcp_key);
	assert_int_equal(given.records[0].bytes, 777);
	assert_int_equal(given.records[0].extra.tcp_flags[0], 0x12);
	assert_int_equal(given.records[0].extra.dscp[0], 46);
	assert_int_equal(number16(given.records[0].extra.vlan), 0);
}

static void put_router(void)
{
	uint32_t at = begin(1002);

	put(1);
	put(0xc0000201);
	put(24);
	put(16);
	end(at);
}

static void put_switch(uint32_t vlan)
{
	uint32_t at = begin(1001);

	put(vlan);
	put(0);
	put(99);
	put(0);
	end(at);
}

/* In any order: the header counts, once. */
static void several_records_of_one_packet(void **state)
{
	static const uint8_t hop[4] = {192, 0, 2, 1};
	static const uint8_t macs[24] = {0};

	(void)state;
	for (uint32_t order = 0; order < 2; order++) {
		uint32_t sample, at;

		begin_datagram();
		sample = begin_flow_sample(3, 3, 2u << 30 | 17, 7);
		if (order == 0)
			put_raw_header(11, 1004, 4, tcp_frame + TCP_IP_AT, 40);
		put_switch(42);
		at = begin(2);
		put_bytes(macs, 24);
		end(at);
		put_sampled_ipv4();
		at = begin(4413 << 12 | 1);
		put_bytes("odd", 3);
		end(at);
		put_router();
		if (order == 1)
			put_raw_header(11, 1004, 4, tcp_frame + TCP_IP_AT, 40);
		put_raw_header(12, 240, 0, udp6_packet, sizeof(udp6_packet));
		end(sample);
		assert_int_equal(decode_built().fault, DECODE_FINE);
		assert_int_equal(given.nb_records, 1);
		assert_key4(&given.records[0], &tcp_key);
		assert_int_equal(given.records[0].bytes, 1000);
		assert_int_equal(number16(given.records[0].extra.vlan), 42);
		assert_true(given.records[0].has & FLOW_NEXT_HOP);
		assert_false(given.records[0].next_hop_ipv6);
		assert_memory_equal(given.records[0].next_hop, hop, 4);
		assert_false(given.records[0].has & FLOW_OUTPUT);
	}
}

static void the_tag_of_the_header_counts(void **state)
{
	uint32_t sample;

	(void)state;
	begin_datagram();
	sample = begin_flow_sample(3, 3, 4, 2);
	put_switch(42);
	put_raw_header(1, 1022, 4, tcp_frame, sizeof(tcp_frame));
	end(sample);
	assert_int_equal(decode_built().records, 1);
	assert_int_equal(number16(given.records[0].extra.vlan), 5);
}

/* If the IP header has no length, that of the frame is used. */
static void length_of_the_frame(void **state)
{
	uint8_t frame[sizeof(tcp_frame)];
	uint32_t sample;

	(void)state;
	memcpy(frame, tcp_frame, sizeof(frame));
	frame[TCP_IP_AT + 2] = frame[TCP_IP_AT + 3] = 0;
	begin_datagram();
	sample = begin_flow_sample(3, 3, 4, 1);
	put_raw_header(1, 66000, 4, frame, sizeof(frame));
	end(sample);
	sample = begin_flow_sample(3, 3, 4, 1);
	put_raw_header(1, 20, 4, frame, sizeof(frame));
	end(sample);
	assert_int_equal(decode_built().records, 2);
	assert_int_equal(given.records[0].bytes, 66000 - 4 - 18);
	assert_true(given.records[0].has & FLOW_BYTES);
	assert_false(given.records[1].has & FLOW_BYTES);
}

/* A sender's IP length counts only if it fits the frame, with little room left. */
static void length_of_a_liar(void **state)
{
	static const struct {
		uint32_t frame, stripped, told, bytes;
	} rows[] = {
		{1022, 4, 1000, 1000}, /* correct */
		{1022, 4, 65535, 1000},
		{1022, 4, 1004,
			1004}, /* an agent that strips an FCS that the frame does not have */
		{1022, 4, 1005, 1000}, {1022, 4, 940, 940},                 /* a trailer */
		{1022, 4, 935, 1000}, {1022, 4, 20, 1000}, {68, 4, 28, 28}, /* padding */
		{68, 4, 65535, 46}, {68, 4, 51, 46}, {0, 0, 1000, 1000}, /* frame length missing */
		{20, 4, 65535, 40}, /* also missing: at least the header's bytes */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t frame[TCP_IP_AT + 40] = {0};
		uint32_t sample;

		memcpy(frame, tcp_frame, TCP_IP_AT + 24);
		frame[TCP_IP_AT + 2] = (uint8_t)(rows[i].told >> 8);
		frame[TCP_IP_AT + 3] = (uint8_t)rows[i].told;
		begin_datagram();
		sample = begin_flow_sample(3, 3, 4, 1);
		put_raw_header(1, rows[i].frame, rows[i].stripped, frame, sizeof(frame));
		end(sample);
		assert_int_equal(decode_built().records, 1);
		assert_int_equal(given.records[0].bytes, rows[i].bytes);
	}
}

/*
 * The segment depends on the MAC addresses, also after VLAN tags, and is unknown for a packet under
 * a label: its TTL does not count hops.
 */
static void segments(void **state)
{
	static const uint8_t tags[][8] = {{0}, {0x81, 0, 0, 5}, {0x88, 0x47, 0, 1, 1, 64}};
	static const uint32_t lens[] = {0, 4, 6};
	static const uint8_t ipv4[] = {0x08, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0x66, 0xcf, 10,
		0, 0, 1, 10, 0, 0, 2, 0x04, 0xd2, 0, 80, 0, 8, 0, 0};
	uint32_t found[2][3];

	(void)state;
	for (uint32_t mac = 0; mac < 2; mac++)
		for (uint32_t tag = 0; tag < 3; tag++) {
			uint8_t frame[64] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, (uint8_t)mac};
			uint32_t at = 12 + lens[tag], type = tag == 2 ? 2 : 0, sample;

			memcpy(frame + 12, tags[tag], lens[tag]);
			memcpy(frame + at, ipv4 + type, sizeof(ipv4) - type);
			begin_datagram();
			sample = begin_flow_sample(3, 3, 4, 1);
			put_raw_header(1, sizeof(frame), 0, frame, sizeof(frame));
			end(sample);
			assert_int_equal(decode_built().records, 1);
			assert_int_equal(given.records[0].ttl, 64);
			found[mac][tag] = given.records[0].segment;
		}
	assert_int_equal(found[0][0], found[0][1]);
	assert_int_equal(found[1][0], found[1][1]);
	assert_int_not_equal(found[0][0], found[1][0]);
	assert_int_not_equal(found[0][0], 0);
	assert_int_equal(found[0][2], 0);
}

/* A pseudowire frame is not a flow; an IP packet after labels is one. */
static void labels_in_a_header(void **state)
{
	static const uint8_t ipv4[] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0x66, 0xcf, 10, 0, 0, 1,
		10, 0, 0, 2, 0x04, 0xd2, 0, 80, 0, 8, 0, 0};
	static const uint8_t macs[] = {0x45, 0x5e, 0x0c, 0x11, 0x22, 0x33, 2, 0, 0, 0, 0, 9, 8, 0};

	(void)state;
	for (uint32_t pseudowire = 0; pseudowire < 2; pseudowire++) {
		uint8_t frame[64] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x47, 0, 1, 1, 64};
		uint32_t len = 18, sample;
		struct decode_result result;

		memcpy(frame + len, macs, pseudowire * sizeof(macs));
		len += pseudowire * (uint32_t)sizeof(macs);
		memcpy(frame + len, ipv4, sizeof(ipv4));
		len += (uint32_t)sizeof(ipv4);
		begin_datagram();
		sample = begin_flow_sample(3, 3, 4, 1);
		put_raw_header(1, 68, 4, frame, len);
		end(sample);
		result = decode_built();
		assert_int_equal(result.records, 1 - pseudowire);
		assert_int_equal(result.harmless, pseudowire);
	}
}

/* A header truncated within its key gives no record, unless another record has the key. */
static void cut_headers(void **state)
{
	(void)state;
	for (uint32_t len = 0; len <= sizeof(tcp_frame); len++) {
		uint32_t sample;

		begin_datagram();
		sample = begin_flow_sample(3, 3, 4, 1);
		put_raw_header(1, 1022, 4, tcp_frame, len);
		end(sample);
		sample = begin_flow_sample(3, 3, 4, 2);
		put_raw_header(1, 1022, 4, tcp_frame, len);
		put_sampled_ipv4();
		end(sample);
		assert_int_equal(decode_built().fault, DECODE_FINE);
		assert_int_equal(given.nb_records, len < TCP_IP_AT + 24 ? 1 : 2);
		for (uint32_t i = 0; i < given.nb_records; i++)
			assert_key4(&given.records[i], &tcp_key);
		assert_int_equal(given.records[given.nb_records - 1].bytes,
			len < TCP_IP_AT + 24 ? 777 : 1000);
	}
	for (uint32_t len = 0; len <= sizeof(udp6_packet); len++) {
		uint32_t sample;

		begin_datagram();
		sample = begin_flow_sample(3, 3, 4, 1);
		put_raw_header(12, 240, 0, udp6_packet, len);
		end(sample);
		assert_int_equal(decode_built().unusable, len < 52);
	}
}

static void counters_of_interfaces(void **state)
{
	uint32_t sample, at;

	(void)state;
	begin_datagram();
	for (uint32_t i = 0; i < 2; i++) {
		sample = begin_sample(i == 0 ? 2 : 4);
		put(1);
		if (i == 1)
			put(0);
		put(6);
		put(2);
		at = begin(2);
		put(1);
		put(2);
		put(3);
		end(at);
		at = begin(1);
		put(6);
		put(6);
		put_wide(i == 0 ? 10000000000 : UINT64_MAX);
		put(1);
		put(3);
		put_wide(5000000000000);
		put(0xfffffff0);
		put(0x20);
		put(UINT32_MAX);
		put(8);
		put(9);
		put(10);
		put_wide(UINT64_MAX);
		put(UINT32_MAX);
		put(1);
		put(2);
		put(UINT32_MAX);
		put(3);
		put(1);
		end(at);
		end(sample);
	}
	assert_int_equal(decode_built().fault, DECODE_FINE);
	assert_int_equal(given.nb_counters, 2);
	assert_int_equal(given.counters[0].interface, 6);
	assert_int_equal(given.counters[0].speed, 10000000000);
	assert_int_equal(given.counters[0].in_bytes, 5000000000000);
	assert_int_equal(given.counters[0].in_packets, 0x10);
	assert_int_equal(given.counters[0].in_discards, 8);
	assert_int_equal(given.counters[0].out_bytes, UINT64_MAX);
	assert_int_equal(given.counters[0].out_packets, UINT64_MAX);
	assert_int_equal(given.counters[0].out_discards, UINT64_MAX);
	assert_int_equal(given.counters[1].speed, 0);
	assert_int_equal(given.counters[1].interface, 6);
}

static void discarded_packets(void **state)
{
	struct decode_result result;
	uint32_t sample;

	(void)state;
	begin_datagram();
	sample = begin_sample(5);
	put(77);
	put(0);
	put(3);
	put(5);
	put(3);
	put(0);
	put(289);
	put(1);
	put_raw_header(1, 1022, 4, tcp_frame, sizeof(tcp_frame));
	end(sample);
	result = decode_built();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.samples, 1);
	assert_int_equal(result.records, 0);
	assert_int_equal(given.nb_samplers, 1);
	assert_int_equal(given.samplers[0].discarded, 1);
	assert_int_equal(given.samplers[0].sequence, 77);
	assert_int_equal(given.samplers[0].source, 3);
	assert_int_equal(given.samplers[0].drops, 5);
}

static void build_many(uint32_t n)
{
	begin_datagram();
	for (uint32_t i = 0; i < n; i++) {
		uint32_t sample = begin_flow_sample(3, 3, 4 + i, 2);

		put_raw_header(11, 1000, 0, tcp_frame + TCP_IP_AT, 40);
		put_router();
		end(sample);
	}
}

static void more_than_a_batch(void **state)
{
	(void)state;
	build_many(3 * DECODE_BATCH + 5);
	assert_int_equal(decode_built().records, 3 * DECODE_BATCH + 5);
	for (uint32_t i = 0; i < given.nb_records; i++) {
		assert_int_equal(given.records[i].output, 4 + i);
		assert_key4(&given.records[i], &tcp_key);
	}
}

/* Samples before the truncation are decoded, and the truncation is reported. */
static void every_cut(void **state)
{
	uint32_t each;

	(void)state;
	build_many(3);
	each = (built.len - 28) / 3;
	for (uint32_t len = 28; len < built.len; len++) {
		struct decode_result result = decode(built.bytes, len, 3);

		assert_int_equal(result.fault, DECODE_LENGTH);
		assert_int_equal(result.records, (len - 28) / each);
		assert_int_equal(result.samples, (len - 28) / each);
	}
}

static void lengths_and_counts_that_lie(void **state)
{
	static const uint32_t lies[] = {UINT32_MAX, 0x80000000, 0xfffffffc, 100000};
	struct decode_result result;

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		build_many(1);
		/*
		 * length of the sample, of its first record, of the header in it; number of records
		 */
		for (uint32_t field = 0; field < 4; field++) {
			static const uint32_t at[] = {32, 72, 88, 64};

			build_many(1);
			set(at[field], lies[i]);
			result = decode_built();
			assert_int_equal(result.fault, DECODE_LENGTH);
			assert_int_equal(result.records, field == 3);
			assert_int_equal(result.unusable, field == 1 || field == 2);
		}
		build_many(1);
		result = decode(built.bytes, built.len, lies[i]);
		assert_int_equal(result.fault, DECODE_LENGTH);
		assert_int_equal(result.records, 1);
	}
	build_many(2);
	result = decode(built.bytes, built.len, 1);
	assert_int_equal(result.fault, DECODE_COUNT);
	assert_int_equal(result.records, 1);
	assert_int_equal(decode(built.bytes, 28, 0).fault, DECODE_FINE);
	assert_int_equal(decode(built.bytes, 27, 1).fault, DECODE_SHORT);
}

static void anything_at_all(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 12);
	for (uint32_t i = 0; i < 100000; i++) {
		build_many(1 + i % 3);
		if (i % 2 == 0)
			put_sampled_ipv4();
		for (uint32_t n = (uint32_t)random_below(&random, 6); n > 0; n--) {
			uint32_t at = (uint32_t)random_below(&random, built.len - 28) + 28;

			built.bytes[at] = (uint8_t)random_next(&random);
		}
		decode(built.bytes, 28 + (uint32_t)random_below(&random, built.len - 27), 4);
		assert_true(given.nb_records <= 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_of_ethernet),
		cmocka_unit_test(header_of_no_ip),
		cmocka_unit_test(headers_of_ip),
		cmocka_unit_test(headers_of_labels),
		cmocka_unit_test(many_reasons_are_kept_apart),
		cmocka_unit_test(unknown_formats_have_reasons),
		cmocka_unit_test(long_indices),
		cmocka_unit_test(sampled_addresses),
		cmocka_unit_test(addresses_before_a_cut_header),
		cmocka_unit_test(several_records_of_one_packet),
		cmocka_unit_test(the_tag_of_the_header_counts),
		cmocka_unit_test(length_of_the_frame),
		cmocka_unit_test(length_of_a_liar),
		cmocka_unit_test(segments),
		cmocka_unit_test(labels_in_a_header),
		cmocka_unit_test(cut_headers),
		cmocka_unit_test(counters_of_interfaces),
		cmocka_unit_test(discarded_packets),
		cmocka_unit_test(more_than_a_batch),
		cmocka_unit_test(every_cut),
		cmocka_unit_test(lengths_and_counts_that_lie),
		cmocka_unit_test(anything_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
