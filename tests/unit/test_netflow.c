/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * NetFlow v5, v9 and IPFIX, built byte by byte from their specifications, and the expected records;
 * at the end, random templates and records, compared with a simple reader of this test. Each
 * datagram is decoded from a copy of exact length, so that ASan detects an overread.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "export_bytes.h"
#include "flow_protocols/big_endian.h"

#define SECOND_NS      INT64_C(1000000000)
#define EXPORTED_NS    (EXPORTED * SECOND_NS)
#define TEMPLATE_LIMIT (1 << 20)
#define REVERSE        29305 /* RFC 5103 */
#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define VARIABLE       65535

/* A field of a record with its value. */
struct given {
	uint32_t number, len;
	uint64_t value;
	uint32_t enterprise;
};

static struct bytes bytes;
static struct seen seen;
static struct templates *templates;

static int make_templates(void **state)
{
	(void)state;
	templates = templates_create(TEMPLATE_LIMIT);
	return templates == NULL;
}

static int drop_templates(void **state)
{
	(void)state;
	templates_destroy(templates);
	templates = NULL;
	return 0;
}

static void begin(bool ipfix, uint32_t count)
{
	if (ipfix)
		begin_ipfix(&bytes);
	else
		begin_netflow9(&bytes, count);
}

static void put_given_template(bool ipfix, uint32_t id, const struct given *fields, uint32_t n)
{
	struct spec specs[64];

	assert_true(n <= COUNT(specs));
	for (uint32_t i = 0; i < n; i++)
		specs[i] = (struct spec){fields[i].number, fields[i].len, fields[i].enterprise};
	put_template(&bytes, ipfix ? 2 : 0, id, specs, n);
}

static void put_given_values(const struct given *fields, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put(&bytes, fields[i].value, fields[i].len);
}

static void put_given_data(uint32_t id, const struct given *fields, uint32_t n)
{
	uint32_t set = begin_set(&bytes, id);

	put_given_values(fields, n);
	end_set(&bytes, set);
}

static struct decode_result decode(void)
{
	return decode_bytes(&bytes, templates, &seen);
}

/* Decodes also if the header has a wrong length. */
static struct decode_result decode_anyway(uint32_t len)
{
	struct decode_result result = {0};
	struct record_handler sink = decoded_sink(&seen);
	struct datagram_header header;
	uint8_t *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, bytes.data, len);
	memset(&seen, 0, sizeof(seen));
	result.fault = flow_protocol_read_header(copy, len, &header);
	if (result.fault == DECODE_FINE || result.fault == DECODE_LENGTH)
		result = flow_protocol_decode(&header, templates, copy, len, &sink);
	free(copy);
	return result;
}

static const struct given ends[] = {
	{8, 4, 0x0a000001, 0}, {12, 4, 0x0a000002, 0}, {2, 4, 10, 0}, {1, 4, 1000, 0}};

#define ENDS ((uint32_t)COUNT(ends))

/* Decodes a record with the fields after ends[], whose last `skip` fields are omitted. */
static struct decode_result decode_fields(
	bool ipfix, uint32_t skip, const struct given *fields, uint32_t n)
{
	struct given all[64];

	memcpy(all, ends, (ENDS - skip) * sizeof(ends[0]));
	memcpy(all + ENDS - skip, fields, n * sizeof(fields[0]));
	begin(ipfix, 2);
	put_given_template(ipfix, 256, all, ENDS - skip + n);
	put_given_data(256, all, ENDS - skip + n);
	return decode();
}

static const struct flow_record *record_of(
	bool ipfix, uint32_t skip, const struct given *fields, uint32_t n)
{
	struct decode_result result = decode_fields(ipfix, skip, fields, n);

	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 1);
	assert_int_equal(result.data_records, 1);
	assert_int_equal(seen.n, 1);
	return &seen.records[0];
}

/* Returns the record of one field after ends[]. */
static const struct flow_record *with(bool ipfix, uint32_t number, uint32_t len, uint64_t value)
{
	struct given field = {number, len, value, 0};

	return record_of(ipfix, 0, &field, 1);
}

static uint32_t address_of(const uint8_t *address)
{
	return (uint32_t)address[0] << 24 | (uint32_t)address[1] << 16 | (uint32_t)address[2] << 8 |
	       address[3];
}

static uint32_t port_of(const uint8_t *port)
{
	return (uint32_t)port[0] << 8 | port[1];
}

static uint64_t lowest(uint64_t value, uint32_t len)
{
	return len >= 8 ? value : value & ((UINT64_C(1) << (8 * len)) - 1);
}

/* --- v5 --- */

static void put_header5(uint32_t count, uint32_t sampling)
{
	bytes.len = 0;
	put(&bytes, 5, 2);
	put(&bytes, count, 2);
	put(&bytes, UPTIME, 4);
	put(&bytes, EXPORTED, 4);
	put(&bytes, 250, 4); /* ns */
	put(&bytes, 77, 4);
	put(&bytes, 3, 1);
	put(&bytes, 9, 1);
	put(&bytes, sampling, 2);
}

static void put_record5(uint32_t i)
{
	put(&bytes, 0x0a000100 + i, 4);
	put(&bytes, 0x0b000100 + i, 4);
	put(&bytes, i % 2 ? 0xc0a80001 : 0, 4);
	put(&bytes, 1000 + i, 2);
	put(&bytes, 2000 + i, 2);
	put(&bytes, 0xf0000000 + i, 4);
	put(&bytes, 0xf1000000 + i, 4);
	put(&bytes, UPTIME - 5000, 4);
	put(&bytes, UPTIME + 1, 4); /* uptime read after the header's */
	put(&bytes, 40000 + i, 2);
	put(&bytes, 443, 2);
	put(&bytes, 0xee, 1); /* padding */
	put(&bytes, 0x1b, 1);
	put(&bytes, 6, 1);
	put(&bytes, 0xb9, 1); /* DSCP 46, ECN 1 */
	put(&bytes, 64500, 2);
	put(&bytes, 64501, 2);
	put(&bytes, 0x1810, 2);
	put(&bytes, 0xeeee, 2);
}

static void build5(uint32_t count, uint32_t there, uint32_t sampling)
{
	put_header5(count, sampling);
	for (uint32_t i = 0; i < there; i++)
		put_record5(i);
}

static void check_record5(const struct flow_record *record, uint32_t i)
{
	assert_int_equal(record->key.family, KEY_IPV4);
	assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000100 + i);
	assert_int_equal(address_of(record->key.v4.dst_ip), 0x0b000100 + i);
	assert_int_equal(port_of(record->key.v4.src_port), 40000 + i);
	assert_int_equal(port_of(record->key.v4.dst_port), 443);
	assert_int_equal(record->key.v4.proto, 6);
	assert_int_equal(record->key.v4.spare[0] | record->key.v4.spare[1], 0);
	assert_int_equal(record->extra.tcp_flags[0], 0x1b);
	assert_int_equal(record->extra.dscp[0], 46);
	assert_int_equal(record->input, 1000 + i);
	assert_int_equal(record->output, 2000 + i);
	assert_int_equal(record->packets, 0xf0000000 + i);
	assert_int_equal(record->bytes, 0xf1000000 + i);
	assert_int_equal(address_of(record->next_hop), i % 2 ? 0xc0a80001 : 0);
	assert_int_equal((record->has & FLOW_NEXT_HOP) != 0, i % 2);
}

static void v5_records(void **state)
{
	struct datagram_header header;
	struct decode_result result;

	(void)state;
	build5(30, 30, 0);
	assert_int_equal(flow_protocol_read_header(bytes.data, bytes.len, &header), DECODE_FINE);
	assert_int_equal(header.protocol, FLOW_PROTOCOL_NETFLOW5);
	assert_int_equal(header.sequence, 77);
	assert_int_equal(header.domain, 3 << 8 | 9);
	assert_int_equal(header.uptime, UPTIME);
	assert_int_equal(header.exported, EXPORTED_NS + 250);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 30);
	assert_int_equal(result.data_records, 30);
	assert_int_equal(seen.n, 30);
	for (uint32_t i = 0; i < 30; i++) {
		check_record5(&seen.records[i], i);
		assert_int_equal(seen.records[i].has & FLOW_SAMPLING, 0);
	}
}

/* Two mode bits precede the interval. */
static void v5_sampling(void **state)
{
	(void)state;
	build5(1, 1, 0x4000 | 1000);
	assert_int_equal(decode().records, 1);
	assert_int_equal(seen.records[0].sampling, 1000);
	assert_true(seen.records[0].has & FLOW_SAMPLING);
	build5(1, 1, 0x8000);
	assert_int_equal(decode().records, 1);
	assert_int_equal(seen.records[0].has & FLOW_SAMPLING, 0);
}

static void v5_count_disagrees_with_the_length(void **state)
{
	struct decode_result result;

	(void)state;
	build5(5, 3, 0);
	result = decode();
	assert_int_equal(result.fault, DECODE_COUNT);
	assert_int_equal(result.records, 3);
	build5(3, 5, 0);
	result = decode();
	assert_int_equal(result.fault, DECODE_COUNT);
	assert_int_equal(result.records, 3);
	build5(3, 3, 0);
	bytes.len -= 1;
	result = decode();
	assert_int_equal(result.fault, DECODE_COUNT);
	assert_int_equal(result.records, 2);
	build5(1000, 1000, 0); /* more than a batch, and more than a router would send */
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(seen.n, 1000);
	check_record5(&seen.records[999], 999);
	build5(65535, 0, 0);
	assert_int_equal(decode().fault, DECODE_COUNT);
}

static void v5_padding(void **state)
{
	(void)state;
	for (uint32_t zeros = 1; zeros <= 100; zeros++) {
		build5(3, 3, 0);
		memset(bytes.data + bytes.len, 0, zeros);
		bytes.len += zeros;
		assert_int_equal(decode().fault, DECODE_FINE);
		assert_int_equal(seen.n, 3);
		bytes.data[bytes.len - 1] = 1;
		assert_int_equal(decode().fault, DECODE_COUNT);
		assert_int_equal(seen.n, 3);
	}
}

static void check_version(
	const uint8_t *data, uint32_t len, enum export_family family, uint32_t number)
{
	struct export_version version = flow_protocol_identify(data, len);

	assert_int_equal(version.family, family);
	assert_int_equal(version.number,
		family == EXPORT_FAMILY_NONE || family == EXPORT_FAMILY_SUPPORTED ? 0 : number);
}

static void versions_are_recognized(void **state)
{
	uint8_t data[80] = {0};

	(void)state;
	for (uint32_t number = 0; number <= 11; number++) {
		bool supported = number == 5 || number == 9 || number == 10;
		enum export_family known = supported ? EXPORT_FAMILY_SUPPORTED : EXPORT_FAMILY_NONE;
		bool old = number > 0 && number < 9 && !supported;

		memset(data, 0, sizeof(data));
		data[1] = (uint8_t)number;
		data[3] = 2; /* records */
		check_version(data, 72, old ? EXPORT_FAMILY_NETFLOW : known, number);
		/* More records than bytes: another protocol. */
		check_version(data, 71, known, number);
		known = number == 5 ? EXPORT_FAMILY_SUPPORTED : EXPORT_FAMILY_NONE;
		data[1] = 0;
		data[3] = (uint8_t)number;
		data[7] = 1;
		check_version(
			data, 28, number != 0 && number != 5 ? EXPORT_FAMILY_SFLOW : known, number);
		data[7] = 3; /* unknown type of agent address */
		check_version(data, 28, known, number);
	}
	memcpy(data, "\x16\xfe\xfd", 3);
	check_version(data, 13, EXPORT_FAMILY_DTLS, 0);
	check_version(data, 12, EXPORT_FAMILY_NONE, 0);
}

static void check_reason(const struct decode_result *result, uint32_t i, enum decode_skip why,
	uint32_t detail, uint32_t records)
{
	assert_in_range(i, 0, result->nb_skipped - 1);
	assert_int_equal(result->skipped[i].why, why);
	assert_int_equal(result->skipped[i].detail, detail);
	assert_int_equal(result->skipped[i].records, records);
}

