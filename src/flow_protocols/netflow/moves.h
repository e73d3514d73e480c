/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * From a record's bytes to a struct flow_record: a template compiled into moves, each of which is
 * made for several records at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/fields.h"
#include "flow_protocols/netflow/element.h"
#include "flow_protocols/record.h"

struct move {
	uint16_t from; /* in the record; of variable ones, in the field */
	uint8_t op;    /* enum move_op */
	uint8_t to;    /* in struct flow_record */
};

/* At most: each use once in each direction. */
#define MOVES_MAX (2 * ELEMENT_USE_COUNT)

/* The field that a use takes, of those of a template. */
struct move_choice {
	const struct element *element; /* NULL: none */
	uint32_t at;                   /* in the record; of variable ones, the field's number */
	uint32_t len;
};

struct move_choices {
	struct move_choice forward[ELEMENT_USE_COUNT], reverse[ELEMENT_USE_COUNT];
};

/* Takes the field into account. */
void move_choices_add(struct move_choices *choices, const struct field *field, uint32_t at);

/* What a template's records are like. */
struct move_plan {
	struct move moves[MOVES_MAX];
	uint32_t fields[MOVES_MAX]; /* of variable records: the number of a move's field */
	uint32_t has, reverse_has;  /* enum flow_has, of every record */
	uint8_t nb_moves;           /* of both directions; those of the second are the last */
	uint8_t nb_reverse;
	uint8_t family; /* enum key_family */
	uint16_t uses;  /* USE_BIT()s that fields of the first direction fill */
	bool addresses; /* of IP */
	bool usable;    /* there are counters, or one packet, and addresses */
	uint8_t start;  /* the use that tells when the flow began; 0: none is needed */
	uint8_t end;    /* the same of its last packet */
	uint8_t start_move, end_move; /* that have the addresses of these fields */
	bool both_families;           /* the addresses say which it is */
	bool sampling;                /* records say how they were sampled */
};

/* A sampling interval as a whole number; 0: it is none. */
uint32_t sampling_interval(double interval);

/* Traits of a template that no move shows. */
struct move_traits {
	bool variable; /* moves are from fields, not from places of the record */
	bool header;   /* a section of the packet has addresses */
	bool report;   /* a record is of one packet, and has no counters */
};

void move_plan_make(
	struct move_plan *plan, struct move_choices *choices, const struct move_traits *traits);

/*
 * Makes a move for n records of `stride` bytes; `from` is the first one's field, and `move->from`
 * is in it already. What records begin with is the caller's: has, key.family, else 0.
 */
void move_make(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n);

/* Behind the moves of records whose templates have addresses of both families. */
void move_choose_family(struct flow_record *records, uint32_t n);

/* Behind the moves of records that say how they were sampled. */
void move_end_sampling(struct flow_record *records, uint32_t n);
