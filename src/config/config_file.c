/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/config_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

/*
 * libinih splits NAME = VALUE and cuts comments off. Section headings are read here, because it
 * would cut their names at 49 bytes and not tell an empty section.
 */
struct reader {
	FILE *stream;
	enum command command;
	struct config_file *file;
	uint32_t line;    /* that was read last, from 1 */
	uint32_t section; /* that is open */
	enum config_result result;
	uint32_t error_line;
	char *error; /* [CONFIG_FILE_ERROR_MAX] */
};

__attribute__((format(printf, 3, 4))) static void fail(
	struct reader *reader, uint32_t line, const char *format, ...)
{
	va_list arguments;
	int used;

	/* The first mistake is the one that is told. */
	if (reader->result != CONFIG_OK && reader->error_line <= line)
		return;
	reader->result = CONFIG_EXIT_2;
	reader->error_line = line;
	used = snprintf(
		reader->error, CONFIG_FILE_ERROR_MAX, "%.300s:%u: ", reader->file->path, line);
	va_start(arguments, format);
	vsnprintf(reader->error + used, (size_t)(CONFIG_FILE_ERROR_MAX - used), format, arguments);
	va_end(arguments);
}

/* The machine said no. */
static void fail_read(struct reader *reader, const char *what, const char *advice)
{
	reader->result = CONFIG_EXIT_1;
	reader->error_line = 0;
	snprintf(reader->error, CONFIG_FILE_ERROR_MAX, "%.300s: %s; %s", reader->file->path, what,
		advice);
}

static bool is_comment(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && (text[i] == ' ' || text[i] == '\t'))
		i++;
	return i < len && (text[i] == '#' || text[i] == ';');
}

/* Reads one line into text[size], without its end; of a comment, what there is room for. Returns
 * its length, -1 at the end or on error.
 */
static ssize_t read_line(struct reader *reader, char *text, size_t size)
{
	size_t len = 0;
	int c;

	reader->line++;
	while ((c = getc(reader->stream)) != EOF && c != '\n') {
		if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f) {
			fail(reader, reader->line,
				"byte 0x%02x is not text; give a configuration file", c);
			return -1;
		}
		if (len + 1 == size && is_comment(text, len))
			continue; /* nobody reads it */
		if (len + 1 == size) {
			fail(reader, reader->line, "the line is too long; at most %zu bytes",
				size - 1);
			return -1;
		}
		text[len++] = (char)c;
	}
	if (ferror(reader->stream)) {
		fail_read(reader, strerror(errno), "give a file that can be read to --config");
		return -1;
	}
	if (c == EOF && len == 0)
		return -1;
	text[len] = '\0';
	return (ssize_t)len;
}

static char *skip_blanks(char *text)
{
	return text + strspn(text, " \t\r");
}

static void cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
		len--;
	text[len] = '\0';
}

static bool is_measurement_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return name[len] == '\0' && len >= 1 && len <= 63;
}

static void open_measurement(struct reader *reader, const char *name)
{
	struct config_file *file = reader->file;
	struct config_section *section = &file->sections[file->nb_sections];

	if (*name == '\0') {
		fail(reader, reader->line, "[measurement] has no name; write [measurement NAME]");
		return;
	}
	if (!is_measurement_name(name)) {
		fail(reader, reader->line,
			"'%.200s' is not a measurement's name; at most 63 of A-Z a-z 0-9 _ . -",
			name);
		return;
	}
	for (uint32_t i = 1; i < file->nb_sections; i++) {
		if (strcmp(file->sections[i].name, name) == 0) {
			fail(reader, reader->line, "[measurement %s] stands on line %u already",
				name, file->sections[i].line);
			return;
		}
	}
	if (file->nb_sections == 1 + CONFIG_MEASUREMENTS_MAX) {
		fail(reader, reader->line, "[measurement %s] is one too many; at most %d", name,
			CONFIG_MEASUREMENTS_MAX);
		return;
	}
	if (!option_of_command(option_find(COMMAND_RUN, "key"), reader->command)) {
		fail(reader, reader->line, "[measurement %s]: %s measures nothing", name,
			command_names[reader->command]);
		return;
	}
	section->name = strdup(name);
	if (section->name == NULL) {
		fail_read(reader, "no memory to read it", "free some memory");
		return;
	}
	section->line = reader->line;
	reader->section = file->nb_sections++;
}

/* "[sketchtap]" or "[measurement NAME]"; text starts at the bracket. */
static void open_section(struct reader *reader, char *text)
{
	char *end = strchr(text, ']');
	char *name = skip_blanks(text + 1);
	char *rest;

	if (end == NULL) {
		fail(reader, reader->line, "the section has no ]");
		return;
	}
	*end = '\0';
	rest = skip_blanks(end + 1);
	if (*rest != '\0' && *rest != ';' && *rest != '#') {
		fail(reader, reader->line,
			"'%.200s' stands after the section; write it on a line of its own", rest);
		return;
	}
	cut_blanks(name);
	if (strcmp(name, "sketchtap") == 0) {
		reader->section = 0;
		return;
	}
	if (strncmp(name, "measurement", strlen("measurement")) == 0) {
		char *rule = name + strlen("measurement");

		if (*rule == '\0' || *rule == ' ' || *rule == '\t') {
			open_measurement(reader, skip_blanks(rule));
			return;
		}
	}
	fail(reader, reader->line,
		"[%.200s] is not a section; [sketchtap] and [measurement NAME] are", name);
}