/* Each unusable record has a reason. */
static void unusable_records_have_reasons(void **state)
{
	const struct given keyless[] = {{7, 2, 1, 0}, {2, 4, 1, 0}};
	const struct given countless[] = {{8, 4, 1, 0}, {12, 4, 2, 0}};
	const struct given frames[] = {{256, 2, 0x0806, 0}, {2, 4, 1, 0}};
	const struct given payload[] = {{314, 20, 1, 0}};
	const struct given offset[] = {{409, 2, 20, 0}, {313, 20, 1, 0}};
	struct decode_result result;

	(void)state;
	begin(true, 0);
	put_given_template(true, 256, keyless, COUNT(keyless));
	put_given_template(true, 257, countless, COUNT(countless));
	put_given_template(true, 258, frames, COUNT(frames));
	for (uint32_t i = 0; i < 3; i++) {
		put_given_data(256, keyless, COUNT(keyless));
		put_given_data(257, countless, COUNT(countless));
		put_given_data(258, frames, COUNT(frames));
	}
	put_given_template(true, 314, payload, COUNT(payload));
	put_given_data(314, payload, COUNT(payload));
	put_given_template(true, 313, offset, COUNT(offset));
	put_given_data(313, offset, COUNT(offset));
	put_given_data(313, offset, COUNT(offset));
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.unusable, 9 + 3);
	assert_int_equal(result.harmless, 6); /* not IP, and without counters */
	assert_int_equal(result.nb_skipped, 4);
	check_reason(&result, 0, DECODE_SKIP_NO_ADDRESSES, 0, 3);
	check_reason(&result, 1, DECODE_SKIP_NO_PACKETS, 0, 3);
	check_reason(&result, 2, DECODE_SKIP_SECTION, 314, 1);
	check_reason(&result, 3, DECODE_SKIP_OFFSET, 313, 2);
}

/* --- packet sections --- */

/* A field with explicit bytes; len VARIABLE: its length is in the record. */
struct raw {
	uint32_t number, len;
	const uint8_t *data;
	uint32_t data_len;
};

static void put_raw_record(bool ipfix, uint32_t id, const struct raw *fields, uint32_t n)
{
	struct spec specs[16];
	uint32_t set;

	assert_true(n <= COUNT(specs));
	for (uint32_t i = 0; i < n; i++)
		specs[i] = (struct spec){fields[i].number, fields[i].len, 0};
	put_template(&bytes, ipfix ? 2 : 0, id, specs, n);
	set = begin_set(&bytes, id);
	for (uint32_t i = 0; i < n; i++) {
		if (fields[i].len == VARIABLE)
			put(&bytes, fields[i].data_len, 1);
		append_bytes(&bytes, fields[i].data, fields[i].data_len);
	}
	end_set(&bytes, set);
}

static struct decode_result decode_raw(bool ipfix, const struct raw *fields, uint32_t n)
{
	begin(ipfix, 2);
	put_raw_record(ipfix, 256, fields, n);
	return decode();
}

static const struct flow_record *raw_record(bool ipfix, const struct raw *fields, uint32_t n)
{
	struct decode_result result = decode_raw(ipfix, fields, n);

	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 1);
	assert_int_equal(result.nb_skipped, 0);
	return &seen.records[0];
}

#define IPV4_AT   18 /* offset in tagged_frame */
#define IP_LENGTH 100

/* 802.1Q tag 77; 10.0.0.1:1000 to 10.0.0.2:53, UDP, DSCP 46; 100 bytes of layer 3. */
static const uint8_t tagged_frame[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 77, 8, 0,
	/* IPv4 */ 0x45, 46 << 2, 0, IP_LENGTH, 0, 0, 0, 0, 64, 17, 0x65, 0xcf, 10, 0, 0, 1, 10, 0,
	0, 2,
	/* UDP */ 0x03, 0xe8, 0, 53, 0, 80, 0, 0, 1, 2, 3, 4};

#define IP_PART  (tagged_frame + IPV4_AT)
#define IP_BYTES ((uint32_t)sizeof(tagged_frame) - IPV4_AT)

static const uint8_t labels[] = {0, 1, 0x40, 64, 0, 2, 0x31, 64}; /* 20, then 35 at the bottom */

static void check_packet(const struct flow_record *record)
{
	assert_int_equal(record->key.family, KEY_IPV4);
	assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000001);
	assert_int_equal(address_of(record->key.v4.dst_ip), 0x0a000002);
	assert_int_equal(read_number(record->key.v4.src_port, 2), 1000);
	assert_int_equal(read_number(record->key.v4.dst_port, 2), 53);
	assert_int_equal(record->key.v4.proto, 17);
	assert_int_equal(record->extra.dscp[0], 46);
}

/* Each kind of section gives the flow, and the record is one sampled packet. */
static void a_section_has_a_flow(void **state)
{
	uint8_t labelled[sizeof(labels) + IP_BYTES];
	const struct {
		struct raw field;
		uint32_t vlan, label;
		bool ipfix;
	} kinds[] = {
		{{315, VARIABLE, tagged_frame, sizeof(tagged_frame)}, 77, 0, true},
		{{315, sizeof(tagged_frame), tagged_frame, sizeof(tagged_frame)}, 77, 0, true},
		{{104, sizeof(tagged_frame), tagged_frame, sizeof(tagged_frame)}, 77, 0, false},
		{{313, VARIABLE, IP_PART, IP_BYTES}, 0, 0, true},
		{{313, IP_BYTES, IP_PART, IP_BYTES}, 0, 0, false},
		{{316, VARIABLE, labelled, sizeof(labelled)}, 0, 20, true},
		{{317, VARIABLE, IP_PART, IP_BYTES}, 0, 0, true},
	};

	(void)state;
	memcpy(labelled, labels, sizeof(labels));
	memcpy(labelled + sizeof(labels), IP_PART, IP_BYTES);
	for (uint32_t i = 0; i < COUNT(kinds); i++) {
		const struct flow_record *record = raw_record(kinds[i].ipfix, &kinds[i].field, 1);

		check_packet(record);
		assert_int_equal(
			record->has, FLOW_PACKETS | FLOW_BYTES | FLOW_SAMPLE | FLOW_SAMPLED);
		assert_int_equal(record->packets, 1);
		assert_int_equal(record->bytes, IP_LENGTH);
		assert_int_equal(read_number(record->extra.vlan, 2), kinds[i].vlan);
		assert_int_equal(read_number(record->extra.mpls, 3), kinds[i].label);
	}
}

/* Truncated anywhere: the flow if its ports are present, otherwise a reason. */
static void cut_sections(void **state)
{
	(void)state;
	for (uint32_t len = 0; len <= sizeof(tagged_frame); len++) {
		struct raw field = {315, VARIABLE, tagged_frame, len};
		struct decode_result result;

		if (len >= IPV4_AT + 24) {
			check_packet(raw_record(true, &field, 1));
			continue;
		}
		result = decode_raw(true, &field, 1);
		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.unusable, 1);
		assert_int_equal(result.harmless, 0);
		check_reason(&result, 0, DECODE_SKIP_HEADER, 0, 1);
	}
}

/* As for sFlow, the length in the IP header counts only if the frame has that length. */
static void frames_limit_sections(void **state)
{
	static const struct {
		uint16_t frame;
		uint64_t bytes;
	} cases[] = {
		{118, 100}, /* exactly */
		{122, 100}, /* FCS */
		{182, 100}, /* trailer */
		{183, 165}, /* the frame is longer */
		{117, 99},  /* the frame is shorter */
		{1518, 1500},
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(cases); i++) {
		const uint8_t frame[] = {(uint8_t)(cases[i].frame >> 8), (uint8_t)cases[i].frame};
		const struct raw fields[] = {
			{312, 2, frame, 2}, {315, VARIABLE, tagged_frame, sizeof(tagged_frame)}};

		assert_int_equal(raw_record(true, fields, 2)->bytes, cases[i].bytes);
	}
}

/* Sections of the same header are joined in any order; element 410 removes padding. */
static void sections_are_joined(void **state)
{
	static const uint8_t offsets[] = {0, 0, 0, 20, 0, 12};
	static const uint8_t exported[] = {0, 20, 0, 24};
	uint8_t padded[64] = {0};
	const struct raw ahead[] = {{409, 2, offsets, 2}, {409, 2, offsets + 2, 2},
		{313, VARIABLE, IP_PART, 20}, {313, VARIABLE, IP_PART + 20, 8}};
	const struct raw after[] = {{313, VARIABLE, IP_PART + 12, 12}, {313, VARIABLE, IP_PART, 20},
		{409, 2, offsets + 4, 2}, {409, 2, offsets, 2}};
	const struct raw payload[] = {
		{314, VARIABLE, IP_PART + 20, 8}, {313, VARIABLE, IP_PART, 20}};
	const struct raw stack[] = {
		{316, VARIABLE, labels, sizeof(labels)}, {317, VARIABLE, IP_PART, IP_BYTES}};
	const struct raw parts[] = {{410, 2, exported, 2}, {410, 2, exported + 2, 2},
		{313, 64, padded, 64}, {315, 64, padded, 64}};
	const struct raw beyond[] = {{409, 2, offsets + 2, 2}, {313, VARIABLE, IP_PART, 28}};
	const struct raw gap[] = {{409, 2, offsets, 2}, {409, 2, offsets + 2, 2},
		{313, VARIABLE, IP_PART, 19}, {313, VARIABLE, IP_PART + 20, 8}};
	struct decode_result result;

	(void)state;
	check_packet(raw_record(true, ahead, COUNT(ahead)));
	check_packet(raw_record(true, after, COUNT(after)));
	check_packet(raw_record(true, payload, COUNT(payload)));
	check_packet(raw_record(true, stack, COUNT(stack)));
	assert_int_equal(read_number(seen.records[0].extra.mpls, 3), 20);
	result = decode_raw(true, beyond, COUNT(beyond));
	check_reason(&result, 0, DECODE_SKIP_OFFSET, 313, 1);
	result = decode_raw(true, gap, COUNT(gap));
	check_reason(&result, 0, DECODE_SKIP_HEADER, 0, 1);
	/* The ports are truncated: the bytes in their place are padding. */
	memcpy(padded, IP_PART, 20);
	result = decode_raw(true, parts, COUNT(parts));
	check_reason(&result, 0, DECODE_SKIP_HEADER, 0, 1);
}

/* Fields of a record take precedence; the section provides the others. */
static void fields_win_over_sections(void **state)
{
	static const uint8_t same[] = {10, 0, 0, 1, 10, 0, 0, 2}, other[] = {10, 0, 0, 9};
	static const uint8_t port[] = {0x12, 0x34}, vlan[] = {0, 5}, udp[] = {17}, tcp[] = {6};
	static const uint8_t none[4] = {0}, packets[] = {12}, one[] = {1};
	const struct raw section = {315, VARIABLE, tagged_frame, sizeof(tagged_frame)};
	const struct raw ports[] = {section, {7, 2, port, 2}, {58, 2, vlan, 2}};
	const struct raw completed[] = {
		{8, 4, same, 4}, {12, 4, same + 4, 4}, {4, 1, udp, 1}, section};
	const struct raw contrary[] = {
		{8, 4, other, 4}, {12, 4, same + 4, 4}, {4, 1, tcp, 1}, section};
	const struct raw empty[] = {{8, 4, none, 4}, {12, 4, none, 4}, section};
	const struct raw flow[] = {section, {2, 1, packets, 1}};
	const struct raw single[] = {section, {2, 1, one, 1}};
	const struct flow_record *record;

	(void)state;
	record = raw_record(true, ports, COUNT(ports));
	assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000001);
	assert_int_equal(read_number(record->key.v4.src_port, 2), 0x1234);
	assert_int_equal(read_number(record->key.v4.dst_port, 2), 53);
	assert_int_equal(read_number(record->extra.vlan, 2), 5);
	check_packet(raw_record(true, completed, COUNT(completed)));
	assert_int_equal(read_number(seen.records[0].extra.vlan, 2), 77);
	record = raw_record(true, contrary, COUNT(contrary));
	assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000009);
	assert_int_equal(record->key.v4.proto, 6);
	assert_int_equal(read_number(record->key.v4.dst_port, 2), 0);
	assert_int_equal(read_number(record->extra.vlan, 2), 0);
	assert_int_equal(record->packets, 1);
	check_packet(raw_record(true, empty, COUNT(empty)));
	/* Counters of the record: the bytes of one packet are not those of twelve. */
	record = raw_record(true, flow, COUNT(flow));
	check_packet(record);
	assert_int_equal(record->packets, 12);
	assert_int_equal(record->has, FLOW_PACKETS);
	record = raw_record(true, single, COUNT(single));
	assert_int_equal(record->bytes, IP_LENGTH);
	assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES);
}

