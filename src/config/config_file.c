/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/config_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/regular_file.h"
#include "config/options.h"

#define LINE_BYTES   4096
#define NAMED_GROWTH 16

struct config_file_reader {
	FILE *stream;
	const struct config *config;
	struct config_file *file;
	uint32_t line;
	uint32_t section;
	enum config_result result;
	uint32_t error_line;
	char *error;
};

__attribute__((format(printf, 3, 4))) static void fail(
	struct config_file_reader *reader, uint32_t line, const char *format, ...)
{
	va_list arguments;
	int used;

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

static void fail_read(struct config_file_reader *reader, const char *what, const char *advice)
{
	reader->result = CONFIG_EXIT_1;
	reader->error_line = 0;
	snprintf(reader->error, CONFIG_FILE_ERROR_MAX, "%.300s: %s; %s", reader->file->path, what,
		advice);
}

static char *skip_blanks(char *text)
{
	return text + strspn(text, " \t\r");
}

static bool is_comment(const char *start)
{
	return *start == '#' || *start == ';';
}

/* Truncates only a comment that is too long. Returns -1 at the end of the file or on error. */
static ssize_t read_line(struct config_file_reader *reader, char *text, size_t size)
{
	size_t len = 0;
	int c;

	reader->line++;
	while ((c = getc(reader->stream)) != EOF && c != '\n') {
		if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f) {
			fail(reader, reader->line,
				"byte 0x%02x: not text; give a configuration file", c);
			return -1;
		}
		text[len] = '\0';
		if (len + 1 == size && is_comment(skip_blanks(text)))
			continue;
		if (len + 1 == size) {
			fail(reader, reader->line, "line too long; the limit is %zu bytes",
				size - 1);
			return -1;
		}
		text[len++] = (char)c;
	}
	if (ferror(reader->stream)) {
		fail_read(reader, strerror(errno), "give a readable file to --config");
		return -1;
	}
	if (c == EOF && len == 0)
		return -1;
	text[len] = '\0';
	return (ssize_t)len;
}

static void cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
		len--;
	text[len] = '\0';
}

bool config_file_is_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return name[len] == '\0' && len >= 1 && len <= 63;
}

bool config_file_add_section(struct config_file *file, const char *name)
{
	struct config_section *section = &file->sections[file->nb_sections];

	*section = (struct config_section){.name = strdup(name)};
	file->nb_sections += section->name != NULL;
	return section->name != NULL;
}

static bool add_named(
	struct config_file *file, const struct option_owner *owner, const char *name, uint32_t line)
{
	struct config_section *section;

	if (file->nb_named == file->max_named) {
		section = reallocarray(
			file->named, file->max_named + NAMED_GROWTH, 2 * sizeof(*section));
		if (section == NULL)
			return false;
		file->named = section;
		file->max_named = 2 * (file->max_named + NAMED_GROWTH);
	}
	section = &file->named[file->nb_named];
	*section = (struct config_section){.name = strdup(name), .line = line, .owner = owner};
	file->nb_named += section->name != NULL;
	return section->name != NULL;
}

bool config_file_add_setting(struct config_file *file, uint32_t section,
	const struct config_row *row, const char *value, struct option_origin at)
{
	struct config_setting *settings =
		reallocarray(file->settings, file->nb_settings + 1, sizeof(*settings));
	struct config_setting *setting;

	if (settings == NULL)
		return false;
	file->settings = settings;
	setting = &settings[file->nb_settings];
	*setting = (struct config_setting){.row = *row,
		.value = strdup(value),
		.section = section,
		.line = at.line,
		.as = at.as};
	file->nb_settings += setting->value != NULL;
	return setting->value != NULL;
}

uint32_t config_file_find_named(
	const struct config_file *file, const struct option_owner *owner, const char *name)
{
	uint32_t n = 0;

	while (n < file->nb_named &&
		(file->named[n].owner != owner || strcmp(file->named[n].name, name) != 0))
		n++;
	return n;
}

bool config_setting_is(const struct config_setting *setting, const char *key)
{
	size_t len = strlen(setting->row.row->name), rest;

	if (strncmp(key, setting->row.row->name, len) != 0)
		return false;
	if (setting->row.row->type != OPTION_PROPERTIES)
		return key[len] == '\0';
	rest = key[len] == '.' ? strlen(key + len + 1) : 0;
	return rest > 0 && strncmp(key + len + 1, setting->value, rest) == 0 &&
	       setting->value[rest] == '=';
}

