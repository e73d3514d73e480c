/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/config_change.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/config_file.h"
#include "config/option_value.h"
#include "config/options.h"

#define set_error(error, ...) text_error(error, CONFIG_ERROR_MAX, __VA_ARGS__)

/* Values can be equal in different spellings, such as 100ms and 0.1s. */
static bool same_value(const struct option_row *row, const char *a, const char *b)
{
	_Alignas(16) unsigned char x[CONFIG_BLOCK_BYTES / 2] = {0}, y[CONFIG_BLOCK_BYTES / 2] = {0};
	char why[OPTION_WHY_MAX];

	return strcmp(a, b) == 0 ||
	       (row->type != OPTION_STRING && row->type != OPTION_LIST &&
		       row->type != OPTION_PROPERTIES && row->type != OPTION_PARTS &&
		       option_set(row, a, x, why) && option_set(row, b, y, why) &&
		       memcmp(x, y, sizeof(x)) == 0);
}

/* A setting of `sketchtap ctl measure` has line 0. */
static bool same_option_and_origin(const struct config_setting *a, const struct config_setting *b)
{
	return a->row.row == b->row.row && a->section == b->section &&
	       (a->line == 0) == (b->line == 0);
}

static const struct config_setting *find_nth(
	const struct config_file *file, const struct config_setting *like, uint32_t n)
{
	for (uint32_t i = 0; file != NULL && i < file->nb_settings; i++)
		if (same_option_and_origin(&file->settings[i], like) && n-- == 0)
			return &file->settings[i];
	return NULL;
}

static uint32_t count_before(const struct config_file *file, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < end; i++)
		n += same_option_and_origin(&file->settings[i], &file->settings[end]);
	return n;
}

/*
 * Returns the first setting in section_a of `a` that section_b of `b` lacks or sets differently.
 * of_measurement: compares only options of measurements; false: only the others.
 */
static const struct config_setting *find_change(const struct config_file *a, uint32_t section_a,
	const struct config_file *b, uint32_t section_b, bool of_measurement)
{
	for (uint32_t i = 0; a != NULL && i < a->nb_settings; i++) {
		const struct config_setting *setting = &a->settings[i], *other;
		struct config_setting like = *setting;

		if (setting->section != section_a ||
			setting->row.owner->of_measurement != of_measurement)
			continue;
		like.section = section_b;
		other = find_nth(b, &like, count_before(a, i));
		if (other == NULL || !same_value(setting->row.row, setting->value, other->value))
			return setting;
	}
	return NULL;
}

static bool same_section(
	const struct config *a, uint32_t section_a, const struct config *b, uint32_t section_b)
{
	return find_change(a->file, section_a, b->file, section_b, true) == NULL &&
	       find_change(b->file, section_b, a->file, section_a, true) == NULL;
}

bool config_measures_one_same(
	const struct config *a, uint32_t m_a, const struct config *b, uint32_t m_b)
{
	return strcmp(a->measurements[m_a].name, b->measurements[m_b].name) == 0 &&
	       same_section(a, 0, b, 0) && same_section(a, 1 + m_a, b, 1 + m_b);
}

/* Returns the first setting from *i on whose section may change during a run, or NULL. */
static const struct config_setting *next_live(
	const struct config *config, uint32_t *i, const struct config_named **named)
{
	const struct config_file *file = config->file;

	while (file != NULL && *i < file->nb_settings) {
		const struct config_setting *setting = &file->settings[(*i)++];

		if (setting->section < CONFIG_FIRST_NAMED)
			continue;
		*named = &config->named[setting->section - CONFIG_FIRST_NAMED];
		if ((*named)->owner->live)
			return setting;
	}
	return NULL;
}