/* Inner packets: a later fragment has no ports; ARP has no addresses; 802.11 is not read. */
static void sections_of_other_packets(void **state)
{
	static const uint8_t wifi[] = {0, 2};
	uint8_t frame[sizeof(tagged_frame)];
	const struct raw field = {315, VARIABLE, frame, sizeof(frame)};
	const struct raw typed[] = {{408, 2, wifi, 2}, field};
	const struct flow_record *record;
	struct decode_result result;

	(void)state;
	memcpy(frame, tagged_frame, sizeof(frame));
	frame[IPV4_AT + 7] = 3;
	record = raw_record(true, &field, 1);
	assert_int_equal(read_number(record->key.v4.dst_port, 2), 0);
	assert_int_equal(record->key.v4.proto, 17);
	result = decode_raw(true, typed, COUNT(typed));
	check_reason(&result, 0, DECODE_SKIP_SECTION, 315, 1);
	frame[IPV4_AT - 1] = 6;
	result = decode_raw(true, &field, 1);
	assert_int_equal(result.unusable, 1);
	assert_int_equal(result.harmless, 1);
	assert_int_equal(result.nb_skipped, 0);
}

/* A packet report of fields: a selection sequence or a frame size, without counters. */
static void reports_without_sections(void **state)
{
	static const uint8_t key[] = {10, 0, 0, 1, 10, 0, 0, 2}, number[8] = {7};
	static const uint8_t frame[] = {0x01, 0x02}, length[] = {0, 200};
	const struct raw selected[] = {{301, 8, number, 8}, {8, 4, key, 4}, {12, 4, key + 4, 4}};
	const struct raw sized[] = {{312, 2, frame, 2}, {8, 4, key, 4}, {12, 4, key + 4, 4}};
	const struct raw measured[] = {
		{312, 2, frame, 2}, {224, 2, length, 2}, {8, 4, key, 4}, {12, 4, key + 4, 4}};
	const uint32_t report = FLOW_PACKETS | FLOW_SAMPLE | FLOW_SAMPLED;

	(void)state;
	assert_int_equal(raw_record(true, selected, COUNT(selected))->has, report);
	assert_int_equal(raw_record(true, sized, COUNT(sized))->has,
		report | FLOW_BYTES | FLOW_LAYER2_BYTES);
	assert_int_equal(seen.records[0].bytes, 258);
	assert_int_equal(raw_record(true, measured, COUNT(measured))->has, report | FLOW_BYTES);
	assert_int_equal(seen.records[0].bytes, 200);
}

/* Every length of every protocol's header, byte by byte. */
static void cut_headers(void **state)
{
	static const uint32_t lens[] = {24, 20, 16};
	struct datagram_header header;

	(void)state;
	for (uint32_t p = 0; p < COUNT(lens); p++) {
		if (p == 0)
			build5(0, 0, 0);
		else
			begin(p == 2, 0);
		end_message(&bytes);
		assert_int_equal(bytes.len, lens[p]);
		for (uint32_t len = 0; len < lens[p]; len++) {
			assert_int_equal(
				decode_copy(bytes.data, len, templates, &seen).fault, DECODE_SHORT);
			assert_int_equal(
				flow_protocol_read_header(bytes.data, len, &header), DECODE_SHORT);
		}
		assert_int_equal(decode().fault, DECODE_FINE);
	}
	bytes.data[1] = 8;
	assert_int_equal(decode().fault, DECODE_VERSION);
	bytes.data[0] = 1;
	bytes.data[1] = 9;
	assert_int_equal(decode().fault, DECODE_VERSION);
}

/* --- fields of v9 and IPFIX --- */

static void counters_of_all_lengths(void **state)
{
	const uint64_t value = UINT64_C(0x8122334455667788);

	(void)state;
	for (uint32_t len = 1; len <= 8; len++)
		for (uint32_t ipfix = 0; ipfix < 2; ipfix++) {
			const struct given fields[] = {{2, len, value, 0}, {1, len, ~value, 0},
				{86, len, value + 1, 0}, {85, len, value + 2, 0},
				{302, len, value + 3, 0}};
			const struct flow_record *record = record_of(ipfix, 2, fields, 5);

			assert_int_equal(record->packets, lowest(value, len));
			assert_int_equal(record->bytes, lowest(~value, len));
			assert_int_equal(record->total_packets, lowest(value + 1, len));
			assert_int_equal(record->total_bytes, lowest(value + 2, len));
			assert_int_equal(record->sampler, lowest(value + 3, len));
			assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES |
							      FLOW_TOTAL_PACKETS |
							      FLOW_TOTAL_BYTES | FLOW_SAMPLER);
		}
}

/* A counter of 0 or 9 bytes is invalid; a record without packets is unusable. */
static void counters_of_no_length(void **state)
{
	static const uint32_t lens[] = {0, 9, 16};

	(void)state;
	for (uint32_t i = 0; i < COUNT(lens); i++) {
		struct given field = {2, lens[i], 1, 0};
		struct decode_result result = decode_fields(true, 2, &field, 1);

		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.records, 0);
		assert_int_equal(result.unusable, 1);
		assert_int_equal(result.harmless, 0);
	}
}

/* Such fields are skipped, and later fields are read. */
static void addresses_of_wrong_length(void **state)
{
	static const struct given wrong[] = {{8, 3, 1, 0}, {12, 5, 1, 0}, {27, 4, 1, 0},
		{28, 17, 1, 0}, {15, 16, 1, 0}, {62, 4, 1, 0}};
	struct decode_result result;

	(void)state;
	for (uint32_t i = 0; i < COUNT(wrong); i++) {
		struct given fields[] = {wrong[i], {4, 1, 17, 0}};
		const struct flow_record *record = record_of(true, 0, fields, 2);

		assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000001);
		assert_int_equal(address_of(record->key.v4.dst_ip), 0x0a000002);
		assert_int_equal(record->key.v4.proto, 17);
		assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES);
	}
	begin(true, 0);
	put_given_template(true, 256, (struct given[]){{8, 3, 0, 0}, {2, 4, 0, 0}}, 2);
	put_given_data(256, (struct given[]){{8, 3, 0, 0}, {2, 4, 1, 0}}, 2);
	result = decode();
	assert_int_equal(result.unusable, 1);
	assert_int_equal(result.records, 0);
}

static void ports_protocol_and_flags(void **state)
{
	(void)state;
	for (uint32_t len = 1; len <= 4; len++) {
		const struct given fields[] = {{7, len, 0x11223344, 0}, {11, len, 0x55667788, 0},
			{4, len, 0x01020311, 0}, {6, len, 0x0102031b, 0}};
		const struct flow_record *record = record_of(true, 0, fields, COUNT(fields));

		assert_int_equal(port_of(record->key.v4.src_port), len == 1 ? 0x44 : 0x3344);
		assert_int_equal(port_of(record->key.v4.dst_port), len == 1 ? 0x88 : 0x7788);
		assert_int_equal(record->key.v4.proto, 0x11);
		assert_int_equal(record->extra.tcp_flags[0], 0x1b);
	}
}

static void dscp_vlan_and_label(void **state)
{
	const struct flow_record *record;

	(void)state;
	assert_int_equal(with(false, 5, 1, 0xbb)->extra.dscp[0], 46);
	assert_int_equal(with(true, 5, 2, 0xffbb)->extra.dscp[0], 46);
	assert_int_equal(with(true, 195, 1, 46)->extra.dscp[0], 46);
	assert_int_equal(with(true, 195, 1, 0xff)->extra.dscp[0], 63);
	record = with(true, 58, 2, 0xf123); /* the upper four bits are not part of the VLAN ID */
	assert_int_equal(port_of(record->extra.vlan), 0x123);
	assert_int_equal(port_of(with(true, 243, 2, 4095)->extra.vlan), 4095);
	assert_int_equal(port_of(with(true, 243, 4, 0xff0123)->extra.vlan), 0x123);
	record = with(true, 70, 3, 0xabcde7);
	assert_int_equal(record->extra.mpls[0], 0x0a);
	assert_int_equal(record->extra.mpls[1], 0xbc);
	assert_int_equal(record->extra.mpls[2], 0xde);
	record = with(true, 70, 4, 0xabcde7ff); /* invalid length */
	assert_int_equal(record->extra.mpls[0] | record->extra.mpls[2], 0);
}

static void next_hops(void **state)
{
	static const uint8_t none[16];
	struct given v6 = {62, 16, 0x1234, 0};
	const struct flow_record *record = with(false, 15, 4, 0xc0a80101);

	(void)state;
	assert_int_equal(address_of(record->next_hop), 0xc0a80101);
	assert_false(record->next_hop_ipv6);
	assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES | FLOW_NEXT_HOP);
	assert_int_equal(address_of(with(false, 18, 4, 0xc0a80102)->next_hop), 0xc0a80102);
	record = with(false, 15, 4, 0);
	assert_int_equal(record->has & FLOW_NEXT_HOP, 0);
	record = record_of(true, 0, &v6, 1);
	assert_true(record->next_hop_ipv6);
	assert_true(record->has & FLOW_NEXT_HOP);
	assert_memory_equal(record->next_hop, none, 14);
	assert_int_equal(port_of(record->next_hop + 14), 0x1234);
	v6.value = 0;
	assert_int_equal(record_of(true, 0, &v6, 1)->has & FLOW_NEXT_HOP, 0);
	/* The next hop of the packet takes precedence over that of BGP, in any order. */
	for (uint32_t swap = 0; swap < 2; swap++) {
		struct given fields[] = {
			{swap ? 15 : 18, 4, swap ? 7 : 8, 0}, {swap ? 18 : 15, 4, swap ? 8 : 7, 0}};

		assert_int_equal(address_of(record_of(true, 0, fields, 2)->next_hop), 7);
	}
}

static void directions(void **state)
{
	const struct flow_record *record = with(false, 61, 1, 1);

	(void)state;
	assert_int_equal(record->direction, FLOW_EGRESS);
	assert_true(record->has & FLOW_DIRECTION);
	record = with(true, 61, 1, 0);
	assert_int_equal(record->direction, FLOW_INGRESS);
	assert_true(record->has & FLOW_DIRECTION);
	for (uint32_t none = 2; none < 256; none++) {
		record = with(true, 61, 1, none);
		assert_int_equal(record->has & FLOW_DIRECTION, 0);
		assert_int_equal(record->direction, 0);
	}
}

static void interfaces(void **state)
{
	static const struct given both[] = {
		{252, 4, 70, 0}, {10, 4, 7, 0}, {14, 2, 8, 0}, {253, 4, 80, 0}};
	const struct flow_record *record;

	(void)state;
	for (uint32_t len = 1; len <= 8; len++) {
		const struct given fields[] = {{10, len, UINT64_C(0x1122334481828384), 0},
			{14, len, UINT64_C(0x1122334491929394), 0}};

		record = record_of(true, 0, fields, 2);
		assert_int_equal(record->input, lowest(0x81828384, len));
		assert_int_equal(record->output, lowest(0x91929394, len));
		assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES | FLOW_INPUT | FLOW_OUTPUT);
	}
	record = record_of(true, 0, both, 4);
	assert_int_equal(record->input, 7);
	assert_int_equal(record->output, 8);
	record = record_of(true, 0, both + 3, 1);
	assert_int_equal(record->output, 80);
	assert_int_equal(record->has & (FLOW_INPUT | FLOW_OUTPUT), FLOW_OUTPUT);
	assert_int_equal(record_of(true, 0, both, 1)->input, 70);
}

