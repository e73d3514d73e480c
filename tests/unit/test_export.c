/* SPDX-License-Identifier: BSD-3-Clause */

/* Router exports of generated traffic, read by a separate decoder of this test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "rx/generate/synthetic.h"
#include "rx/packet/parse.h"
#include "tester/export_source.h"

#define FLOWS_MAX     4000
#define TEMPLATES_MAX 4
#define FIELDS_MAX    32
#define HOUR_MS       INT64_C(3600000)
#define START_MS      INT64_C(946684800000)

/* A flow as seen by a router, or in the traffic itself. */
struct tally {
	struct key key;
	uint64_t packets, bytes;
	int64_t first, last; /* ms */
	uint32_t input, output, next_hop;
	uint8_t tcp_flags;
};

struct tallies {
	uint32_t n;
	uint64_t packets, bytes;
	struct tally of[FLOWS_MAX];
};

struct interface_tally {
	uint64_t in_packets, in_bytes, out_packets, out_bytes;
	uint32_t pool, samples, counter_samples;
};

struct reader_template {
	uint32_t id, nb_fields, options; /* 1: options template */
	uint16_t element[FIELDS_MAX], len[FIELDS_MAX];
};

struct reader_router {
	uint32_t datagrams, expected, lost, sampling, with_templates, forced;
	uint32_t nb_templates;
	struct reader_template templates[TEMPLATES_MAX];
	struct interface_tally interfaces[128];
	struct tallies flows;
};

struct reader {
	enum flow_protocol protocol;
	int64_t time; /* time of the datagram, ns */
	bool sums_only;
	struct reader_router routers[ROUTERS_MAX];
	/* State of the datagram. */
	struct reader_router *router;
	uint32_t number, data_records, records;
	int64_t booted; /* ms */
};

static uint64_t number(const uint8_t *at, uint32_t len)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < len; i++)
		value = value << 8 | at[i];
	return value;
}

static struct tally *find(struct tallies *tallies, const struct key *key)
{
	struct tally *tally;

	for (uint32_t i = 0; i < tallies->n; i++)
		if (key_equal(&tallies->of[i].key, key))
			return &tallies->of[i];
	assert_true(tallies->n < FLOWS_MAX);
	tally = &tallies->of[tallies->n++];
	*tally = (struct tally){.key = *key, .first = INT64_MAX};
	return tally;
}

static void add(struct reader *reader, struct tallies *tallies, const struct tally *record)
{
	struct tally *tally;

	tallies->packets += record->packets;
	tallies->bytes += record->bytes;
	if (reader != NULL && reader->sums_only)
		return;
	tally = find(tallies, &record->key);
	if (tally->packets > 0 && reader != NULL) {
		assert_int_equal(tally->input, record->input);
		assert_int_equal(tally->output, record->output);
		assert_int_equal(tally->next_hop, record->next_hop);
	}
	tally->packets += record->packets;
	tally->bytes += record->bytes;
	tally->input = record->input;
	tally->output = record->output;
	tally->next_hop = record->next_hop;
	tally->tcp_flags |= record->tcp_flags;
	if (record->first < tally->first)
		tally->first = record->first;
	if (record->last > tally->last)
		tally->last = record->last;
}

static void add_record(struct reader *reader, const struct tally *record)
{
	int64_t now = reader->time / 1000000;

	reader->records++;
	assert_true(record->packets > 0);
	if (reader->protocol != FLOW_PROTOCOL_SFLOW) {
		/* With v9 the router's start is known only to the second. */
		int64_t slack = reader->protocol == FLOW_PROTOCOL_NETFLOW9 ? 1001 : 0;

		assert_true(record->first <= record->last);
		assert_true(record->last <= now + slack);
		assert_true(now - record->first <= 11001 + slack);
	}
	add(reader, &reader->router->flows, record);
}

/* --- NetFlow and IPFIX --- */

