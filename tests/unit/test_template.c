/* SPDX-License-Identifier: BSD-3-Clause */

/* The templates of a domain: definitions, errors, memory, and files. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "export_bytes.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIMIT        (1 << 20)

static struct bytes bytes;
static struct seen seen;
static struct templates *templates;

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

static const struct spec plain[] = {{8, 4, 0}, {12, 4, 0}, {2, 4, 0}};

static void begin(bool ipfix)
{
	if (ipfix)
		begin_ipfix(&bytes);
	else
		begin_netflow9(&bytes, 1);
}

static struct decode_result decode(void)
{
	return decode_bytes(&bytes, templates, &seen);
}

static struct decode_result define(bool ipfix, uint32_t id, const struct spec *specs, uint32_t n)
{
	begin(ipfix);
	put_template(&bytes, ipfix ? 2 : 0, id, specs, n);
	return decode();
}

static void put_plain_data(uint32_t id, uint32_t packets)
{
	uint32_t set = begin_set(&bytes, id);

	put(&bytes, 0x0a000001, 4);
	put(&bytes, 0x0a000002, 4);
	put(&bytes, packets, 4);
	end_set(&bytes, set);
}

static bool is_known(bool ipfix, uint32_t id)
{
	begin(ipfix);
	put_plain_data(id, 5);
	return !decode().unknown_sets;
}

static void put_options_template(bool ipfix, uint32_t id, uint32_t first, uint32_t second)
{
	static const struct spec specs[] = {{149, 4, 0}, {34, 4, 0}};
	uint32_t set = begin_set(&bytes, ipfix ? 3 : 1);

	put(&bytes, id, 2);
	put(&bytes, first, 2);
	put(&bytes, second, 2);
	put_specs(&bytes, specs, COUNT(specs));
	end_set(&bytes, set);
}

/* Sends a withdrawal, or a definition of which only the header is present. */
static struct decode_result say(bool ipfix, uint32_t set_id, uint32_t id, uint32_t count)
{
	uint32_t set;

	begin(ipfix);
	set = begin_set(&bytes, set_id);
	put(&bytes, id, 2);
	put(&bytes, count, 2);
	end_set(&bytes, set);
	return decode();
}

static void same_definition_changes_nothing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct decode_result result = define(true, 256, plain, COUNT(plain));

		assert_int_equal(result.fault, DECODE_FINE);
		assert_int_equal(result.templates, 1);
		assert_int_equal(seen.nb_known, i == 0);
		assert_int_equal(templates_count(templates), 1);
		assert_int_equal(templates_changes(templates), 1);
	}
	assert_int_equal(define(true, 256, plain + 1, 2).fault, DECODE_FINE);
	assert_int_equal(seen.nb_known, 1);
	assert_int_equal(templates_count(templates), 1);
	assert_true(templates_changes(templates) > 1);
}

static void several_definitions_in_a_set(void **state)
{
	uint32_t set;
	struct decode_result result;

	(void)state;
	begin(true);
	set = begin_set(&bytes, 2);
	for (uint32_t id = 260; id > 256; id--) {
		put(&bytes, id, 2);
		put(&bytes, COUNT(plain), 2);
		put_specs(&bytes, plain, COUNT(plain));
	}
	put(&bytes, 0, 8); /* padding */
	end_set(&bytes, set);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(result.templates, 4);
	assert_int_equal(templates_count(templates), 4);
	assert_int_equal(seen.known[0], 260);
	for (uint32_t id = 257; id <= 260; id++)
		assert_true(is_known(true, id));
	assert_false(is_known(true, 256));
	assert_false(is_known(true, 261));
}

static void withdrawal_of_one(void **state)
{
	(void)state;
	define(true, 256, plain, COUNT(plain));
	define(true, 257, plain, COUNT(plain));
	assert_int_equal(say(true, 2, 256, 0).fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 1);
	assert_false(is_known(true, 256));
	assert_true(is_known(true, 257));
	assert_int_equal(say(true, 2, 300, 0).fault, DECODE_FINE); /* unknown template */
	assert_int_equal(templates_count(templates), 1);
}

