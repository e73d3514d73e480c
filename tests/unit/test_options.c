/* SPDX-License-Identifier: BSD-3-Clause */

/* The options table, compared with its products: help, man page, and the defaults of its rows. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "commands/commands.h"
#include "config/option_value.h"
#include "config/options.h"
#include "sketch/sketch.h"

#define HELP_WIDTH 100

/* Iterates over the commands of both programs with their options; NULL at the end. */
static const struct config *next_command(uint32_t *c, const struct program **program)
{
	static struct config config;
	uint32_t n = 0;

	while (commands.commands[n] != NULL)
		n++;
	*program = *c < n ? &commands : &bench_program;
	if (*c >= n && bench_program.commands[*c - n] == NULL)
		return NULL;
	config_init(&config, *c < n ? commands.commands[*c] : bench_program.commands[*c - n]);
	++*c;
	return &config;
}

#define EACH_COMMAND(config, program)                                                              \
	const struct program *program;                                                             \
	const struct config *config;                                                               \
	uint32_t c = 0;                                                                            \
                                                                                                   \
	(void)state;                                                                               \
	while ((config = next_command(&c, &program)) != NULL)

static const struct config *run_options(void)
{
	static struct config config;

	config_init(&config, commands.commands[0]);
	return &config;
}

static char *help_of(const struct config *config, const struct program *program, bool all)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	options_help(config, program, all, out);
	fclose(out);
	return text;
}

/* Returns the man page without roff escapes, one line per source line. */
static char *read_man_page(void)
{
	FILE *file = fopen(MAN_PAGE, "r");
	char *text = calloc(1, 1 << 20);
	size_t len = 0;
	int c;

	assert_non_null(file);
	assert_non_null(text);
	while ((c = getc(file)) != EOF) {
		assert_true(len < (1 << 20) - 1);
		if (c != '\\') {
			text[len++] = (char)c;
			continue;
		}
		c = getc(file);
		if (c == 'f')
			getc(file);
		else if (c == '-' || c == 'e')
			text[len++] = (char)(c == 'e' ? '\\' : c);
		else
			assert_true(c == '&' || c == '"'); /* zero-width escape or comment */
	}
	fclose(file);
	return text;
}