static void read_v5(struct reader *reader, const uint8_t *data, uint32_t len)
{
	uint32_t count = (uint32_t)number(data + 2, 2), sampling = (uint32_t)number(data + 22, 2);

	assert_int_equal(len, 24 + 48 * count);
	reader->booted = (int64_t)(number(data + 8, 4) * 1000 + number(data + 12, 4) / 1000000 -
				   number(data + 4, 4));
	reader->router->sampling = sampling == 0 ? 1 : sampling & 0x3fff;
	assert_int_equal(sampling >> 14, sampling == 0 ? 0 : 2);
	assert_int_equal(data[21], reader->number + 1);
	reader->data_records = count;
	for (const uint8_t *r = data + 24; r < data + len; r += 48) {
		struct tally record = {
			.key = {.family = KEY_IPV4},
			.next_hop = (uint32_t)number(r + 8, 4),
			.input = (uint32_t)number(r + 12, 2),
			.output = (uint32_t)number(r + 14, 2),
			.packets = number(r + 16, 4),
			.bytes = number(r + 20, 4),
			.first = reader->booted + (int64_t)number(r + 24, 4),
			.last = reader->booted + (int64_t)number(r + 28, 4),
			.tcp_flags = r[37],
		};

		memcpy(record.key.v4.src_ip, r, 8);
		memcpy(record.key.v4.src_port, r + 32, 4);
		record.key.v4.proto = r[38];
		add_record(reader, &record);
	}
}

/* Reads one template definition and returns its length in bytes. */
static uint32_t read_template(
	struct reader *reader, const uint8_t *at, uint32_t options, bool ipfix, uint32_t left)
{
	struct reader_router *router = reader->router;
	struct reader_template template = {.id = (uint32_t)number(at, 2), .options = options};
	uint32_t head = options ? 6 : 4, t = 0;

	template.nb_fields = (uint32_t)number(at + 2, 2);
	if (options && !ipfix)
		template.nb_fields = (uint32_t)(number(at + 2, 2) + number(at + 4, 2)) / 4;
	assert_true(template.nb_fields > 0 && template.nb_fields <= FIELDS_MAX);
	assert_true(head + 4 * template.nb_fields <= left);
	for (uint32_t f = 0; f < template.nb_fields; f++) {
		template.element[f] = (uint16_t)number(at + head + 4 * f, 2);
		template.len[f] = (uint16_t)number(at + head + 4 * f + 2, 2);
	}
	while (t < router->nb_templates && router->templates[t].id != template.id)
		t++;
	if (t == router->nb_templates)
		router->nb_templates++;
	assert_true(router->nb_templates <= TEMPLATES_MAX);
	router->templates[t] = template;
	reader->records++;
	return head + 4 * template.nb_fields;
}

/* Reads one field into the record. */
static void read_field(struct reader *reader, struct tally *record, uint32_t element,
	const uint8_t *at, uint32_t len)
{
	struct key *key = &record->key;
	bool ipv6 = key->family == KEY_IPV6;

	switch (element) {
	case 1: record->bytes = number(at, len); break;
	case 2: record->packets = number(at, len); break;
	case 4: *(ipv6 ? &key->v6.proto : &key->v4.proto) = *at; break;
	case 6: record->tcp_flags = *at; break;
	case 7: memcpy(ipv6 ? key->v6.src_port : key->v4.src_port, at, 2); break;
	case 8: memcpy(key->v4.src_ip, at, 4); break;
	case 10: record->input = (uint32_t)number(at, len); break;
	case 11: memcpy(ipv6 ? key->v6.dst_port : key->v4.dst_port, at, 2); break;
	case 12: memcpy(key->v4.dst_ip, at, 4); break;
	case 14: record->output = (uint32_t)number(at, len); break;
	case 15: record->next_hop = (uint32_t)number(at, len); break;
	case 21: record->last = reader->booted + (int64_t)number(at, len); break;
	case 22: record->first = reader->booted + (int64_t)number(at, len); break;
	case 27: memcpy(key->v6.src_ip, at, 16); break;
	case 28: memcpy(key->v6.dst_ip, at, 16); break;
	case 62:
		record->next_hop = (uint32_t)number(at + 12, 4);
		assert_int_equal(number(at, 8), 0);
		assert_int_equal(number(at + 8, 4), record->next_hop != 0 ? 0xffff : 0);
		break;
	case 136: reader->router->forced += *at == 5; break;
	case 152: record->first = (int64_t)number(at, len); break;
	case 153: record->last = (int64_t)number(at, len); break;
	default: break;
	}
}

