/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Writes sets of IPFIX and NetFlow v9. Each function returns the address after its last byte. */

#include "base/units.h"
#include "flow_protocols/fields.h"
#include "flow_protocols/big_endian.h"

/* Elements up to 127 have the same numbers in NetFlow v9. */
enum element_number {
	IE_OCTET_DELTA_COUNT = 1,
	IE_PACKET_DELTA_COUNT = 2,
	IE_PROTOCOL = 4,
	IE_CLASS_OF_SERVICE = 5,
	IE_TCP_CONTROL_BITS = 6,
	IE_SOURCE_PORT = 7,
	IE_SOURCE_IPV4 = 8,
	IE_SOURCE_IPV4_PREFIX_LENGTH = 9,
	IE_INGRESS_INTERFACE = 10,
	IE_DESTINATION_PORT = 11,
	IE_DESTINATION_IPV4 = 12,
	IE_DESTINATION_IPV4_PREFIX_LENGTH = 13,
	IE_EGRESS_INTERFACE = 14,
	IE_NEXT_HOP_IPV4 = 15,
	IE_LAST_UPTIME = 21,
	IE_FIRST_UPTIME = 22,
	IE_SOURCE_IPV6 = 27,
	IE_DESTINATION_IPV6 = 28,
	IE_SOURCE_IPV6_PREFIX_LENGTH = 29,
	IE_DESTINATION_IPV6_PREFIX_LENGTH = 30,
	IE_SAMPLING_INTERVAL = 34,
	IE_SAMPLING_ALGORITHM = 35,
	IE_EXPORTED_FLOWS = 42,
	IE_SOURCE_IPV4_PREFIX = 44,
	IE_DESTINATION_IPV4_PREFIX = 45,
	IE_DIRECTION = 61,
	IE_NEXT_HOP_IPV6 = 62,
	IE_END_REASON = 136,
	IE_OBSERVATION_DOMAIN = 149,
	IE_START_MILLISECONDS = 152,
	IE_END_MILLISECONDS = 153,
	IE_IGNORED_PACKETS = 164,
	IE_NOT_SENT_FLOWS = 166,
	IE_DESTINATION_IPV6_PREFIX = 169,
	IE_SOURCE_IPV6_PREFIX = 170,
	IE_DOMAIN_NAME = 300,
	IE_SELECTOR_ALGORITHM = 304,
	IE_SAMPLED_PACKETS = 305,
	IE_SKIPPED_PACKETS = 306,
	IE_PACKETS_OBSERVED = 318,
	IE_PACKETS_SELECTED = 319,
	IE_OBSERVATION_MILLISECONDS = 323,
	IE_UPPER_LIMIT = 336,
	IE_LOWER_LIMIT = 337,
	IE_CONFIDENCE = 338,
	IE_LAYER2_OCTET_DELTA_COUNT = 352,
};

struct set_field {
	uint16_t element, len;
};

static inline uint8_t *put_ipfix_header(
	uint8_t *at, uint32_t len, int64_t now, uint32_t sequence, uint32_t domain)
{
	at = put32(put16(put16(at, IPFIX_VERSION), len), (uint64_t)(now / SECOND_NS));
	return put32(put32(at, sequence), domain);
}

static inline uint8_t *put_set_header(uint8_t *set, uint16_t id, uint32_t len)
{
	return put16(put16(set, id), len);
}

static inline uint8_t *end_set(uint8_t *set, uint8_t *at)
{
	put16(set + 2, (uint64_t)(at - set));
	return at;
}

static inline uint8_t *put_fields(uint8_t *at, const struct set_field *fields, uint32_t n)
{
	for (uint32_t f = 0; f < n; f++)
		at = put16(put16(at, fields[f].element), fields[f].len);
	return at;
}

static inline uint8_t *put_template(
	uint8_t *at, uint16_t id, const struct set_field *fields, uint32_t n)
{
	return put_fields(put16(put16(at, id), n), fields, n);
}

static inline uint8_t *put_options_template(
	uint8_t *at, uint16_t id, const struct set_field *fields, uint32_t n)
{
	return put_fields(put16(put16(put16(at, id), n), 1), fields, n);
}