/* Each set ID withdraws all templates of its kind (RFC 7011, 8.1). */
static void withdrawal_of_all(void **state)
{
	(void)state;
	for (uint32_t id = 256; id < 276; id++)
		define(true, id, plain, COUNT(plain));
	begin(true);
	put_options_template(true, 300, 2, 1);
	assert_int_equal(decode().fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 21);
	assert_int_equal(say(true, 2, 2, 0).fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 1);
	define(true, 256, plain, COUNT(plain));
	assert_int_equal(say(true, 3, 3, 0).fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 1);
	assert_true(is_known(true, 256));
	templates_forget(templates);
	assert_int_equal(templates_count(templates), 0);
	assert_false(is_known(true, 256));
}

enum { ABSENT, FLOWS, OPTIONS };

static void define_or_withdraw(uint8_t *kinds, uint32_t ids, struct random *random)
{
	uint32_t id = (uint32_t)random_below(random, ids),
		 what = (uint32_t)random_below(random, 16);
	uint8_t all = what & 1 ? OPTIONS : FLOWS;

	if (what < 2) {
		say(true, 2 + what, 2 + what, 0);
		for (uint32_t i = 0; i < ids; i++)
			kinds[i] = kinds[i] == all ? ABSENT : kinds[i];
		return;
	}
	kinds[id] = what < 6 ? ABSENT : what < 11 ? FLOWS : OPTIONS;
	if (what < 6) {
		say(true, 2 + what % 2, 256 + id, 0);
	} else if (what < 11) {
		define(true, 256 + id, plain, COUNT(plain));
	} else {
		begin(true);
		put_options_template(true, 256 + id, 2, 1);
		decode();
	}
}

/* Compared with a list of the expected state of each ID. */
static void definitions_and_withdrawals(void **state)
{
	enum { IDS = 12 };
	uint8_t kinds[IDS] = {ABSENT};
	struct random random;

	(void)state;
	random_init(&random, 5);
	for (uint32_t round = 0; round < 5000; round++) {
		uint32_t count = 0;

		define_or_withdraw(kinds, IDS, &random);
		for (uint32_t i = 0; i < IDS; i++) {
			count += kinds[i] != ABSENT;
			assert_int_equal(is_known(true, 256 + i), kinds[i] != ABSENT);
			assert_int_equal(seen.n, kinds[i] == FLOWS);
		}
		assert_int_equal(templates_count(templates), count);
	}
	assert_int_equal(say(true, 2, 2, 0).fault, DECODE_FINE);
	assert_int_equal(say(true, 3, 3, 0).fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 0);
}

/* v9 has no withdrawals: this is a template without fields, whose records cannot be read. */
static void no_fields_in_v9(void **state)
{
	(void)state;
	define(false, 256, plain, COUNT(plain));
	assert_true(is_known(false, 256));
	assert_int_equal(say(false, 0, 256, 0).fault, DECODE_TEMPLATE);
	assert_false(is_known(false, 256));
}

static void reserved_numbers(void **state)
{
	(void)state;
	for (uint32_t id = 1; id < 256; id += 127) {
		assert_int_equal(define(true, id, plain, COUNT(plain)).fault, DECODE_SET);
		assert_int_equal(define(false, id, plain, COUNT(plain)).fault, DECODE_SET);
	}
	assert_int_equal(templates_count(templates), 0);
	assert_int_equal(define(false, 65535, plain, COUNT(plain)).fault, DECODE_FINE);
	assert_true(is_known(false, 65535));
}

/* An invalid new definition also removes the old one, which no longer applies. */
static void longer_than_the_datagram(void **state)
{
	(void)state;
	for (uint32_t ipfix = 0; ipfix < 2; ipfix++)
		for (uint32_t count = 1; count <= 65535; count += count < 4 ? 1 : 65531) {
			templates_forget(templates);
			define(ipfix, 256, plain, COUNT(plain));
			assert_int_equal(
				say(ipfix, ipfix ? 2 : 0, 256, count).fault, DECODE_LENGTH);
			assert_int_equal(templates_count(templates), 0);
		}
	/* A definition with an enterprise number, truncated anywhere. */
	for (uint32_t cut = 1; cut < 4 + 12; cut++) {
		const struct spec specs[] = {{8, 4, 0}, {2, 4, 6871}};

		begin(true);
		put_template(&bytes, 2, 256, specs, 2);
		bytes.len -= cut;
		overwrite_u16(&bytes, 16 + 2, bytes.len - 16);
		assert_int_equal(decode().fault, cut > 12 ? DECODE_FINE : DECODE_LENGTH);
		assert_int_equal(templates_count(templates), 0);
	}
}

