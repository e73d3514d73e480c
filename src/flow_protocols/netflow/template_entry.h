/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A template as it is kept, for those who decode its records
 * (flow_protocols/netflow/template.h). */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/flow_protocol.h"
#include "flow_protocols/netflow/moves.h"

/* Numbers of sets. */
enum {
	SET_NETFLOW9_TEMPLATES = 0,
	SET_NETFLOW9_OPTIONS = 1,
	SET_IPFIX_TEMPLATES = 2,
	SET_IPFIX_OPTIONS = 3,
	SET_DATA = 256, /* and all above: a template's number */
};

#define SET_HEADER 4

struct template_entry {
	uint16_t id;
	uint16_t record_len; /* of variable records, the least */
	uint16_t definition_len;
	uint16_t
		nb_fields; /* that a record is walked by; where it has any, those of no bytes are left out */
	union {
		uint16_t nb_scopes; /* options: those of the fields that come first */
		uint16_t uses;      /* records: as in struct move_plan */
	};
	uint16_t nb_field_moves;
	uint16_t
		walk_len; /* bytes of the specifiers of these fields; 0: all are in the definition */
	/* enum flow_has. An options template has what its scopes of no bytes bring: enum
	 * wire_option_has, and a part of the scope. */
	uint32_t has, reverse_has;
	uint8_t nb_moves, nb_reverse;
	uint8_t family;
	uint8_t skip;     /* enum wire_skip, if it is not usable */
	uint16_t section; /* the element that holds a section of the packet; 0: none does */
	uint8_t start;    /* enum element_use: what tells when the flow began; 0: nothing */
	uint8_t end;      /* the same of the record's last packet */
	uint8_t start_move, end_move; /* their numbers */
	bool packet : 1; /* records have a packet, or a part of one: message.c completes them */
	bool report : 1; /* a record is of one packet */
	bool options : 1;
	bool ipfix : 1;
	bool variable : 1;
	bool usable : 1;
	bool non_ip : 1;   /* records of frames that are not IP */
	bool harmless : 1; /* unusable, and its records have no packets of IP */
	bool both_families : 1;
	bool sampling : 1;
	/*
	 * The moves; of variable records the number of each field's move, NO_MOVE where it has
	 * none; the definition, as a set; the specifiers that records are walked by, where they are
	 * fewer.
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

/* The first field specifier that records are walked by. */
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

/* NULL: it is not known. Valid until the templates change. */
const struct template_entry *templates_find(const struct templates *templates, uint16_t id);

/*
 * Begins a message of `len` bytes. It may change 64 templates, and one more for each 32 bytes: a
 * change takes much more time than a record. Before the first message there is no such limit.
 */
void templates_begin(struct templates *templates, uint32_t len);

/* Returns a count of work so far: fields of definitions, templates that were read or moved. */
uint64_t templates_work(const struct templates *templates);

/*
 * Takes the definitions of a set (its body) in, and says in *nb how many there were, unchanged ones
 * too. known(): of each that is new, or another than before.
 */
enum wire_fault templates_read_set(struct templates *templates, uint16_t set_id,
	const uint8_t *data, uint32_t len, void (*known)(void *arg, uint16_t id), void *arg,
	uint32_t *nb);