/* Another order of sections or keys is also a difference. */
static bool same_live(const struct config *a, const struct config *b)
{
	uint32_t i = 0, j = 0;

	for (;;) {
		const struct config_named *of_x = a->named, *of_y = b->named;
		const struct config_setting *x = next_live(a, &i, &of_x);
		const struct config_setting *y = next_live(b, &j, &of_y);

		if (x == NULL || y == NULL)
			return x == y;
		if (x->row.row != y->row.row || strcmp(x->value, y->value) != 0 ||
			strcmp(of_x->name, of_y->name) != 0)
			return false;
	}
}

bool config_measures_same(const struct config *a, const struct config *b)
{
	if (a->nb_measurements != b->nb_measurements || !same_live(a, b))
		return false;
	for (uint32_t m = 0; m < a->nb_measurements; m++)
		if (!config_measures_one_same(a, m, b, m))
			return false;
	return true;
}

#define ADVICE "restore it, or restart"

static bool keeps_section(const struct config *config, uint32_t section,
	const struct config *running, uint32_t section_running, char *error)
{
	const struct config_setting *setting =
		find_change(config->file, section, running->file, section_running, false);
	const struct config_setting *gone =
		find_change(running->file, section_running, config->file, section, false);

	if (setting != NULL)
		return set_error(error, "%.300s:%u: %s: cannot change during a run; " ADVICE,
			config->file->path, setting->line, setting->row.row->name);
	return gone == NULL ||
	       set_error(error, "%.300s: %s: removed, but cannot change during a run; " ADVICE,
		       config->file != NULL ? config->file->path : "--config", gone->row.row->name);
}

static uint32_t count_lasting(const struct config *config)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < config->nb_named; i++)
		n += !config->named[i].owner->live;
	return n;
}

static bool keeps_named(const struct config *config, const struct config *running, char *error)
{
	for (uint32_t n = 0; n < config->nb_named; n++) {
		const struct config_named *named = &config->named[n];
		uint32_t before = 0;

		if (named->owner->live)
			continue;
		while (before < running->nb_named &&
			strcmp(running->named[before].title, named->title) != 0)
			before++;
		if (before == running->nb_named)
			return set_error(error,
				"%.300s:%u: %s: cannot be added during a run; omit it, or restart",
				config->file->path, named->line, named->title);
		if (!keeps_section(config, CONFIG_FIRST_NAMED + n, running,
			    CONFIG_FIRST_NAMED + before, error))
			return false;
	}
	return count_lasting(config) == count_lasting(running) ||
	       set_error(error,
		       "%.300s: a section was removed, but cannot change during a run; " ADVICE,
		       config->file != NULL ? config->file->path : "--config");
}

enum config_result config_read_again(
	struct config *config, const struct config *running, char *error)
{
	enum config_result result = config_load_again(config, running, NULL, error);

	if (result != CONFIG_OK)
		return result;
	if (keeps_section(config, 0, running, 0, error) && keeps_named(config, running, error))
		return CONFIG_OK;
	config_free(config);
	return CONFIG_EXIT_2;
}

static bool add_section(struct config_file *file, const char *name, char *error)
{
	if (!config_file_is_name(name))
		return set_error(error,
			"'%.200s': not a name of a measurement; use at most 63 of A-Z a-z 0-9 _ . -",
			name);
	if (file->nb_sections == 1 + CONFIG_MEASUREMENTS_MAX)
		return set_error(error, "measurement %s: one too many; the limit is %d", name,
			CONFIG_MEASUREMENTS_MAX);
	return config_file_add_section(file, name) || set_error(error, "out of memory");
}

/* An option displaces its own earlier value and options that exclude it. */
static bool is_displaced(const struct config_setting *setting, const void *arg)
{
	const struct option_row *row = arg;

	return setting->row.row == row ||
	       (setting->line == 0 && row->set != NULL && setting->row.row->set != NULL &&
		       strcmp(setting->row.row->set, row->set) == 0);
}

