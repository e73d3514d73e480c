/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Compiled template (netflow/template.h), as the decoders of its records use it. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/netflow/moves.h"

struct template_entry {
	uint16_t id;
	uint16_t record_len; /* bytes; the minimum if records have variable length */
	uint16_t definition_len;
	/* number of fields; without those of length 0 if records are read field by field */
	uint16_t nb_fields;
	union {
		uint16_t nb_scopes; /* options template: number of scope fields, which come first */
		uint32_t uses;      /* template of flow records: copy of move_plan.uses */
	};
	uint16_t nb_field_moves;
	/* bytes of a copy of the specifiers of non-empty fields; 0: there is no copy */
	uint16_t walk_len;
	/*
	 * Template of flow records: bits of enum flow_has. Options template: its scopes of length
	 * 0, as bits of enum option_record_has (has) and as a hash (reverse_has).
	 */
	uint32_t has, reverse_has;
	uint8_t nb_moves, nb_reverse;
	uint8_t family;
	uint8_t skip;                 /* enum decode_skip: why records are not usable */
	uint16_t section;             /* element that holds a packet section; 0: none */
	uint8_t start;                /* enum element_use of the start time; 0: none */
	uint8_t end;                  /* enum element_use of the time of the last packet; 0: none */
	uint8_t start_move, end_move; /* indexes of the moves with the start and end times */
	bool packet : 1;              /* records contain a packet section, which message.c reads */
	bool report : 1;              /* a record describes one packet */
	bool options : 1;
	bool ipfix : 1;
	bool variable : 1;
	bool usable : 1;
	bool non_ip : 1;   /* records of non-IP frames */
	bool harmless : 1; /* not usable, but its records describe no IP packets */
	bool both_families : 1;
	bool sampling : 1;
	/*
	 * Three parts follow the moves. 1: if records have variable length, one byte per field with
	 * the index of its move, or NO_MOVE. 2: the definition as a set. 3: a copy of the
	 * specifiers of non-empty fields, if walk_len > 0.
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

/* Returns the first specifier of the fields that are read one by one. */
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

/* Returns NULL if the template is unknown. The pointer is valid until the templates change. */
const struct template_entry *templates_find(const struct templates *templates, uint16_t id);

/*
 * Begins a message of `len` bytes. Limits its template changes to 64, plus one per 32 bytes,
 * because a change takes much longer than a record. Before the first call there is no limit.
 */
void templates_begin(struct templates *templates, uint32_t len);

/* Returns the total work so far: fields of definitions, and templates read or moved. */
uint64_t templates_work(const struct templates *templates);

/*
 * Adds the definitions in the body of a set. Stores their number, including unchanged ones, in *nb.
 * Calls known() for each new or changed template.
 */
enum decode_fault templates_read_set(struct templates *templates, uint16_t set_id,
	const uint8_t *data, uint32_t len, void (*known)(void *arg, uint16_t id), void *arg,
	uint32_t *nb);

/* Options records (option_data.c). */

/*
 * Adds a scope field of length 0 to entry->has and entry->reverse_has. Records contain no bytes of
 * such a field, so option_read() takes it from the entry.
 */
void option_add_empty_scope(struct template_entry *entry, const struct field *field);

/*
 * Reads an options record; `left` bytes are available. Returns its length, or 0 if it is truncated.
 */
uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct option_record *option);