/*
 * Hands libinih its next line: a blank one for every heading, and none that starts with a blank,
 * which it would take for a continuation.
 */
static char *next_line(char *text, int size, void *stream)
{
	static const char byte_order_mark[] = "\xEF\xBB\xBF";
	struct reader *reader = stream;
	ssize_t len;
	char *start = text;

	if (reader->result != CONFIG_OK)
		return NULL;
	len = read_line(reader, text, (size_t)size);
	if (len < 0)
		return NULL;
	if (reader->line == 1 && strncmp(text, byte_order_mark, strlen(byte_order_mark)) == 0)
		start += strlen(byte_order_mark);
	start = skip_blanks(start);
	if (*start == '[') {
		open_section(reader, start);
		*start = '\0';
	}
	memmove(text, start, strlen(start) + 1);
	return reader->result == CONFIG_OK ? text : NULL;
}

static const struct config_setting *find_setting(
	const struct config_file *file, const struct option_row *row, uint32_t section)
{
	for (uint32_t i = 0; i < file->nb_settings; i++) {
		if (file->settings[i].row == row && file->settings[i].section == section)
			return &file->settings[i];
	}
	return NULL;
}

/* Whether a name may stand in the open section; says why not. */
static const struct option_row *find_row(struct reader *reader, const char *name)
{
	const struct option_row *row = option_find(reader->command, name);
	const struct config_setting *before;

	if (row == NULL) {
		row = option_nearest(reader->command, name);
		fail(reader, reader->line, "%.200s: unknown option%s%s%s", name,
			row != NULL ? "; did you mean " : "", row != NULL ? row->name : "",
			row != NULL ? "?" : "");
		return NULL;
	}
	if (row->type == OPTION_ACTION) {
		fail(reader, reader->line, "%s: only the command line takes it", name);
		return NULL;
	}
	if (reader->section > 0 && row->scope != OPTION_OF_MEASUREMENT) {
		fail(reader, reader->line, "%s: holds for the whole run; write it in [sketchtap]",
			name);
		return NULL;
	}
	before = find_setting(reader->file, row, reader->section);
	if (before != NULL && row->type != OPTION_LIST) {
		fail(reader, reader->line, "%s: stands on line %u already", name, before->line);
		return NULL;
	}
	return row;
}

/* Called by libinih for every NAME = VALUE. Returns 0 on error, as it wants it. */
static int add_setting(void *user, const char *section, const char *name, const char *value)
{
	struct reader *reader = user;
	struct config_file *file = reader->file;
	struct config_setting *settings;
	const struct option_row *row;

	(void)section; /* always "": next_line() reads the headings */
	row = find_row(reader, name);
	if (row == NULL)
		return 0;
	settings = reallocarray(file->settings, file->nb_settings + 1, sizeof(*settings));
	if (settings != NULL) {
		file->settings = settings;
		settings[file->nb_settings] = (struct config_setting){
			.row = row,
			.value = strdup(value),
			.section = reader->section,
			.line = reader->line,
		};
	}
	if (settings == NULL || settings[file->nb_settings].value == NULL) {
		fail_read(reader, "no memory to read it", "free some memory");
		return 0;
	}
	file->nb_settings++;
	return 1;
}

static void parse(struct reader *reader)
{
	int line;

	reader->stream = fopen(reader->file->path, "re");
	if (reader->stream == NULL) {
		fail_read(reader, strerror(errno), "give a file that can be read to --config");
		return;
	}
	line = ini_parse_stream(next_line, reader, add_setting, reader);
	if (line > 0 && reader->result != CONFIG_EXIT_1)
		fail(reader, (uint32_t)line, "is neither NAME = VALUE nor a [section]");
	else if (line < 0 && reader->result == CONFIG_OK)
		fail_read(reader, "no memory to read it", "free some memory");
	fclose(reader->stream);
}

enum config_result config_file_read(
	struct config_file **file, const char *path, enum command command, char *error)
{
	struct reader reader = {.command = command, .error = error};

	reader.file = calloc(1, sizeof(*reader.file));
	if (reader.file == NULL) {
		snprintf(error, CONFIG_FILE_ERROR_MAX,
			"%.300s: no memory to read it; free some memory", path);
		return CONFIG_EXIT_1;
	}
	reader.file->path = path;
	reader.file->nb_sections = 1;
	parse(&reader);
	if (reader.result != CONFIG_OK)
		config_file_free(reader.file);
	else
		*file = reader.file;
	return reader.result;
}

void config_file_free(struct config_file *file)
{
	if (file == NULL)
		return;
	for (uint32_t i = 0; i < file->nb_settings; i++)
		free(file->settings[i].value);
	for (uint32_t i = 1; i < file->nb_sections; i++)
		free(file->sections[i].name);
	free(file->settings);
	free(file);
}
