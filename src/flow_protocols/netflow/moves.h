/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A move reads one field of several data records and sets a member of struct flow_record. */

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

/* Each element_use occurs at most once per direction. */
#define MOVES_MAX (2 * ELEMENT_USE_COUNT)

/* The template field that sets a value of enum element_use. */
struct move_choice {
	const struct element *element;
	/* offset in the data record; index of the field if records have variable length */
	uint32_t at;
	uint32_t len;
};

struct move_choices {
	struct move_choice forward[ELEMENT_USE_COUNT], reverse[ELEMENT_USE_COUNT];
};

/* Keeps a better field that was added before. `at`: offset or index, as in struct move_choice. */
void move_choices_add(struct move_choices *choices, const struct field *field, uint32_t at);

struct move_plan {
	struct move moves[MOVES_MAX];
	/* index of the field for each move, if records have variable length */
	uint32_t fields[MOVES_MAX];
	uint32_t has, reverse_has; /* enum flow_has bits that all records have */
	/* both directions, the reverse one last */
	uint8_t nb_moves;
	uint8_t nb_reverse;
	uint8_t family;
	uint32_t uses; /* USE_BIT() of fields of the forward direction */
	bool addresses;
	/* has addresses, and either counters or a packet section */
	bool usable;
	uint8_t start;                /* enum element_use; 0: none */
	uint8_t end;                  /* enum element_use; 0: none */
	uint8_t start_move, end_move; /* indexes of the moves of `start` and `end` */
	/* records have addresses of both families, and those that are not 0 count */
	bool both_families;
	bool sampling;
};

/* Returns 0 if the interval is below 1 or NaN. */
uint32_t sampling_interval(double interval);

/* Returns 0 if `len` is not 4 or 8. */
double move_read_float(const uint8_t *data, uint32_t len);

struct move_traits {
	bool variable; /* records have variable length */
	bool header;
	bool report;
};

void move_plan_make(
	struct move_plan *plan, struct move_choices *choices, const struct move_traits *traits);

/*
 * `from`: address to read in the first of n records. The caller has cleared them, except for `has`
 * and key.family.
 */
void move_make(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n);

/* Call it after the moves if move_plan.both_families is set. */
void move_choose_family(struct flow_record *records, uint32_t n);

/* Call it after the moves. Sets FLOW_SAMPLING in records with a sampling interval. */
void move_end_sampling(struct flow_record *records, uint32_t n);
