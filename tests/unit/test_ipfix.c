/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Epochs as IPFIX: a small case byte by byte; everything else is read by the collector's decoder,
 * and by a simple reader of this test where the decoder ignores fields.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "export_bytes.h"
#include "many_flows.h"
#include "report/formats/ipfix.h"
#include "sample_epoch.h"

#define MESSAGES_MAX 4096
#define FIELDS_MAX   32
#define MANY         5000
#define NOW          (INT64_C(1700000000) * SAMPLE_SECOND)

/* The receiver. Stores every message until the test makes it refuse. */
struct socket_client {
	int64_t now, step; /* clock in ns, and its step per message */
	enum ipfix_peer peer;
	uint32_t refuses; /* number of messages still to refuse; UINT32_MAX: all */
	uint32_t n, rows, lost_rows;
	uint32_t lens[MESSAGES_MAX], rows_of[MESSAGES_MAX];
	uint8_t bytes[MESSAGES_MAX][IPFIX_MESSAGE_MAX];
};

static struct socket_client client;
static struct seen seen;

static int64_t clock_of(void *arg)
{
	return ((struct socket_client *)arg)->now;
}

static enum ipfix_peer peer_of(void *arg)
{
	struct socket_client *to = arg;
	enum ipfix_peer peer = to->peer;

	if (peer == IPFIX_ANEW)
		to->peer = IPFIX_THERE;
	return peer;
}

static bool receive(void *arg, const uint8_t *message, uint32_t len, uint32_t rows)
{
	struct socket_client *to = arg;

	assert_true(len <= IPFIX_MESSAGE_MAX);
	to->now += to->step;
	if (to->refuses > 0) {
		to->refuses--;
		to->lost_rows += rows;
		return false;
	}
	assert_true(to->n < MESSAGES_MAX);
	memcpy(to->bytes[to->n], message, len);
	to->lens[to->n] = len;
	to->rows_of[to->n++] = rows;
	to->rows += rows;
	return true;
}

static const struct ipfix_sink sink = {&client, clock_of, peer_of, receive};

static int begin(void **state)
{
	(void)state;
	memset(&client, 0, offsetof(struct socket_client, bytes));
	client.now = NOW;
	client.peer = IPFIX_THERE;
	return 0;
}

static struct ipfix *make(bool flows, bool reliable)
{
	const struct ipfix_options options = {
		.flows = flows, .reliable = reliable, .domain = 6, .ingress = 1};
	struct ipfix *ipfix = ipfix_create(&options);

	assert_non_null(ipfix);
	return ipfix;
}

/* --- Simple reader */

struct value {
	uint32_t element, len;
	uint64_t number; /* value of up to 8 bytes */
	const uint8_t *bytes;
};

struct reader_template {
	uint32_t id, nb_fields;
	struct spec fields[FIELDS_MAX];
};

struct reader {
	uint32_t nb_templates, sequence;
	struct reader_template templates[64];
	/* The last data record of a message. */
	uint32_t set_id, nb_values, records;
	struct value values[FIELDS_MAX];
};

static uint64_t number_at(const uint8_t *at, uint32_t len)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < len && len <= 8; i++)
		value = value << 8 | at[i];
	return value;
}

static struct reader_template *reader_template(struct reader *reader, uint32_t id)
{
	uint32_t t = 0;

	while (t < reader->nb_templates && reader->templates[t].id != id)
		t++;
	return t < reader->nb_templates ? &reader->templates[t] : NULL;
}

static const uint8_t *read_template(struct reader *reader, const uint8_t *at, bool options)
{
	uint32_t id = (uint32_t)number_at(at, 2);
	struct reader_template *template = reader_template(reader, id);

	if (template == NULL)
		template = &reader->templates[reader->nb_templates++];
	template->id = id;
	template->nb_fields = (uint32_t)number_at(at + 2, 2);
	assert_true(template->nb_fields <= FIELDS_MAX);
	at += options ? 6 : 4;
	for (uint32_t f = 0; f < template->nb_fields; f++, at += 4)
		template->fields[f] = (struct spec){
			(uint32_t)number_at(at, 2), (uint32_t)number_at(at + 2, 2), 0};
	return at;
}

