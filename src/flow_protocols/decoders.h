/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Decoders of each format, called by wire_decode() with its arguments. */

#include <stdint.h>

#include "flow_protocols/flow_protocol.h"

/* Counts records that cannot be used, by reason. */
void wire_skip(struct wire_result *result, enum wire_skip why, uint32_t detail, uint32_t records);

struct wire_result netflow5_decode(const struct wire_header *header, const uint8_t *data,
	uint32_t len, const struct wire_sink *sink);

/* NetFlow v9 and IPFIX: messages of sets. */
struct wire_result message_decode(const struct wire_header *header, struct templates *templates,
	const uint8_t *data, uint32_t len, const struct wire_sink *sink);

struct wire_result sflow_decode(const struct wire_header *header, const uint8_t *data, uint32_t len,
	const struct wire_sink *sink);