static void samplers(void **state)
{
	static const struct given both[] = {{48, 1, 3, 0}, {302, 8, 1000, 0}};
	const struct flow_record *record = with(false, 48, 1, 3);

	(void)state;
	assert_int_equal(record->sampler, 3);
	assert_true(record->has & FLOW_SAMPLER);
	assert_int_equal(record->has & FLOW_SAMPLING, 0);
	assert_int_equal(record_of(true, 0, both, 2)->sampler, 1000);
}

static void check_sampling(const struct given *fields, uint32_t n, uint32_t expected)
{
	const struct flow_record *record = record_of(true, 0, fields, n);

	assert_int_equal(record->sampling, expected);
	assert_int_equal((record->has & FLOW_SAMPLING) != 0, expected != 0);
}

static void sampling_of_records(void **state)
{
	static const struct given selected[] = {{390, 2, 3, 0}, {309, 4, 1, 0}, {310, 4, 9, 0}};
	const struct flow_record *record;
	static const uint64_t tenth = UINT64_C(0x3fb999999999999a); /* 0.1 */

	(void)state;
	for (uint32_t len = 1; len <= 8; len++)
		check_sampling(&(struct given){34, len, 100, 0}, 1, 100);
	check_sampling(&(struct given){50, 2, 512, 0}, 1, 512);
	check_sampling(&(struct given){34, 4, 0, 0}, 1, 0);
	for (uint32_t len = 1; len <= 8; len++) {
		check_sampling((struct given[]){{305, len, 1, 0}, {306, len, 99, 0}}, 2, 100);
		check_sampling((struct given[]){{306, len, 120, 0}, {305, len, 2, 0}}, 2, 61);
		check_sampling((struct given[]){{309, len, 2, 0}, {310, len, 250, 0}}, 2, 125);
		check_sampling((struct given[]){{310, len, 250, 0}, {309, 4, 1, 0}}, 2, 250);
	}
	check_sampling((struct given[]){{305, 4, 0, 0}, {306, 4, 99, 0}}, 2, 0);
	check_sampling((struct given[]){{305, 4, 1, 0}, {306, 4, 0, 0}}, 2, 1);
	check_sampling((struct given[]){{309, 4, 0, 0}, {310, 4, 99, 0}}, 2, 0);
	/* Sampled, with unknown ratio. */
	assert_true(with(true, 305, 4, 1)->has & FLOW_SAMPLED);
	assert_true(with(true, 306, 4, 1)->has & FLOW_SAMPLED);
	assert_true(with(true, 310, 4, 1)->has & FLOW_SAMPLED);
	assert_true(with(true, 304, 2, 0x100)->has & FLOW_SAMPLED);
	assert_true(with(true, 35, 1, 2)->has & FLOW_SAMPLED);
	assert_true(with(true, 331, 8, 0)->has & FLOW_SAMPLED);
	assert_false(with(true, 35, 1, 0)->has & FLOW_SAMPLED);
	assert_false(with(true, 34, 4, 9)->has & FLOW_SAMPLED);
	record = record_of(true, 0, selected, 3);
	assert_int_equal(record->has & (FLOW_SAMPLED | FLOW_SAMPLING), 0);
	assert_true(record->has & FLOW_SELECTED);
	check_sampling(&(struct given){311, 8, tenth, 0}, 1, 10);
	check_sampling(&(struct given){311, 4, 0x3dcccccd, 0}, 1, 10);
	check_sampling(&(struct given){311, 4, 0, 0}, 1, 0);
	check_sampling(&(struct given){311, 4, 0x7fc00000, 0}, 1, 0); /* NaN */
	check_sampling(&(struct given){311, 4, 0xbf800000, 0}, 1, 0); /* -1 */
	check_sampling(&(struct given){311, 4, 0x40000000, 0}, 1, 0); /* 2 */
	check_sampling(&(struct given){311, 4, 1, 0}, 1, UINT32_MAX); /* denormal */
	check_sampling(&(struct given){311, 4, 0x7f800000, 0}, 1, 0); /* infinite */
}

static void totals_and_deltas(void **state)
{
	static const struct given totals[] = {{86, 8, 500, 0}, {85, 8, 50000, 0}};
	const struct flow_record *record = record_of(true, 2, totals, 2);

	(void)state;
	assert_int_equal(record->has, FLOW_TOTAL_PACKETS | FLOW_TOTAL_BYTES);
	assert_int_equal(record->total_packets, 500);
	assert_int_equal(record->total_bytes, 50000);
	assert_int_equal(record->packets | record->bytes, 0);
	record = record_of(true, 0, totals, 2);
	assert_int_equal(
		record->has, FLOW_PACKETS | FLOW_BYTES | FLOW_TOTAL_PACKETS | FLOW_TOTAL_BYTES);
	assert_int_equal(record->packets, 10);
	assert_int_equal(record->total_packets, 500);
	/* Counters after the router are used only if there are none before it. */
	assert_int_equal(with(true, 24, 4, 5)->packets, 10);
	assert_int_equal(
		record_of(true, 2, (struct given[]){{24, 4, 5, 0}, {23, 4, 6, 0}}, 2)->bytes, 6);
}

static void layer2_bytes(void **state)
{
	const struct flow_record *record;

	(void)state;
	record = record_of(true, 1, (struct given[]){{352, 8, 1140, 0}}, 1);
	assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES | FLOW_LAYER2_BYTES);
	assert_int_equal(record->bytes, 1140);
	record = with(true, 352, 8, 1140);
	assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES);
	assert_int_equal(record->bytes, 1000);
	record = record_of(true, 1, (struct given[]){{352, 8, 1140, 0}, {353, 8, 9140, 0}}, 2);
	assert_int_equal(record->has, FLOW_PACKETS | FLOW_BYTES | FLOW_TOTAL_BYTES |
					      FLOW_LAYER2_BYTES | FLOW_LAYER2_TOTAL_BYTES);
	assert_int_equal(record->total_bytes, 9140);
	record = with(true, 353, 8, 9140); /* layer 2, unlike the other counters */
	assert_int_equal(record->has,
		FLOW_PACKETS | FLOW_BYTES | FLOW_TOTAL_BYTES | FLOW_LAYER2_TOTAL_BYTES);
	assert_int_equal(record->bytes, 1000);
	assert_int_equal(record->total_bytes, 9140);
	/* Tags that are known to be in the frames. */
	record = record_of(true, 1,
		(struct given[]){{352, 8, 1140, 0}, {243, 2, 0xe007, 0}, {245, 2, 9, 0}}, 3);
	assert_int_equal(record->vlan_tags, 2);
	assert_int_equal(port_of(record->extra.vlan), 7);
	record = record_of(true, 1,
		(struct given[]){{352, 8, 1140, 0}, {243, 4, 0xf000, 0}, {58, 2, 5, 0}}, 3);
	assert_int_equal(record->vlan_tags, 0);
	assert_int_equal(port_of(record->extra.vlan), 5);
}

/* Uses the first counter that is not 0 of several for the same quantity, in each record. */
static void counters_that_are_zero(void **state)
{
	static const struct {
		uint64_t values[8]; /* elements 2, 298, 24, 1, 231, 23, 352; last unused */
		uint64_t packets, bytes;
		bool layer2;
	} rows[] = {
		{{1, 2, 3, 100, 200, 300, 400}, 1, 100, false},
		{{0, 2, 3, 0, 200, 300, 400}, 2, 200, false},
		{{0, 0, 3, 0, 0, 300, 400}, 3, 300, false},
		{{0, 0, 3, 0, 0, 0, 400}, 3, 400, true},
		{{5, 0, 0, 0, 0, 300, 0}, 5, 300, false},
		{{0}, 0, 0, false},
	};

	(void)state;
	for (uint32_t len = 4; len <= 8; len += 4)
		for (uint32_t i = 0; i < COUNT(rows); i++) {
			const uint64_t *v = rows[i].values;
			/* Not in order of precedence. */
			const struct given fields[] = {{352, len, v[6], 0}, {23, len, v[5], 0},
				{24, len, v[2], 0}, {231, len, v[4], 0}, {1, len, v[3], 0},
				{298, len, v[1], 0}, {2, len, v[0], 0}};
			const struct flow_record *record =
				record_of(true, 2, fields, COUNT(fields));

			assert_int_equal(record->packets, rows[i].packets);
			assert_int_equal(record->bytes, rows[i].bytes);
			assert_int_equal((record->has & FLOW_LAYER2_BYTES) != 0, rows[i].layer2);
		}
}

/* Start and end of a flow with totals, from each element that reports them. */
static void sessions_of_totals(void **state)
{
	static const struct given totals[] = {{86, 8, 500, 0}, {85, 8, 50000, 0}};
	static const struct {
		struct given field;
		uint64_t age; /* minimum; up to a second more if the header has seconds */
	} starts[] = {
		{{152, 8, (EXPORTED - 9) * UINT64_C(1000) + 400, 0}, 8600},
		{{150, 4, EXPORTED - 9, 0}, 9000},
		{{154, 8, (EXPORTED - 9 + UINT64_C(2208988800)) << 32 | 0x80000000, 0}, 8500},
		{{156, 8, (EXPORTED - 9 + UINT64_C(2208988800)) << 32, 0}, 9000},
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(starts); i++) {
		const struct flow_record *record = record_of(
			true, 2, (struct given[]){starts[i].field, totals[0], totals[1]}, 3);

		assert_true(record->has & FLOW_AGE);
		assert_in_range(record->age, starts[i].age, starts[i].age + 1000);
	}
	assert_true(with(true, 152, 8, EXPORTED * UINT64_C(1000))->has & FLOW_AGE);
	assert_false(with(true, 152, 8, (EXPORTED + 1) * UINT64_C(1000))->has & FLOW_AGE);
	for (uint32_t reason = 0; reason < 8; reason++) {
		const struct given fields[] = {{136, 1, reason, 0}, totals[0], totals[1]};
		bool ended = reason == 1 || (reason >= 3 && reason <= 5);

		assert_int_equal((record_of(true, 2, fields, 3)->has & FLOW_ENDED) != 0, ended);
	}
	/* Counters of the initiator only are those of an ASA. */
	for (uint32_t event = 0; event < 8; event++) {
		const struct given fields[] = {
			{233, 1, event, 0}, {298, 8, 5, 0}, {231, 8, 500, 0}};
		const struct given others[] = {{233, 1, event, 0}, {2, 8, 5, 0}, {1, 8, 500, 0}};
		uint32_t wanted = event == 2 ? FLOW_SESSION | FLOW_ENDED : 0;

		assert_int_equal(
			record_of(true, 2, fields, 3)->has & (FLOW_SESSION | FLOW_ENDED), wanted);
		assert_int_equal(
			record_of(true, 2, others, 3)->has & (FLOW_SESSION | FLOW_ENDED), 0);
	}
}

/*
 * First and last packet of a record, from each pair of elements. If the header has seconds, the
 * first is the earliest and the last the latest possible time.
 */
