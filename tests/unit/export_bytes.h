/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Builds exporter datagrams byte by byte, and stores what a decoder returns for them. */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/netflow/template.h"

struct bytes {
	uint8_t data[65536];
	uint32_t len;
};

static inline void put(struct bytes *bytes, uint64_t value, uint32_t width)
{
	assert(bytes->len + width <= sizeof(bytes->data));
	for (uint32_t i = 0; i < width; i++)
		bytes->data[bytes->len++] =
			(uint8_t)(width - i > 8 ? 0 : value >> (8 * (width - i - 1)));
}

static inline void append_bytes(struct bytes *bytes, const void *data, uint32_t len)
{
	assert(bytes->len + len <= sizeof(bytes->data));
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

static inline void overwrite_u16(struct bytes *bytes, uint32_t at, uint32_t value)
{
	bytes->data[at] = (uint8_t)(value >> 8);
	bytes->data[at + 1] = (uint8_t)value;
}

#define EXPORTED 1700000000U /* seconds since 1970 */
#define UPTIME   100000U     /* ms */

static inline void begin_netflow9(struct bytes *bytes, uint32_t count)
{
	bytes->len = 0;
	put(bytes, 9, 2);
	put(bytes, count, 2);
	put(bytes, UPTIME, 4);
	put(bytes, EXPORTED, 4);
	put(bytes, 7, 4);  /* sequence */
	put(bytes, 42, 4); /* source ID */
}

static inline void begin_ipfix(struct bytes *bytes)
{
	bytes->len = 0;
	put(bytes, 10, 2);
	put(bytes, 0, 2); /* length, set by end_message() */
	put(bytes, EXPORTED, 4);
	put(bytes, 7, 4);
	put(bytes, 42, 4);
}

/* Returns the position of the set, for end_set(). */
static inline uint32_t begin_set(struct bytes *bytes, uint32_t id)
{
	put(bytes, id, 2);
	put(bytes, 0, 2);
	return bytes->len - 4;
}

static inline void end_set(struct bytes *bytes, uint32_t at)
{
	overwrite_u16(bytes, at + 2, bytes->len - at);
}

static inline void end_message(struct bytes *bytes)
{
	if (bytes->data[1] == 10)
		overwrite_u16(bytes, 2, bytes->len);
}

struct spec {
	uint32_t number, len, enterprise;
};

static inline void put_specs(struct bytes *bytes, const struct spec *specs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		put(bytes, specs[i].number | (specs[i].enterprise != 0 ? 0x8000 : 0), 2);
		put(bytes, specs[i].len, 2);
		if (specs[i].enterprise != 0)
			put(bytes, specs[i].enterprise, 4);
	}
}

static inline void put_template(
	struct bytes *bytes, uint32_t set_id, uint32_t id, const struct spec *specs, uint32_t n)
{
	uint32_t set = begin_set(bytes, set_id);

	put(bytes, id, 2);
	put(bytes, n, 2);
	put_specs(bytes, specs, n);
	end_set(bytes, set);
}

#define SEEN_MAX 4096

/* Everything the record handler received. */
struct seen {
	struct flow_record batch[DECODE_BATCH];
	struct flow_record records[SEEN_MAX];
	uint32_t n;
	struct option_record options[SEEN_MAX];
	char names[16][64];
	uint32_t nb_options;
	uint16_t unknown[64], known[64];
	uint32_t unknown_len[64];
	uint32_t nb_unknown, nb_known;
	char order[64]; /* r: records, o: option, u: unknown, t: template */
	uint32_t nb_order;
};

static inline void note(struct seen *seen, char what)
{
	if (seen->nb_order + 1 < sizeof(seen->order))
		seen->order[seen->nb_order++] = what;
}

static inline void decoded_records(void *arg, uint32_t n)
{
	struct seen *seen = arg;

	assert(n > 0 && n <= DECODE_BATCH && seen->n + n <= SEEN_MAX);
	memcpy(seen->records + seen->n, seen->batch, n * sizeof(seen->batch[0]));
	seen->n += n;
	note(seen, 'r');
}

static inline void decoded_option(void *arg, const struct option_record *option)
{
	struct seen *seen = arg;

	if (seen->nb_options < 16 && option->name_len > 0 && option->name_len < 64)
		memcpy(seen->names[seen->nb_options], option->name, option->name_len);
	assert(seen->nb_options < SEEN_MAX);
	seen->options[seen->nb_options++] = *option;
	note(seen, 'o');
}

static inline void decoded_unknown(void *arg, uint16_t id, const uint8_t *set, uint32_t len)
{
	struct seen *seen = arg;

	(void)set;
	if (seen->nb_unknown < 64) {
		seen->unknown_len[seen->nb_unknown] = len;
		seen->unknown[seen->nb_unknown++] = id;
	}
	note(seen, 'u');
}

static inline void decoded_known(void *arg, uint16_t id)
{
	struct seen *seen = arg;

	if (seen->nb_known < 64)
		seen->known[seen->nb_known++] = id;
	note(seen, 't');
}

static inline void decoded_counters(void *arg, const struct interface_counters *counters)
{
	(void)arg;
	(void)counters;
}

static inline void decoded_sampler(void *arg, const struct sampler_state *sampler)
{
	(void)arg;
	(void)sampler;
}

static inline struct record_handler decoded_sink(struct seen *seen)
{
	return (struct record_handler){.batch = seen->batch,
		.arg = seen,
		.records = decoded_records,
		.option = decoded_option,
		.unknown = decoded_unknown,
		.template_known = decoded_known,
		.counters = decoded_counters,
		.sampler = decoded_sampler};
}

/* Decodes a copy of the exact length, so that ASan detects an overread. */
static inline struct decode_result decode_copy(
	const uint8_t *data, uint32_t len, struct templates *templates, struct seen *seen)
{
	struct decode_result result = {0};
	struct record_handler sink = decoded_sink(seen);
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct datagram_header header;

	assert(copy != NULL);
	memcpy(copy, data, len);
	memset(seen, 0, sizeof(*seen));
	result.fault = flow_protocol_read_header(copy, len, &header);
	if (result.fault == DECODE_FINE)
		result = flow_protocol_decode(&header, templates, copy, len, &sink);
	free(copy);
	return result;
}

static inline struct decode_result decode_bytes(
	struct bytes *bytes, struct templates *templates, struct seen *seen)
{
	end_message(bytes);
	return decode_copy(bytes->data, bytes->len, templates, seen);
}
