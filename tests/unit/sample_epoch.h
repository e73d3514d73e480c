/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Hand-made epochs for the tests of the outputs. */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "report/rows/report.h"

#define SAMPLE_START  INT64_C(1795182764000000000) /* 2026-11-20T13:52:44Z */
#define SAMPLE_SECOND INT64_C(1000000000)

static inline struct key sample_key4(
	const char *src, uint16_t src_port, const char *dst, uint16_t dst_port, uint8_t proto)
{
	struct key key = {.family = KEY_IPV4};
	uint16_t ports[2] = {htons(src_port), htons(dst_port)};

	if (inet_pton(AF_INET, src, key.v4.src_ip) != 1 ||
		inet_pton(AF_INET, dst, key.v4.dst_ip) != 1)
		abort();
	memcpy(key.v4.src_port, &ports[0], 2);
	memcpy(key.v4.dst_port, &ports[1], 2);
	key.v4.proto = proto;
	return key;
}

static inline struct key sample_key6(
	const char *src, uint16_t src_port, const char *dst, uint16_t dst_port, uint8_t proto)
{
	struct key key = {.family = KEY_IPV6};
	uint16_t ports[2] = {htons(src_port), htons(dst_port)};

	if (inet_pton(AF_INET6, src, key.v6.src_ip) != 1 ||
		inet_pton(AF_INET6, dst, key.v6.dst_ip) != 1)
		abort();
	memcpy(key.v6.src_port, &ports[0], 2);
	memcpy(key.v6.dst_port, &ports[1], 2);
	key.v6.proto = proto;
	return key;
}

static inline struct report_figure sample_figure(uint64_t low, uint64_t value, uint64_t high)
{
	return (struct report_figure){
		.value = value, .low = low, .high = high, .known = true, .high_known = true};
}

/* Creates a one-second epoch without packets. Its measurements have the default key and no rows. */
static inline struct report_epoch *sample_epoch(uint64_t number, uint32_t nb_measurements)
{
	struct report_epoch *epoch = report_epoch_alloc(nb_measurements, 2);

	if (epoch == NULL)
		abort();
	epoch->number = number;
	epoch->start = SAMPLE_START;
	epoch->end = SAMPLE_START + SAMPLE_SECOND;
	epoch->design = "rss";
	epoch->sharing = "separate";
	for (uint32_t m = 0; m < nb_measurements; m++)
		epoch->measurements[m] = (struct report_measurement){
			.name = "main",
			.key_rule = &key_rules[0],
			.sketch = "count-min",
			.confidence = 0.999,
			.confidence_known = true,
		};
	return epoch;
}

/* Creates records of an open epoch, one for each reason to end. */
static inline struct report_epoch *sample_flows(uint64_t number)
{
	struct report_epoch *epoch = sample_epoch(number, 1);
	struct report_flow *flows = calloc(3, sizeof(*flows));

	if (flows == NULL)
		abort();
	for (uint32_t f = 0; f < 3; f++)
		flows[f] = (struct report_flow){
			.key = sample_key4("10.0.0.1", 5123, "10.0.0.2", (uint16_t)f, 6),
			.packets = f + 1,
			.bytes = 60 * (f + 1),
			.first = SAMPLE_START,
			.last = SAMPLE_START + f * SAMPLE_SECOND / 2,
			.tcp_flags = (uint8_t)(16 + f),
			.end = (uint8_t)f,
		};
	epoch->flows_only = true;
	epoch->end = epoch->start;
	epoch->measurements[0].flows = flows;
	epoch->measurements[0].nb_flows = 3;
	return epoch;
}

/* Gives a measurement copies of these rows, ranked in their order. */
static inline void sample_rows(
	struct report_measurement *measurement, const struct report_row *rows, uint32_t nb_rows)
{
	measurement->rows = calloc(nb_rows, sizeof(rows[0]));
	if (measurement->rows == NULL)
		abort();
	memcpy(measurement->rows, rows, nb_rows * sizeof(rows[0]));
	measurement->nb_rows = nb_rows;
	for (uint32_t r = 0; r < nb_rows; r++)
		measurement->rows[r].rank = r + 1;
}