static void times_of_packets(void **state)
{
	static const uint64_t ntp = UINT64_C(2208988800);
	static const struct {
		bool ipfix;
		struct given start, end;
		uint32_t age, idle;
		bool cut;
	} rows[] = {
		{false, {22, 4, UPTIME - 3000, 0}, {21, 4, UPTIME - 1, 0}, 3000, 1, false},
		{false, {22, 8, UPTIME - 3000, 0}, {21, 4, UPTIME, 0}, 3000, 0, false},
		{true, {150, 4, EXPORTED - 9, 0}, {151, 4, EXPORTED - 2, 0}, 9999, 1001, true},
		{true, {152, 8, EXPORTED * 1000ULL - 9400, 0},
			{153, 8, EXPORTED * 1000ULL - 100, 0}, 10399, 100, true},
		{true, {152, 8, EXPORTED * 1000ULL - 9400, 0},
			{153, 8, EXPORTED * 1000ULL + 700, 0}, 10399, 0, true},
		{true, {154, 8, (EXPORTED - 9 + ntp) << 32 | 0x80000000, 0},
			{155, 8, (EXPORTED - 1 + ntp) << 32, 0}, 9499, 1000, true},
		{true, {156, 8, (EXPORTED - 9 + ntp) << 32, 0},
			{157, 8, (EXPORTED - 1 + ntp) << 32, 0}, 9999, 1000, true},
	};

	(void)state;
	for (uint32_t i = 0; i < COUNT(rows); i++) {
		const struct given fields[] = {rows[i].start, rows[i].end, {192, 1, 61, 0}};
		const struct flow_record *record = record_of(rows[i].ipfix, 0, fields, 3);

		assert_int_equal(record->has & (FLOW_AGE | FLOW_IDLE), FLOW_AGE | FLOW_IDLE);
		assert_int_equal((record->has & FLOW_CUT_TIMES) != 0, rows[i].cut);
		assert_int_equal(record->age, rows[i].age);
		assert_int_equal(record->idle, rows[i].idle);
		assert_int_equal(record->ttl, 61);
	}
	/* The last packet before the first, or times after the export: unknown. */
	assert_int_equal(
		record_of(false, 0,
			(struct given[]){{22, 4, UPTIME - 5, 0}, {21, 4, UPTIME - 6, 0}}, 2)
				->has &
			(FLOW_AGE | FLOW_IDLE),
		0);
	assert_int_equal(with(true, 152, 8, (EXPORTED + 9) * 1000ULL)->has & FLOW_AGE, 0);
	assert_int_equal(with(true, 52, 1, 7)->ttl, 7);
	assert_int_equal(with(true, 53, 1, 8)->ttl, 8);
}

/* Invalid times of all kinds are skipped, and later fields are read. */
static void times_are_skipped(void **state)
{
	static const struct given fields[] = {{158, 4, UINT32_MAX, 0}, {159, 4, 7, 0},
		{160, 8, UINT64_MAX, 0}, {22, 3, 1, 0}, {150, 9, 1, 0}, {4, 1, 17, 0}};

	(void)state;
	for (uint32_t ipfix = 0; ipfix < 2; ipfix++) {
		const struct flow_record *record = record_of(ipfix, 0, fields, COUNT(fields));

		assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000001);
		assert_int_equal(address_of(record->key.v4.dst_ip), 0x0a000002);
		assert_int_equal(record->key.v4.proto, 17);
		assert_int_equal(record->packets, 10);
		assert_int_equal(record->bytes, 1000);
		assert_int_equal(record->has & ~(uint32_t)(FLOW_AGE | FLOW_CUT_TIMES),
			FLOW_PACKETS | FLOW_BYTES);
	}
}

/* --- families --- */

static void put_address6(uint64_t high, uint64_t low)
{
	put(&bytes, high, 8);
	put(&bytes, low, 8);
}

static void ipv6_records(void **state)
{
	static const struct spec specs[] = {
		{27, 16, 0}, {28, 16, 0}, {7, 2, 0}, {11, 2, 0}, {4, 1, 0}, {2, 4, 0}};
	const struct key6 *key = &seen.records[0].key.v6;
	uint32_t set;

	(void)state;
	begin(false, 2);
	put_template(&bytes, 0, 300, specs, COUNT(specs));
	set = begin_set(&bytes, 300);
	put_address6(0x20010db8, 1);
	put_address6(0x20010db9, 2);
	put(&bytes, 1234, 2);
	put(&bytes, 53, 2);
	put(&bytes, 17, 1);
	put(&bytes, 9, 4);
	end_set(&bytes, set);
	assert_int_equal(decode().fault, DECODE_FINE);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.records[0].key.family, KEY_IPV6);
	assert_int_equal(address_of(key->src_ip + 4), 0x20010db8);
	assert_int_equal(key->src_ip[15], 1);
	assert_int_equal(key->dst_ip[15], 2);
	assert_int_equal(port_of(key->src_port), 1234);
	assert_int_equal(port_of(key->dst_port), 53);
	assert_int_equal(key->proto, 17);
	assert_int_equal(seen.records[0].packets, 9);
}

/* version 0: no such field */
static void decode_both(uint32_t version, bool ipv4, bool ipv6)
{
	static const struct spec specs[] = {{8, 4, 0}, {12, 4, 0}, {27, 16, 0}, {28, 16, 0},
		{7, 2, 0}, {11, 2, 0}, {4, 1, 0}, {2, 4, 0}, {60, 1, 0}};
	uint32_t n = COUNT(specs) - (version == 0), set;

	templates_forget(templates);
	begin(true, 0);
	put_template(&bytes, 2, 300, specs, n);
	set = begin_set(&bytes, 300);
	put(&bytes, ipv4 ? 0x0a000001 : 0, 4);
	put(&bytes, ipv4 ? 0x0a000002 : 0, 4);
	put_address6(0, ipv6 ? 1 : 0);
	put_address6(ipv6 ? 2 : 0, 0);
	put(&bytes, 1234, 2);
	put(&bytes, 53, 2);
	put(&bytes, 17, 1);
	put(&bytes, 9, 4);
	if (version != 0)
		put(&bytes, version, 1);
	end_set(&bytes, set);
	assert_int_equal(decode().records, 1);
}

static void check_ipv4_of_both(void)
{
	struct key expected = {.family = KEY_IPV4,
		.v4 = {{10, 0, 0, 1}, {10, 0, 0, 2}, {4, 210}, {0, 53}, 17, {0}, 0}};

	assert_int_equal(seen.records[0].key.family, KEY_IPV4);
	assert_memory_equal(&seen.records[0].key.v4, &expected.v4, sizeof(expected.v4));
}

static void check_ipv6_of_both(void)
{
	struct key expected = {
		.family = KEY_IPV6, .v6 = {{[15] = 1}, {[7] = 2}, {4, 210}, {0, 53}, 17, {0}, 0}};

	assert_int_equal(seen.records[0].key.family, KEY_IPV6);
	assert_memory_equal(&seen.records[0].key.v6, &expected.v6, sizeof(expected.v6));
}

static void both_families_in_a_template(void **state)
{
	(void)state;
	decode_both(0, true, false);
	check_ipv4_of_both();
	decode_both(0, false, true);
	check_ipv6_of_both();
	decode_both(4, true, true);
	check_ipv4_of_both();
	decode_both(6, true, true);
	check_ipv6_of_both();
	decode_both(4, false, true); /* no address of this version: ignored */
	check_ipv6_of_both();
	decode_both(6, true, false);
	check_ipv4_of_both();
	decode_both(4, false, false);
	assert_int_equal(seen.records[0].key.family, KEY_IPV4);
}

/* --- biflows --- */

static void check_biflow(uint32_t n, uint64_t packets, uint64_t octets)
{
	const struct flow_record *forward = &seen.records[0], *reverse = &seen.records[1];

	assert_int_equal(seen.n, n);
	assert_int_equal(forward->packets, 10);
	assert_int_equal(forward->has & FLOW_REVERSE, 0);
	assert_int_equal(address_of(forward->key.v4.src_ip), 0x0a000001);
	assert_int_equal(port_of(forward->key.v4.src_port), 1234);
	if (n == 1)
		return;
	assert_true(reverse->has & FLOW_REVERSE);
	assert_int_equal(reverse->packets, packets);
	assert_int_equal(reverse->bytes, octets);
	assert_int_equal(address_of(reverse->key.v4.src_ip), 0x0a000002);
	assert_int_equal(address_of(reverse->key.v4.dst_ip), 0x0a000001);
	assert_int_equal(port_of(reverse->key.v4.src_port), 53);
	assert_int_equal(port_of(reverse->key.v4.dst_port), 1234);
	assert_int_equal(reverse->key.v4.proto, 17);
	assert_int_equal(reverse->input, 8);
	assert_int_equal(reverse->output, 7);
}

static void biflows(void **state)
{
	struct given fields[] = {{7, 2, 1234, 0}, {11, 2, 53, 0}, {4, 1, 17, 0}, {10, 4, 7, 0},
		{14, 4, 8, 0}, {6, 1, 0x12, 0}, {2, 8, 20, REVERSE}, {1, 8, 2000, REVERSE},
		{6, 1, 0x18, REVERSE}};
	struct decode_result result = decode_fields(true, 0, fields, COUNT(fields));

	(void)state;
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 2);
	assert_int_equal(result.data_records, 1);
	check_biflow(2, 20, 2000);
	assert_int_equal(seen.records[0].extra.tcp_flags[0], 0x12);
	assert_int_equal(seen.records[1].extra.tcp_flags[0], 0x18);
	/* Bytes without packets are also reported. */
	fields[6].value = 0;
	result = decode_fields(true, 0, fields, COUNT(fields));
	assert_int_equal(result.records, 2);
	check_biflow(2, 0, 2000);
	fields[7].value = 0;
	result = decode_fields(true, 0, fields, COUNT(fields));
	assert_int_equal(result.records, 1);
	check_biflow(1, 0, 0);
}

/* Packets in one direction only, and in none. */
static void one_way_of_a_biflow(void **state)
{
	struct given fields[] = {{2, 4, 0, 0}, {1, 4, 0, 0}, {7, 2, 1234, 0}, {11, 2, 53, 0},
		{2, 4, 20, REVERSE}, {1, 4, 2000, REVERSE}};
	const struct flow_record *record = record_of(true, 2, fields, COUNT(fields));

	(void)state;
	assert_true(record->has & FLOW_REVERSE);
	assert_int_equal(record->packets, 20);
	assert_int_equal(record->bytes, 2000);
	assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000002);
	assert_int_equal(port_of(record->key.v4.dst_port), 1234);
	fields[4].value = fields[5].value = 0;
	record = record_of(true, 2, fields, COUNT(fields));
	assert_int_equal(record->has & FLOW_REVERSE, 0);
	assert_int_equal(record->packets, 0);
	assert_int_equal(address_of(record->key.v4.src_ip), 0x0a000001);
}

static void biflows_of_v9(void **state)
{
	struct given fields[] = {{8, 4, 0x0a000001, 0}, {12, 4, 0x0a000002, 0}, {298, 8, 10, 0},
		{231, 8, 1000, 0}, {7, 2, 1234, 0}, {11, 2, 53, 0}, {4, 1, 17, 0}, {10, 4, 7, 0},
		{14, 4, 8, 0}, {299, 8, 30, 0}, {232, 8, 3000, 0}};
	struct decode_result result;

	(void)state;
	begin(false, 2);
	put_given_template(false, 256, fields, COUNT(fields));
	put_given_data(256, fields, COUNT(fields));
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 2);
	check_biflow(2, 30, 3000);
	assert_int_equal(seen.records[0].bytes, 1000);
}

/* Batches are handed over before they are too full for both directions. */
static void many_biflows(void **state)
{
	static const struct spec specs[] = {{8, 4, 0}, {12, 4, 0}, {2, 4, 0}, {2, 4, REVERSE}};
	uint32_t set, n = 0;

	(void)state;
	begin(true, 0);
	put_template(&bytes, 2, 256, specs, COUNT(specs));
	set = begin_set(&bytes, 256);
	for (uint32_t i = 0; i < 1000; i++) {
		put(&bytes, 0x0a000000 + i, 4);
		put(&bytes, 0x0b000000 + i, 4);
		put(&bytes, 1 + i, 4);
		put(&bytes, i % 3, 4);
	}
	end_set(&bytes, set);
	assert_int_equal(decode().data_records, 1000);
	for (uint32_t i = 0; i < seen.n; i++) {
		const struct flow_record *record = &seen.records[i];
		bool reverse = (record->has & FLOW_REVERSE) != 0;
		uint32_t of = address_of(reverse ? record->key.v4.dst_ip : record->key.v4.src_ip) &
			      0xffff;

		assert_int_equal(record->packets, reverse ? of % 3 : of + 1);
		n += reverse;
	}
	assert_int_equal(n, 666);
	assert_int_equal(seen.n, 1666);
}

/* --- fields that are skipped --- */

