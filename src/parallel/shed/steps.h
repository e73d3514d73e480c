/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Steps of a measurement: ways to reduce its detail, applied one after the other. */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"
#include "parallel/shed/queue_shedding.h"
#include "sketch/flow_states.h"

#define STEPS_MAX     8
#define STEP_WORD_MAX 128

enum step_kind {
	STEP_RATE, /* sample one in 2^shift packets */
	STEP_KEYS, /* count only one in 2^shift keys (sketch/key_sampling.h) */
	STEP_KEY,  /* use another key from the next interval on, in all workers */
	STEP_OFF,  /* count no packets */
};

struct step {
	enum step_kind kind;
	char word[STEP_WORD_MAX]; /* text of the step, such as "rate:1/4" or "key:src/24" */
	uint8_t shift;
	struct key_rule key; /* key.name points to `word` */
};

/* Do not copy this struct, because key names point to its strings. */
struct steps {
	uint32_t n;
	struct step steps[STEPS_MAX];
};

#define STEPS_WHY_MAX (KEY_RULE_WHY_MAX + STEP_WORD_MAX)

/* Parses a list of steps. Returns false on error, with the reason in why[STEPS_WHY_MAX]. */
bool steps_parse(struct steps *steps, const char *text, char *why);

/* Detail of a measurement. */
struct detail {
	bool off;
	uint8_t shift;              /* one in 2^shift packets is sampled */
	uint8_t keys;               /* one in 2^keys keys is counted */
	const struct key_rule *key; /* NULL: the key of the measurement */
};

/* Returns the detail after the first n steps. A later step replaces earlier ones of its kind. */
struct detail steps_detail(const struct steps *steps, uint32_t n);

/* Returns the text of step n, counted from 1, or "full" for n = 0. */
const char *steps_word(const struct steps *steps, uint32_t n);

/* Sets *n to the step with this text, as in steps_word(). Returns false if there is none. */
bool steps_find(const struct steps *steps, const char *word, uint32_t *n);

/* Writes a level as text: "full", "wait", "1/2" to "1/64", or "count". */
void steps_level_word(struct burst_shed_level level, char word[STEP_WORD_MAX]);

/* Parses the text of a level. Returns false if it is invalid. */
bool steps_find_level(const char *word, struct burst_shed_level *level);

/*
 * Writes the limits of flow states (struct flow_states) as text. The letters c, r and t are the
 * states count, rate and tcp. "flows:ccr" limits flows in state c to c, in state r to c, and in
 * state t to r. "flows:crt-ccr:SHARE" has the second limits for flows whose hash is below SHARE,
 * and the first limits for other flows.
 */
void steps_flows_word(const struct flow_states *flows, char word[STEP_WORD_MAX]);

/* Parses the text of limits of flow states. Returns false if it is invalid. */
bool steps_find_flows(const char *word, struct flow_states *flows);
