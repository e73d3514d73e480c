/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/shed/shed_schedule.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "base/units.h"

#define LINE_FIELDS_MAX 32
#define LINE_MAX_BYTES  4096

enum shed_schedule_field {
	FIELD_WORKER,
	FIELD_PACKET,
	FIELD_TO,
	FIELD_MEASUREMENT, /* optional column */
	FIELDS,
};

static const char *const field_names[FIELDS] = {"worker", "packet", "to", "measurement"};

struct shed_schedule_reading {
	const char *path;
	const struct shed_schedule_plan *plan;
	uint32_t line;
	bool any;
	uint32_t at[FIELDS]; /* column index of each field; UINT32_MAX: no such column */
	bool *mistake;
	char *error; /* "out of memory" until another error occurs */
};

__attribute__((format(printf, 2, 3))) static bool set_line_error(
	const struct shed_schedule_reading *reading, const char *format, ...)
{
	size_t used = (size_t)snprintf(
		reading->error, SHED_SCHEDULE_ERROR_MAX, "%s:%u: ", reading->path, reading->line);
	va_list args;

	*reading->mistake = true;
	if (used >= SHED_SCHEDULE_ERROR_MAX)
		return false;
	va_start(args, format);
	vsnprintf(reading->error + used, SHED_SCHEDULE_ERROR_MAX - used, format, args);
	va_end(args);
	return false;
}

/*
 * Removes the quotes of a field, and moves *rest after it. Returns NULL if a quote is not closed.
 */
static char *next_field(char **rest)
{
	char *field = *rest, *end;

	if (*field != '"')
		return strsep(rest, ",");
	end = strchr(++field, '"');
	if (end == NULL || (end[1] != ',' && end[1] != '\0'))
		return NULL;
	*end = '\0';
	*rest = end[1] == ',' ? end + 2 : NULL;
	return field;
}

/* Returns 0 on error. */
static uint32_t split(
	const struct shed_schedule_reading *reading, char *line, char *fields[LINE_FIELDS_MAX])
{
	uint32_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (; n < LINE_FIELDS_MAX && line != NULL; n++) {
		fields[n] = next_field(&line);
		if (fields[n] != NULL)
			continue;
		set_line_error(reading, "field %u: the quotes must enclose the whole field", n + 1);
		return 0;
	}
	return n;
}

static bool read_header(struct shed_schedule_reading *reading, char *line)
{
	char *fields[LINE_FIELDS_MAX];
	uint32_t n = split(reading, line, fields);

	for (uint32_t f = 0; f < FIELDS && n > 0; f++) {
		reading->at[f] = UINT32_MAX;
		for (uint32_t at = 0; at < n; at++) {
			if (strcmp(fields[at], field_names[f]) != 0)
				continue;
			if (reading->at[f] != UINT32_MAX)
				return set_line_error(
					reading, "duplicate column '%s'", field_names[f]);
			reading->at[f] = at;
		}
		if (reading->at[f] == UINT32_MAX && f != FIELD_MEASUREMENT)
			return set_line_error(reading, "no column '%s'", field_names[f]);
	}
	return n > 0;
}

/* An empty `name` means the level of a worker, another name the setting of a measurement. */
static bool read_what(const struct shed_schedule_reading *reading, const char *name, const char *to,
	struct shed_schedule_entry *entry)
{
	const struct shed_schedule_plan *plan = reading->plan;
	uint32_t m = 0, steps;

	entry->measurement = SHED_SCHEDULE_ALL;
	if (*name == '\0')
		return steps_find_level(to, &entry->level) ||
		       set_line_error(reading,
			       "'%s': unknown level; levels: full, wait, 1/2 to 1/%u, count", to,
			       1U << SHED_SHIFT_MAX);
	while (m < plan->nb_measurements && strcmp(plan->names[m], name) != 0)
		m++;
	if (m == plan->nb_measurements)
		return set_line_error(reading, "unknown measurement '%s'", name);
	entry->measurement = (uint8_t)m;
	entry->of_flows = steps_find_flows(to, &entry->flows);
	if (entry->of_flows)
		return (plan->deep >> m & 1) != 0 ||
		       set_line_error(reading,
			       "'%s': measurement %s has no flow states; enable them with "
			       "--flow-detail",
			       to, name);
	if (!steps_find(&plan->steps[m], to, &steps))
		return set_line_error(
			reading, "'%s' is neither full nor a step of measurement %s", to, name);
	entry->steps = (uint8_t)steps;
	return true;
}

static bool add_entry(struct shed_schedule_list *list, const struct shed_schedule_entry *entry)
{
	void *more = array_grow(list->decisions, list->n, sizeof(*entry));

	if (more == NULL)
		return false;
	list->decisions = more;
	list->decisions[list->n++] = *entry;
	return true;
}

