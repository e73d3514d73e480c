/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/protocols.h"

struct wire_result wire_decode(const struct wire_header *header, struct templates *templates,
	const uint8_t *data, uint32_t len, const struct wire_sink *sink)
{
	switch (header->protocol) {
	case WIRE_NETFLOW5: return netflow5_decode(header, data, len, sink);
	case WIRE_NETFLOW9:
	case WIRE_IPFIX: return message_decode(header, templates, data, len, sink);
	case WIRE_SFLOW: return sflow_decode(header, data, len, sink);
	default: return (struct wire_result){.fault = WIRE_VERSION};
	}
}
