/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages crafted to cost time: the calls and steps of a decoder are bounded by the length of a
 * message, for any templates.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "export_bytes.h"

#define LIMIT        (8 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* Step limits of a message: per byte, and fixed. */
#define EACH_BYTE    12
#define AT_LEAST     25000

#define CHANGES_LEAST 64
#define CHANGE_BYTES  32

#define VARIABLE 65535
#define OCTETS   210 /* paddingOctets */
#define LISTS    291 /* basicList, subTemplateList, subTemplateMultiList (RFC 6313) */

static struct bytes bytes;
static struct templates *templates;

/* Calls of the handler, and records. */
static struct {
	struct flow_record batch[DECODE_BATCH];
	uint64_t calls, known, unknown;
} counted;

static void count_records(void *arg, uint32_t n)
{
	(void)arg;
	counted.calls += n;
}

static void count_option(void *arg, const struct option_record *option)
{
	(void)arg;
	(void)option;
	counted.calls++;
}

static void count_unknown(void *arg, uint16_t id, const uint8_t *set, uint32_t len)
{
	(void)arg;
	(void)id;
	(void)set;
	(void)len;
	counted.calls++;
	counted.unknown++;
}

static void count_known(void *arg, uint16_t id)
{
	(void)arg;
	(void)id;
	counted.calls++;
	counted.known++;
}

static void count_counters(void *arg, const struct interface_counters *counters)
{
	(void)arg;
	(void)counters;
	counted.calls++;
}

static void count_sampler(void *arg, const struct sampler_state *sampler)
{
	(void)arg;
	(void)sampler;
	counted.calls++;
}

static const struct record_handler sink = {
	.batch = counted.batch,
	.records = count_records,
	.option = count_option,
	.unknown = count_unknown,
	.template_known = count_known,
	.counters = count_counters,
	.sampler = count_sampler,
};

static int make_templates(void **state)
{
	(void)state;
	templates = templates_create(LIMIT);
	return templates == NULL;
}

static int drop_templates(void **state)
{
	(void)state;
	templates_destroy(templates);
	return 0;
}

/* Decodes the message and checks its work. */
static struct decode_result decode(void)
{
	struct datagram_header header;
	struct decode_result result;

	end_message(&bytes);
	counted.calls = counted.known = counted.unknown = 0;
	assert_int_equal(flow_protocol_read_header(bytes.data, bytes.len, &header), DECODE_FINE);
	result = flow_protocol_decode(&header, templates, bytes.data, bytes.len, &sink);
	assert_true(result.work + counted.calls <= (uint64_t)EACH_BYTE * bytes.len + AT_LEAST);
	return result;
}

static bool has_room(uint32_t len)
{
	return bytes.len + len < 65000;
}

static void fill_set(uint32_t id, uint64_t first, uint32_t width)
{
	uint32_t set = begin_set(&bytes, id);

	for (uint64_t i = first; has_room(width); i++)
		put(&bytes, i, width);
	end_set(&bytes, set);
}

/* Adds an IPFIX template; with scopes it is an options template. */
static void put_definition(uint32_t id, const struct spec *specs, uint32_t n, uint32_t nb_scopes)
{
	uint32_t set = begin_set(&bytes, nb_scopes > 0 ? 3 : 2);

	put(&bytes, id, 2);
	put(&bytes, n, 2);
	if (nb_scopes > 0)
		put(&bytes, nb_scopes, 2);
	put_specs(&bytes, specs, n);
	end_set(&bytes, set);
}

static void define(uint32_t id, const struct spec *specs, uint32_t n, uint32_t nb_scopes)
{
	begin_ipfix(&bytes);
	put_definition(id, specs, n, nb_scopes);
	assert_int_equal(decode().fault, DECODE_FINE);
}

