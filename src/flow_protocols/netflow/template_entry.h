/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Compiled template, for the decoders of its records. */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/netflow/moves.h"

struct template_entry {
	uint16_t id;
	uint16_t record_len; /* bytes; the minimum if records have variable length */
	uint16_t definition_len;
	/* fields; without those of length 0 if records are read field by field */
	uint16_t nb_fields;
	union {
		uint16_t nb_scopes; /* options template: scope fields, which come first */
		uint32_t uses;      /* flow template: move_plan.uses */
	};
	uint16_t nb_field_moves;
	/* bytes of the specifiers of non-empty fields after the moves; 0: none */
	uint16_t walk_len;
	/*
	 * flow template: enum flow_has; options template: scopes of length 0, as enum
	 * option_record_has in `has` and as a hash in reverse_has
	 */
	uint32_t has, reverse_has;
	uint8_t nb_moves, nb_reverse;
	uint8_t family;
	uint8_t skip;                 /* enum decode_skip: why records are not usable */
	uint16_t section;             /* element with a packet section; 0: none */
	uint8_t start;                /* enum element_use; 0: none */
	uint8_t end;                  /* enum element_use; 0: none */
	uint8_t start_move, end_move; /* indexes of the moves of `start` and `end` */
	bool packet : 1;              /* records contain a packet section */
	bool report : 1;
	bool options : 1;
	bool ipfix : 1;
	bool variable : 1;
	bool usable : 1;
	bool non_ip : 1;
	bool harmless : 1; /* not usable, but describes no IP packets */
	bool both_families : 1;
	bool sampling : 1;
	/*
	 * After the moves: if records have variable length, one byte per field, the index of its
	 * move or NO_MOVE; the definition as a set; `walk_len` bytes of specifiers.
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

/* Returns NULL if unknown. The pointer is valid until the templates change. */
const struct template_entry *templates_find(const struct templates *templates, uint16_t id);

/*
 * Limits the template changes of a message of `len` bytes to 64 plus one per 32 bytes, because
 * changes are slow.
 */
void templates_begin(struct templates *templates, uint32_t len);

/* Returns the number of fields and templates read, and pointers moved, so far. */
uint64_t templates_work(const struct templates *templates);

/* *nb: definitions of the set. known() receives new and changed templates. */
enum decode_fault templates_read_set(struct templates *templates, uint16_t set_id,
	const uint8_t *data, uint32_t len, void (*known)(void *arg, uint16_t id), void *arg,
	uint32_t *nb);

/*
 * Adds a scope of length 0 to entry->has and reverse_has, because records contain no bytes for it.
 */
void option_add_empty_scope(struct template_entry *entry, const struct field *field);

/* Reads an options record. Returns its length, 0 if truncated. */
uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct option_record *option);
