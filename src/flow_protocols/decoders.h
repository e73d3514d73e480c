/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Decoders of each format, called by flow_protocol_decode() with its arguments. */

#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

/* Counts records that cannot be used, by reason. */
void flow_protocol_skip(
	struct decode_result *result, enum decode_skip why, uint32_t detail, uint32_t records);

struct decode_result netflow5_decode(const struct datagram_header *header, const uint8_t *data,
	uint32_t len, const struct record_handler *sink);

/* NetFlow v9 and IPFIX: messages of sets. */
struct decode_result message_decode(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink);

struct decode_result sflow_decode(const struct datagram_header *header, const uint8_t *data,
	uint32_t len, const struct record_handler *sink);