/* Sixteen fields of length 0, and one or two of the smallest length. */
static void fields_of_no_bytes_cost_nothing(void **state)
{
	static const struct spec rests[] = {{OCTETS, 1, 0}, {OCTETS, VARIABLE, 0}, {34, 1, 0}};
	struct spec specs[17];

	(void)state;
	for (uint32_t i = 0; i < COUNT(rests); i++)
		for (uint32_t nb_scopes = 0; nb_scopes <= 17; nb_scopes++) {
			for (uint32_t j = 0; j < 16; j++)
				specs[j] = (struct spec){OCTETS, 0, 0};
			specs[16] = rests[i];
			define(256, specs, 17, nb_scopes);
			begin_ipfix(&bytes);
			fill_set(256, 0, 8);
			decode();
			assert_true(counted.calls <= bytes.len);
		}
}

static void long_templates_cost_their_bytes(void **state)
{
	static struct spec specs[16000];

	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++) {
		for (uint32_t i = 0; i < COUNT(specs); i++)
			specs[i] = (struct spec){1 + i % 400, kind & 1 ? VARIABLE : 1, 0};
		define(300, specs, COUNT(specs), kind & 2 ? 15999 : 0);
		begin_ipfix(&bytes);
		fill_set(300, 0, 8);
		decode();
		begin_ipfix(&bytes);
		while (has_room(5)) {
			uint32_t set = begin_set(&bytes, 300);

			put(&bytes, 0, 1);
			end_set(&bytes, set);
		}
		decode();
		/* A different one in each message. */
		specs[0].number = 9;
		define(300, specs, COUNT(specs), kind & 2 ? 15999 : 0);
	}
}

static void fill_templates(uint32_t n)
{
	static const struct spec one[] = {{8, 4, 0}};
	uint32_t id = 256;

	templates_forget(templates);
	while (templates_count(templates) < n) {
		begin_ipfix(&bytes);
		for (uint32_t i = 0; i < CHANGES_LEAST && id < 256 + n; i++)
			put_definition(id++, one, 1, 0);
		decode();
	}
}

/* Changes the lowest template or all 4095 of them, with and without a withdrawal before. */
static void templates_that_change(void **state)
{
	static const uint32_t everywhere[] = {1, 4095};

	(void)state;
	for (uint32_t kind = 0; kind < 8; kind++) {
		uint32_t set, n = everywhere[kind & 1];

		fill_templates(4095);
		for (uint32_t message = 0; message < 3; message++) {
			begin_ipfix(&bytes);
			set = begin_set(&bytes, 2);
			for (uint32_t i = 0; has_room(16); i++) {
				uint32_t id = 256 + i * 37 % n;

				if (kind & 2)
					put(&bytes, id << 16, 4);
				put(&bytes, (uint64_t)id << 16 | 1, 4);
				put(&bytes, (9 + (i / n + message) % 2) << 16 | 4, 4);
			}
			end_set(&bytes, set);
			decode();
			assert_true(counted.known <= CHANGES_LEAST + bytes.len / CHANGE_BYTES);
		}
	}
}

/*
 * One options template, with withdrawals of all templates again and again: the others must not be
 * scanned each time.
 */
static void withdrawals_of_all(void **state)
{
	static const struct spec one[] = {{149, 4, 0}};

	(void)state;
	for (uint32_t options = 0; options < 2; options++) {
		fill_templates(4000);
		begin_ipfix(&bytes);
		while (has_room(30)) {
			uint32_t set;

			put_definition(5000, one, 1, options);
			set = begin_set(&bytes, 2 + options);
			put(&bytes, (2 + options) << 16, 4);
			end_set(&bytes, set);
		}
		decode();
		assert_true(templates_count(templates) < 4000 || !options);
	}
}

/* Random sets of a few templates. */
static void messages_by_chance(void **state)
{
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (uint32_t message = 0; message < 300; message++) {
		begin_ipfix(&bytes);
		while (has_room(400)) {
			uint32_t what = (uint32_t)random_below(&random, 4);
			uint32_t id = 256 + (uint32_t)random_below(&random, 8);
			uint32_t n = 1 + (uint32_t)random_below(&random, 40), set;
			struct spec specs[40];

			for (uint32_t i = 0; i < n; i++)
				specs[i] = (struct spec){
					random_below(&random, 8) == 0
						? LISTS + (uint32_t)random_below(&random, 3)
						: 1 + (uint32_t)random_below(&random, 100),
					random_below(&random, 4) == 0
						? VARIABLE
						: (uint32_t)random_below(&random, 9),
					0};
			if (what < 2) {
				put_definition(id, specs, n, what);
				continue;
			}
			set = begin_set(&bytes, what == 2 ? id : 2 + id % 2);
			for (uint32_t i = 0; what == 2 && i < n * 8; i++)
				put(&bytes, random_below(&random, 3), 1);
			if (what == 3)
				put(&bytes, id % 4 < 2 ? (2 + id % 2) << 16 : id << 16, 4);
			end_set(&bytes, set);
		}
		decode();
	}
}