static const uint8_t *read_record(
	struct reader *reader, const struct reader_template *template, const uint8_t *at)
{
	reader->nb_values = template->nb_fields;
	for (uint32_t f = 0; f < template->nb_fields; f++) {
		uint32_t len = template->fields[f].len;

		if (len == 65535)
			len = *at++;
		reader->values[f] =
			(struct value){template->fields[f].number, len, number_at(at, len), at};
		at += len;
	}
	reader->records++;
	return at;
}

/* Reads a message; every set must end at the end of a record, without padding. */
static void read_message(struct reader *reader, const uint8_t *message, uint32_t len)
{
	const uint8_t *end = message + len;

	assert_int_equal(number_at(message, 2), 10);
	assert_int_equal(number_at(message + 2, 2), len);
	reader->sequence = (uint32_t)number_at(message + 8, 4);
	reader->records = 0;
	for (const uint8_t *set = message + 16; set < end;) {
		uint32_t id = (uint32_t)number_at(set, 2);
		const uint8_t *at = set + 4, *set_end = set + number_at(set + 2, 2);

		assert_true(at < set_end && set_end <= end);
		reader->set_id = id;
		while (at < set_end) {
			struct reader_template *template = reader_template(reader, id);

			if (id == 2 || id == 3) {
				at = read_template(reader, at, id == 3);
				continue;
			}
			assert_non_null(template);
			at = read_record(reader, template, at);
		}
		assert_ptr_equal(at, set_end);
		set = set_end;
	}
}

/* Returns the nth value of an element in the last record. */
static const struct value *value_of(const struct reader *reader, uint32_t element, uint32_t nth)
{
	for (uint32_t v = 0; v < reader->nb_values; v++)
		if (reader->values[v].element == element && nth-- == 0)
			return &reader->values[v];
	return NULL;
}

static uint64_t number_of(const struct reader *reader, uint32_t element)
{
	const struct value *value = value_of(reader, element, 0);

	assert_non_null(value);
	return value->number;
}

static double double_of(const struct reader *reader, uint32_t element, uint32_t nth)
{
	const struct value *value = value_of(reader, element, nth);
	double number;

	assert_non_null(value);
	assert_int_equal(value->len, 8);
	memcpy(&number, &value->number, 8);
	return number;
}

/* --- Messages */

