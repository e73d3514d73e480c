/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/keep_up.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/regular_file.h"
#include "base/units.h"
#include "kernel/options.h"
#include "rx/packet/monitor_file.h"
#include "rx/port/forwarding.h"

uint32_t keeper_take(struct keeper *keeper, uint32_t n)
{
	const struct keep_up_decision *next = keeper->decisions;

	while (next->packet <= keeper->packet)
		keeper->state = (next++)->state;
	keeper->decisions = next;
	if (next->packet - keeper->packet < n)
		n = (uint32_t)(next->packet - keeper->packet);
	keeper->packet += n;
	return n;
}

void keeper_obey(struct keeper *keeper, struct kept *kept)
{
	const struct valve *valve = &keeper->valve;

	if (!valve->on)
		return;
	keeper->state = (struct burst_state){
		.wait = valve->level >= VALVE_WAIT,
		.count_only = valve->level == VALVE_COUNT,
		.shift = valve->level == VALVE_SOME ? valve->shift : 0,
	};
	if (keeper->backlog > kept->backlog_max)
		kept->backlog_max = keeper->backlog;
	if (valve->level > kept->level_max)
		kept->level_max = valve->level;
}

/*
 * Packet i has byte i % 8 of number i / 8 of SplitMix64, whose seed is the run's and the worker's:
 * whether it is looked at hangs on its own byte alone, and not on how bursts were cut.
 */
uint64_t keeper_choose(const struct keeper *keeper, uint32_t n)
{
	const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t first = keeper->packet - n, chosen = 0, bytes = 0;
	uint8_t mask = (uint8_t)((1U << keeper->state.shift) - 1);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t packet = first + i;

		if (i == 0 || packet % 8 == 0)
			bytes = random_mix(keeper->seed + packet / 8 * gamma);
		chosen |= (uint64_t)((bytes >> packet % 8 * 8 & mask) == 0) << i;
	}
	return chosen;
}

void kept_add(struct kept *kept, const struct kept_of_measurement *burst, uint32_t waits,
	uint32_t nb_measurements)
{
	kept->skipped += burst->skipped;
	kept->skipped_bytes += burst->skipped_bytes;
	kept->added += burst->added;
	kept->added_bytes += burst->added_bytes;
	for (uint32_t m = 0; m < nb_measurements; m++) {
		struct kept_of_measurement *of = &kept->of[m];

		if ((waits >> m & 1) == 0) {
			of->weight = burst->weight > of->weight ? burst->weight : of->weight;
			continue;
		}
		of->measured += burst->measured;
		of->bytes += burst->bytes;
		of->added += burst->added;
		of->added_bytes += burst->added_bytes;
		of->skipped += burst->skipped;
		of->skipped_bytes += burst->skipped_bytes;
	}
}

/* --- a file of states --- */

#define LINE_FIELDS_MAX 32

enum field {
	FIELD_WORKER,
	FIELD_PACKET,
	FIELD_TO,
	FIELDS,
};

static const char *const field_names[FIELDS] = {"worker", "packet", "to"};

/* A file that is being read. */
struct reading {
	const char *path;
	uint32_t line;
	uint32_t at[FIELDS]; /* of the columns */
	char *error;
};

__attribute__((format(printf, 2, 3))) static bool refuse(
	const struct reading *reading, const char *format, ...)
{
	size_t used = (size_t)snprintf(
		reading->error, KEEP_UP_ERROR_MAX, "%s:%u: ", reading->path, reading->line);
	va_list args;

	if (used >= KEEP_UP_ERROR_MAX)
		return false;
	va_start(args, format);
	vsnprintf(reading->error + used, KEEP_UP_ERROR_MAX - used, format, args);
	va_end(args);
	return false;
}

/* Cuts the line at its commas. */
static uint32_t split(char *line, char *fields[LINE_FIELDS_MAX])
{
	uint32_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (n < LINE_FIELDS_MAX && line != NULL)
		fields[n++] = strsep(&line, ",");
	return n;
}

