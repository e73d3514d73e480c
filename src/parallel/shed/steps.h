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
	STEP_KEYS, /* sample one in 2^shift keys (sketch/key_sampling.h) */
	STEP_KEY,  /* use another key from the next interval on, in all workers */
	STEP_OFF,  /* count no packets */
};

struct step {
	enum step_kind kind;
	char word[STEP_WORD_MAX]; /* such as "rate:1/4" or "key:src/24" */
	uint8_t shift;
	struct key_rule key; /* key.name points to `word` */
};

/* Must not be copied, because key names point into it. */
struct steps {
	uint32_t n;
	struct step steps[STEPS_MAX];
};

#define STEPS_WHY_MAX (KEY_RULE_WHY_MAX + STEP_WORD_MAX)

/* Returns false on error, with the reason in why[STEPS_WHY_MAX]. */
bool steps_parse(struct steps *steps, const char *text, char *why);

struct detail {
	bool off;
	uint8_t shift;              /* one in 2^shift packets is sampled */
	uint8_t keys;               /* one in 2^keys keys is sampled */
	const struct key_rule *key; /* NULL: the key of the measurement */
};

/* A later step replaces earlier ones of its kind. */
struct detail steps_detail(const struct steps *steps, uint32_t n);

/* Text of the n-th step; n = 0: "full". */
const char *steps_word(const struct steps *steps, uint32_t n);

/* Sets *n to the argument for which steps_word() returns `word`. Returns false if there is none. */
bool steps_find(const struct steps *steps, const char *word, uint32_t *n);

/* Writes "full", "wait", "1/2" to "1/64", or "count". */
void steps_level_word(struct burst_shed_level level, char word[STEP_WORD_MAX]);

bool steps_find_level(const char *word, struct burst_shed_level *level);

/*
 * The letters c, r, t are the flow states count, rate and tcp. "flows:ccr" limits flows in state c
 * to c, in r to c, in t to r. In "flows:crt-ccr:SHARE", ccr is for flows whose hash is below SHARE.
 * "ranks:N" turns queries off whose rank is above N.
 */
void steps_flows_word(const struct flow_states *flows, char word[STEP_WORD_MAX]);

bool steps_find_flows(const char *word, struct flow_states *flows);
