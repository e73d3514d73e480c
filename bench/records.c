/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/records.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"
#include "flow_protocols/big_endian.h"

static void fill_key(struct key *key, uint64_t number, uint64_t random)
{
	*key = (struct key){.family = KEY_IPV4, .v4 = {.proto = 6, .dst_port = {1, 187}}};
	put32(key->v4.src_ip, 0x0a000000 + (uint32_t)number);
	memcpy(key->v4.dst_ip, &random, sizeof(key->v4.dst_ip));
	memcpy(key->v4.src_port, (const char *)&random + 4, sizeof(key->v4.src_port));
}

static void fill_flow(struct report_flow *flow, uint64_t number, uint64_t seed)
{
	uint64_t random = random_mix(seed ^ (number + 1));

	*flow = (struct report_flow){
		.packets = 1 + random % 1000,
		.bytes = random % 1000000,
		.ip_bytes = random % 900000,
		.first = RECORDS_START + (int64_t)(random % SECOND_NS),
		.last = RECORDS_START + SECOND_NS + (int64_t)(random % 1000000),
		.tcp_flags = 0x1b,
		.end = FLOW_END_INTERVAL,
	};
	fill_key(&flow->key, number, random);
}

static void fill_row(struct report_row *row, uint64_t number, uint64_t seed)
{
	uint64_t packets = random_mix(seed ^ (number + 1)) % 1000000;

	*row = (struct report_row){
		.rank = (uint32_t)number + 1,
		.packets = {packets, packets, packets + 10, .known = true, .high_known = true},
		.bytes = {packets * 64, packets * 64, packets * 64 + 640, .known = true,
			.high_known = true},
	};
	fill_key(&row->key, number, packets);
}

static bool fill(
	struct report_measurement *measurement, const struct records_spec *spec, uint32_t m)
{
	static const char *const names[] = {"main", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8",
		"m9", "m10", "m11", "m12", "m13", "m14", "m15"};

	measurement->name = names[m % (sizeof(names) / sizeof(names[0]))];
	measurement->key_rule = &key_rules[0];
	measurement->sketch = "flow-table";
	measurement->ip_bytes = true;
	measurement->rows = calloc(spec->rows + 1, sizeof(measurement->rows[0]));
	measurement->flows = calloc(spec->flows + 1, sizeof(measurement->flows[0]));
	if (measurement->rows == NULL || measurement->flows == NULL)
		return false;
	for (size_t r = 0; r < spec->rows; r++)
		fill_row(&measurement->rows[r], r, spec->seed + m);
	measurement->nb_rows = (uint32_t)spec->rows;
	for (size_t f = 0; m == 0 && f < spec->flows; f++)
		fill_flow(&measurement->flows[f], f, spec->seed);
	measurement->nb_flows = m == 0 ? spec->flows : 0;
	return true;
}

struct report_epoch *records_epoch(const struct records_spec *spec)
{
	struct report_epoch *epoch = report_epoch_alloc(spec->measurements, 1);

	for (uint32_t m = 0; epoch != NULL && m < spec->measurements; m++)
		if (!fill(&epoch->measurements[m], spec, m)) {
			report_epoch_free(epoch);
			return NULL;
		}
	if (epoch == NULL)
		return NULL;
	epoch->number = spec->number;
	epoch->start = RECORDS_START + (int64_t)spec->number * SECOND_NS;
	epoch->end = epoch->start + SECOND_NS;
	epoch->live = true;
	epoch->design = "rss";
	epoch->sharing = "separate";
	return epoch;
}