/* Returns a section of the man page by its title, cut from text. */
static char *section_of(const char *text, const char *title)
{
	char heading[120];
	const char *start;
	const char *end;

	snprintf(heading, sizeof(heading), "\n.SH %s\n", title);
	start = strstr(text, heading);
	assert_non_null(start);
	end = strstr(start + strlen(heading), "\n.SH ");
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

/* run, plan and doctor share a section, also with the bench command that measures for them. */
static char *man_section_of(const struct config *config, const struct program *program)
{
	char *page = read_man_page(), title[100] = "OPTIONS OF RUN, PLAN AND DOCTOR", *section;
	size_t used;

	if (config->rows[0].owner != run_options()->rows[0].owner || config->nb_rows < 40) {
		used = (size_t)snprintf(title, sizeof(title), "OPTIONS OF %s%s",
			program == &bench_program ? "SKETCHTAP-BENCH " : "", config->command->name);
		for (size_t t = strlen("OPTIONS OF "); t < used; t++)
			if (title[t] >= 'a' && title[t] <= 'z')
				title[t] = (char)(title[t] - 'a' + 'A');
	}
	section = section_of(page, title);
	free(page);
	return section;
}

/*
 * Writes the entry of a row in help: an option, a key of the file, or a part of another option's
 * value.
 */
static void entry_of(const struct option_row *row, char entry[160])
{
	const char *value = row->placeholder != NULL ? row->placeholder : "yes|no";

	if (row->config_only)
		snprintf(entry, 160, "%s = %s", row->name, value);
	else if (row->hidden)
		snprintf(entry, 160, "%s%s", row->part + (*row->part == ','), value);
	else
		snprintf(entry, 160, "--%s%s%s", row->name, row->placeholder != NULL ? " " : "",
			row->placeholder != NULL ? row->placeholder : "");
}

/* Returns true if the entry is at the start of a line. */
static bool has_entry(const char *text, const struct option_row *row, const char *indent)
{
	for (const char *end = " \n"; *end != '\0'; end++) {
		char entry[160], line[200];

		entry_of(row, entry);
		snprintf(line, sizeof(line), "\n%s%s%c", indent, entry, *end);
		if (strstr(text, line) != NULL)
			return true;
	}
	return false;
}

/* Returns true for an undocumented old spelling. */
static bool is_alias(const struct option_row *row)
{
	return row->hidden && row->part_of == NULL;
}

/* Returns text with each run of blanks and newlines replaced by one space. */
static char *unfold(const char *text)
{
	char *flat = malloc(strlen(text) + 1);
	size_t len = 0;

	assert_non_null(flat);
	for (; *text != '\0'; text++) {
		bool blank = *text == ' ' || *text == '\n';

		if (!blank)
			flat[len++] = *text;
		else if (len > 0 && flat[len - 1] != ' ')
			flat[len++] = ' ';
	}
	flat[len] = '\0';
	return flat;
}

static bool has_words(const char *text, const struct option_row *row)
{
	char *flat = unfold(text);
	bool found = strstr(flat, row->help) != NULL;

	if (row->default_note != NULL || row->default_text != NULL) {
		char note[200];

		snprintf(note, sizeof(note), "[default: %s]",
			row->default_note != NULL ? row->default_note : row->default_text);
		found = found && strstr(flat, note) != NULL;
	}
	free(flat);
	return found;
}

/* Returns true if it starts a line of the short help. */
static bool is_usual(const char *usual, const struct option_row *row)
{
	char entry[100];

	snprintf(entry, sizeof(entry), "\n  --%s ", row->name);
	return strstr(usual, entry) != NULL;
}

static void every_row_is_in_the_help_of_its_commands(void **state)
{
	EACH_COMMAND(config, program)
	{
		char *all = help_of(config, program, true);
		char *usual = help_of(config, program, false);

		for (uint32_t i = 0; i < config->nb_rows; i++) {
			const struct option_row *row = config->rows[i].row;
			bool shown = !row->rare && !row->hidden && !row->config_only;

			if (!is_alias(row) &&
				(!has_entry(all, row, row->hidden ? "      " : "  ") ||
					!has_words(all, row)))
				fail_msg("--help all of %s lacks %s", config->command->name,
					row->name);
			if (is_usual(usual, row) != shown)
				fail_msg("--help of %s and row %s disagree", config->command->name,
					row->name);
		}
		free(all);
		free(usual);
	}
}

#define HELP_LINES       48 /* two screens */
#define HELP_OPTIONS_MAX 75

static void usual_help_is_short(void **state)
{
	EACH_COMMAND(config, program)
	{
		char *help = help_of(config, program, false);
		uint32_t lines = 0;

		for (char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1, lines++)
			if (strcspn(line, "\n") > HELP_WIDTH)
				fail_msg("%.*s", (int)strcspn(line, "\n"), line);
		if (lines > HELP_LINES)
			fail_msg("--help of %s has %u lines", config->command->name, lines);
		free(help);
	}
}

static void options_are_few(void **state)
{
	static const char *names[CONFIG_ROWS_MAX];
	uint32_t n = 0;

	(void)state;
	for (const struct command *const *c = commands.commands; *c != NULL; c++) {
		static struct config config;

		config_init(&config, *c);
		for (uint32_t i = 0; i < config.nb_rows; i++) {
			const struct option_row *row = config.rows[i].row;
			uint32_t k = 0;

			while (k < n && strcmp(names[k], row->name) != 0)
				k++;
			if (k == n && !row->hidden && !row->config_only)
				names[n++] = row->name;
		}
	}
	assert_in_range(n, 20, HELP_OPTIONS_MAX);
}

/* Old names lead to the row, and are not shown. */
static void former_names_are_found_and_hidden(void **state)
{
	EACH_COMMAND(config, program)
	{
		char *help = help_of(config, program, true);

		for (uint32_t i = 0; i < config->nb_rows; i++) {
			const struct option_row *row = config->rows[i].row;
			char shown[100];

			if (row->former != NULL)
				assert_ptr_equal(
					options_find(config, row->former), &config->rows[i]);
			if (row->former == NULL && !row->hidden)
				continue;
			snprintf(shown, sizeof(shown), "--%s ",
				row->former != NULL ? row->former : row->name);
			if (strstr(help, shown) != NULL)
				fail_msg("help of %s shows %s", config->command->name, shown);
		}
		free(help);
	}
}

static void every_row_is_in_the_man_page(void **state)
{
	EACH_COMMAND(config, program)
	{
		char *section = man_section_of(config, program);

		for (uint32_t i = 0; i < config->nb_rows; i++) {
			const struct option_row *row = config->rows[i].row;

			if (!is_alias(row) &&
				(!has_entry(section, row, "") || !has_words(section, row)))
				fail_msg("--%s is not in the man page", row->name);
		}
		free(section);
	}
}

static bool is_documented(const char *name)
{
	const struct program *program;
	uint32_t c = 0;

	for (const struct config *config; (config = next_command(&c, &program)) != NULL;) {
		const struct config_row *row = options_find(config, name);

		if (row != NULL && strcmp(row->row->name, name) == 0 && !row->row->hidden &&
			!row->row->config_only)
			return true;
	}
	return false;
}

/* Returns true for an option of a command that parses its own arguments, from its usage text. */
static bool is_word_of_others(const char *name)
{
	char word[70];
	int len = snprintf(word, sizeof(word), "--%s", name);

	for (const struct program_other *other = commands.others; other->name != NULL; other++) {
		const char *at = strstr(other->usage, word);

		if (at != NULL && strchr(" ]", at[len]) != NULL)
			return true;
	}
	return false;
}

/* The prose of the man page must mention existing options only. */
static void every_option_of_the_prose_is_a_row(void **state)
{
	char *page = read_man_page();

	(void)state;
	for (const char *at = page; (at = strstr(at, "--")) != NULL;) {
		char name[64];
		size_t len;

		at += 2;
		len = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
		assert_true(len < sizeof(name));
		memcpy(name, at, len);
		name[len] = '\0';
		if (!is_word_of_others(name) && !is_documented(name))
			fail_msg("the man page mentions --%s, which is not an option", name);
	}
	free(page);
}

static void help_fits_its_width(void **state)
{
	EACH_COMMAND(config, program)
	{
		char *help = help_of(config, program, true);

		for (char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
			size_t len = strcspn(line, "\n");

			if (len > HELP_WIDTH)
				fail_msg("%zu columns: %.*s", len, (int)len, line);
			assert_true(len == 0 || line[len - 1] != ' ');
		}
		assert_int_equal(help[strlen(help) - 1], '\n');
		free(help);
	}
}

static void names_and_letters_are_unique_per_command(void **state)
{
	EACH_COMMAND(config, program)
	{
		for (uint32_t i = 0; i < config->nb_rows; i++) {
			const struct config_row *row = &config->rows[i];

			assert_ptr_equal(options_find(config, row->row->name), row);
			if (row->row->letter != 0)
				assert_ptr_equal(
					options_find_letter(config, row->row->letter), row);
		}
	}
}

static void defaults_pass_their_own_row(void **state)
{
	EACH_COMMAND(config, program)
	{
		for (uint32_t i = 0; i < config->nb_rows; i++) {
			const struct option_row *row = config->rows[i].row;
			static _Alignas(16) unsigned char block[CONFIG_BLOCK_BYTES];
			char why[OPTION_WHY_MAX];

			memset(block, 0, sizeof(block));
			if (row->default_text != NULL &&
				!option_set(row, row->default_text, block, why))
				fail_msg("--%s: %s", row->name, why);
		}
	}
}

/* Help lists everything in the registries, and its numbers are those of the sketches. */
static void help_names_every_sketch_and_key(void **state)
{
	char *help = help_of(run_options(), &commands, true), *flat = unfold(help);

	(void)state;
	for (unsigned int i = 0; sketches[i] != NULL; i++) {
		char text[100];

		snprintf(text, sizeof(text), "%s (%s)", sketches[i]->name, sketches[i]->alias);
		assert_non_null(strstr(flat, text));
		assert_non_null(strstr(flat, sketches[i]->suits));
		snprintf(text, sizeof(text), "%u for %s", sketches[i]->default_depth,
			sketches[i]->name);
		assert_non_null(strstr(flat, text));
		snprintf(text, sizeof(text), "%llu for %s",
			(unsigned long long)sketches[i]->default_width, sketches[i]->name);
		assert_non_null(strstr(flat, text));
	}
	for (const struct key_rule *rule = key_rules; rule->name != NULL; rule++)
		assert_non_null(strstr(options_find(run_options(), "key")->row->help, rule->name));
	free(help);
	free(flat);
}

static void every_word_is_in_the_help(void **state)
{
	EACH_COMMAND(config, program)
	{
		for (uint32_t i = 0; i < config->nb_rows; i++) {
			const struct option_row *row = config->rows[i].row;
			bool listed = row->help[strlen(row->help) - 1] == ':';

			for (uint32_t w = 0; row->word != NULL && row->word(w) != NULL; w++)
				if (!listed && strstr(row->help, row->word(w)) == NULL)
					fail_msg("--%s: help lacks %s", row->name, row->word(w));
		}
	}
}

static void assert_nearest(const char *name, const char *expected)
{
	const struct config_row *row = options_nearest(run_options(), name);

	if (expected == NULL)
		assert_null(row);
	else
		assert_string_equal(row->row->name, expected);
}

static void nearest_name_is_suggested(void **state)
{
	(void)state;
	assert_nearest("wodth", "width");
	assert_nearest("inxerval", "interval");
	assert_nearest("synth", "synthetic");
	assert_nearest("nohuge", "no-huge");
	assert_nearest("itnerval", "interval");
	assert_nearest("portt", "port");
	assert_nearest("thersholds", "threshold");
	assert_nearest("sort", NULL); /* "port" is not similar enough */
	assert_nearest("mode", NULL);
	assert_nearest("se", NULL);
	assert_nearest("frobnicate", NULL);
	assert_nearest("", NULL);
	assert_nearest("a-name-that-is-far-longer-than-all-of-the-options-in-the-table-are", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_in_the_help_of_its_commands),
		cmocka_unit_test(every_row_is_in_the_man_page),
		cmocka_unit_test(usual_help_is_short),
		cmocka_unit_test(options_are_few),
		cmocka_unit_test(former_names_are_found_and_hidden),
		cmocka_unit_test(every_option_of_the_prose_is_a_row),
		cmocka_unit_test(help_fits_its_width),
		cmocka_unit_test(names_and_letters_are_unique_per_command),
		cmocka_unit_test(defaults_pass_their_own_row),
		cmocka_unit_test(help_names_every_sketch_and_key),
		cmocka_unit_test(every_word_is_in_the_help),
		cmocka_unit_test(nearest_name_is_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
