/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Data records of options templates. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/netflow/template_entry.h"

/* Adds to entry->has and reverse_has what a scope of no bytes says of every record. */
void option_add_empty_scope(struct template_entry *entry, const struct field *field);

/*
 * Reads the record at data, of which no more than `left` bytes are there, and returns its length;
 * 0: it is cut.
 */
uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct wire_option *option);