/* Templates, exporter information and a record, as in RFC 7011. */
static void test_bytes(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = sample_flows(0);
	static const struct spec fields[] = {{8, 4, 0}, {12, 4, 0}, {7, 2, 0}, {11, 2, 0},
		{4, 1, 0}, {2, 8, 0}, {352, 8, 0}, {152, 8, 0}, {153, 8, 0}, {6, 1, 0}, {136, 1, 0},
		{10, 4, 0}, {14, 4, 0}, {34, 4, 0}};
	static const struct spec who[] = {
		{149, 4, 0}, {304, 2, 0}, {305, 4, 0}, {306, 4, 0}, {300, 65535, 0}};
	static const uint8_t reasons[] = {1, 2, 4};
	static struct bytes want[3];
	uint32_t set;

	(void)state;
	for (uint32_t m = 0; m < 3; m++) {
		put(&want[m], 10, 2);
		put(&want[m], 0, 2);
		put(&want[m], 1700000000, 4);
		put(&want[m], m == 2 ? 1 : 0, 4); /* data records before it */
		put(&want[m], 7, 4);
	}
	put_template(&want[0], 2, 258, fields, 14);
	set = begin_set(&want[1], 3);
	put(&want[1], 256, 2);
	put(&want[1], 5, 2);
	put(&want[1], 1, 2); /* scope fields */
	put_specs(&want[1], who, 5);
	end_set(&want[1], set);
	set = begin_set(&want[1], 256);
	put(&want[1], 7, 4);
	put(&want[1], 1, 2);
	put(&want[1], 1, 4);
	put(&want[1], 0, 4);
	put(&want[1], 4, 1);
	append_bytes(&want[1], "main", 4);
	end_set(&want[1], set);
	set = begin_set(&want[2], 258);
	for (uint32_t f = 0; f < 3; f++) {
		put(&want[2], 0x0a000001, 4);
		put(&want[2], 0x0a000002, 4);
		put(&want[2], 5123, 2);
		put(&want[2], f, 2);
		put(&want[2], 6, 1);
		put(&want[2], f + 1, 8);
		put(&want[2], 60 * (f + 1), 8);
		put(&want[2], 1795182764000, 8);
		put(&want[2], 1795182764000 + 500 * f, 8);
		put(&want[2], 16 + f, 1);
		put(&want[2], reasons[f], 1);
		put(&want[2], 1, 4);
		put(&want[2], 0, 4);
		put(&want[2], 1, 4);
	}
	end_set(&want[2], set);
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.n, 3);
	assert_int_equal(client.rows, 3);
	for (uint32_t m = 0; m < 3; m++) {
		end_message(&want[m]);
		assert_int_equal(client.lens[m], want[m].len);
		assert_memory_equal(client.bytes[m], want[m].data, want[m].len);
	}
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* Decodes all messages; `seen` holds the records of the last one. */
static void decode_all(struct templates *templates, uint32_t *options,
	void (*each)(const struct flow_record *record, void *arg), void *arg)
{
	for (uint32_t m = 0; m < client.n; m++) {
		struct decode_result result =
			decode_copy(client.bytes[m], client.lens[m], templates, &seen);

		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.records, client.rows_of[m]);
		assert_int_equal(result.unusable, 0);
		assert_false(result.unknown_sets);
		*options += result.options;
		for (uint32_t r = 0; r < seen.n; r++)
			each(&seen.records[r], arg);
	}
}

/* IPv4 and IPv6 in turn: each record once, in full messages, with gapless sequence numbers. */
static void test_many(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = many_flows(MANY);
	struct templates *templates = templates_create(1 << 20);
	static struct many many = {.n = MANY};
	static struct reader reader;
	uint32_t options = 0, sequence = 0;

	(void)state;
	assert_non_null(templates);
	assert_int_equal(ipfix_rows(ipfix, epoch), MANY);
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.rows, MANY);
	decode_all(templates, &options, many_see, &many);
	assert_int_equal(many.seen, MANY);
	assert_int_equal(options, 1);
	for (uint32_t m = 0; m < client.n; m++) {
		read_message(&reader, client.bytes[m], client.lens[m]);
		assert_int_equal(reader.sequence, sequence);
		sequence += reader.records;
	}
	/* Maximum per message: 23 records of IPv4, of 59 bytes, and 16 of IPv6, of 83. */
	assert_int_equal(client.n, 2 + (MANY * 2 / 3 + 22) / 23 + (MANY / 3 + 16) / 16);
	templates_destroy(templates);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* --- Keys */

static void read_all(struct reader *reader)
{
	memset(reader, 0, sizeof(*reader));
	for (uint32_t m = 0; m < client.n; m++)
		read_message(reader, client.bytes[m], client.lens[m]);
}

