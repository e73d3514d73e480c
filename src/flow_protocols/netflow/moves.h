/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Compiles a template into a list of moves. A move reads one field of a data record and sets a
 * member of struct flow_record. It processes several records at once.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow_protocols/fields.h"
#include "flow_protocols/netflow/element.h"
#include "flow_protocols/record.h"

struct move {
	/* offset in the data record, or in the field if records have variable length */
	uint16_t from;
	uint8_t op; /* enum move_op */
	uint8_t to; /* offset in struct flow_record */
};

/* Each value of enum element_use occurs at most once per direction. */
#define MOVES_MAX (2 * ELEMENT_USE_COUNT)

/* The field of a template that was chosen for a value of enum element_use. */
struct move_choice {
	const struct element *element; /* NULL: no field */
	/* offset in the data record; index of the field if records have variable length */
	uint32_t at;
	uint32_t len;
};

struct move_choices {
	struct move_choice forward[ELEMENT_USE_COUNT], reverse[ELEMENT_USE_COUNT];
};

/*
 * Chooses a field of the template for its use, unless a better field was chosen before. `at` is
 * that of struct move_choice.
 */
void move_choices_add(struct move_choices *choices, const struct field *field, uint32_t at);

struct move_plan {
	struct move moves[MOVES_MAX];
	/* index of the field that each move reads, if records have variable length */
	uint32_t fields[MOVES_MAX];
	uint32_t has, reverse_has; /* bits of enum flow_has that all records have */
	/* both directions; the moves of the reverse direction come last */
	uint8_t nb_moves;
	uint8_t nb_reverse;
	uint8_t family; /* enum key_family */
	uint32_t uses;  /* set of USE_BIT(): fields of the forward direction */
	bool addresses; /* has IP addresses */
	/* records have addresses, and have counters or describe one packet */
	bool usable;
	uint8_t start;                /* enum element_use of the start time; 0: none */
	uint8_t end;                  /* enum element_use of the time of the last packet; 0: none */
	uint8_t start_move, end_move; /* indexes of the moves with the start and end times */
	/* records have addresses of both families; those that are not 0 decide */
	bool both_families;
	bool sampling; /* records contain a sampling interval */
};

/* Rounds a sampling interval. Returns 0 if it is below 1 or not a number. */
uint32_t sampling_interval(double interval);

/* Reads a floating-point number of 4 or 8 bytes. Returns 0 for another length. */
double move_read_float(const uint8_t *data, uint32_t len);

/* Properties of a template, in addition to its fields. */
struct move_traits {
	bool variable; /* records have variable length; move.from is relative to a field */
	bool header;   /* a packet section contains the addresses */
	bool report;   /* a record describes one packet and has no counters */
};

void move_plan_make(
	struct move_plan *plan, struct move_choices *choices, const struct move_traits *traits);

/*
 * Makes one move for n data records of `stride` bytes each. `from` is the address to read in the
 * first record. Before the first move, the caller sets `has` and key.family of each record, and all
 * other members to 0.
 */
void move_make(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n);

/*
 * Sets the family of records whose template has addresses of both families. Call it after the
 * moves.
 */
void move_choose_family(struct flow_record *records, uint32_t n);

/* Sets FLOW_SAMPLING in records that contain a sampling interval. Call it after the moves. */
void move_end_sampling(struct flow_record *records, uint32_t n);
