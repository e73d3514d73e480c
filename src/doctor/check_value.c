/* SPDX-License-Identifier: BSD-3-Clause */

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "doctor/check.h"

struct reading {
	const struct host_port *port; /* NULL: the value is not of a port */
	char file[HOST_NAME_MAX * 2], text[HOST_NAME_MAX * 2];
	int64_t number;
};

static void fill_in(char *to, size_t size, const char *text, const struct reading *reading)
{
	const struct host_port *port = reading->port;
	const struct {
		const char *name, *is;
	} names[] = {{"{value}", reading->text}, {"{file}", reading->file},
		{"{port}", port != NULL ? port->name : ""},
		{"{interface}", port != NULL ? port->interface : ""}};
	size_t used = 0;

	to[0] = '\0';
	while (text != NULL && *text != '\0' && used + 1 < size) {
		char plain[2] = {*text};
		const char *is = plain;
		size_t length = 1;

		for (size_t i = 0; *text == '{' && i < sizeof(names) / sizeof(names[0]); i++)
			if (strncmp(text, names[i].name, strlen(names[i].name)) == 0) {
				is = names[i].is;
				length = strlen(names[i].name);
			}
		used += (size_t)snprintf(to + used, size - used, "%s", is);
		text += length;
	}
}

/* MAJOR.MINOR becomes MAJOR * 1000 + MINOR. */
static bool parse_limit(enum value_kind kind, const char *text, int64_t *number)
{
	char *end;

	*number = strtoll(text, &end, 10);
	if (kind == VALUE_VERSION)
		*number = *number * 1000 + (*end == '.' ? strtoll(end + 1, NULL, 10) : 0);
	return end != text;
}

static bool has_value(enum value_kind kind, const char *values, const struct reading *reading)
{
	char copy[HOST_TEXT_MAX], *rest;
	int64_t least;

	snprintf(copy, sizeof(copy), "%s", values);
	for (char *one = strtok_r(copy, "|", &rest); one != NULL; one = strtok_r(NULL, "|", &rest))
		if (strncmp(one, ">=", 2) != 0
				? fnmatch(one, reading->text, 0) == 0
				: parse_limit(kind, one + 2, &least) && reading->number >= least)
			return true;
	return false;
}

static enum sys_read read_checked(
	const struct host *host, const struct check_value *value, struct reading *reading)
{
	size_t size = sizeof(reading->text);
	enum sys_read result = SYS_READ;

	if (value->text != NULL)
		snprintf(reading->text, size, "%s", value->text(host));
	else if (value->kind == VALUE_WORDS || value->kind == VALUE_VERSION)
		result = sys_line(host->root, reading->text, size, "%s", reading->file);
	else if (value->kind == VALUE_KILOBYTES)
		result = sys_field(host->root, reading->file, value->field, &reading->number);
	else
		result = sys_number(host->root, &reading->number, "%s", reading->file);
	if (result != SYS_READ)
		return result;
	if (value->kind == VALUE_VERSION &&
		!parse_limit(value->kind, reading->text + strcspn(reading->text, "0123456789"),
			&reading->number))
		return SYS_GARBAGE;
	if (value->kind == VALUE_NUMBER)
		snprintf(reading->text, size, "%" PRId64, reading->number);
	if (value->kind == VALUE_KILOBYTES)
		host_size_text((uint64_t)reading->number * 1024, reading->text);
	return reading->number >= 0 || value->kind != VALUE_KILOBYTES ? SYS_READ : SYS_GARBAGE;
}

static bool has_folder(const struct host *host, const char *file)
{
	VERIFY(strrchr(file, '/'), !=, NULL);
	return sys_exists(host->root, "%.*s", (int)(strrchr(file, '/') - file), file);
}

void judge_value(const struct host *host, const struct host_port *port,
	const struct check_value *value, struct finding *finding)
{
	struct reading reading = {.port = port};
	const struct verdict *verdict = value->verdicts;
	enum sys_read result;

	fill_in(reading.file, sizeof(reading.file), value->file, &reading);
	result = read_checked(host, value, &reading);
	if (value->optional && (result != SYS_READ || reading.text[0] == '\0'))
		return;
	if (result == SYS_ABSENT && value->absent != NULL && has_folder(host, reading.file)) {
		finding_ok(finding, "%s", value->absent);
		return;
	}
	while (verdict->values != NULL && !has_value(value->kind, verdict->values, &reading))
		verdict++;
	if (result == SYS_READ && verdict->found == NULL)
		result = SYS_GARBAGE;
	if (finding_unless_read(finding, result,
		    value->name != NULL   ? value->name
		    : value->file != NULL ? value->file
					  : reading.text))
		return;
	finding->status = verdict->status;
	fill_in(finding->found, sizeof(finding->found), verdict->found, &reading);
	fill_in(finding->wanted, sizeof(finding->wanted), verdict->wanted, &reading);
	fill_in(finding->command, sizeof(finding->command), verdict->command, &reading);
}