static void read_option(
	struct reader *reader, const struct reader_template *template, const uint8_t *at)
{
	uint64_t sampled = 1, skipped = UINT64_MAX;

	reader->records++;
	for (uint32_t f = 0; f < template->nb_fields; at += template->len[f++]) {
		if (template->element[f] == 34)
			reader->router->sampling = (uint32_t)number(at, template->len[f]);
		if (template->element[f] == 305)
			sampled = number(at, template->len[f]);
		if (template->element[f] == 306)
			skipped = number(at, template->len[f]);
	}
	if (skipped != UINT64_MAX)
		reader->router->sampling = (uint32_t)((sampled + skipped) / sampled);
}

static void read_data(struct reader *reader, uint32_t id, const uint8_t *at, uint32_t left)
{
	const struct reader_template *template = NULL;
	uint32_t len = 0;

	for (uint32_t t = 0; t < reader->router->nb_templates; t++)
		if (reader->router->templates[t].id == id)
			template = &reader->router->templates[t];
	assert_non_null(template);
	for (uint32_t f = 0; f < template->nb_fields; f++)
		len += template->len[f];
	for (; left >= len; left -= len) {
		struct tally record = {.key = {.family = KEY_IPV4}};

		reader->data_records++;
		if (template->options) {
			read_option(reader, template, at);
			at += len;
			continue;
		}
		for (uint32_t f = 0; f < template->nb_fields; f++)
			if (template->element[f] == 27)
				record.key.family = KEY_IPV6;
		for (uint32_t f = 0; f < template->nb_fields; at += template->len[f++])
			read_field(reader, &record, template->element[f], at, template->len[f]);
		add_record(reader, &record);
	}
	assert_true(left < 4); /* padding */
}

static void read_sets(struct reader *reader, const uint8_t *data, uint32_t len, uint32_t at)
{
	bool ipfix = reader->protocol == FLOW_PROTOCOL_IPFIX, templates = false;

	while (at < len) {
		uint32_t id = (uint32_t)number(data + at, 2);
		uint32_t set = (uint32_t)number(data + at + 2, 2), within = 4;

		assert_true(set >= 4 && at + set <= len);
		assert_int_equal(set % 4, 0);
		if (id >= 256) {
			read_data(reader, id, data + at + 4, set - 4);
		} else {
			uint32_t options = id == (ipfix ? 3 : 1);

			assert_true(options || id == (ipfix ? 2 : 0));
			templates = true;
			while (set - within >= 4)
				within += read_template(
					reader, data + at + within, options, ipfix, set - within);
		}
		at += set;
	}
	reader->router->with_templates += templates;
	if (reader->router->lost == 0)
		assert_int_equal(templates, reader->router->datagrams % 20 == 0);
}

/* --- sFlow --- */

static void read_sample(struct reader *reader, const uint8_t *at, uint32_t len)
{
	struct tally record = {.input = (uint32_t)number(at + 20, 4),
		.output = (uint32_t)number(at + 24, 4),
		.packets = 1};
	struct interface_tally *interface = &reader->router->interfaces[record.input];
	const uint8_t *raw = at + 32, *router;
	uint32_t captured = (uint32_t)number(raw + 20, 4);
	struct parsed parsed;
	enum parse_verdict verdict;

	assert_int_equal(number(at + 4, 4), record.input);
	assert_int_equal(number(at, 4), ++interface->samples);
	assert_true(number(at + 12, 4) > interface->pool);
	interface->pool = (uint32_t)number(at + 12, 4);
	reader->router->sampling = (uint32_t)number(at + 8, 4);
	assert_int_equal(number(at + 16, 4), 0);
	assert_int_equal(number(at + 28, 4), 2);
	assert_int_equal(number(raw, 4), 1);
	assert_int_equal(number(raw + 4, 4), 16 + (captured + 3) / 4 * 4);
	assert_true(captured <= 128);
	assert_int_equal(number(raw + 16, 4), 4);
	record.bytes = number(raw + 12, 4) - 4;
	router = raw + 8 + number(raw + 4, 4);
	assert_int_equal(number(router, 4), 1002);
	assert_ptr_equal(router + 24, at + len);
	record.next_hop = (uint32_t)number(router + 12, 4);
	verdict = parse_packet(raw + 24, captured, LINK_ETHERNET, &parsed);
	assert_true(verdict == PARSE_IPV4 || verdict == PARSE_IPV6);
	record.key.family = verdict == PARSE_IPV4 ? KEY_IPV4 : KEY_IPV6;
	if (verdict == PARSE_IPV4)
		record.key.v4 = parsed.key4;
	else
		record.key.v6 = parsed.key6;
	record.tcp_flags = parsed.extra.tcp_flags[0];
	record.first = record.last = reader->time / 1000000;
	add_record(reader, &record);
}