/* Sends the record of one flow whose key has these bytes. */
static void send_key(struct reader *reader, const struct ipfix_options *options, const char *text,
	bool ipv6, const uint8_t *bytes, uint32_t len)
{
	struct ipfix *ipfix = ipfix_create(options);
	struct report_epoch *epoch = sample_flows(0);
	struct report_flow *flow = epoch->measurements[0].flows;
	struct key_rule rule;
	char why[KEY_RULE_WHY_MAX];

	assert_non_null(ipfix);
	assert_true(key_rule_parse(&rule, text, why));
	assert_true(ipfix_carries(&rule, why));
	epoch->measurements[0].key_rule = &rule;
	epoch->measurements[0].nb_flows = 1;
	memset(&flow->key, 0, sizeof(flow->key));
	if ((ipv6 ? &rule.ipv6 : &rule.ipv4)->wide) {
		flow->key.family = KEY_IPV6;
		flow->key.v6.reserved = (ipv6 ? &rule.ipv6 : &rule.ipv4)->reserved;
	} else {
		flow->key.family = KEY_IPV4;
	}
	memcpy(&flow->key, bytes, len);
	assert_true(key_rule_allows(&rule, &flow->key));
	begin(NULL);
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(reader);
	assert_int_equal(client.rows, 1);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* Bytes of IP packets, if known, next to those of frames. */
static void test_ip_bytes(void **state)
{
	static const struct ipfix_options options = {.flows = true};
	struct ipfix *ipfix = ipfix_create(&options);
	struct report_epoch *epoch = sample_flows(0);
	struct reader reader = {0};

	(void)state;
	assert_non_null(ipfix);
	epoch->measurements[0].ip_bytes = true;
	epoch->measurements[0].nb_flows = 1;
	epoch->measurements[0].flows[0].ip_bytes = 46;
	begin(NULL);
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(&reader);
	assert_int_equal(number_of(&reader, 1), 46);
	assert_int_equal(number_of(&reader, 352), 60);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

static void test_keys(void **state)
{
	static const struct ipfix_options options = {.flows = true, .ingress = 5, .egress = 6};
	static const uint8_t destination[] = {0, 0, 0, 0, 192, 0, 2, 9};
	static const uint8_t prefix[] = {10, 1, 2};
	static const uint8_t mixed[] = {10, 1, 2, 0x12, 0x34, 17, 0x0a, 0xbc, 46, 0xf, 0xff, 0xfe};
	static const uint8_t prefix6[] = {0x20, 1, 0xd, 0xb8, 0, 7};
	static const uint8_t port[] = {3, 0xe8};
	static const uint8_t flags[] = {0x12};
	struct reader reader;

	(void)state;
	send_key(&reader, &options, "dst", false, destination, sizeof(destination));
	assert_int_equal(number_of(&reader, 12), 0xc0000209);
	assert_null(value_of(&reader, 8, 0));
	assert_int_equal(number_of(&reader, 10), 5);
	assert_int_equal(number_of(&reader, 14), 6);

	send_key(&reader, &options, "src/24", false, prefix, sizeof(prefix));
	assert_int_equal(number_of(&reader, 44), 0x0a010200);
	assert_int_equal(number_of(&reader, 9), 24);
	assert_null(value_of(&reader, 8, 0));

	send_key(&reader, &options, "src/24/48", true, prefix6, sizeof(prefix6));
	assert_int_equal(value_of(&reader, 170, 0)->len, 16);
	assert_memory_equal(
		value_of(&reader, 170, 0)->bytes, "\x20\1\xd\xb8\0\7\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(number_of(&reader, 29), 48);

	send_key(&reader, &options, "src/24,src_port,proto,vlan,dscp,mpls", false, mixed,
		sizeof(mixed));
	assert_int_equal(number_of(&reader, 44), 0x0a010200);
	assert_int_equal(number_of(&reader, 7), 0x1234);
	assert_int_equal(number_of(&reader, 4), 17);
	assert_int_equal(number_of(&reader, 58), 0xabc);
	assert_int_equal(number_of(&reader, 195), 46);
	assert_int_equal(number_of(&reader, 70), 0xffffe0);
	assert_int_equal(number_of(&reader, 2), 1);
	assert_int_equal(number_of(&reader, 352), 60);
	assert_null(value_of(&reader, 1, 0));

	send_key(&reader, &options, "in_port", false, port, sizeof(port));
	assert_int_equal(number_of(&reader, 10), 1005);
	assert_null(value_of(&reader, 10, 1));

	/* The record does not repeat elements of the key. */
	send_key(&reader, &options, "tcp_flags", false, flags, sizeof(flags));
	assert_int_equal(number_of(&reader, 6), 0x12);
	assert_null(value_of(&reader, 6, 1));
}

static void test_keys_without_element(void **state)
{
	struct key_rule rule;
	char why[KEY_RULE_WHY_MAX];

	(void)state;
	assert_true(key_rule_parse(&rule, "5tuple,egress", why));
	assert_false(ipfix_carries(&rule, why));
	assert_string_equal(
		why, "has the field egress, for which IPFIX has no information element");
}

/* An IPv4 key stored in a struct key6 is still IPv4. */
static void test_wide_key(void **state)
{
	static const struct ipfix_options options = {.flows = true};
	static const uint8_t wide[] = {10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 1, 2, 6, 0, 5, 46, 0, 0, 1};
	struct reader reader;

	(void)state;
	send_key(&reader, &options, "src/32/48,dst,src_port,dst_port,proto,vlan,dscp,mpls", false,
		wide, sizeof(wide));
	assert_int_equal(number_of(&reader, 8), 0x0a000001);
	assert_int_equal(number_of(&reader, 12), 0x0a000002);
	assert_int_equal(number_of(&reader, 11), 0x102);
	assert_int_equal(number_of(&reader, 58), 5);
	assert_int_equal(number_of(&reader, 70), 0x10);
	assert_null(value_of(&reader, 27, 0));
}

/* --- Heavy hitters */

static void test_rows(void **state)
{
	struct ipfix *ipfix = make(false, false);
	struct report_epoch *epoch = sample_epoch(0, 2);
	struct report_row rows[2] = {
		{.key = sample_key4("10.0.0.1", 1, "10.0.0.2", 2, 6),
			.packets = sample_figure(90, 100, 120),
			.bytes = sample_figure(9000, 9500, 12000)},
		{.key = sample_key6("2001:db8::1", 1, "2001:db8::2", 2, 17),
			.packets = {.value = 50, .low = 40, .known = true},
			.record = {.known = true,
				.first = SAMPLE_START + 1000000,
				.last = SAMPLE_START + 2000000,
				.tcp_flags = 0x1b}},
	};
	struct reader reader = {0};
	uint32_t data = 0;

	(void)state;
	sample_rows(&epoch->measurements[0], rows, 2);
	sample_rows(&epoch->measurements[1], rows, 1);
	epoch->measurements[1].name = "other";
	epoch->measurements[1].confidence_known = false;
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.rows, 3);
	for (uint32_t m = 0; m < client.n; m++) {
		uint32_t domain = (uint32_t)number_at(client.bytes[m] + 12, 4);

		/* A measurement is a domain with its own template numbers. */
		if (m > 0 && number_at(client.bytes[m - 1] + 12, 4) != domain)
			memset(&reader, 0, sizeof(reader));
		read_message(&reader, client.bytes[m], client.lens[m]);
		if (client.rows_of[m] == 0)
			continue;
		data++;
		if (domain == 8) {
			assert_int_equal(number_of(&reader, 2), 100);
			assert_null(value_of(&reader, 336, 0));
			assert_null(value_of(&reader, 338, 0));
			continue;
		}
		assert_true(double_of(&reader, 338, 0) == 0.999);
		if (value_of(&reader, 8, 0) != NULL) {
			assert_int_equal(number_of(&reader, 2), 100);
			assert_int_equal(number_of(&reader, 352), 9500);
			assert_true(double_of(&reader, 337, 0) == 90);
			assert_true(double_of(&reader, 336, 0) == 120);
			assert_true(double_of(&reader, 337, 1) == 9000);
			assert_true(double_of(&reader, 336, 1) == 12000);
			assert_int_equal(number_of(&reader, 152), SAMPLE_START / 1000000);
			assert_int_equal(number_of(&reader, 153), SAMPLE_START / 1000000 + 1000);
			assert_null(value_of(&reader, 6, 0));
		} else {
			assert_int_equal(number_of(&reader, 2), 50);
			assert_null(value_of(&reader, 352, 0));
			assert_true(double_of(&reader, 337, 0) == 40);
			/* The upper limit is unknown. */
			assert_true(double_of(&reader, 336, 0) > 1e308);
			assert_null(value_of(&reader, 336, 1));
			assert_int_equal(number_of(&reader, 152), SAMPLE_START / 1000000 + 1);
			assert_int_equal(number_of(&reader, 153), SAMPLE_START / 1000000 + 2);
			assert_int_equal(number_of(&reader, 6), 0x1b);
		}
		assert_null(value_of(&reader, 136, 0));
	}
	assert_int_equal(data, 3);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* --- Totals */

static void test_ledger(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = many_flows(10);
	struct reader reader;

	(void)state;
	epoch->flows_only = false;
	epoch->ledger = (struct ledger){.offered = 100,
		.received = 95,
		.measured = 80,
		.filtered = 5,
		.non_ip = 1,
		.nic_missed = 5,
		.shed = 9};
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(&reader);
	assert_int_equal(reader.set_id, 257);
	assert_int_equal(number_of(&reader, 149), 7);
	assert_int_equal(number_of(&reader, 323), SAMPLE_START / 1000000 + 1000);
	assert_int_equal(number_of(&reader, 42), 10);
	assert_int_equal(number_of(&reader, 166), 0);
	assert_int_equal(number_of(&reader, 318), 100);
	assert_int_equal(number_of(&reader, 319), 80);
	assert_int_equal(number_of(&reader, 164), 14);

	/* The receiver is gone for one epoch: the totals of the next one include it. */
	client.peer = IPFIX_GONE;
	ipfix_epoch(ipfix, epoch, &sink);
	client.peer = IPFIX_THERE;
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(&reader);
	assert_int_equal(number_of(&reader, 42), 20);
	assert_int_equal(number_of(&reader, 166), 10);
	assert_int_equal(number_of(&reader, 318), 300);
	assert_int_equal(client.rows, 20);

	/* The next totals also include an epoch that never came. */
	ipfix_miss(ipfix, epoch);
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(&reader);
	assert_int_equal(number_of(&reader, 42), 30);
	assert_int_equal(number_of(&reader, 166), 20);
	assert_int_equal(number_of(&reader, 318), 500);
	assert_int_equal(number_of(&reader, 319), 400);
	assert_int_equal(number_of(&reader, 164), 70);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/*
 * A collector that counts all data records (RFC 7011) and one that counts rows only find no gap in
 * a measurement's domain. The latter starts with the domain's first message with rows.
 */
static void test_sequence(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = many_flows(30);
	static struct reader readers[2]; /* domains of totals, and of the measurement */
	uint32_t next[2] = {0}, whose = 0, rows = 0;

	(void)state;
	epoch->flows_only = false;
	for (uint32_t s = 0; s <= 60; s++) {
		client.now = NOW + s * SAMPLE_SECOND;
		ipfix_epoch(ipfix, epoch, &sink);
	}
	for (uint32_t m = 0; m < client.n; m++) {
		uint32_t d = (uint32_t)number_at(client.bytes[m] + 12, 4) - 6;
		struct reader *reader = &readers[d];

		read_message(reader, client.bytes[m], client.lens[m]);
		assert_int_equal(reader->sequence, next[d]);
		next[d] += reader->records;
		whose += d == 0 && reader->records > 0 && reader->set_id == 256;
		if (client.rows_of[m] == 0)
			continue;
		assert_int_equal(d, 1);
		assert_int_equal(reader->sequence, 1 + rows);
		rows += client.rows_of[m];
	}
	/* Exporter information at 0, 30 and 60 s. */
	assert_int_equal(whose, 3);
	assert_int_equal(rows, 61 * 30);
	assert_int_equal(next[0], 61 + 3);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* --- Templates and sessions */

static uint32_t count_templates(uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t m = from; m < client.n; m++)
		n += number_at(client.bytes[m] + 16, 2) == 2;
	return n;
}

static void test_refresh(void **state)
{
	struct report_epoch *epoch = sample_flows(0);

	(void)state;
	for (uint32_t reliable = 0; reliable < 2; reliable++) {
		struct ipfix *ipfix = make(true, reliable != 0);

		begin(NULL);
		for (uint32_t s = 0; s <= 60; s++) {
			client.now = NOW + s * SAMPLE_SECOND;
			ipfix_epoch(ipfix, epoch, &sink);
		}
		/* At 0, 30 and 60 s; over TCP once. */
		assert_int_equal(count_templates(0), reliable ? 1 : 3);
		/* Exporter information once: later it would be a gap for some collectors. */
		assert_int_equal(client.n, 61 + (reliable ? 1 : 3) + 1);
		ipfix_free(ipfix);
	}
	report_epoch_free(epoch);
}

static void test_refresh_by_messages(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = sample_flows(0);

	(void)state;
	for (uint32_t e = 0; e < 2500; e++)
		ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(count_templates(0), 3);
	for (uint32_t m = 0, since = 0; m < client.n; m++, since++) {
		if (number_at(client.bytes[m] + 16, 2) == 2)
			since = 0;
		assert_true(since < IPFIX_REFRESH_MESSAGES);
	}
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

static void test_anew(void **state)
{
	struct report_epoch *epoch = sample_flows(0);

	(void)state;
	for (uint32_t reliable = 0; reliable < 2; reliable++) {
		struct ipfix *ipfix = make(true, reliable != 0);
		uint32_t before;

		begin(NULL);
		ipfix_epoch(ipfix, epoch, &sink);
		before = client.n;
		client.peer = IPFIX_ANEW;
		ipfix_epoch(ipfix, epoch, &sink);
		assert_int_equal(count_templates(before), 1);
		assert_int_equal(number_at(client.bytes[before] + 16, 2), 2);
		/* A new connection counts from 0; datagrams continue. */
		assert_int_equal(number_at(client.bytes[before] + 8, 4), reliable ? 0 : 4);
		assert_int_equal(number_at(client.bytes[before + 2] + 8, 4), reliable ? 1 : 5);
		ipfix_free(ipfix);
	}
	report_epoch_free(epoch);
}

/* Unsent records leave a gap; unsent templates are sent before the next data. */
static void test_failures(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = sample_flows(0);

	(void)state;
	client.refuses = 1;
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.n, 0);
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.n, 3);
	assert_int_equal(client.rows, 3);
	client.refuses = 1;
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.lost_rows, 3);
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.n, 4);
	assert_int_equal(number_at(client.bytes[3] + 8, 4), 7);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* Another rule has other template numbers. */
static void test_other_rule(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = sample_flows(0);
	struct reader reader;

	(void)state;
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(&reader);
	assert_int_equal(reader.set_id, 258);
	epoch->measurements[0].key_rule = key_rule_find("src");
	for (uint32_t f = 0; f < 3; f++)
		memset(&epoch->measurements[0].flows[f].key.v4.dst_ip, 0, 11);
	ipfix_epoch(ipfix, epoch, &sink);
	read_all(&reader);
	assert_int_equal(reader.set_id, 259);
	assert_int_equal(number_of(&reader, 8), 0x0a000001);
	assert_null(value_of(&reader, 12, 0));
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

/* A network with a smaller limit: messages become shorter, and no row is lost. */
static void test_limit(void **state)
{
	struct ipfix *ipfix = make(true, false);
	struct report_epoch *epoch = many_flows(100);

	(void)state;
	ipfix_limit(ipfix, 600);
	ipfix_epoch(ipfix, epoch, &sink);
	assert_int_equal(client.rows, 100);
	for (uint32_t m = 0; m < client.n; m++)
		assert_true(client.lens[m] <= 600);
	report_epoch_free(epoch);
	ipfix_free(ipfix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bytes, begin),
		cmocka_unit_test_setup(test_many, begin),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_ip_bytes),
		cmocka_unit_test(test_keys_without_element),
		cmocka_unit_test(test_wide_key),
		cmocka_unit_test_setup(test_rows, begin),
		cmocka_unit_test_setup(test_ledger, begin),
		cmocka_unit_test_setup(test_sequence, begin),
		cmocka_unit_test_setup(test_refresh, begin),
		cmocka_unit_test_setup(test_refresh_by_messages, begin),
		cmocka_unit_test_setup(test_anew, begin),
		cmocka_unit_test_setup(test_failures, begin),
		cmocka_unit_test_setup(test_other_rule, begin),
		cmocka_unit_test_setup(test_limit, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