/* 65 535 fields do not fit in a message; records of 16 000 fields have 16 000 bytes. */
static void many_fields(void **state)
{
	struct decode_result result;
	uint32_t set;

	(void)state;
	begin(true);
	set = begin_set(&bytes, 2);
	put(&bytes, 256, 2);
	put(&bytes, 16000, 2);
	for (uint32_t i = 0; i < 16000; i++)
		put(&bytes, (i == 15999 ? 2 : i == 0 ? 4 : 210) << 16 | 1, 4);
	overwrite_u16(&bytes, set + 4 + 4 + 4, 8);
	overwrite_u16(&bytes, set + 4 + 4 + 6, 4);
	end_set(&bytes, set);
	result = decode();
	assert_int_equal(result.fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 1);
	assert_true(templates_bytes(templates) < 70000);
	begin(true);
	set = begin_set(&bytes, 256);
	for (uint32_t i = 0; i < 16003; i++)
		put(&bytes, i % 200, 1);
	end_set(&bytes, set);
	result = decode();
	assert_int_equal(result.records, 1);
	assert_int_equal(seen.records[0].packets, 16002 % 200);
	assert_int_equal(seen.records[0].key.v4.src_ip[1], 2);
	/* Longer than a record can be: 4 * 65 535. */
	result = define(true, 257, (struct spec[]){{210, 65534, 0}, {2, 4, 0}}, 2);
	assert_int_equal(result.fault, DECODE_TEMPLATE);
	assert_int_equal(templates_count(templates), 1);
}

/* Adds a template of `empty` fields of length 0 and one other; also for options. */
static void put_empty_fields(bool ipfix, bool options, uint32_t id, uint32_t empty)
{
	put(&bytes, id, 2);
	if (options) {
		put(&bytes, ipfix ? empty + 1 : 4, 2);
		put(&bytes, ipfix ? 1 : 4 * empty, 2);
	} else {
		put(&bytes, empty + 1, 2);
	}
	for (uint32_t i = 0; i < empty; i++)
		put(&bytes, 210 << 16, 4);
	put(&bytes, 4 << 16 | 1, 4);
}

/* Each byte of data would be a record of this number of fields. The next template is read. */
static void fields_of_no_bytes_are_few(void **state)
{
	static const uint32_t numbers[] = {0, 16, 17, 1000, 15000};

	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t i = 0; i < COUNT(numbers); i++) {
			bool ipfix = kind & 1, options = kind & 2, few = numbers[i] <= 16;
			uint32_t set;
			struct decode_result result;

			templates_forget(templates);
			begin(ipfix);
			set = begin_set(&bytes, (ipfix ? 2 : 0) + options);
			put_empty_fields(ipfix, options, 256, numbers[i]);
			put_empty_fields(ipfix, options, 257, 1);
			end_set(&bytes, set);
			result = decode();
			assert_int_equal(templates_count(templates), few ? 2 : 1);
			assert_int_equal(seen.known[few], 257);
			assert_int_equal(result.templates, 2);
			assert_int_equal(result.fault == DECODE_TEMPLATE, !few);
		}
}