static void read_counters(struct reader *reader, const uint8_t *at)
{
	uint32_t index = (uint32_t)number(at + 20, 4);
	struct interface_tally *interface = &reader->router->interfaces[index];
	const uint8_t *generic = at + 20;

	assert_int_equal(number(at, 4), ++interface->counter_samples);
	assert_int_equal(number(at + 4, 4), index);
	assert_int_equal(number(at + 16, 4), 88);
	assert_int_equal(number(generic + 8, 8), UINT64_C(100000000000));
	interface->in_bytes = number(generic + 24, 8);
	interface->in_packets = number(generic + 32, 4);
	interface->out_bytes = number(generic + 56, 8);
	interface->out_packets = number(generic + 64, 4);
	reader->records++;
}

static void read_sflow(struct reader *reader, const uint8_t *data, uint32_t len)
{
	uint32_t at = 28, samples = 0;

	assert_int_equal(number(data + 4, 4), 1);
	assert_int_equal(number(data + 8, 4), ROUTER_ADDRESS(reader->number));
	for (; at < len; samples++) {
		uint32_t sample = (uint32_t)number(data + at + 4, 4);

		assert_true(at + 8 + sample <= len);
		if (number(data + at, 4) == 1) {
			read_sample(reader, data + at + 8, sample);
		} else {
			assert_int_equal(number(data + at, 4), 2);
			assert_int_equal(sample, 108);
			read_counters(reader, data + at + 8);
		}
		at += 8 + sample;
	}
	assert_int_equal(number(data + 24, 4), samples);
}

/* --- datagrams --- */

