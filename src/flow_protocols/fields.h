/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Messages and sets of NetFlow v9 and IPFIX: numbers, field specifiers, lengths of fields. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/big_endian.h"

#define NETFLOW9_VERSION 9
#define NETFLOW9_HEADER  20 /* bytes of a message header */
#define IPFIX_VERSION    10
#define IPFIX_HEADER     16
#define SET_HEADER       4

/* Set IDs. */
enum {
	SET_NETFLOW9_TEMPLATES = 0,
	SET_NETFLOW9_OPTIONS = 1,
	SET_IPFIX_TEMPLATES = 2,
	SET_IPFIX_OPTIONS = 3,
	SET_DATA = 256, /* lowest template ID */
};

#define FIELD_VARIABLE       UINT16_MAX /* each record carries the length of the field */
#define FIELD_ENTERPRISE_BIT 0x8000

struct field {
	uint16_t number;
	uint16_t len;
	uint32_t enterprise;
};

/*
 * Reads a field specifier of at most `left` bytes. Returns its length, or 0 if it is truncated. v9
 * types have no enterprise: vendors use numbers from 32768.
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

/*
 * Reads the length prefix of a variable field (RFC 7011, 7). Returns the length of the value and
 * stores the length of the prefix in *before, which is 0 if the prefix is truncated.
 */
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