static void check_skipped(const struct decode_result *result)
{
	assert_int_equal(result->fault, DECODE_FINE);
	assert_int_equal(result->records, 1);
	assert_int_equal(seen.n, 1);
	assert_int_equal(address_of(seen.records[0].key.v4.src_ip), 0x0a000001);
	assert_int_equal(address_of(seen.records[0].key.v4.dst_ip), 0x0a000002);
	assert_int_equal(seen.records[0].packets, 10);
	assert_int_equal(seen.records[0].bytes, 1000);
	assert_int_equal(seen.records[0].key.v4.proto, 17);
}

/*
 * Numbers that are standard elements without an enterprise, and one whose highest bit is part of
 * the number in v9.
 */
static void enterprise_elements(void **state)
{
	static const struct given fields[] = {
		{2, 4, 99, 6871}, {8, 4, 99, 9}, {1, 8, 99, 35632}, {4, 1, 17, 0}};
	static const struct given vendor[] = {{0x8002, 4, 99, 0}, {4, 1, 17, 0}};
	struct decode_result result = decode_fields(true, 0, fields, COUNT(fields));

	(void)state;
	check_skipped(&result);
	result = decode_fields(false, 0, vendor, COUNT(vendor));
	check_skipped(&result);
}

static void zero_length_fields(void **state)
{
	static const struct given fields[] = {{210, 0, 0, 0}, {6, 0, 0, 0}, {4, 1, 17, 0}};
	struct decode_result result;

	(void)state;
	for (uint32_t ipfix = 0; ipfix < 2; ipfix++) {
		result = decode_fields(ipfix, 0, fields, COUNT(fields));
		check_skipped(&result);
	}
	begin(true, 0); /* records of length 0 */
	put_given_template(true, 256, fields, 2);
	put_given_data(256, fields, 0);
	result = decode();
	assert_int_equal(result.fault, DECODE_TEMPLATE);
	assert_int_equal(result.unknown_sets, true);
	assert_int_equal(templates_count(templates), 0); /* the earlier template is invalid now */
	assert_int_equal(seen.nb_known, 0);
}

/* Adds a record with a variable-length field in the middle, whose bytes are 0xff. */
static void put_variable_record(uint32_t len, bool long_form)
{
	put(&bytes, 0x0a000001, 4);
	put(&bytes, 0x0a000002, 4);
	if (long_form)
		put(&bytes, 255, 1);
	put(&bytes, len, long_form ? 2 : 1);
	for (uint32_t i = 0; i < len; i++)
		put(&bytes, 0xff, 1);
	put(&bytes, 10, 4);
	put(&bytes, 1000, 4);
	put(&bytes, 17, 1);
}

/*
 * An interface name (82), a basicList (291), a subTemplateList (292), a subTemplateMultiList (293).
 */
static uint32_t begin_variable(uint32_t number, uint32_t enterprise)
{
	const struct spec specs[] = {{8, 4, 0}, {12, 4, 0}, {number, VARIABLE, enterprise},
		{2, 4, 0}, {1, 4, 0}, {4, 1, 0}};

	begin(true, 0);
	put_template(&bytes, 2, 256, specs, COUNT(specs));
	return begin_set(&bytes, 256);
}

static void variable_length_fields(void **state)
{
	static const struct spec numbers[] = {
		{82, 0, 0}, {291, 0, 0}, {292, 0, 0}, {293, 0, 0}, {1, 0, 6871}};

	(void)state;
	for (uint32_t i = 0; i < COUNT(numbers); i++)
		for (uint32_t len = 0; len <= 600; len += len < 260 ? 1 : 170)
			for (uint32_t form = len > 254; form < 2; form++) {
				uint32_t set =
					begin_variable(numbers[i].number, numbers[i].enterprise);
				struct decode_result result;

				put_variable_record(len, form != 0);
				end_set(&bytes, set);
				result = decode();
				check_skipped(&result);
			}
}

static void many_variable_records(void **state)
{
	uint32_t set = begin_variable(291, 0);
	struct decode_result result;

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		put_variable_record(i % 7, i % 2);
	put(&bytes, 0, 3); /* padding, shorter than any record */
	end_set(&bytes, set);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(seen.records[i].bytes, 1000);
}

/* After a complete record, one that ends too early, byte by byte. */
static void cut_variable_records(void **state)
{
	(void)state;
	for (uint32_t cut = 1; cut < 40; cut++) {
		uint32_t set = begin_variable(292, 0), all;
		struct decode_result result;

		put_variable_record(3, false);
		put_variable_record(20, true);
		all = bytes.len - cut;
		bytes.len = all;
		end_set(&bytes, set);
		result = decode();
		assert_int_equal(result.records, 1);
		/* Padding must be zeros. */
		assert_int_equal(result.fault, DECODE_LENGTH);
		assert_int_equal(seen.records[0].packets, 10);
	}
}

static void variable_addresses(void **state)
{
	const struct spec specs[] = {{8, VARIABLE, 0}, {12, 4, 0}, {2, VARIABLE, 0}, {2, 4, 0}};
	uint32_t set;

	(void)state;
	begin(true, 0);
	put_template(&bytes, 2, 256, specs, COUNT(specs));
	set = begin_set(&bytes, 256);
	put(&bytes, 4, 1);
	put(&bytes, 0x0a000001, 4);
	put(&bytes, 0x0a000002, 4);
	put(&bytes, 8, 1);
	put(&bytes, 77, 8);
	put(&bytes, 10, 4);
	end_set(&bytes, set);
	assert_int_equal(decode().records, 1);
	assert_int_equal(address_of(seen.records[0].key.v4.src_ip), 0);
	assert_int_equal(address_of(seen.records[0].key.v4.dst_ip), 0x0a000002);
	assert_int_equal(seen.records[0].packets, 10);
}

/*
 * RFC 3954 has no variable lengths, but H3C sends them: a field cannot have a fixed length of
 * 65535.
 */
static void variable_length_in_v9(void **state)
{
	const struct spec specs[] = {{8, 4, 0}, {82, VARIABLE, 0}, {2, 4, 0}};
	struct decode_result result;
	uint32_t set;

	(void)state;
	begin(false, 3);
	put_template(&bytes, 0, 256, specs, COUNT(specs));
	set = begin_set(&bytes, 256);
	for (uint32_t i = 1; i <= 2; i++) {
		put(&bytes, i, 4);
		put(&bytes, i, 1);
		put(&bytes, 0x4141, i);
		put(&bytes, 7 * i, 4);
	}
	end_set(&bytes, set);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(address_of(seen.records[i].key.v4.src_ip), i + 1);
		assert_int_equal(seen.records[i].packets, 7 * (i + 1));
	}
}

/* --- sets --- */

static void put_ends(bool ipfix)
{
	put_given_template(ipfix, 256, ends, ENDS);
}

static void padding(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 16; n++) {
		uint32_t set;
		struct decode_result result;

		begin(n % 2, 3);
		put_ends(n % 2);
		set = begin_set(&bytes, 256);
		put_given_values(ends, ENDS);
		put_given_values(ends, ENDS);
		put(&bytes, 0, n);
		end_set(&bytes, set);
		result = decode();
		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.records, 2);
	}
}

/* Zeros after the last set: read as a set, they would be templates of length 0. */
static void padding_that_looks_like_a_set(void **state)
{
	struct decode_result result;

	(void)state;
	for (uint32_t n = 1; n < 24; n++) {
		begin(false, 2);
		put_ends(false);
		put_given_data(256, ends, ENDS);
		put(&bytes, 0, n);
		result = decode();
		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.records, 1);
		assert_int_equal(result.templates, 1);
	}
	/* Bytes inside a set that look like another set: padding must be zeros. */
	begin(true, 0);
	put_ends(true);
	uint32_t set = begin_set(&bytes, 256);
	put_given_values(ends, ENDS);
	put(&bytes, 256, 2);
	put(&bytes, 8, 2);
	put(&bytes, 1, 4);
	end_set(&bytes, set);
	result = decode();
	assert_int_equal(result.fault, DECODE_LENGTH);
	assert_int_equal(result.records, 1);
}

/*
 * Nonzero bytes after the last record of a set are a truncated record. v9 does not define the
 * contents of padding.
 */
static void rests_of_sets(void **state)
{
	(void)state;
	for (uint32_t ipfix = 0; ipfix < 2; ipfix++)
		for (uint32_t rest = 1; rest < 12; rest++)
			for (uint32_t byte = 0; byte < 2; byte++) {
				bool fine = byte == 0 || (!ipfix && rest <= 3);
				struct decode_result result;
				uint32_t set;

				begin(ipfix, 2);
				put_ends(ipfix);
				set = begin_set(&bytes, 256);
				put_given_values(ends, ENDS);
				put(&bytes, byte, rest);
				end_set(&bytes, set);
				result = decode();
				assert_int_equal(result.fault, fine ? DECODE_FINE : DECODE_LENGTH);
				assert_int_equal(result.records, 1);
			}
}

static void set_lengths_that_are_none(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < 4; len++) {
		struct decode_result result;

		begin(true, 0);
		put_ends(true);
		put_given_data(256, ends, ENDS);
		put(&bytes, 256, 2);
		put(&bytes, len, 2);
		put_given_data(256, ends, ENDS);
		result = decode();
		assert_int_equal(result.fault, DECODE_SET);
		assert_int_equal(result.records, 1);
	}
	begin(true, 0);
	put_given_data(256, ends, 0); /* a set without a record */
	assert_int_equal(decode().fault, DECODE_FINE);
	for (uint32_t id = 0; id < 256; id++) {
		begin(true, 0);
		put_given_data(id, ends, 0);
		assert_int_equal(decode().fault, id == 2 || id == 3 ? DECODE_FINE : DECODE_SET);
		begin(false, 0);
		put_given_data(id, ends, 0);
		assert_int_equal(decode().fault, id < 2 ? DECODE_FINE : DECODE_SET);
	}
}

/* A message truncated anywhere: complete records are decoded, and the truncation is reported. */
static void cut_messages(void **state)
{
	uint32_t whole, data;

	(void)state;
	begin(true, 0);
	put_ends(true);
	data = bytes.len + 4;
	uint32_t set = begin_set(&bytes, 256);
	for (uint32_t i = 0; i < 3; i++)
		put_given_values(ends, ENDS);
	end_set(&bytes, set);
	end_message(&bytes);
	whole = bytes.len;
	for (uint32_t len = 16; len < whole; len++) {
		struct decode_result result;

		templates_forget(templates);
		result = decode_anyway(len);
		assert_int_equal(result.fault, DECODE_LENGTH);
		assert_int_equal(result.records, len < data ? 0 : (len - data) / 16);
	}
}

static void message_length_disagrees(void **state)
{
	struct decode_result result;
	struct datagram_header header;

	(void)state;
	begin(true, 0);
	put_ends(true);
	put_given_data(256, ends, ENDS);
	end_message(&bytes);
	/* Shorter: bytes after the length are not part of the message. */
	put_given_data(256, ends, ENDS);
	result = decode_anyway(bytes.len);
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 1);
	assert_int_equal(flow_protocol_read_header(bytes.data, bytes.len, &header), DECODE_FINE);
	assert_int_equal(header.total, bytes.len - 20);
	/* Longer, and shorter than its own header. */
	overwrite_u16(&bytes, 2, bytes.len + 1);
	assert_int_equal(flow_protocol_read_header(bytes.data, bytes.len, &header), DECODE_LENGTH);
	result = decode_anyway(bytes.len);
	assert_int_equal(result.fault, DECODE_LENGTH);
	assert_int_equal(result.records, 2);
	for (uint32_t total = 0; total < 16; total++) {
		overwrite_u16(&bytes, 2, total);
		result = decode_anyway(bytes.len);
		assert_int_not_equal(result.fault, DECODE_FINE);
		assert_int_equal(seen.n, 0);
	}
}