static uint32_t ones_sum(uint32_t sum, const uint8_t *at, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)at[i] << 8 : at[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Checks the sequence number, which also counts lost datagrams. */
static void follow_sequence(struct reader *reader, uint32_t sequence)
{
	struct reader_router *router = reader->router;

	assert_true(sequence >= router->expected);
	router->lost += sequence - router->expected;
	router->expected =
		sequence + (reader->protocol == FLOW_PROTOCOL_NETFLOW5 ||
						   reader->protocol == FLOW_PROTOCOL_IPFIX
					   ? reader->data_records
					   : 1);
}

static void read_payload(struct reader *reader, const uint8_t *data, uint32_t len)
{
	static const uint32_t versions[] = {5, 9, 10, 5}, at[] = {16, 12, 8, 16};
	bool sflow = reader->protocol == FLOW_PROTOCOL_SFLOW;
	uint32_t sequence = (uint32_t)number(data + at[reader->protocol], 4);

	assert_int_equal(number(data, sflow ? 4 : 2), versions[reader->protocol]);
	reader->data_records = 0;
	reader->records = 0;
	if (reader->router->datagrams == 0 && sflow)
		reader->router->expected = 1;
	if (reader->protocol == FLOW_PROTOCOL_NETFLOW9)
		follow_sequence(reader, sequence);
	if (reader->protocol == FLOW_PROTOCOL_NETFLOW5) {
		read_v5(reader, data, len);
	} else if (reader->protocol == FLOW_PROTOCOL_NETFLOW9) {
		assert_int_equal(number(data + 16, 4), reader->number + 1);
		reader->booted = (int64_t)(number(data + 8, 4) * 1000 - number(data + 4, 4));
		read_sets(reader, data, len, 20);
		assert_int_equal(number(data + 2, 2), reader->records);
	} else if (reader->protocol == FLOW_PROTOCOL_IPFIX) {
		assert_int_equal(number(data + 2, 2), len);
		assert_int_equal(number(data + 12, 4), reader->number + 1);
		read_sets(reader, data, len, 16);
	} else {
		read_sflow(reader, data, len);
	}
	assert_true(reader->records > 0);
	if (reader->protocol != FLOW_PROTOCOL_NETFLOW9)
		follow_sequence(reader, sequence);
	reader->router->datagrams++;
}

static void read_datagram(struct reader *reader, const struct source_packet *packet)
{
	static const uint32_t ports[] = {2055, 2055, 4739, 6343};
	const uint8_t *ip = packet->data + 14, *udp = ip + 20;
	uint32_t len = packet->captured - 42;

	assert_int_equal(packet->link, LINK_ETHERNET);
	assert_int_equal(packet->captured, packet->wire_len);
	assert_true(len <= 1400);
	assert_true(packet->time >= reader->time);
	reader->time = packet->time;
	assert_int_equal(number(packet->data + 12, 2), 0x0800);
	assert_int_equal(number(ip + 2, 2), 28 + len);
	assert_int_equal(ones_sum(0, ip, 20), 0xffff);
	assert_int_equal(ones_sum(ones_sum(17 + 8 + len, ip + 12, 8), udp, 8 + len), 0xffff);
	assert_int_equal(number(udp + 2, 2), ports[reader->protocol]);
	assert_int_equal(number(udp + 4, 2), 8 + len);
	reader->number = (uint32_t)number(ip + 12, 4) - 0xc0000201;
	assert_true(reader->number < ROUTERS_MAX);
	reader->router = &reader->routers[reader->number];
	read_payload(reader, udp + 8, len);
}

/* --- tests --- */

static struct source *open_traffic(const char *text, uint64_t *seed)
{
	struct synthetic_spec spec;
	char error[SOURCE_ERROR_MAX];
	struct source *source;

	assert_true(synthetic_parse(text, &spec, error));
	*seed = spec.seed;
	source = generate_open(&spec, error);
	assert_non_null(source);
	return source;
}

static struct source *open_exports(const char *text, struct export_source_params params)
{
	char error[SOURCE_ERROR_MAX];
	struct source *traffic = open_traffic(text, &params.seed);
	struct source *source = export_source_open(&params, traffic, error);

	assert_non_null(source);
	return source;
}

static struct reader *read_exports(
	const char *text, const struct export_source_params *params, bool sums_only)
{
	struct source *source = open_exports(text, *params);
	struct reader *reader = calloc(1, sizeof(*reader));
	struct source_packet packet;

	assert_non_null(reader);
	reader->protocol = params->protocol;
	reader->sums_only = sums_only;
	while (source->next(source, &packet) > 0)
		read_datagram(reader, &packet);
	source->close(source);
	return reader;
}

/*
 * Returns the true counts of the traffic, whose frames must have complete headers and no padding.
 * frames: count bytes of frames instead of layer 3.
 */
static struct tallies *read_traffic(const char *text, bool frames, bool ipv6_too)
{
	struct tallies *truth = calloc(1, sizeof(*truth));
	struct source_packet packet;
	uint64_t seed;
	struct source *source = open_traffic(text, &seed);

	assert_non_null(truth);
	while (source->next(source, &packet) > 0) {
		struct parsed parsed;
		struct tally record = {.packets = 1};
		bool ipv6 = parse_packet(packet.data, packet.captured, packet.link, &parsed) ==
			    PARSE_IPV6;

		if (ipv6 && !ipv6_too)
			continue;
		record.key.family = ipv6 ? KEY_IPV6 : KEY_IPV4;
		if (ipv6)
			record.key.v6 = parsed.key6;
		else
			record.key.v4 = parsed.key4;
		record.bytes = packet.wire_len;
		if (!frames)
			record.bytes -= number(packet.data + 12, 2) == 0x8100 ? 18 : 14;
		record.tcp_flags = parsed.extra.tcp_flags[0];
		record.first = record.last = packet.time / 1000000;
		add(NULL, truth, &record);
	}
	source->close(source);
	return truth;
}

#define TRAFFIC_OF(seed)                                                                           \
	"flows=300,zipf=0.9,packets=12K,rate=500,size=100-1514,ipv6=0.3,vlan=0.2,seed=" seed
#define TRAFFIC TRAFFIC_OF("7")

static void assert_same(
	const struct reader *reader, const struct tally *seen, const struct tally *true_one)
{
	int64_t slack = reader->protocol == FLOW_PROTOCOL_NETFLOW9 ? 1000 : 0;

	assert_int_equal(seen->packets, true_one->packets);
	assert_int_equal(seen->bytes, true_one->bytes);
	assert_int_equal(seen->tcp_flags, true_one->tcp_flags);
	if (reader->protocol == FLOW_PROTOCOL_SFLOW)
		return;
	assert_true(llabs(seen->first - true_one->first) <= slack);
	assert_true(llabs(seen->last - true_one->last) <= slack);
}

/* Follows a flow from edge to edge; returns the number of routers that it passed. */
static uint32_t follow_path(struct reader *reader, const struct key *key, uint32_t n)
{
	uint32_t at = ROUTERS_MAX, hops = 1;

	for (uint32_t r = 0; r < n; r++) {
		struct tallies *flows = &reader->routers[r].flows;

		for (uint32_t f = 0; f < flows->n; f++)
			if (key_equal(&flows->of[f].key, key) && flows->of[f].input > 100) {
				assert_int_equal(at, ROUTERS_MAX); /* it enters once */
				at = r;
			}
	}
	assert_true(at < ROUTERS_MAX);
	for (;; hops++) {
		const struct tally *flow = find(&reader->routers[at].flows, key);
		uint32_t next = flow->output - 1;

		if (flow->output > 100) {
			assert_true(flow->output <= 104);
			assert_int_equal(flow->next_hop, 0);
			return hops;
		}
		assert_true(next < n && next != at && hops < n);
		assert_int_equal(flow->next_hop, ROUTER_ADDRESS(next));
		assert_int_equal(find(&reader->routers[next].flows, key)->input, at + 1);
		at = next;
	}
}

/*
 * Every router on the path of a flow reports exactly the true counts, and no other router reports
 * it.
 */
static void test_exact(void **state)
{
	static const uint32_t shapes[][2] = {{1, 1}, {4, 4}, {5, 2}, {6, 3}, {3, 1}};

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_COUNT; protocol++) {
		struct tallies *truth = read_traffic(TRAFFIC, protocol == FLOW_PROTOCOL_SFLOW,
			protocol != FLOW_PROTOCOL_NETFLOW5);

		assert_true(truth->n > 200);
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
			struct export_source_params params = {.protocol = protocol,
				.routers = shapes[s][0],
				.path = shapes[s][1],
				.sampling = 1};
			struct reader *reader = read_exports(TRAFFIC, &params, false);
			uint64_t packets = 0;

			for (uint32_t r = 0; r < params.routers; r++) {
				struct reader_router *router = &reader->routers[r];

				packets += router->flows.packets;
				assert_int_equal(router->lost, 0);
				for (uint32_t f = 0; f < router->flows.n; f++)
					assert_same(reader, &router->flows.of[f],
						find(truth, &router->flows.of[f].key));
			}
			for (uint32_t f = 0; f < truth->n; f++)
				assert_int_equal(
					follow_path(reader, &truth->of[f].key, params.routers),
					params.path);
			assert_int_equal(packets, truth->packets * params.path);
			free(reader);
		}
		free(truth);
	}
}

