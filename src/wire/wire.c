/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/wire.h"

const char *const wire_protocol_names[WIRE_PROTOCOL_COUNT] = {
	[WIRE_NETFLOW5] = "netflow5",
	[WIRE_NETFLOW9] = "netflow9",
	[WIRE_IPFIX] = "ipfix",
	[WIRE_SFLOW] = "sflow",
};

const char *const wire_fault_words[WIRE_FAULT_COUNT] = {
	[WIRE_FINE] = "nothing",
	[WIRE_SHORT] = "it is shorter than a header",
	[WIRE_VERSION] = "its version is none that is known",
	[WIRE_LENGTH] = "a length goes beyond its end",
	[WIRE_SET] = "a set has a length below 4, or a reserved number",
	[WIRE_TEMPLATE] = "a template has no fields, or longer records than a datagram holds",
	[WIRE_COUNT] = "its count of records is not what it holds",
	[WIRE_TEMPLATE_ROOM] = "there is no room for another template",
};
