/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"
#include "flow_protocols/decoders.h"

struct decode_result flow_protocol_decode(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink)
{
	switch (header->protocol) {
	case FLOW_PROTOCOL_NETFLOW5: return netflow5_decode(header, data, len, sink);
	case FLOW_PROTOCOL_NETFLOW9:
	case FLOW_PROTOCOL_IPFIX: return message_decode(header, templates, data, len, sink);
	case FLOW_PROTOCOL_SFLOW: return sflow_decode(header, data, len, sink);
	default: return (struct decode_result){.fault = DECODE_VERSION};
	}
}

bool flow_protocol_is_padding(const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (data[i] != 0)
			return false;
	return true;
}

void flow_protocol_skip(
	struct decode_result *result, enum decode_skip why, uint32_t detail, uint32_t records)
{
	struct decode_skipped *skipped = result->skipped;
	uint32_t i = 0;

	ASSERT(result->nb_skipped, <=, DECODE_SKIPPED_MAX);
	result->unusable += records;
	while (i < result->nb_skipped && (skipped[i].why != why || skipped[i].detail != detail))
		i++;
	if (i >= DECODE_SKIPPED_MAX - 1) {
		i = DECODE_SKIPPED_MAX - 1;
		why = DECODE_SKIP_OTHERS;
		detail = 0;
	}
	if (i >= result->nb_skipped) {
		skipped[i] = (struct decode_skipped){.why = why, .detail = detail};
		result->nb_skipped = i + 1;
	}
	skipped[i].records += records;
}
