/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads data records of options templates. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/netflow/template_entry.h"

/*
 * Adds the meaning of a zero-length scope to entry->has and reverse_has, since it applies to every
 * record.
 */
void option_add_empty_scope(struct template_entry *entry, const struct field *field);

/* Reads a record of at most `left` bytes. Returns its length, or 0 if it is truncated. */
uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct option_record *option);