static void put_sflow(uint32_t samples)
{
	bytes.len = 0;
	put(&bytes, 5, 4);
	put(&bytes, 1, 4);
	put(&bytes, 0x0a000001, 4);
	put(&bytes, 0, 4);
	put(&bytes, 1, 4);
	put(&bytes, 1, 4);
	put(&bytes, samples, 4);
}

/* Empty samples with any number of records: each takes the bytes that it has. */
static void samples_of_nothing(void **state)
{
	static const uint32_t formats[] = {1, 2, 3, 4, 5, 77}, lengths[] = {32, 12, 44, 16, 32, 0};

	(void)state;
	for (uint32_t i = 0; i < COUNT(formats); i++) {
		put_sflow(UINT32_MAX);
		while (has_room(8 + lengths[i])) {
			put(&bytes, formats[i], 4);
			put(&bytes, lengths[i], 4);
			put(&bytes, UINT32_MAX, lengths[i]);
		}
		decode();
		assert_true(counted.calls <= bytes.len / 8);
	}
}

/*
 * A message can change a limited number of templates. It forgets those that it changes beyond the
 * limit, so that their records are not misread. The next message continues.
 */
static void changes_have_a_limit(void **state)
{
	static const struct spec one[] = {{8, 4, 0}}, other[] = {{12, 4, 0}};
	uint32_t limit, set, before;

	(void)state;
	fill_templates(1000);
	begin_ipfix(&bytes);
	for (uint32_t i = 0; i < 1000; i++)
		put_definition(256 + i, other, 1, 0);
	limit = CHANGES_LEAST + bytes.len / CHANGE_BYTES;
	assert_int_equal(decode().fault, DECODE_TEMPLATE_CHANGES);
	assert_int_equal(counted.known, limit);
	assert_int_equal(templates_count(templates), limit);
	for (uint32_t i = 0; i < 1000; i++) {
		begin_ipfix(&bytes);
		set = begin_set(&bytes, 256 + i);
		put(&bytes, 1, 4);
		end_set(&bytes, set);
		assert_int_equal(decode().unknown_sets, i >= limit);
	}
	/* An identical definition changes nothing. */
	before = limit;
	for (uint32_t i = 0; i < 3; i++) {
		begin_ipfix(&bytes);
		for (uint32_t j = 0; j < 1000; j++)
			put_definition(256 + j, other, 1, 0);
		decode();
		assert_true(counted.known > 0 || before == 1000);
		before += (uint32_t)counted.known;
	}
	assert_int_equal(before, 1000);
	/* An Ethernet frame cannot hold more useful templates: addresses and a counter. */
	templates_forget(templates);
	begin_ipfix(&bytes);
	set = begin_set(&bytes, 2);
	for (uint32_t i = 0; bytes.len + 16 <= 1472; i++) {
		put(&bytes, (256 + i) << 16 | 3, 4);
		put_specs(&bytes, one, 1);
		put_specs(&bytes, other, 1);
		put(&bytes, 2 << 16 | 4, 4);
	}
	end_set(&bytes, set);
	assert_int_equal(decode().fault, DECODE_FINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_no_bytes_cost_nothing),
		cmocka_unit_test(long_templates_cost_their_bytes),
		cmocka_unit_test(templates_that_change),
		cmocka_unit_test(withdrawals_of_all),
		cmocka_unit_test(messages_by_chance),
		cmocka_unit_test(samples_of_nothing),
		cmocka_unit_test(changes_have_a_limit),
	};

	return cmocka_run_group_tests(tests, make_templates, drop_templates);
}
