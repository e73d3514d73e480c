/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/shed/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key/key_burst.h"
#include "sketch/key_sampling.h"

static const char full_word[] = "full";
static const char key_prefix[] = "key:";

_Static_assert(
	SHED_SHIFT_MAX == KEY_SHARE_MAX, "rate:1/N and keys:1/N accept the same values of N");

/* Parses `prefix` and a share, 1/2 to 1/64. */
static bool read_share(struct step *step, const char *prefix)
{
	for (step->shift = 1; step->shift <= SHED_SHIFT_MAX; step->shift++) {
		char word[STEP_WORD_MAX];

		snprintf(word, sizeof(word), "%s1/%u", prefix, 1U << step->shift);
		if (strcmp(word, step->word) == 0)
			return true;
	}
	return false;
}

/* Returns NULL or an error text, which may be in why[STEPS_WHY_MAX]. */
static const char *read_step(struct step *step, char *why)
{
	if (strcmp(step->word, "off") == 0) {
		step->kind = STEP_OFF;
		return NULL;
	}
	if (strncmp(step->word, key_prefix, strlen(key_prefix)) == 0) {
		step->kind = STEP_KEY;
		return key_rule_parse(&step->key, step->word + strlen(key_prefix), why) ? NULL
											: why;
	}
	step->kind = STEP_RATE;
	if (read_share(step, "rate:"))
		return NULL;
	step->kind = STEP_KEYS;
	if (read_share(step, "keys:"))
		return NULL;
	snprintf(why, STEPS_WHY_MAX,
		"'%s': unknown step; steps: rate:1/2 to rate:1/%u, keys:1/2 to keys:1/%u, "
		"key:KEY, off",
		step->word, 1U << SHED_SHIFT_MAX, 1U << KEY_SHARE_MAX);
	return why;
}

/* Commas separate steps, but also fields of a key. */
static size_t step_length(const char *text)
{
	bool is_key = strncmp(text, key_prefix, strlen(key_prefix)) == 0;
	size_t length = strcspn(text, ",");

	while (is_key && text[length] == ',') {
		const char *next = text + length + 1;
		size_t more;

		next += strspn(next, " ");
		more = strcspn(next, ",");
		if (memchr(next, ':', more) != NULL || (more == 3 && strncmp(next, "off", 3) == 0))
			break;
		length = (size_t)(next - text) + more;
	}
	return length;
}

bool steps_find(const struct steps *steps, const char *word, uint32_t *n)
{
	for (*n = 0; *n <= steps->n; ++*n)
		if (strcmp(word, steps_word(steps, *n)) == 0)
			return true;
	return false;
}

static const char *add_step(struct steps *steps, const char *text, size_t length, char *why)
{
	struct step *step = &steps->steps[steps->n];
	const char *refused;
	uint32_t before;

	while (length > 0 && text[length - 1] == ' ')
		length--;
	if (steps->n == STEPS_MAX || length == 0 || length >= STEP_WORD_MAX) {
		snprintf(why, STEPS_WHY_MAX, "not a list of 1 to %d steps", STEPS_MAX);
		return why;
	}
	memcpy(step->word, text, length);
	step->word[length] = '\0';
	refused = read_step(step, why);
	if (refused == NULL && steps_find(steps, step->word, &before)) {
		snprintf(why, STEPS_WHY_MAX, "'%s' is given twice", step->word);
		refused = why;
	}
	steps->n += refused == NULL;
	return refused;
}

bool steps_parse(struct steps *steps, const char *text, char *why)
{
	*steps = (struct steps){0};
	if (text == NULL) /* a command without these options */
		return true;
	for (;;) {
		size_t length;

		text += strspn(text, " ");
		length = step_length(text);
		if (add_step(steps, text, length, why) != NULL)
			return false;
		text += length;
		if (*text == '\0')
			return true;
		text++;
	}
}

struct detail steps_detail(const struct steps *steps, uint32_t n)
{
	struct detail detail = {0};

	for (uint32_t s = 0; s < n; s++)
		switch (steps->steps[s].kind) {
		case STEP_RATE: detail.shift = steps->steps[s].shift; break;
		case STEP_KEYS: detail.keys = steps->steps[s].shift; break;
		case STEP_KEY: detail.key = &steps->steps[s].key; break;
		case STEP_OFF: detail.off = true; break;
		}
	return detail;
}