/* Accepted counts: templates and records, records only, sets; anything else is an error. */
static void v9_count(void **state)
{
	static const struct {
		uint32_t count;
		enum decode_fault fault;
	} cases[] = {{7, DECODE_FINE}, {6, DECODE_FINE}, {3, DECODE_FINE}, {0, DECODE_COUNT},
		{2, DECODE_COUNT}, {8, DECODE_COUNT}, {65535, DECODE_COUNT}};

	(void)state;
	for (uint32_t i = 0; i < COUNT(cases); i++) {
		struct decode_result result;

		begin(false, cases[i].count);
		put_ends(false);
		for (uint32_t s = 0; s < 2; s++) {
			uint32_t set = begin_set(&bytes, 256);

			for (uint32_t r = 0; r < 3; r++)
				put_given_values(ends, ENDS);
			end_set(&bytes, set);
		}
		result = decode();
		assert_int_equal(result.fault, cases[i].fault);
		assert_int_equal(result.records, 6);
		assert_int_equal(result.templates, 1);
	}
	/* The number of records in an unknown set is not known. */
	begin(false, 50);
	put_given_data(999, ends, ENDS);
	assert_int_equal(decode().fault, DECODE_FINE);
}

/* Set by set; each set holds complete records. */
static void unknown_sets_wait(void **state)
{
	struct record_handler sink;
	struct datagram_header header;
	struct decode_result result;
	uint8_t waiting[2 * 16];

	(void)state;
	begin(false, 2);
	uint32_t set = begin_set(&bytes, 256);
	put_given_values(ends, ENDS);
	put_given_values(ends, ENDS);
	end_set(&bytes, set);
	assert_int_equal(flow_protocol_read_header(bytes.data, bytes.len, &header), DECODE_FINE);
	memcpy(waiting, bytes.data + bytes.len - sizeof(waiting), sizeof(waiting));
	result = decode();
	assert_true(result.unknown_sets);
	assert_int_equal(result.records | result.data_records, 0);
	assert_int_equal(seen.nb_unknown, 1);
	assert_int_equal(seen.unknown[0], 256);
	assert_int_equal(seen.unknown_len[0], sizeof(waiting));
	begin(false, 1);
	put_ends(false);
	result = decode();
	assert_int_equal(seen.nb_known, 1);
	assert_int_equal(seen.known[0], 256);
	memset(&seen, 0, sizeof(seen));
	sink = decoded_sink(&seen);
	result = flow_protocol_decode_set(&header, templates, 256, waiting, sizeof(waiting), &sink);
	assert_int_equal(result.records, 2);
	assert_int_equal(result.data_records, 2);
	assert_int_equal(seen.records[1].packets, 10);
	result = flow_protocol_decode_set(&header, templates, 257, waiting, sizeof(waiting), &sink);
	assert_true(result.unknown_sets);
}

/* Calls follow the order of the message. */
static void order_of_a_message(void **state)
{
	(void)state;
	begin(false, 5);
	put_given_data(256, ends, ENDS);
	put_ends(false);
	put_given_data(256, ends, ENDS);
	put_given_data(300, ends, ENDS);
	put_given_data(256, ends, ENDS);
	put_given_template(false, 300, ends, 3);
	decode();
	assert_string_equal(seen.order, "utrurt");
}

/* Data between two definitions of one template in a message: each uses the definition before it. */
static void redefinition_in_a_datagram(void **state)
{
	static const struct given wide[] = {{2, 8, 5, 0}, {12, 4, 2, 0}, {8, 4, 1, 0}};
	struct decode_result result;

	(void)state;
	begin(true, 0);
	put_ends(true);
	put_given_data(256, ends, ENDS);
	put_given_template(true, 256, wide, COUNT(wide));
	put_given_data(256, wide, COUNT(wide));
	put_given_template(true, 256, wide, COUNT(wide)); /* identical: nothing new */
	put_given_data(256, wide, COUNT(wide));
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.templates, 3);
	assert_int_equal(seen.nb_known, 2);
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.records[0].packets, 10);
	assert_int_equal(seen.records[1].packets, 5);
	assert_int_equal(address_of(seen.records[2].key.v4.src_ip), 1);
	begin(true, 0); /* also in the next message */
	put_ends(true);
	decode();
	begin(true, 0);
	put_given_data(256, ends, ENDS);
	decode();
	assert_int_equal(seen.records[0].bytes, 1000);
}

/* Frames that are reported with their EtherType. */
static void what_is_not_ip(void **state)
{
	static const struct given frames[] = {{256, 2, 0x0806, 0}, {2, 4, 7, 0}, {1, 4, 420, 0}};
	struct decode_result result;

	(void)state;
	begin(true, 0);
	put_given_template(true, 256, frames, 3);
	put_given_template(true, 257, frames + 1, 2); /* without EtherType */
	put_given_data(256, frames, 3);
	put_given_data(257, frames + 1, 2);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.records, 0);
	assert_int_equal(result.data_records, 2);
	assert_int_equal(result.unusable, 2);
	assert_int_equal(result.harmless, 1);
	assert_int_equal(with(true, 256, 2, 0x0800)->packets, 10);
}

/* --- options --- */

/* Adds an options template; v9 gives the lengths of its specifiers in bytes. */
static void put_options_template(
	bool ipfix, uint32_t id, uint32_t scopes, const struct spec *specs, uint32_t n)
{
	uint32_t set = begin_set(&bytes, ipfix ? 3 : 1);

	put(&bytes, id, 2);
	put(&bytes, ipfix ? n : 4 * scopes, 2);
	put(&bytes, ipfix ? scopes : 4 * (n - scopes), 2);
	put_specs(&bytes, specs, n);
	put(&bytes, 0, (4 - bytes.len % 4) % 4 + 4 * (n % 2));
	end_set(&bytes, set);
}

/* Decodes one option. With v9, the scope is 1: system. */
static const struct option_record *option_of(bool ipfix, const struct given *fields, uint32_t n)
{
	struct spec specs[16];
	struct decode_result result;

	begin(ipfix, 2);
	for (uint32_t i = 0; i < n; i++)
		specs[i] = (struct spec){fields[i].number, fields[i].len, fields[i].enterprise};
	put_options_template(ipfix, 300, 1, specs, n);
	put_given_data(300, fields, n);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.options, 1);
	assert_int_equal(result.data_records, 1);
	assert_int_equal(result.records | result.unusable, 0);
	return seen.nb_options == 0 ? NULL : &seen.options[0];
}

static void check_option_sampling(const struct given *fields, uint32_t n, uint32_t expected)
{
	const struct option_record *option = option_of(true, fields, n);

	if (expected == 0) {
		assert_null(option);
		return;
	}
	assert_non_null(option);
	assert_int_equal(option->has & OPTION_RECORD_SAMPLING, OPTION_RECORD_SAMPLING);
	assert_int_equal(option->sampling, expected);
}

#define SCOPE                                                                                      \
	{                                                                                          \
		149, 4, 42, 0                                                                      \
	}

static void sampling_of_options(void **state)
{
	const struct option_record *option;
	static const uint64_t tenth = UINT64_C(0x3fb999999999999a);

	(void)state;
	for (uint32_t len = 1; len <= 8; len++) {
		check_option_sampling((struct given[]){SCOPE, {34, len, 100, 0}}, 2, 100);
		check_option_sampling((struct given[]){SCOPE, {50, len, 100, 0}}, 2, 100);
		check_option_sampling(
			(struct given[]){SCOPE, {305, len, 1, 0}, {306, len, 99, 0}}, 3, 100);
		check_option_sampling(
			(struct given[]){SCOPE, {310, len, 200, 0}, {309, len, 2, 0}}, 3, 100);
	}
	check_option_sampling((struct given[]){SCOPE, {311, 8, tenth, 0}}, 2, 10);
	check_option_sampling((struct given[]){SCOPE, {311, 4, 0x3dcccccd, 0}}, 2, 10);
	check_option_sampling((struct given[]){SCOPE, {34, 4, 0, 0}}, 2, 0);
	check_option_sampling((struct given[]){SCOPE, {305, 4, 1, 0}, {306, 4, 0, 0}}, 3, 1);
	check_option_sampling((struct given[]){SCOPE, {306, 4, 0, 0}}, 2, 1);
	check_option_sampling((struct given[]){SCOPE, {34, 4, 9, 0}, {35, 1, 2, 0}}, 3, 9);
	check_option_sampling((struct given[]){SCOPE, {304, 2, 0, 0}}, 2, 0);
	/* RFC 7014: complete flows are selected. */
	option = option_of(
		true, (struct given[]){SCOPE, {390, 2, 3, 0}, {309, 4, 1, 0}, {310, 4, 9, 0}}, 4);
	assert_int_equal(option->has, OPTION_RECORD_DOMAIN | OPTION_RECORD_FLOWS);
	assert_int_equal(option->sampling, 0);
}

/* Sampled, but without a ratio: incomplete fields, hashes, algorithms, invalid ratios. */
static void ratios_that_are_unknown(void **state)
{
	static const struct given fields[][2] = {
		{{311, 4, 0x7fc00000, 0}, {0}}, /* NaN */
		{{311, 4, 0, 0}, {0}},
		{{311, 4, 0xbf800000, 0}, {0}}, /* -1 */
		{{311, 4, 0x40000000, 0}, {0}}, /* 2 */
		{{309, 4, 1, 0}, {0}},
		{{310, 4, 1000, 0}, {0}},
		{{305, 4, 1, 0}, {0}},
		{{306, 4, 9, 0}, {0}},
		{{305, 4, 0, 0}, {306, 4, 9, 0}},
		{{309, 4, 0, 0}, {310, 4, 9, 0}},
		{{309, 4, 9, 0}, {310, 4, 1, 0}},
		{{34, 8, UINT64_MAX, 0}, {0}},
		{{34, 4, 0, 0}, {35, 1, 2, 0}},
		{{304, 2, 6, 0}, {331, 8, 0, 0}},
		{{331, 8, 0, 0}, {332, 8, 1 << 26, 0}},
		{{307, 4, 10, 0}, {308, 4, 990, 0}},
		{{304, 2, 40, 0}, {0}},
		{{49, 1, 2, 0}, {0}},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct given all[] = {SCOPE, fields[i][0], fields[i][1]};

		check_option_sampling(
			all, fields[i][1].number != 0 ? 3 : 2, SAMPLING_RATIO_UNKNOWN);
	}
}

static void scopes_of_options(void **state)
{
	const struct option_record *option;

	(void)state;
	option = option_of(true, (struct given[]){{302, 8, 1000, 0}, {34, 4, 10, 0}}, 2);
	assert_int_equal(option->has, OPTION_RECORD_SAMPLER | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->sampler, 1000);
	option = option_of(true, (struct given[]){{10, 4, 7, 0}, {34, 4, 10, 0}}, 2);
	assert_int_equal(option->has, OPTION_RECORD_INTERFACE | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->interface, 7);
	option = option_of(false,
		(struct given[]){{1, 4, 5, 0}, {48, 1, 3, 0}, {49, 1, 2, 0}, {50, 4, 64, 0}}, 4);
	assert_int_equal(option->has, OPTION_RECORD_SAMPLER | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->sampler, 3);
	assert_int_equal(option->sampling, 64);
	/* v9 scopes have their own numbers: 2 is an interface, not a packet counter. */
	option = option_of(false, (struct given[]){{2, 2, 9, 0}, {34, 4, 10, 0}}, 2);
	assert_int_equal(option->has, OPTION_RECORD_INTERFACE | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->interface, 9);
	option = option_of(false, (struct given[]){{5, 2, 300, 0}, {34, 4, 10, 0}}, 2);
	assert_int_equal(option->has, OPTION_RECORD_TEMPLATE | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->template_id, 300);
	option = option_of(true, (struct given[]){{145, 2, 301, 0}, {34, 4, 10, 0}}, 2);
	assert_int_equal(option->has, OPTION_RECORD_TEMPLATE | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->template_id, 301);
	option =
		option_of(true, (struct given[]){{149, 4, 7, 0}, {10, 4, 3, 0}, {34, 4, 10, 0}}, 3);
	assert_int_equal(option->has,
		OPTION_RECORD_DOMAIN | OPTION_RECORD_INTERFACE | OPTION_RECORD_SAMPLING);
	assert_int_equal(option->domain, 7);
	assert_int_equal(option->interface, 3);
	option = option_of(false, (struct given[]){{1, 4, 9, 0}, {34, 4, 10, 0}}, 2);
	assert_int_equal(option->has, OPTION_RECORD_SAMPLING);
}

