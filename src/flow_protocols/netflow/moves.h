/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Compiled templates. A template becomes a list of moves from record bytes to struct flow_record. A
 * move processes several records at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/fields.h"
#include "flow_protocols/netflow/element.h"
#include "flow_protocols/record.h"

struct move {
	uint16_t from; /* offset in the record, or in the field if it is variable */
	uint8_t op;    /* enum move_op */
	uint8_t to;    /* offset in struct flow_record */
};

/* Each use occurs at most once per direction. */
#define MOVES_MAX (2 * ELEMENT_USE_COUNT)

/* The field of a template that a use reads. */
struct move_choice {
	const struct element *element; /* NULL: no field */
	uint32_t at; /* offset in the record, or field index if the record is variable */
	uint32_t len;
};

struct move_choices {
	struct move_choice forward[ELEMENT_USE_COUNT], reverse[ELEMENT_USE_COUNT];
};

/* Considers a field of the template. `at` is as in struct move_choice. */
void move_choices_add(struct move_choices *choices, const struct field *field, uint32_t at);

/* Compiled form of a template. */
struct move_plan {
	struct move moves[MOVES_MAX];
	uint32_t fields[MOVES_MAX]; /* variable records: field index of each move */
	uint32_t has, reverse_has;  /* bits of enum flow_has that every record sets */
	uint8_t nb_moves;           /* both directions; moves of the second direction come last */
	uint8_t nb_reverse;
	uint8_t family;               /* enum key_family */
	uint32_t uses;                /* USE_BIT() of each use that the first direction fills */
	bool addresses;               /* has IP addresses */
	bool usable;                  /* has addresses, and counters or one packet */
	uint8_t start;                /* use with the start of the flow; 0: none */
	uint8_t end;                  /* use with the last packet; 0: none */
	uint8_t start_move, end_move; /* moves that locate these two fields */
	bool both_families;           /* the addresses of a record decide the family */
	bool sampling;                /* records carry their sampling */
};

/* Rounds a sampling interval. Returns 0 if it is not one. */
uint32_t sampling_interval(double interval);

/* Reads a floating-point number of 4 or 8 bytes; 0: another length. */
double move_read_float(const uint8_t *data, uint32_t len);

/* Properties of a template that its moves do not show. */
struct move_traits {
	bool variable; /* `from` is relative to a field, not to the record */
	bool header;   /* a packet section has the addresses */
	bool report;   /* a record is one packet and has no counters */
};

void move_plan_make(
	struct move_plan *plan, struct move_choices *choices, const struct move_traits *traits);

/*
 * Makes one move for n records of `stride` bytes each. `from` is the field of the first record,
 * with move->from added. Before the first move the caller sets `has` and key.family and clears the
 * rest.
 */
void move_make(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n);

/* Chooses the family of records with addresses of both families. Call it after the moves. */
void move_choose_family(struct flow_record *records, uint32_t n);

/* Marks records that carry their sampling. Call it after the moves. */
void move_end_sampling(struct flow_record *records, uint32_t n);