/* Fields of length 0 among others do not change a record. */
static void fields_of_no_bytes_change_nothing(void **state)
{
	static const struct spec fields[] = {{8, 4, 0}, {12, 4, 0}, {210, 65535, 0}, {4, 1, 0},
		{2, 4, 0}, {82, 65535, 0}, {1, 4, 0}};
	static const struct spec scopes[] = {{149, 4, 0}, {302, 2, 0}, {34, 4, 0}};
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (uint32_t i = 0; i < 500; i++) {
		bool options = i % 2;
		const struct spec *from = options ? scopes : fields;
		uint32_t nb = options ? COUNT(scopes) : COUNT(fields);
		uint32_t n = 0, of_from = 0, nb_scopes = 0, set;
		struct spec specs[COUNT(fields) + 16];

		while (of_from < nb) {
			bool empty = n - of_from < 16 && random_below(&random, 2) == 0;
			uint32_t number = 149 + (uint32_t)random_below(&random, 2) * 200;

			specs[n++] = empty ? (struct spec){number, 0, 0} : from[of_from++];
			if (of_from == 2 && nb_scopes == 0)
				nb_scopes = n;
		}
		begin(true);
		set = begin_set(&bytes, options ? 3 : 2);
		put(&bytes, (uint64_t)256 << 16 | n, 4);
		if (options)
			put(&bytes, nb_scopes, 2);
		put_specs(&bytes, specs, n);
		end_set(&bytes, set);
		set = begin_set(&bytes, 256);
		for (uint32_t j = 0; j < 3 && !options; j++) {
			put(&bytes, 0x0a000001, 4);
			put(&bytes, 0x0a000002, 4);
			put(&bytes, 2 << 16 | 77, 3);
			put(&bytes, 17, 1);
			put(&bytes, 5 + j, 4);
			put(&bytes, 0, 1);
			put(&bytes, 500, 4);
		}
		for (uint32_t j = 0; j < 3 && options; j++) {
			put(&bytes, 42, 4);
			put(&bytes, 7 + j, 2);
			put(&bytes, 1000, 4);
		}
		end_set(&bytes, set);
		assert_int_equal(decode().fault, DECODE_FINE);
		assert_int_equal(seen.n, options ? 0 : 3);
		assert_int_equal(seen.nb_options, options ? 3 : 0);
		for (uint32_t j = 0; j < seen.n; j++) {
			assert_int_equal(seen.records[j].packets, 5 + j);
			assert_int_equal(seen.records[j].bytes, 500);
			assert_int_equal(seen.records[j].key.v4.proto, 17);
			assert_int_equal(seen.records[j].key.v4.dst_ip[3], 2);
		}
		for (uint32_t j = 0; j < seen.nb_options; j++) {
			assert_int_equal(seen.options[j].sampling, 1000);
			assert_int_equal(seen.options[j].sampler, 7 + j);
			assert_int_equal(seen.options[j].domain, 42);
		}
	}
}

/* A scope of length 0 is a scope: the option is not about the whole domain. */
static void scopes_of_no_bytes(void **state)
{
	static const struct spec specs[][2] = {{{141, 0, 0}, {34, 4, 0}}, {{145, 0, 0}, {34, 4, 0}},
		{{10, 0, 0}, {34, 4, 0}}, {{149, 0, 0}, {34, 4, 0}}};
	static const uint32_t has[] = {
		OPTION_RECORD_PART, OPTION_RECORD_TEMPLATE, 0, OPTION_RECORD_DOMAIN};
	uint32_t set;

	(void)state;
	for (uint32_t i = 0; i < COUNT(specs); i++) {
		begin(true);
		set = begin_set(&bytes, 3);
		put(&bytes, UINT64_C(256) << 32 | 2 << 16 | 1, 6);
		put_specs(&bytes, specs[i], 2);
		end_set(&bytes, set);
		set = begin_set(&bytes, 256);
		put(&bytes, 50, 4);
		end_set(&bytes, set);
		assert_int_equal(decode().fault, DECODE_FINE);
		assert_int_equal(seen.nb_options, 1);
		assert_int_equal(seen.options[0].has, has[i] | OPTION_RECORD_SAMPLING);
		assert_int_equal(seen.options[0].sampling, 50);
	}
}

static void options_definitions(void **state)
{
	static const struct {
		bool ipfix;
		uint32_t first, second;
		enum decode_fault fault;
	} cases[] = {{true, 2, 1, DECODE_FINE}, {true, 2, 2, DECODE_FINE},
		{true, 2, 3, DECODE_TEMPLATE}, {true, 3, 1, DECODE_LENGTH},
		{false, 4, 4, DECODE_FINE}, {false, 0, 8, DECODE_FINE}, {false, 8, 0, DECODE_FINE},
		{false, 4, 8, DECODE_LENGTH}, {false, 3, 5, DECODE_TEMPLATE},
		{false, 4, 5, DECODE_TEMPLATE}, {false, 65532, 65532, DECODE_LENGTH}};

	(void)state;
	for (uint32_t i = 0; i < COUNT(cases); i++) {
		templates_forget(templates);
		begin(cases[i].ipfix);
		put_options_template(cases[i].ipfix, 300, cases[i].first, cases[i].second);
		assert_int_equal(decode().fault, cases[i].fault);
		assert_int_equal(templates_count(templates), cases[i].fault == DECODE_FINE);
	}
}

