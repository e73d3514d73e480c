/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Stored form of a template (netflow/template.h), for the decoders of its records. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/netflow/moves.h"

struct template_entry {
	uint16_t id;
	uint16_t record_len; /* bytes; minimum if the record is variable */
	uint16_t definition_len;
	uint16_t nb_fields; /* fields to walk in a variable record, without those of length 0 */
	union {
		uint16_t nb_scopes; /* options: number of scope fields, which come first */
		uint32_t uses;      /* records: as in struct move_plan */
	};
	uint16_t nb_field_moves;
	uint16_t walk_len; /* bytes of these field specifiers; 0: they are in the definition */
	/*
	 * Bits of enum flow_has. Options templates: meaning of zero-length scopes, as bits of enum
	 * option_record_has and part of the scope.
	 */
	uint32_t has, reverse_has;
	uint8_t nb_moves, nb_reverse;
	uint8_t family;
	uint8_t skip;                 /* enum decode_skip, if unusable */
	uint16_t section;             /* element that holds a packet section; 0: none */
	uint8_t start;                /* enum element_use with the start of the flow; 0: none */
	uint8_t end;                  /* enum element_use with the last packet; 0: none */
	uint8_t start_move, end_move; /* indexes of the moves that locate them */
	bool packet : 1;              /* records hold a packet section; message.c completes them */
	bool report : 1;              /* a record is one packet */
	bool options : 1;
	bool ipfix : 1;
	bool variable : 1;
	bool usable : 1;
	bool non_ip : 1;   /* records of non-IP frames */
	bool harmless : 1; /* unusable, and records have no IP packets */
	bool both_families : 1;
	bool sampling : 1;
	/*
	 * Followed by the index of each field's move if the record is variable (NO_MOVE: none), the
	 * definition as a set, and the field specifiers to walk if walk_len > 0.
	 */
	struct move moves[];
};

#define NO_MOVE UINT8_MAX

static inline const uint8_t *template_field_moves(const struct template_entry *entry)
{
	return (const uint8_t *)(entry->moves + entry->nb_moves);
}

static inline const uint8_t *template_definition(const struct template_entry *entry)
{
	return template_field_moves(entry) + entry->nb_field_moves;
}

/* Returns the first field specifier to walk. */
static inline const uint8_t *template_fields(const struct template_entry *entry)
{
	return template_definition(entry) +
	       (entry->walk_len > 0 ? entry->definition_len
				    : SET_HEADER + (entry->options ? 6 : 4));
}

static inline const uint8_t *template_fields_end(const struct template_entry *entry)
{
	return template_definition(entry) + entry->definition_len + entry->walk_len;
}

_Static_assert(ELEMENT_USE_COUNT <= 1 << 6, "a use has 6 bits");

/* Returns NULL if the template is unknown. The pointer is valid until the templates change. */
const struct template_entry *templates_find(const struct templates *templates, uint16_t id);

/*
 * Begins a message of `len` bytes and limits its template changes, which take much longer than
 * records: to 64, and one more per 32 bytes. There is no limit before the first call.
 */
void templates_begin(struct templates *templates, uint32_t len);

/* Returns the total work so far: fields of definitions, and templates read or moved. */
uint64_t templates_work(const struct templates *templates);

/*
 * Adds the definitions in the body of a set and stores their number in *nb, including unchanged
 * ones. Calls known() for each new or changed template.
 */
enum decode_fault templates_read_set(struct templates *templates, uint16_t set_id,
	const uint8_t *data, uint32_t len, void (*known)(void *arg, uint16_t id), void *arg,
	uint32_t *nb);

/* option_data.c: data records of options templates */

/*
 * Adds the meaning of a zero-length scope to entry->has and reverse_has, since it applies to every
 * record.
 */
void option_add_empty_scope(struct template_entry *entry, const struct field *field);

/* Reads a record of at most `left` bytes. Returns its length, or 0 if it is truncated. */
uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct option_record *option);