uint32_t config_file_find_section(const struct config_file *file, const char *name)
{
	uint32_t section = 1;

	while (section < file->nb_sections && strcmp(file->sections[section].name, name) != 0)
		section++;
	return section;
}

static uint32_t count_named(const struct config_file *file, const struct option_owner *owner)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < file->nb_named; i++)
		n += file->named[i].owner == owner;
	return n;
}

/* same: an earlier section of this name, or NULL. full: the file already has `max` sections. */
static bool may_open(struct config_file_reader *reader, const char *word, const char *name,
	const struct config_section *same, bool full, uint32_t max)
{
	if (*name == '\0')
		fail(reader, reader->line, "[%s]: no name; write [%s NAME]", word, word);
	else if (!config_file_is_name(name))
		fail(reader, reader->line,
			"'%.200s': not a name of %s %s; use at most 63 of A-Z a-z 0-9 _ . -", name,
			strchr("aeiou", *word) != NULL ? "an" : "a", word);
	else if (same != NULL)
		fail(reader, reader->line, "[%s %s]: already on line %u", word, name, same->line);
	else if (full)
		fail(reader, reader->line, "[%s %s]: one too many; the limit is %u", word, name,
			max);
	else
		return true;
	return false;
}

static void open_named(
	struct config_file_reader *reader, const struct option_owner *owner, const char *name)
{
	struct config_file *file = reader->file;
	uint32_t same = config_file_find_named(file, owner, name);

	if (!may_open(reader, owner->section, name,
		    same < file->nb_named ? &file->named[same] : NULL,
		    count_named(file, owner) == owner->sections_max, owner->sections_max))
		return;
	reader->section = CONFIG_FIRST_NAMED + file->nb_named;
	if (!add_named(file, owner, name, reader->line))
		fail_read(reader, "out of memory", "free memory");
}

static void open_measurement(struct config_file_reader *reader, const char *name)
{
	struct config_file *file = reader->file;
	struct config_section *section = &file->sections[file->nb_sections];
	uint32_t same = config_file_find_section(file, name);

	if (!may_open(reader, "measurement", name,
		    same < file->nb_sections ? &file->sections[same] : NULL,
		    file->nb_sections == 1 + CONFIG_MEASUREMENTS_MAX, CONFIG_MEASUREMENTS_MAX))
		return;
	if (!config_measures(reader->config)) {
		fail(reader, reader->line, "[measurement %s]: %s has no measurements", name,
			reader->config->command->name);
		return;
	}
	reader->section = file->nb_sections;
	if (!config_file_add_section(file, name)) {
		fail_read(reader, "out of memory", "free memory");
		return;
	}
	section->line = reader->line;
}

static const char *behind_word(const char *section, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(section, word, len) != 0 || strchr(" \t", section[len]) == NULL)
		return NULL;
	return section + len + strspn(section + len, " \t");
}

static void set_section_error(struct config_file_reader *reader, const char *section)
{
	const struct config *config = reader->config;
	char list[160] = "[sketchtap]";
	size_t used = strlen(list);

	for (uint32_t k = 0; k < config->nb_kinds && used < sizeof(list); k++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, ", [%s NAME]", config->kinds[k]->section);
	fail(reader, reader->line, "[%.200s]: unknown section; sections: %s, [measurement NAME]",
		section, list);
}

static void open_section(struct config_file_reader *reader, char *text)
{
	char *end = strchr(text, ']');
	char *name = skip_blanks(text + 1);
	const char *rest;

	if (end == NULL) {
		fail(reader, reader->line, "section without ]");
		return;
	}
	*end = '\0';
	rest = skip_blanks(end + 1);
	if (*rest != '\0' && !is_comment(rest)) {
		fail(reader, reader->line, "'%.200s' after the section; write it on its own line",
			rest);
		return;
	}
	cut_blanks(name);
	if (strcmp(name, "sketchtap") == 0) {
		reader->section = 0;
		return;
	}
	rest = behind_word(name, "measurement");
	if (rest != NULL) {
		open_measurement(reader, rest);
		return;
	}
	for (uint32_t k = 0; k < reader->config->nb_kinds; k++) {
		rest = behind_word(name, reader->config->kinds[k]->section);
		if (rest != NULL) {
			open_named(reader, reader->config->kinds[k], rest);
			return;
		}
	}
	set_section_error(reader, name);
}

