/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Steps by which a measurement reduces detail, in order. */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "parallel/shed/queue_shedding.h"
#include "sketch/flow_states.h"

#define STEPS_MAX     8
#define STEP_WORD_MAX 128

enum step_kind {
	STEP_RATE, /* count one packet of 2^shift */
	STEP_KEYS, /* count only a share of 2^-shift of the keys (sketch/key_sampling.h) */
	STEP_KEY,  /* use another key rule; from the start of an interval on, for all workers */
	STEP_OFF,  /* count no packet */
};

struct step {
	enum step_kind kind;
	char word[STEP_WORD_MAX]; /* "rate:1/4", "keys:1/4", "key:src/24", "off" */
	uint8_t shift;
	struct key_rule key; /* its name points into `word` */
};

/* Must not be copied, because names point into it. */
struct steps {
	uint32_t n;
	struct step steps[STEPS_MAX];
};

#define STEPS_WHY_MAX (KEY_RULE_WHY_MAX + STEP_WORD_MAX)

/* Parses a list of steps. Returns true, or false with a phrase in why[STEPS_WHY_MAX]. */
bool steps_parse(struct steps *steps, const char *text, char *why);

/* Detail after the first n steps; the last step of each kind applies. */
struct detail {
	bool off;
	uint8_t shift, keys;        /* parameters of STEP_RATE and STEP_KEYS */
	const struct key_rule *key; /* NULL: the key of the measurement */
};

struct detail steps_detail(const struct steps *steps, uint32_t n);

/* Returns the word of the last of n steps, or "full". */
const char *steps_word(const struct steps *steps, uint32_t n);

/* Finds the number of steps that end with this word. Returns false if there is none. */
bool steps_find(const struct steps *steps, const char *word, uint32_t *n);

/* Writes the level of a burst: "full", "wait", "1/2" to "1/64", "count". */
void steps_level_word(struct burst_shed_level level, char word[STEP_WORD_MAX]);

/* Parses such a word. Returns false if it is invalid. */
bool steps_find_level(const char *word, struct burst_shed_level *level);

/*
 * Writes the flow detail: "flows:crt" lists the detail of flows in states count, rate and tcp
 * (struct flow_states). "flows:crt-ccr:SHARE": flows whose part of the hash is below SHARE have the
 * second detail.
 */
void steps_flows_word(const struct flow_states *flows, char word[STEP_WORD_MAX]);

/* Parses such a word. Returns false if it is invalid. */
bool steps_find_flows(const char *word, struct flow_states *flows);