const char *steps_word(const struct steps *steps, uint32_t n)
{
	return n == 0 ? full_word : steps->steps[n - 1].word;
}

void steps_level_word(struct burst_shed_level level, char word[STEP_WORD_MAX])
{
	static const char *const words[] = {[SHED_LEVEL_FULL] = full_word,
		[SHED_LEVEL_WAIT] = "wait",
		[SHED_LEVEL_COUNT] = "count"};

	if (level.level == SHED_LEVEL_SOME)
		snprintf(word, STEP_WORD_MAX, "1/%u", 1U << level.shift);
	else
		snprintf(word, STEP_WORD_MAX, "%s", words[level.level]);
}

bool steps_find_level(const char *word, struct burst_shed_level *level)
{
	for (level->level = SHED_LEVEL_FULL; level->level <= SHED_LEVEL_COUNT; level->level++) {
		bool some = level->level == SHED_LEVEL_SOME;

		for (level->shift = some; level->shift <= (some ? SHED_SHIFT_MAX : 0);
			level->shift++) {
			char own[STEP_WORD_MAX];

			steps_level_word(*level, own);
			if (strcmp(own, word) == 0)
				return true;
		}
	}
	return false;
}

static const char flow_letters[] = "crt";
static const char flows_prefix[] = "flows:";
static const char ranks_prefix[] = "ranks:";
_Static_assert(sizeof(flow_letters) == FLOW_STATES + 1, "each flow state has a letter");

void steps_flows_word(const struct flow_states *flows, char word[STEP_WORD_MAX])
{
	char to[2][FLOW_STATES + 1] = {{0}};

	if (flows->ranks_off > 0) {
		snprintf(word, STEP_WORD_MAX, "%s%u", ranks_prefix,
			FLOW_ALL_RANKS - flows->ranks_off);
		return;
	}
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t state = 0; state < FLOW_STATES; state++)
			to[i][state] = flow_letters[flows->to[i][state]];
	if (flows->share > 0)
		snprintf(word, STEP_WORD_MAX, "%s%s-%s:%u", flows_prefix, to[0], to[1],
			flows->share);
	else
		snprintf(word, STEP_WORD_MAX, "%s%s", flows_prefix, to[0]);
}

static bool read_letters(const char *letters, uint8_t to[FLOW_STATES])
{
	for (uint32_t state = 0; state < FLOW_STATES; state++) {
		const char *letter =
			letters[state] != '\0' ? strchr(flow_letters, letters[state]) : NULL;

		if (letter == NULL)
			return false;
		to[state] = (uint8_t)(letter - flow_letters);
		if (to[state] > state) /* a higher state would increase the detail */
			return false;
	}
	return true;
}

static bool find_ranks(const char *word, struct flow_states *flows)
{
	char again[STEP_WORD_MAX];
	unsigned long ranks = strtoul(word + strlen(ranks_prefix), NULL, 10);

	*flows = (struct flow_states)FLOW_STATES_IDENTITY;
	if (ranks >= FLOW_ALL_RANKS)
		return false;
	flows->ranks_off = FLOW_ALL_RANKS - (uint32_t)ranks;
	steps_flows_word(flows, again);
	return strcmp(again, word) == 0;
}

bool steps_find_flows(const char *word, struct flow_states *flows)
{
	char again[STEP_WORD_MAX];

	if (strncmp(word, ranks_prefix, strlen(ranks_prefix)) == 0)
		return find_ranks(word, flows);

	if (strncmp(word, flows_prefix, strlen(flows_prefix)) != 0)
		return false;
	word += strlen(flows_prefix);
	*flows = (struct flow_states)FLOW_STATES_IDENTITY;
	if (!read_letters(word, flows->to[0]))
		return false;
	if (word[FLOW_STATES] == '-' && read_letters(word + FLOW_STATES + 1, flows->to[1]) &&
		word[2 * FLOW_STATES + 1] == ':')
		flows->share = (uint32_t)strtoul(word + 2 * FLOW_STATES + 2, NULL, 10);
	/* Accept only the text that steps_flows_word() would write. */
	steps_flows_word(flows, again);
	return strcmp(again + strlen(flows_prefix), word) == 0;
}