static const struct config_setting *find_setting(const struct config_file *file,
	const struct option_row *row, const char *key, uint32_t section)
{
	/* A section with a name has no other settings between its own. */
	for (uint32_t i = file->nb_settings; i-- > 0;) {
		const struct config_setting *setting = &file->settings[i];

		if (section >= CONFIG_FIRST_NAMED && setting->section != section)
			break;
		if (setting->section == section && setting->row.row == row &&
			(row->type != OPTION_PROPERTIES || config_setting_is(setting, key)))
			return setting;
	}
	return NULL;
}

static bool find_option(struct config_file_reader *reader, const char *name, struct config_row *row)
{
	const struct config_row *option = options_find(reader->config, name);
	char unknown[OPTION_WHY_MAX];

	if (option == NULL) {
		options_say_unknown(reader->config, name, unknown, sizeof(unknown));
		fail(reader, reader->line, "%s", unknown);
		return false;
	}
	if (option->row->type == OPTION_ACTION) {
		fail(reader, reader->line, "%s: only for the command line", name);
		return false;
	}
	if (reader->section > 0 && !option->owner->of_measurement) {
		fail(reader, reader->line, "%s: applies to the whole run; write it in [sketchtap]",
			name);
		return false;
	}
	*row = *option;
	return true;
}

static bool find_key(struct config_file_reader *reader, const char *key, struct config_row *row)
{
	const struct config_section *section =
		&reader->file->named[reader->section - CONFIG_FIRST_NAMED];
	char unknown[OPTION_WHY_MAX];

	*row = options_find_key(section->owner, key);
	if (row->row != NULL)
		return true;
	options_say_unknown_key(section->owner, key, unknown, sizeof(unknown));
	fail(reader, reader->line, "%s", unknown);
	return false;
}

/* Returns VALUE of "KEY = VALUE", but PROPERTY=VALUE of "NAME.PROPERTY = VALUE". */
static const char *value_to_store(
	const struct option_row *row, const char *key, const char *value, char kept[LINE_BYTES])
{
	if (row->type != OPTION_PROPERTIES)
		return value;
	snprintf(kept, LINE_BYTES, "%.*s=%s", (int)strcspn(key + strlen(row->name) + 1, "="),
		key + strlen(row->name) + 1, value);
	return kept;
}

static bool has_key(const struct config_setting *setting, const void *key)
{
	return config_setting_is(setting, key);
}

bool config_file_set_named(struct config_file *file, uint32_t n, const struct config_row *row,
	const char *key, const char *value)
{
	const struct option_origin at = {.line = file->named[n].line, .as = CONFIG_SET};
	char kept[LINE_BYTES], name[200];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(key, "="), key);
	config_file_remove_settings(file, CONFIG_FIRST_NAMED + n, has_key, name);
	return config_file_add_setting(
		file, CONFIG_FIRST_NAMED + n, row, value_to_store(row->row, name, value, kept), at);
}

static void add_setting(struct config_file_reader *reader, const char *name, const char *value)
{
	const struct config_setting *before;
	struct config_row row;
	char property[LINE_BYTES];

	if (reader->section < CONFIG_FIRST_NAMED ? !find_option(reader, name, &row)
						 : !find_key(reader, name, &row))
		return;
	before = find_setting(reader->file, row.row, name, reader->section);
	if (before != NULL && row.row->type != OPTION_LIST && row.row->type != OPTION_PARTS) {
		fail(reader, reader->line, "%s: already on line %u", name, before->line);
		return;
	}
	value = value_to_store(row.row, name, value, property);
	if (!config_file_add_setting(reader->file, reader->section, &row, value,
		    (struct option_origin){
			    .line = reader->line, .as = options_name_as(row.row, name)}))
		fail_read(reader, "out of memory", "free memory");
}

/* Returns the first character in `stops`, or the end of the text before a comment. */
static char *find_end(char *text, const char *stops)
{
	char *at = text;

	while (*at != '\0' && strchr(stops, *at) == NULL &&
		!(*at == ';' && at > text && strchr(" \t", at[-1]) != NULL))
		at++;
	return at;
}