static const struct config_row *find_option(
	const struct config *running, const char *name, char *error)
{
	const struct config_row *row = options_find(running, name);

	if (row == NULL) {
		options_say_unknown(running, name, error, CONFIG_ERROR_MAX);
		return NULL;
	}
	if (row->owner->of_measurement)
		return row;
	if (row->row->type == OPTION_ACTION)
		set_error(error, "%s: only for the command line", name);
	else
		set_error(error, "%s: applies to the whole run; cannot change during a run", name);
	return NULL;
}

struct word {
	const struct config_row *row;
	const char *value;
};

static bool read_word(const struct config *running, char *text, struct word *word, char *error)
{
	char *equals = strchr(text, '=');

	if (equals == NULL)
		return set_error(error, "'%.200s': not KEY=VALUE", text);
	if (equals == text)
		return set_error(error, "'%.200s': no key before =", text);
	*equals = '\0';
	word->value = equals + 1;
	word->row = find_option(running, text, error);
	return word->row != NULL;
}

static int read_words(
	const struct config *running, struct word words[CONFIG_ROWS_MAX], char **rest, char *error)
{
	char *text;
	int n = 0;

	for (; (text = strtok_r(NULL, " \t", rest)) != NULL; n++) {
		if (n == CONFIG_ROWS_MAX || !read_word(running, text, &words[n], error))
			return -1;
		for (int i = 0; i < n; i++)
			if (words[i].row == words[n].row) {
				set_error(error, "%s: given twice", words[n].row->row->name);
				return -1;
			}
	}
	return n;
}

static bool give_words(const struct config *running, struct config_file *file, uint32_t section,
	char **rest, char *error)
{
	struct word words[CONFIG_ROWS_MAX];
	int n = read_words(running, words, rest, error);

	for (int i = 0; i < n; i++)
		config_file_remove_settings(file, section, is_displaced, words[i].row->row);
	for (int i = 0; i < n; i++)
		if (*words[i].value != '\0' && !config_file_add_setting(file, section, words[i].row,
						       words[i].value, (struct option_origin){0}))
			return set_error(error, "out of memory");
	return n >= 0;
}

static bool edit(const struct config *running, struct config_file *file, char *words, char *error)
{
	char *rest = NULL;
	const char *verb = strtok_r(words, " \t", &rest), *name = strtok_r(NULL, " \t", &rest);
	uint32_t section;

	if (verb == NULL || name == NULL)
		return set_error(
			error, "write add, change or remove, and the name of a measurement");
	section = config_file_find_section(file, name);
	if (strcmp(verb, "add") == 0) {
		if (section < file->nb_sections)
			return set_error(error, "measurement %s: exists already", name);
		return add_section(file, name, error) &&
		       give_words(running, file, section, &rest, error);
	}
	if (strcmp(verb, "change") != 0 && strcmp(verb, "remove") != 0)
		return set_error(
			error, "'%.200s': unknown command; commands: add, change, remove", verb);
	if (section == file->nb_sections)
		return set_error(error, "'%.200s': no such measurement", name);
	if (strcmp(verb, "change") == 0)
		return give_words(running, file, section, &rest, error);
	if (file->nb_sections == 2)
		return set_error(error, "measurement %s: the last one cannot be removed", name);
	config_file_remove_section(file, section);
	return true;
}

/* Adds [measurement main] if the file has no measurement. */
static struct config_file *copy_file(const struct config *running)
{
	struct config_file *file = config_file_copy(running->file);

	if (file == NULL || file->nb_sections > 1 ||
		config_file_add_section(file, running->measurements[0].name))
		return file;
	config_file_free(file);
	return NULL;
}

enum config_result config_change(
	struct config *config, const struct config *running, const char *words, char *error)
{
	struct config_file *file = copy_file(running);
	char *copy = strdup(words);
	enum config_result result = CONFIG_EXIT_1;

	if (file == NULL || copy == NULL)
		set_error(error, "out of memory");
	else
		result = edit(running, file, copy, error) ? CONFIG_OK : CONFIG_EXIT_2;
	free(copy);
	if (result != CONFIG_OK) {
		config_file_free(file);
		return result;
	}
	return config_load_again(config, running, file, error);
}
