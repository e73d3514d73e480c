/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Records of n flows, IPv4 and IPv6 in turn; checks that a receiver got each record once. */

#include <stdio.h>

#include "export_bytes.h"
#include "sample_epoch.h"

#define MANY_MAX 100000

struct many {
	uint32_t n, seen;
	bool there[MANY_MAX];
};

static struct key many_key(uint32_t f)
{
	char text[64];

	snprintf(text, sizeof(text), f % 3 == 0 ? "2001:db8::%x" : "10.1.%u.%u",
		f % 3 == 0 ? f & 0xffff : f >> 8 & 255, f & 255);
	return f % 3 == 0 ? sample_key6(text, (uint16_t)f, "2001:db8:1::1", 443, 6)
			  : sample_key4(text, (uint16_t)f, "192.0.2.1", 53, 17);
}

static struct report_epoch *many_flows(uint32_t n)
{
	struct report_epoch *epoch = sample_epoch(0, 1);

	epoch->measurements[0].flows = calloc(n, sizeof(struct report_flow));
	if (epoch->measurements[0].flows == NULL)
		abort();
	for (uint32_t f = 0; f < n; f++)
		epoch->measurements[0].flows[f] = (struct report_flow){
			.key = many_key(f),
			.packets = f + 1,
			.bytes = UINT64_MAX - f,
			.first = SAMPLE_START + f,
			.last = SAMPLE_START + SAMPLE_SECOND,
		};
	epoch->measurements[0].nb_flows = n;
	epoch->flows_only = true;
	return epoch;
}

/* Marks a received record. */
static inline void many_see(const struct flow_record *record, void *arg)
{
	struct many *many = arg;
	uint32_t f = (uint32_t)record->packets - 1;
	struct key key = many_key(f);

	assert_true(f < many->n && !many->there[f]);
	many->there[f] = true;
	many->seen++;
	assert_true(key_equal(&record->key, &key));
	assert_true(record->bytes == UINT64_MAX - f);
	assert_true(record->has & FLOW_LAYER2_BYTES);
	assert_int_equal(record->input, 1);
	assert_int_equal(record->sampling, 1);
}