/* An ID may change from flows to options and back. */
static void options_take_a_number_over(void **state)
{
	(void)state;
	define(true, 300, plain, COUNT(plain));
	assert_true(is_known(true, 300));
	assert_int_equal(seen.n, 1);
	begin(true);
	put_options_template(true, 300, 2, 1);
	assert_int_equal(decode().fault, DECODE_FINE);
	assert_true(is_known(true, 300));
	assert_int_equal(seen.n, 0);
	assert_int_equal(templates_count(templates), 1);
}

/* --- memory --- */

static const struct spec fields22[] = {{8, 4, 0}, {12, 4, 0}, {15, 4, 0}, {10, 4, 0}, {14, 4, 0},
	{2, 8, 0}, {1, 8, 0}, {22, 4, 0}, {21, 4, 0}, {7, 2, 0}, {11, 2, 0}, {6, 1, 0}, {4, 1, 0},
	{5, 1, 0}, {16, 4, 0}, {17, 4, 0}, {9, 1, 0}, {13, 1, 0}, {61, 1, 0}, {48, 1, 0},
	{58, 2, 0}, {70, 3, 0}};

/* 10 000 exporters with 20 templates have 64 MB: 335 bytes each. */
static void memory_of_a_template(void **state)
{
	size_t before = templates_bytes(templates);

	(void)state;
	_Static_assert(COUNT(fields22) == 22, "as many as routers send");
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(define(true, 256 + i, fields22, 22).fault, DECODE_FINE);
	assert_int_equal(templates_count(templates), 20);
	assert_true((templates_bytes(templates) - before) / 20 <= 320);
	templates_forget(templates);
	assert_int_equal(templates_bytes(templates), before);
}

static void memory_limit(void **state)
{
	struct templates *few = templates_create(2000), *all = templates;
	uint32_t n = 0;

	(void)state;
	assert_non_null(few);
	templates = few;
	while (define(true, 256 + n, fields22, 22).fault == DECODE_FINE) {
		assert_int_equal(seen.nb_known, 1);
		n++;
	}
	assert_in_range(n, 4, 8);
	assert_int_equal(define(true, 1000, fields22, 22).fault, DECODE_TEMPLATE_ROOM);
	assert_int_equal(seen.nb_known, 0);
	assert_int_equal(templates_count(few), n);
	assert_true(templates_bytes(few) <= 2000);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(define(true, 256 + i, fields22, 22).fault, DECODE_FINE);
	/* A removed template makes room, also for one that replaces another. */
	assert_int_equal(define(true, 256, plain, COUNT(plain)).fault, DECODE_FINE);
	say(true, 2, 257, 0);
	assert_int_equal(define(true, 1000, fields22, 22).fault, DECODE_FINE);
	assert_true(is_known(true, 256));
	assert_true(templates_bytes(few) <= 2000);
	templates_destroy(few);
	templates = all;
}

/* All IDs, in mixed order. */
static void all_numbers(void **state)
{
	struct templates *many = templates_create(32 << 20), *few = templates;

	(void)state;
	assert_non_null(many);
	templates = many;
	for (uint32_t i = 0; i < 65280; i += 17)
		assert_int_equal(define(true, 256 + i * 7919 % 65280, plain, COUNT(plain)).fault,
			DECODE_FINE);
	assert_int_equal(templates_count(many), 65280 / 17);
	for (uint32_t i = 0; i < 65280; i += 17 * 64)
		assert_true(is_known(true, 256 + i * 7919 % 65280));
	/*
	 * An exporter has at most 4096 templates, and changing one must not cost as much as 65280.
	 */
	for (uint32_t i = 1; templates_count(many) < 4096; i += 17)
		assert_int_equal(define(true, 256 + i * 7919 % 65280, plain, COUNT(plain)).fault,
			DECODE_FINE);
	assert_int_equal(define(true, 256 + 2 * 7919 % 65280, plain, COUNT(plain)).fault,
		DECODE_TEMPLATE_ROOM);
	assert_int_equal(define(true, 256, plain, COUNT(plain)).fault, DECODE_FINE);
	templates_destroy(many);
	templates = few;
}

