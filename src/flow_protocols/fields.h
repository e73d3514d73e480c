/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The field specifiers of a template's definition, and where fields of a record end. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/big_endian.h"

#define FIELD_VARIABLE       UINT16_MAX /* the length of a field that each record says anew */
#define FIELD_ENTERPRISE_BIT 0x8000

struct field {
	uint16_t number;
	uint16_t len;
	uint32_t enterprise;
};

/*
 * Reads the specifier at data, of which `left` bytes are there, and returns its length; 0: it is
 * cut. Types of v9 have no enterprise: vendors took numbers from 32768 on.
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
 * The length of a field of variable length whose record goes on at data, and in *before the bytes
 * that say it (RFC 7011, 7). Where they are not there *before is 0.
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