/* Line cards, caches, processes, scopes of no RFC: each value is a separate part. */
static void parts_of_options(void **state)
{
	static const struct {
		bool ipfix;
		struct given scope;
	} scopes[] = {
		{false, {3, 2, 1, 0}},
		{false, {3, 2, 2, 0}},
		{false, {4, 2, 1, 0}},
		{false, {10, 2, 9, 0}},
		{true, {141, 4, 1, 0}},
		{true, {143, 4, 1, 0}},
		{true, {143, 4, 2, 0}},
		{true, {144, 4, 1, 0}},
		{true, {10, 4, 1, 9999}},
	};
	const uint32_t n = sizeof(scopes) / sizeof(scopes[0]);
	uint64_t parts[9];

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		struct given fields[] = {scopes[i].scope, {34, 4, 10, 0}};
		const struct option_record *option = option_of(scopes[i].ipfix, fields, 2);

		assert_int_equal(option->has, OPTION_RECORD_PART | OPTION_RECORD_SAMPLING);
		parts[i] = option->part;
		for (uint32_t j = 0; j < i; j++)
			assert_true(parts[j] != parts[i]);
	}
}

/* Interface names: padded with zeros, of variable length, and empty. */
static void names_of_interfaces(void **state)
{
	static const struct spec fixed[] = {{2, 4, 0}, {83, 6, 0}, {82, 8, 0}};
	static const struct spec variable[] = {{10, 4, 0}, {82, VARIABLE, 0}, {34, 4, 0}};
	uint32_t set;

	(void)state;
	begin(false, 3);
	put_options_template(false, 300, 1, fixed, 3);
	set = begin_set(&bytes, 300);
	put(&bytes, 7, 4);
	append_bytes(&bytes, "uplink", 6);
	append_bytes(&bytes, "eth7\0\0\0", 8);
	put(&bytes, 8, 4);
	append_bytes(&bytes, "uplink\0\0\0\0\0\0\0", 14);
	end_set(&bytes, set);
	assert_int_equal(decode().options, 2);
	assert_int_equal(seen.nb_options, 2);
	assert_int_equal(seen.options[0].interface, 7);
	assert_string_equal(seen.names[0], "eth7");
	assert_int_equal(seen.options[0].name_len, 4);
	assert_string_equal(seen.names[1], "uplink"); /* without a name in field 82 */
	begin(true, 0);
	put_options_template(true, 300, 1, variable, 3);
	set = begin_set(&bytes, 300);
	for (uint32_t i = 0; i < 3; i++) {
		put(&bytes, i, 4);
		put(&bytes, 5 * i, 1);
		append_bytes(&bytes, "Te1/0Te1/1", 5 * i);
		put(&bytes, 10, 4);
	}
	end_set(&bytes, set);
	assert_int_equal(decode().options, 3);
	assert_int_equal(seen.options[0].has, OPTION_RECORD_INTERFACE | OPTION_RECORD_SAMPLING);
	assert_string_equal(seen.names[1], "Te1/0");
	assert_string_equal(seen.names[2], "Te1/0Te1/1");
	assert_int_equal(seen.options[2].interface, 2);
	bytes.len -= 6; /* truncates the last record */
	overwrite_u16(&bytes, set + 2, bytes.len - set);
	struct decode_result result = decode();
	assert_int_equal(result.fault, DECODE_LENGTH);
	assert_int_equal(result.options, 2);
}

/* --- random templates and records --- */

/* Elements that the simple reader supports, with their minimum and maximum length. */
static const struct known_element {
	uint32_t number, shortest, longest;
} known[] = {{1, 1, 8}, {2, 1, 8}, {4, 1, 1}, {5, 1, 1}, {6, 1, 2}, {7, 2, 2}, {8, 4, 4},
	{10, 1, 4}, {11, 2, 2}, {12, 4, 4}, {14, 1, 4}, {15, 4, 4}, {27, 16, 16}, {28, 16, 16},
	{58, 2, 2}, {70, 3, 3}, {85, 1, 8}, {86, 1, 8}, {302, 1, 8}, {210, 0, 20}, {95, 1, 9}};

#define RANDOM_RECORDS 70

struct random_template {
	struct spec specs[COUNT(known)];
	uint32_t n, records;
	bool ipv6;
};

static void make_random_template(
	struct random *random, struct random_template *template, bool ipfix)
{
	uint64_t used = 0;

	*template = (struct random_template){.ipv6 = random_below(random, 2)};
	for (uint32_t i = 0; i < COUNT(known); i++) {
		uint32_t k;

		do
			k = (uint32_t)random_below(random, COUNT(known));
		while (used >> k & 1);
		used |= UINT64_C(1) << k;
		/*
		 * All templates have packets and the addresses of one family; the other fields are
		 * random.
		 */
		if (known[k].number != 2 && known[k].number != (template->ipv6 ? 27 : 8) &&
			random_below(random, 2))
			continue;
		if (template->ipv6 ? known[k].number == 8 || known[k].number == 12
				   : known[k].number == 27 || known[k].number == 28)
			continue;
		template->specs[template->n++] = (struct spec){known[k].number,
			known[k].shortest + (uint32_t)random_below(random,
						    known[k].longest - known[k].shortest + 1),
			ipfix && known[k].number > 200 && known[k].number < 300 ? 6871 : 0};
		if (ipfix && known[k].number == 95 && random_below(random, 2))
			template->specs[template->n - 1].len = VARIABLE;
	}
	template->records = 1 + (uint32_t)random_below(random, RANDOM_RECORDS);
}

static void expect_field(
	struct flow_record *record, const struct spec *spec, const uint8_t *at, bool ipv6)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < spec->len && spec->len <= 8; i++)
		number = number << 8 | at[i];
	switch (spec->enterprise == 0 ? spec->number : 0) {
	case 1: record->bytes = number; break;
	case 2: record->packets = number; break;
	case 4: *(ipv6 ? &record->key.v6.proto : &record->key.v4.proto) = at[0]; break;
	case 5: record->extra.dscp[0] = at[0] >> 2; break;
	case 6: record->extra.tcp_flags[0] = (uint8_t)number; break;
	case 7: memcpy(ipv6 ? record->key.v6.src_port : record->key.v4.src_port, at, 2); break;
	case 8: memcpy(record->key.v4.src_ip, at, 4); break;
	case 10: record->input = (uint32_t)number; break;
	case 11: memcpy(ipv6 ? record->key.v6.dst_port : record->key.v4.dst_port, at, 2); break;
	case 12: memcpy(record->key.v4.dst_ip, at, 4); break;
	case 14: record->output = (uint32_t)number; break;
	case 15: memcpy(record->next_hop, at, 4); break;
	case 27: memcpy(record->key.v6.src_ip, at, 16); break;
	case 28: memcpy(record->key.v6.dst_ip, at, 16); break;
	case 58: record->extra.vlan[0] = at[0] & 15, record->extra.vlan[1] = at[1]; break;
	case 70:
		record->extra.mpls[0] = at[0] >> 4;
		record->extra.mpls[1] = (uint8_t)(at[0] << 4 | at[1] >> 4);
		record->extra.mpls[2] = (uint8_t)(at[1] << 4 | at[2] >> 4);
		break;
	case 85: record->total_bytes = number; break;
	case 86: record->total_packets = number; break;
	case 302: record->sampler = number; break;
	default: break;
	}
}

static void put_random_record(
	struct random *random, const struct random_template *template, struct flow_record *record)
{
	memset(record, 0, sizeof(*record));
	for (uint32_t f = 0; f < template->n; f++) {
		struct spec spec = template->specs[f];

		if (spec.len == VARIABLE) {
			spec.len = (uint32_t)random_below(random, 40);
			if (random_below(random, 2))
				put(&bytes, 255 << 16 | spec.len, 3);
			else
				put(&bytes, spec.len, 1);
		}
		for (uint32_t i = 0; i < spec.len; i++)
			put(&bytes, random_next(random), 1);
		expect_field(record, &spec, bytes.data + bytes.len - spec.len, template->ipv6);
	}
}

static void check_random_record(
	const struct flow_record *record, const struct flow_record *expected, bool ipv6)
{
	assert_int_equal(record->key.family, ipv6 ? KEY_IPV6 : KEY_IPV4);
	if (ipv6)
		assert_memory_equal(&record->key.v6, &expected->key.v6, sizeof(struct key6));
	else
		assert_memory_equal(&record->key.v4, &expected->key.v4, sizeof(struct key4));
	assert_memory_equal(&record->extra, &expected->extra, sizeof(record->extra));
	assert_memory_equal(record->next_hop, expected->next_hop, sizeof(record->next_hop));
	assert_int_equal(record->packets, expected->packets);
	assert_int_equal(record->bytes, expected->bytes);
	assert_int_equal(record->total_packets, expected->total_packets);
	assert_int_equal(record->total_bytes, expected->total_bytes);
	assert_int_equal(record->input, expected->input);
	assert_int_equal(record->output, expected->output);
	assert_int_equal(record->sampler, expected->sampler);
	assert_int_equal(record->sampling, 0);
}

static void random_records(void **state)
{
	static struct flow_record expected[RANDOM_RECORDS];
	struct random_template template;
	struct random random;

	(void)state;
	random_init(&random, 12);
	for (uint32_t round = 0; round < 1000; round++) {
		bool ipfix = round % 2;
		uint32_t set;

		make_random_template(&random, &template, ipfix);
		begin(ipfix, template.records + 1);
		put_template(&bytes, ipfix ? 2 : 0, 256, template.specs, template.n);
		set = begin_set(&bytes, 256);
		for (uint32_t i = 0; i < template.records; i++)
			put_random_record(&random, &template, &expected[i]);
		end_set(&bytes, set);
		assert_int_equal(decode().fault, DECODE_FINE);
		assert_int_equal(seen.n, template.records);
		for (uint32_t i = 0; i < template.records; i++)
			check_random_record(&seen.records[i], &expected[i], template.ipv6);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_templates, drop_templates)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(v5_records),
		TEST(v5_sampling),
		TEST(v5_count_disagrees_with_the_length),
		TEST(v5_padding),
		TEST(versions_are_recognized),
		TEST(unusable_records_have_reasons),
		TEST(a_section_has_a_flow),
		TEST(cut_sections),
		TEST(frames_limit_sections),
		TEST(sections_are_joined),
		TEST(fields_win_over_sections),
		TEST(sections_of_other_packets),
		TEST(reports_without_sections),
		TEST(cut_headers),
		TEST(counters_of_all_lengths),
		TEST(counters_of_no_length),
		TEST(addresses_of_wrong_length),
		TEST(ports_protocol_and_flags),
		TEST(dscp_vlan_and_label),
		TEST(next_hops),
		TEST(directions),
		TEST(interfaces),
		TEST(samplers),
		TEST(sampling_of_records),
		TEST(totals_and_deltas),
		TEST(layer2_bytes),
		TEST(counters_that_are_zero),
		TEST(sessions_of_totals),
		TEST(times_of_packets),
		TEST(times_of_packets),
		TEST(times_are_skipped),
		TEST(ipv6_records),
		TEST(both_families_in_a_template),
		TEST(biflows),
		TEST(one_way_of_a_biflow),
		TEST(biflows_of_v9),
		TEST(many_biflows),
		TEST(enterprise_elements),
		TEST(zero_length_fields),
		TEST(variable_length_fields),
		TEST(many_variable_records),
		TEST(cut_variable_records),
		TEST(variable_addresses),
		TEST(variable_length_in_v9),
		TEST(padding),
		TEST(padding_that_looks_like_a_set),
		TEST(rests_of_sets),
		TEST(set_lengths_that_are_none),
		TEST(cut_messages),
		TEST(message_length_disagrees),
		TEST(v9_count),
		TEST(unknown_sets_wait),
		TEST(order_of_a_message),
		TEST(redefinition_in_a_datagram),
		TEST(what_is_not_ip),
		TEST(sampling_of_options),
		TEST(ratios_that_are_unknown),
		TEST(parts_of_options),
		TEST(scopes_of_options),
		TEST(names_of_interfaces),
		TEST(random_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