static bool read_header(struct reading *reading, char *line)
{
	char *fields[LINE_FIELDS_MAX];
	uint32_t n = split(line, fields);

	for (uint32_t f = 0; f < FIELDS; f++) {
		uint32_t at = 0;

		while (at < n && strcmp(fields[at], field_names[f]) != 0)
			at++;
		if (at == n)
			return refuse(reading, "no column '%s'", field_names[f]);
		reading->at[f] = at;
	}
	return true;
}

/* "full", "wait", "1/2" to "1/64", "count". */
static bool read_state(const char *word, struct burst_state *state)
{
	*state = (struct burst_state){0};
	if (strcmp(word, "full") == 0)
		return true;
	state->wait = true;
	if (strcmp(word, "wait") == 0)
		return true;
	state->count_only = strcmp(word, "count") == 0;
	if (state->count_only)
		return true;
	for (state->shift = 1; state->shift <= KEEP_UP_SHIFT_MAX; state->shift++) {
		char share[16];

		snprintf(share, sizeof(share), "1/%u", 1U << state->shift);
		if (strcmp(word, share) == 0)
			return true;
	}
	return false;
}

static bool add_decision(
	struct keep_up_decision_list *list, const struct keep_up_decision *decision)
{
	if ((list->n & (list->n - 1)) == 0) { /* full, as it grows by doubling */
		size_t room = list->n == 0 ? 1 : 2 * (size_t)list->n;
		void *more = realloc(list->decisions, room * sizeof(*decision));

		if (more == NULL)
			return false;
		list->decisions = more;
	}
	list->decisions[list->n++] = *decision;
	return true;
}

static bool read_row(struct reading *reading, char *line, struct keep_up_states *states)
{
	struct keep_up_decision decision;
	struct keep_up_decision_list *list;
	char *fields[LINE_FIELDS_MAX];
	uint32_t n = split(line, fields);
	uint64_t worker;

	for (uint32_t f = 0; f < FIELDS; f++)
		if (reading->at[f] >= n)
			return refuse(reading, "no %s", field_names[f]);
	if (units_count(fields[reading->at[FIELD_WORKER]], &worker) != NULL ||
		worker >= states->nb_workers)
		return refuse(reading, "'%s': the run's workers are 0 to %u",
			fields[reading->at[FIELD_WORKER]], states->nb_workers - 1);
	list = &states->of[worker];
	if (units_count(fields[reading->at[FIELD_PACKET]], &decision.packet) != NULL ||
		decision.packet == UINT64_MAX)
		return refuse(
			reading, "'%s' is no packet's number", fields[reading->at[FIELD_PACKET]]);
	if (list->n > 0 && list->decisions[list->n - 1].packet > decision.packet)
		return refuse(reading, "packet %llu of worker %llu stands behind a later one",
			(unsigned long long)decision.packet, (unsigned long long)worker);
	if (!read_state(fields[reading->at[FIELD_TO]], &decision.state))
		return refuse(reading, "'%s' is none of full, wait, 1/2 to 1/%u, count",
			fields[reading->at[FIELD_TO]], 1U << KEEP_UP_SHIFT_MAX);
	return add_decision(list, &decision) || refuse(reading, "no memory");
}

static bool read_lines(struct reading *reading, FILE *file, struct keep_up_states *states)
{
	char *line = NULL;
	size_t size = 0;
	bool good = true;

	while (good && getline(&line, &size, file) >= 0) {
		reading->line++;
		if (reading->line == 1)
			good = read_header(reading, line);
		else if (line[0] != '\n')
			good = read_row(reading, line, states);
	}
	free(line);
	if (good && ferror(file))
		good = refuse(reading, "cannot be read");
	if (good && reading->line == 0)
		good = refuse(reading, "it is empty");
	return good;
}

/* Each list ends. */
static bool end_lists(const struct reading *reading, struct keep_up_states *states)
{
	static const struct keep_up_decision end = {.packet = UINT64_MAX};

	for (uint32_t w = 0; w < states->nb_workers; w++)
		if (!add_decision(&states->of[w], &end))
			return refuse(reading, "no memory");
	return true;
}