static void read_setting(struct config_file_reader *reader, char *text)
{
	char *equals = find_end(text, "=:");
	char *value;

	if (*equals != '=' && *equals != ':') {
		fail(reader, reader->line, "neither KEY = VALUE nor a [section]");
		return;
	}
	*equals = '\0';
	value = skip_blanks(equals + 1);
	*find_end(equals + 1, "") = '\0';
	cut_blanks(text);
	cut_blanks(value);
	if (*text == '\0')
		fail(reader, reader->line, "no key before =");
	else
		add_setting(reader, text, value);
}

static FILE *open_file(struct config_file_reader *reader, bool again)
{
	const char *path = reader->file->path;
	FILE *stream = again ? regular_file_open(path) : fopen(path, "re");

	if (stream == NULL && errno == 0)
		fail_read(reader, "not a regular file: cannot be read again",
			"start the run with a file, or use sketchtap ctl measure");
	else if (stream == NULL)
		fail_read(reader, strerror(errno), "give a readable file to --config");
	return stream;
}

static void parse(struct config_file_reader *reader, bool again)
{
	char text[LINE_BYTES];

	reader->stream = open_file(reader, again);
	if (reader->stream == NULL)
		return;
	while (reader->result == CONFIG_OK && read_line(reader, text, sizeof(text)) >= 0) {
		char *start = skip_blanks(text + (reader->line == 1 ? byte_order_mark(text) : 0));

		if (*start == '[')
			open_section(reader, start);
		else if (*start != '\0' && !is_comment(start))
			read_setting(reader, start);
	}
	fclose(reader->stream);
}

enum config_result config_file_read(struct config_file **file, const char *path, bool again,
	const struct config *config, char *error)
{
	struct config_file_reader reader = {.config = config, .error = error};

	reader.file = calloc(1, sizeof(*reader.file));
	if (reader.file == NULL) {
		snprintf(error, CONFIG_FILE_ERROR_MAX, "%.300s: out of memory", path);
		return CONFIG_EXIT_1;
	}
	reader.file->path = path;
	reader.file->nb_sections = 1;
	parse(&reader, again);
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
	for (uint32_t i = 0; i < file->nb_named; i++)
		free(file->named[i].name);
	free(file->named);
	free(file->settings);
	free(file);
}

struct config_file *config_file_copy(const struct config_file *file)
{
	struct config_file *copy = calloc(1, sizeof(*copy));
	bool copied = copy != NULL;

	if (copied)
		copy->nb_sections = 1;
	if (file == NULL || !copied)
		return copy;
	copy->path = file->path;
	for (uint32_t i = 1; copied && i < file->nb_sections; i++) {
		copied = config_file_add_section(copy, file->sections[i].name);
		copy->sections[i].line = file->sections[i].line;
	}
	for (uint32_t i = 0; copied && i < file->nb_named; i++)
		copied = add_named(
			copy, file->named[i].owner, file->named[i].name, file->named[i].line);
	for (uint32_t i = 0; copied && i < file->nb_settings; i++) {
		const struct config_setting *setting = &file->settings[i];

		copied = config_file_add_setting(copy, setting->section, &setting->row,
			setting->value,
			(struct option_origin){.line = setting->line, .as = setting->as});
	}
	if (copied)
		return copy;
	config_file_free(copy);
	return NULL;
}

void config_file_remove_settings(struct config_file *file, uint32_t section,
	bool (*chosen)(const struct config_setting *setting, const void *arg), const void *arg)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < file->nb_settings; i++) {
		struct config_setting setting = file->settings[i];

		if (setting.section == section && chosen(&setting, arg))
			free(setting.value);
		else
			file->settings[kept++] = setting;
	}
	file->nb_settings = kept;
}

static bool any(const struct config_setting *setting, const void *arg)
{
	(void)setting;
	(void)arg;
	return true;
}

void config_file_remove_section(struct config_file *file, uint32_t section)
{
	config_file_remove_settings(file, section, any, NULL);
	free(file->sections[section].name);
	memmove(&file->sections[section], &file->sections[section + 1],
		(--file->nb_sections - section) * sizeof(file->sections[0]));
	for (uint32_t i = 0; i < file->nb_settings; i++)
		file->settings[i].section -= file->settings[i].section > section &&
					     file->settings[i].section < CONFIG_FIRST_NAMED;
}