/* Counters are last read after the last packet, so both ends of a link have the same counts. */
static void test_counters(void **state)
{
	const struct export_source_params params = {
		.protocol = FLOW_PROTOCOL_SFLOW, .routers = 5, .path = 3, .sampling = 50};
	struct tallies *truth = read_traffic(TRAFFIC, true, true);
	struct reader *reader = read_exports(TRAFFIC, &params, false);
	struct interface_tally edge = {0};

	(void)state;
	for (uint32_t r = 0; r < params.routers; r++) {
		const struct reader_router *router = &reader->routers[r];

		for (uint32_t i = 101; i <= 104; i++) {
			edge.in_packets += router->interfaces[i].in_packets;
			edge.in_bytes += router->interfaces[i].in_bytes;
			edge.out_packets += router->interfaces[i].out_packets;
			edge.out_bytes += router->interfaces[i].out_bytes;
			assert_true(router->interfaces[i].counter_samples >= 4);
		}
		for (uint32_t s = 0; s < params.routers; s++) {
			const struct interface_tally *out = &router->interfaces[s + 1];
			const struct interface_tally *in = &reader->routers[s].interfaces[r + 1];

			assert_int_equal(out->counter_samples > 0, s != r);
			assert_int_equal(out->out_packets, in->in_packets);
			assert_int_equal(out->out_bytes, in->in_bytes);
			assert_true(in->pool <= in->in_packets);
		}
	}
	assert_int_equal(edge.in_packets, truth->packets);
	assert_int_equal(edge.in_bytes, truth->bytes);
	assert_int_equal(edge.out_packets, truth->packets);
	assert_int_equal(edge.out_bytes, truth->bytes);
	free(reader);
	free(truth);
}