struct keep_up_states *keep_up_states_read(const char *path, uint32_t nb_workers, char *error)
{
	struct reading reading = {.path = path, .error = error};
	struct keep_up_states *states = calloc(1, sizeof(*states));
	FILE *file = regular_file_open(path);
	bool good = false;

	if (states != NULL)
		states->of = calloc(nb_workers, sizeof(states->of[0]));
	if (states == NULL || states->of == NULL) {
		snprintf(error, KEEP_UP_ERROR_MAX, "no memory for %s", path);
	} else if (file == NULL) {
		snprintf(error, KEEP_UP_ERROR_MAX, "%s: %s", path,
			errno != 0 ? strerror(errno) : "is no regular file");
	} else {
		states->nb_workers = nb_workers;
		good = read_lines(&reading, file, states) && end_lists(&reading, states);
	}
	if (file != NULL)
		fclose(file);
	if (good)
		return states;
	keep_up_states_free(states);
	return NULL;
}

void keep_up_states_free(struct keep_up_states *states)
{
	if (states == NULL)
		return;
	for (uint32_t w = 0; states->of != NULL && w < states->nb_workers; w++)
		free(states->of[w].decisions);
	free(states->of);
	free(states);
}

static const struct keep_up_decision no_decision = {.packet = UINT64_MAX};

void keeper_init(
	struct keeper *keeper, const struct keep_up_states *states, uint64_t seed, uint32_t worker)
{
	/* The hash's key comes from the seed too, by another way. */
	uint64_t state = ~seed;

	*keeper = (struct keeper){
		.seed = random_split(&state) ^ random_mix(worker),
		.decisions = states != NULL ? states->of[worker].decisions : &no_decision,
	};
}

/* --- options --- */

/* What these do with packets is for each of them. */
static const char *lacks_choice(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return kernel_given(config)                    ? "with --kernel"
	       : forward_asked(config)                 ? "with --forward"
	       : monitor_options(config)->file != NULL ? "with --monitor"
						       : NULL;
}

OPTION_WORDS_OF(keep_up_word, [KEEP_UP_OFF] = "off", [KEEP_UP_VALVE] = "valve")

static const struct option_row keep_up_rows[] = {
	{
		.name = "keep-up",
		.placeholder = "HOW",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.set = "keep-up",
		.word = keep_up_word,
		.lacks = lacks_choice,
		OPTION_FIELD(keep_up_options, keep_up),
		.default_text = "off",
		.help = "What a worker does whose queue fills up: off loses packets; valve lets "
			"measurements of a worse priority wait, then looks at one of 2 to 64 "
			"packets, then only counts them, and says so beside each figure.",
	},
	{
		.name = "states-from",
		.placeholder = "FILE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		.rare = true,
		.set = "keep-up",
		.lacks = lacks_choice,
		.reads = option_names_file,
		OPTION_FIELD(keep_up_options, states_from),
		.default_note = "everything is looked at",
		.help = "Look at as much as this file says, so that a capture gives the same "
			"outputs each time. CSV with a header; of its columns 'worker' and "
			"'packet' say from which packet of a worker on, and 'to' what: full, "
			"wait (only measurements of the best --priority), 1/2 to 1/64 (one of so "
			"many packets), count (none).",
	},
	{0},
};

static const struct option_row priority_rows[] = {
	{
		.name = "priority",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		.rare = true,
		OPTION_FIELD(priority_options, priority),
		.min = 1,
		.max = 1000,
		.default_text = "1",
		.help = "With --keep-up, measurements of the lowest number are given up last.",
	},
	{0},
};

const struct option_owner priority_owner = {
	.rows = priority_rows,
	.size = sizeof(struct priority_options),
	.of_measurement = true,
};

const struct option_owner keep_up_owner = {
	.rows = keep_up_rows,
	.size = sizeof(struct keep_up_options),
};