static bool read_row(
	struct shed_schedule_reading *reading, char *line, struct shed_schedule *schedule)
{
	const char *name = "";
	struct shed_schedule_entry entry = {0};
	struct shed_schedule_list *list;
	char *fields[LINE_FIELDS_MAX];
	uint32_t n = split(reading, line, fields);
	uint64_t worker;

	if (n == 0)
		return false;
	reading->any = true;
	for (uint32_t f = 0; f < FIELDS; f++)
		if (reading->at[f] >= n && reading->at[f] != UINT32_MAX)
			return set_line_error(reading, "no %s", field_names[f]);
	/* Rows without a packet apply to a whole interval. A schedule does not need them. */
	if (*fields[reading->at[FIELD_PACKET]] == '\0' &&
		*fields[reading->at[FIELD_WORKER]] == '\0')
		return true;
	if (reading->at[FIELD_MEASUREMENT] != UINT32_MAX)
		name = fields[reading->at[FIELD_MEASUREMENT]];
	if (units_count(fields[reading->at[FIELD_WORKER]], &worker) != NULL ||
		worker >= schedule->nb_workers)
		return set_line_error(reading, "'%s': not a worker; workers of this run: 0 to %u",
			fields[reading->at[FIELD_WORKER]], schedule->nb_workers - 1);
	list = &schedule->of[worker];
	if (units_count(fields[reading->at[FIELD_PACKET]], &entry.packet) != NULL ||
		entry.packet == UINT64_MAX)
		return set_line_error(
			reading, "'%s': not a packet number", fields[reading->at[FIELD_PACKET]]);
	if (list->n > 0 && list->decisions[list->n - 1].packet > entry.packet)
		return set_line_error(reading,
			"packet %llu of worker %llu: rows of a worker must be sorted by packet",
			(unsigned long long)entry.packet, (unsigned long long)worker);
	if (!read_what(reading, name, fields[reading->at[FIELD_TO]], &entry))
		return false;
	return add_entry(list, &entry);
}

static bool read_lines(
	struct shed_schedule_reading *reading, FILE *file, struct shed_schedule *schedule)
{
	char line[LINE_MAX_BYTES + 2]; /* one more byte than allowed, and the final 0 */
	ssize_t length;
	bool good = true;

	while (good && (length = regular_file_line(file, line, sizeof(line))) >= 0) {
		reading->line++;
		if (signals_stop_requested())
			good = set_line_error(reading, "interrupted");
		else if (length > LINE_MAX_BYTES)
			good = set_line_error(reading, "longer than %d bytes", LINE_MAX_BYTES);
		else if (strlen(line) != (size_t)length)
			good = set_line_error(reading, "NUL byte");
		else if (reading->line == 1)
			good = read_header(reading, line);
		else if (line[strspn(line, "\r\n")] != '\0')
			good = read_row(reading, line, schedule);
	}
	if (good && ferror(file)) {
		snprintf(reading->error, SHED_SCHEDULE_ERROR_MAX, "cannot read %s", reading->path);
		return false;
	}
	if (good && reading->line == 0)
		good = set_line_error(reading, "empty file");
	if (good && !reading->any)
		good = set_line_error(reading, "no row after the header");
	return good;
}

static bool end_lists(struct shed_schedule *schedule)
{
	static const struct shed_schedule_entry end = {.packet = UINT64_MAX};

	for (uint32_t w = 0; w < schedule->nb_workers; w++)
		if (!add_entry(&schedule->of[w], &end))
			return false;
	return true;
}

struct shed_schedule *shed_schedule_read(
	const char *path, const struct shed_schedule_plan *plan, bool *mistake, char *error)
{
	struct shed_schedule_reading reading = {
		.path = path, .plan = plan, .mistake = mistake, .error = error};
	struct shed_schedule *schedule = calloc(1, sizeof(*schedule));
	FILE *file;
	bool good = false;

	if (schedule != NULL)
		schedule->of = calloc(plan->nb_workers, sizeof(schedule->of[0]));
	file = regular_file_open(path);
	*mistake = false;
	if (file == NULL)
		snprintf(error, SHED_SCHEDULE_ERROR_MAX, "%s: %s", path,
			errno != 0 ? strerror(errno) : "not a regular file");
	else
		snprintf(error, SHED_SCHEDULE_ERROR_MAX, "out of memory for %s", path);
	if (file != NULL && schedule != NULL && schedule->of != NULL) {
		schedule->nb_workers = plan->nb_workers;
		good = read_lines(&reading, file, schedule) && end_lists(schedule);
	}
	if (file != NULL)
		fclose(file);
	if (good)
		return schedule;
	shed_schedule_free(schedule);
	return NULL;
}

void shed_schedule_free(struct shed_schedule *schedule)
{
	if (schedule == NULL)
		return;
	for (uint32_t w = 0; schedule->of != NULL && w < schedule->nb_workers; w++)
		free(schedule->of[w].decisions);
	free(schedule->of);
	free(schedule);
}
