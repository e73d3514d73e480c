/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Message constants of NetFlow v9 and IPFIX, and parsing of template fields. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/big_endian.h"

#define NETFLOW9_VERSION 9
#define NETFLOW9_HEADER  20
#define IPFIX_VERSION    10
#define IPFIX_HEADER     16
#define SET_HEADER       4

enum {
	SET_NETFLOW9_TEMPLATES = 0,
	SET_NETFLOW9_OPTIONS = 1,
	SET_IPFIX_TEMPLATES = 2,
	SET_IPFIX_OPTIONS = 3,
	SET_DATA = 256,
};

/* length in a template: each record contains the length (RFC 7011, 7) */
#define FIELD_VARIABLE       UINT16_MAX
#define FIELD_ENTERPRISE_BIT 0x8000

struct field {
	uint16_t number;
	uint16_t len;
	uint32_t enterprise;
};

/*
 * Returns the bytes of the field specifier, 0 if truncated. NetFlow v9 has no enterprise numbers:
 * its vendors use types from 32768.
 */
static inline uint32_t field_read(
	const uint8_t *data, uint32_t left, bool ipfix, struct field *field)
{
	*field = (struct field){0};
	if (left < 4)
		return 0;
	field->number = read_u16(data);
	field->len = read_u16(data + 2);
	if (!ipfix || !(field->number & FIELD_ENTERPRISE_BIT))
		return 4;
	if (left < 8)
		return 0;
	field->number &= FIELD_ENTERPRISE_BIT - 1;
	field->enterprise = read_u32(data + 4);
	return 8;
}

/* Returns the bytes of the value. *before: bytes of its prefix, 1 or 3; 0: truncated. */
static inline uint32_t field_variable_len(const uint8_t *data, uint32_t left, uint32_t *before)
{
	*before = 0;
	if (left < 1)
		return 0;
	if (data[0] < UINT8_MAX) {
		*before = 1;
		return data[0];
	}
	if (left < 3)
		return 0;
	*before = 3;
	return read_u16(data + 1);
}
