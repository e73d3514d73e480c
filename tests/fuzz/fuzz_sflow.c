/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as an sFlow datagram after its header; the first byte is the number of samples. Decoded
 * records are consistent, and the handler empties each full batch.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flow_protocols/flow_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct flow_record batch[DECODE_BATCH];
static uint32_t given;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void take_records(void *arg, uint32_t n)
{
	(void)arg;
	require(n > 0 && n <= DECODE_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		require(batch[i].key.family == KEY_IPV4 || batch[i].key.family == KEY_IPV6);
		require(batch[i].packets == 1 && batch[i].has & FLOW_SAMPLE);
		require((batch[i].bytes != 0) == ((batch[i].has & FLOW_BYTES) != 0));
	}
	given += n;
}

static void take_counters(void *arg, const struct interface_counters *counters)
{
	(void)arg;
	require(counters->speed != UINT64_MAX);
}

static void take_sampler(void *arg, const struct sampler_state *sampler)
{
	(void)arg;
	require(sampler->discarded <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_handler sink = {
		.batch = batch,
		.records = take_records,
		.counters = take_counters,
		.sampler = take_sampler,
	};
	struct datagram_header header = {.protocol = FLOW_PROTOCOL_SFLOW};
	struct decode_result result;
	uint8_t *copy;

	if (size == 0)
		return 0;
	header.count = data[0];
	copy = malloc(size);
	require(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	given = 0;
	result = flow_protocol_decode(&header, NULL, copy, (uint32_t)size - 1, &sink);
	free(copy);
	require(result.records == given);
	require(result.records + result.unusable <= result.samples);
	require(result.samples <= header.count);
	require(result.fault < DECODE_FAULT_COUNT);
	return 0;
}