/* Each router samples independently and reports its interval. */
static void test_sampling(void **state)
{
	static const char traffic[] = "flows=500,packets=200K,rate=20K,size=100,seed=4";

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_COUNT; protocol++) {
		const struct export_source_params params = {
			.protocol = protocol, .routers = 3, .path = 3, .sampling = 10};
		struct reader *reader = read_exports(traffic, &params, true);
		double sigma = sqrt(200000 * 0.1 * 0.9);

		for (uint32_t r = 0; r < 3; r++) {
			assert_int_equal(reader->routers[r].sampling, 10);
			assert_true(
				fabs((double)reader->routers[r].flows.packets - 20000) < 5 * sigma);
		}
		assert_true(reader->routers[0].flows.packets != reader->routers[1].flows.packets ||
			    reader->routers[1].flows.packets != reader->routers[2].flows.packets);
		free(reader);
	}
}

/* A full cache is exported without losses. */
static void test_full_cache(void **state)
{
	static const char traffic[] = "random,packets=150K,rate=1M,size=100,ipv6=0.5,seed=4";
	const struct export_source_params params = {
		.protocol = FLOW_PROTOCOL_IPFIX, .routers = 2, .path = 2, .sampling = 1};
	struct reader *reader = read_exports(traffic, &params, true);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		assert_int_equal(reader->routers[r].flows.packets, 150000);
		assert_int_equal(reader->routers[r].flows.bytes, 150000 * 86);
		assert_int_equal(reader->routers[r].forced, 131072);
	}
	free(reader);
}

/* More bytes than fit in a v5 record. */
static void test_many_bytes(void **state)
{
	static const char traffic[] = "flows=1,packets=600K,rate=1M,size=9000";

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_SFLOW; protocol++) {
		const struct export_source_params params = {
			.protocol = protocol, .routers = 1, .path = 1, .sampling = 1};
		struct reader *reader = read_exports(traffic, &params, false);

		assert_int_equal(reader->routers[0].flows.packets, 600000);
		assert_int_equal(reader->routers[0].flows.bytes, 600000 * UINT64_C(8986));
		free(reader);
	}
}

/* Returns the FNV-1a of all datagrams and their times. */
static uint64_t digest(const char *text, const struct export_source_params *params)
{
	struct source *source = open_exports(text, *params);
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	struct source_packet packet;

	while (source->next(source, &packet) > 0) {
		for (uint32_t i = 0; i < 64; i += 8)
			digest = (digest ^ ((uint64_t)packet.time >> i & 0xff)) *
				 UINT64_C(0x100000001b3);
		for (uint32_t i = 0; i < packet.captured; i++)
			digest = (digest ^ packet.data[i]) * UINT64_C(0x100000001b3);
	}
	source->close(source);
	return digest;
}