/* --- files --- */

struct saved {
	struct templates *into;
	enum flow_protocol protocol;
	uint32_t n;
};

static void save(void *arg, const uint8_t *set, uint32_t len)
{
	struct saved *saved = arg;
	uint8_t *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, set, len);
	saved->n++;
	for (uint32_t cut = 1; cut < len; cut++)
		assert_false(templates_take(saved->into, saved->protocol, copy, len - cut));
	assert_true(templates_take(saved->into, saved->protocol, copy, len));
	free(copy);
}

static void save_and_take(bool ipfix)
{
	struct saved saved = {
		templates_create(LIMIT), ipfix ? FLOW_PROTOCOL_IPFIX : FLOW_PROTOCOL_NETFLOW9, 0};
	struct templates *original = templates;

	assert_non_null(saved.into);
	templates_each(templates, save, &saved);
	assert_int_equal(saved.n, templates_count(templates));
	assert_int_equal(templates_count(saved.into), saved.n);
	templates = saved.into;
	assert_true(is_known(ipfix, 256));
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.records[0].packets, 5);
	assert_true(is_known(ipfix, 300));
	assert_int_equal(seen.n, 0);
	assert_int_equal(seen.options[0].sampling, 0x0a000002);
	define(ipfix, 256, plain, COUNT(plain)); /* identical ones */
	assert_int_equal(seen.nb_known, 0);
	templates_destroy(saved.into);
	templates = original;
}

static void saved_and_taken_again(void **state)
{
	(void)state;
	for (uint32_t ipfix = 0; ipfix < 2; ipfix++) {
		const struct spec variable[] = {{8, 4, 0}, {82, 65535, 0}, {2, 4, 6871}};

		templates_forget(templates);
		define(ipfix, 256, plain, COUNT(plain));
		define(ipfix, 257, fields22, 22);
		if (ipfix)
			define(true, 258, variable, 3);
		begin(ipfix);
		put_options_template(ipfix, 300, ipfix ? 2 : 4, ipfix ? 1 : 4);
		assert_int_equal(decode().fault, DECODE_FINE);
		save_and_take(ipfix);
	}
}

static void taken_is_nothing_else(void **state)
{
	static const uint8_t other[][12] = {
		{0, 4, 0, 12, 1, 0, 0, 1, 0, 2, 0, 4},  /* reserved set ID */
		{1, 0, 0, 12, 1, 0, 0, 1, 0, 2, 0, 4},  /* data set */
		{0, 2, 0, 11, 1, 0, 0, 1, 0, 2, 0, 4},  /* wrong length */
		{0, 0, 0, 12, 1, 0, 0, 1, 0, 2, 0, 4},  /* v9 set ID */
		{0, 2, 0, 12, 0, 9, 0, 1, 0, 2, 0, 4},  /* reserved template ID */
		{0, 2, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0}}; /* empty template */
	static const uint8_t right[] = {0, 2, 0, 12, 1, 0, 0, 1, 0, 2, 0, 4};

	(void)state;
	for (uint32_t i = 0; i < COUNT(other); i++)
		assert_false(
			templates_take(templates, FLOW_PROTOCOL_IPFIX, other[i], sizeof(other[i])));
	assert_false(templates_take(templates, FLOW_PROTOCOL_IPFIX, right, 0));
	assert_int_equal(templates_count(templates), 0);
	assert_true(templates_take(templates, FLOW_PROTOCOL_IPFIX, right, sizeof(right)));
	assert_int_equal(templates_count(templates), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_templates, drop_templates)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(same_definition_changes_nothing),
		TEST(several_definitions_in_a_set),
		TEST(withdrawal_of_one),
		TEST(withdrawal_of_all),
		TEST(definitions_and_withdrawals),
		TEST(no_fields_in_v9),
		TEST(reserved_numbers),
		TEST(longer_than_the_datagram),
		TEST(many_fields),
		TEST(fields_of_no_bytes_are_few),
		TEST(fields_of_no_bytes_change_nothing),
		TEST(scopes_of_no_bytes),
		TEST(options_definitions),
		TEST(options_take_a_number_over),
		TEST(memory_of_a_template),
		TEST(memory_limit),
		TEST(all_numbers),
		TEST(saved_and_taken_again),
		TEST(taken_is_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