/* Digests recorded once; they must be the same on every machine and build. */
static void test_golden(void **state)
{
	static const uint64_t golden[FLOW_PROTOCOL_COUNT] = {UINT64_C(0xfe7ee57d9ac9f545),
		UINT64_C(0x4857098d983f19a5), UINT64_C(0x6324944b4437f00a),
		UINT64_C(0x28ecba29abc95469)};

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_COUNT; protocol++) {
		const struct export_source_params params = {
			.protocol = protocol, .routers = 4, .path = 3, .sampling = 3, .drop = 0.1};
		uint64_t is = digest(TRAFFIC, &params);

		assert_true(is == digest(TRAFFIC, &params));
		assert_true(is != digest(TRAFFIC_OF("8"), &params));
		if (is != golden[protocol])
			fail_msg("%u: 0x%016llx", protocol, (unsigned long long)is);
	}
}

/*
 * A lossy run delivers a subset of the datagrams of a run without losses; sequence numbers show the
 * gaps.
 */
static void test_drop(void **state)
{
	static const char traffic[] = "flows=5K,uniform,packets=150K,rate=1K,size=100,seed=4";

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_COUNT; protocol++) {
		struct export_source_params params = {
			.protocol = protocol, .routers = 2, .path = 2, .sampling = 1};
		struct source *whole = open_exports(traffic, params), *lossy;
		struct source_packet sent, came;
		uint32_t datagrams = 0, lost = 0;

		params.drop = 0.2;
		lossy = open_exports(traffic, params);
		while (lossy->next(lossy, &came) > 0) {
			for (;;) {
				assert_int_equal(whole->next(whole, &sent), 1);
				datagrams++;
				if (sent.time == came.time)
					break;
				lost++;
			}
			assert_int_equal(sent.captured, came.captured);
			assert_memory_equal(sent.data, came.data, came.captured);
		}
		while (whole->next(whole, &sent) > 0) {
			datagrams++;
			lost++;
		}
		assert_true(datagrams > 3000);
		assert_true(fabs(lost - 0.2 * datagrams) < 5 * sqrt(datagrams * 0.2 * 0.8));
		lossy->close(lossy);
		whole->close(whole);
	}
}

/* --- traffic that no generator makes --- */

struct one_packet {
	struct source source;
	const uint8_t *frame;
	uint32_t len, left;
	int64_t time;
};

static int next_of_one(struct source *source, struct source_packet *packet)
{
	struct one_packet *one = (struct one_packet *)source;

	if (one->left == 0) {
		strcpy(source->error, "cut");
		return -1;
	}
	one->left--;
	*packet = (struct source_packet){.data = one->frame,
		.captured = one->len,
		.wire_len = one->len,
		.time = one->time,
		.link = LINK_ETHERNET};
	return 1;
}

static void close_one(struct source *source)
{
	(void)source;
}

/*
 * ARP has no flow, but is sampled. A damaged source stays damaged after the routers' last exports.
 */
static void test_non_ip(void **state)
{
	static const uint8_t arp[60] = {[12] = 0x08, [13] = 0x06};

	(void)state;
	for (uint32_t protocol = 0; protocol < FLOW_PROTOCOL_COUNT; protocol++) {
		const struct export_source_params params = {
			.protocol = protocol, .routers = 2, .path = 2, .sampling = 1};
		struct one_packet one = {.source = {.next = next_of_one, .close = close_one},
			.frame = arp,
			.len = sizeof(arp),
			.left = 3,
			.time = START_MS * 1000000};
		char error[SOURCE_ERROR_MAX];
		struct source *source = export_source_open(&params, &one.source, error);
		struct source_packet packet;
		uint32_t samples = 0;
		int result;

		assert_non_null(source);
		while ((result = source->next(source, &packet)) > 0)
			for (uint32_t at = 42 + 28; at < packet.captured;
				at += 8 + (uint32_t)number(packet.data + at + 4, 4))
				samples += number(packet.data + at, 4) == 1;
		assert_int_equal(samples, protocol == FLOW_PROTOCOL_SFLOW ? 6 : 0);
		assert_int_equal(result, -1);
		assert_string_equal(source->error, "cut");
		source->close(source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_sampling),
		cmocka_unit_test(test_full_cache),
		cmocka_unit_test(test_many_bytes),
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_non_ip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
