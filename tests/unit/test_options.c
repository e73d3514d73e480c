/* SPDX-License-Identifier: BSD-3-Clause */

/* The options table against what is made of it: help, man page, and the rows' own defaults. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/option_value.h"
#include "config/options.h"
#include "sketch/sketch.h"

#define HELP_WIDTH 100

static char *help_of(enum command command)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	options_print_help(command, out);
	fclose(out);
	return text;
}

/* The man page without roff's escapes: what a reader sees, one line per source line. */
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
			assert_true(c == '&' || c == '"'); /* nothing, or a comment */
	}
	fclose(file);
	return text;
}

/* The section of the man page with this title, cut out of text. */
static char *section_of(const char *text, const char *title)
{
	char heading[100];
	const char *start;
	const char *end;

	snprintf(heading, sizeof(heading), "\n.SH %s\n", title);
	start = strstr(text, heading);
	assert_non_null(start);
	end = strstr(start + strlen(heading), "\n.SH ");
	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

static char *man_section_of(enum command command)
{
	char *page = read_man_page();
	static const char *const titles[COMMAND_COUNT] = {
		[COMMAND_RUN] = "OPTIONS OF RUN, PLAN AND DOCTOR",
		[COMMAND_PLAN] = "OPTIONS OF RUN, PLAN AND DOCTOR",
		[COMMAND_DOCTOR] = "OPTIONS OF RUN, PLAN AND DOCTOR",
		[COMMAND_GENERATE] = "OPTIONS OF GENERATE",
		[COMMAND_BENCH_KERNELS] = "OPTIONS OF BENCH KERNELS",
		[COMMAND_BENCH_WORKER] = "OPTIONS OF BENCH WORKER",
		[COMMAND_BENCH_TARGETS] = "OPTIONS OF BENCH TARGETS",
		[COMMAND_BENCH_PIPELINE] = "OPTIONS OF BENCH PIPELINE",
		[COMMAND_BENCH_FLOW_TABLE] = "OPTIONS OF BENCH FLOW-TABLE",
		[COMMAND_BENCH_TUNE] = "OPTIONS OF BENCH TUNE",
	};
	char *section = section_of(page, titles[command]);

	free(page);
	return section;
}

/* "--name PLACEHOLDER" as the first words of a line. */
static bool has_entry(const char *text, const struct option_row *row, const char *indent)
{
	for (const char *end = " \n"; *end != '\0'; end++) {
		char entry[100];

		snprintf(entry, sizeof(entry), "\n%s--%s%s%s%c", indent, row->name,
			row->placeholder != NULL ? " " : "",
			row->placeholder != NULL ? row->placeholder : "", *end);
		if (strstr(text, entry) != NULL)
			return true;
	}
	return false;
}

/* Text with every run of blanks and line ends as one space. */
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

	if (option_default(row) != NULL) {
		char note[100];

		snprintf(note, sizeof(note), "[default: %s]", option_default(row));
		found = found && strstr(flat, note) != NULL;
	}
	free(flat);
	return found;
}

static void every_row_is_in_the_help_of_its_commands(void **state)
{
	(void)state;
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		char *help = help_of(command);

		for (unsigned int i = 0; i < nb_options; i++) {
			const struct option_row *row = &options[i];

			if (option_of_command(row, command) !=
				(has_entry(help, row, "  ") && has_words(help, row)))
				fail_msg("help of %s and row %s disagree", command_names[command],
					row->name);
		}
		free(help);
	}
}

static void every_row_is_in_the_man_page(void **state)
{
	(void)state;
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		char *section = man_section_of(command);

		for (unsigned int i = 0; i < nb_options; i++) {
			const struct option_row *row = &options[i];

			if (option_of_command(row, command) &&
				!(has_entry(section, row, "") && has_words(section, row)))
				fail_msg("--%s is not in the man page", row->name);
		}
		free(section);
	}
}

/* Looks every --word of text up in the table. */
static void assert_options_known(const char *text, enum command command)
{
	unsigned int found = 0;

	for (const char *at = text; (at = strstr(at, "--")) != NULL; found++) {
		char name[64];
		size_t len;

		at += 2;
		len = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
		assert_true(len < sizeof(name));
		memcpy(name, at, len);
		name[len] = '\0';
		if (option_find(command, name) == NULL)
			fail_msg("--%s is told of, but not an option of %s", name,
				command_names[command]);
	}
	assert_true(found > 10);
}

static void every_option_of_help_and_man_page_is_a_row(void **state)
{
	(void)state;
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		char *help = help_of(command);
		char *section = man_section_of(command);

		assert_options_known(help, command);
		/* Before the first group stands what explains the syntax with --name. */
		assert_options_known(strstr(section, "\n.SS "),
			command == COMMAND_RUN || command == COMMAND_DOCTOR
				? COMMAND_PLAN
				: command); /* they share one */
		free(help);
		free(section);
	}
}

static bool is_any_option(const char *name)
{
	for (enum command command = 0; command < COMMAND_COUNT; command++)
		if (option_find(command, name) != NULL)
			return true;
	return false;
}

/* The prose around the table must not tell of options that are not there. */
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
		if (strcmp(name, "name") != 0 && !is_any_option(name))
			fail_msg("the man page tells of --%s, which is no option", name);
	}
	free(page);
}

static void help_fits_its_width(void **state)
{
	(void)state;
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		char *help = help_of(command);

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

static void letters_are_unique_per_command(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < nb_options; i++)
		for (enum command command = 0; command < COMMAND_COUNT; command++)
			if (options[i].letter != 0 && option_of_command(&options[i], command))
				assert_ptr_equal(option_find_letter(command, options[i].letter),
					&options[i]);
}

static void names_are_unique_per_command(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < nb_options; i++) {
		for (unsigned int j = i + 1; j < nb_options; j++) {
			if (strcmp(options[i].name, options[j].name) == 0)
				assert_int_equal(options[i].commands & options[j].commands, 0);
		}
		for (enum command command = 0; command < COMMAND_COUNT; command++) {
			if (option_of_command(&options[i], command))
				assert_ptr_equal(
					option_find(command, options[i].name), &options[i]);
		}
	}
}

static void defaults_pass_their_own_row(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < nb_options; i++) {
		struct config config = {0};
		char why[OPTION_WHY_MAX];

		if (options[i].default_text == NULL)
			continue;
		if (!option_set(&options[i], options[i].default_text, &config,
			    &config.measurements[0], why))
			fail_msg("--%s: %s", options[i].name, why);
	}
}

/* Help names what the registries hold, and the numbers in it are the sketch's. */
static void help_names_every_sketch_and_key(void **state)
{
	const struct option_row *sketch = option_find(COMMAND_RUN, "sketch");
	const struct option_row *key = option_find(COMMAND_RUN, "key");

	(void)state;
	assert_string_equal(sketch->default_text, sketches[0]->name);
	assert_string_equal(key->default_text, key_rules[0].name);
	for (unsigned int i = 0; sketches[i] != NULL; i++) {
		char text[100];

		snprintf(text, sizeof(text), "%s (%s)", sketches[i]->name, sketches[i]->alias);
		assert_non_null(strstr(sketch->help, text));
		snprintf(text, sizeof(text), "%u for %s", sketches[i]->default_depth,
			sketches[i]->name);
		assert_non_null(strstr(option_find(COMMAND_RUN, "depth")->default_note, text));
		snprintf(text, sizeof(text), "%llu for %s",
			(unsigned long long)sketches[i]->default_width, sketches[i]->name);
		assert_non_null(strstr(option_find(COMMAND_RUN, "width")->default_note, text));
	}
	for (const struct key_rule *rule = key_rules; rule->name != NULL; rule++)
		assert_non_null(strstr(key->help, rule->name));
	for (unsigned int i = 0; i < nb_options; i++) {
		for (unsigned int c = 0;
			options[i].choices != NULL && options[i].choices[c] != NULL; c++)
			assert_non_null(strstr(options[i].help, options[i].choices[c]));
	}
}

static void nearest_name_is_suggested(void **state)
{
	(void)state;
	assert_string_equal(option_nearest(COMMAND_RUN, "wodth")->name, "width");
	assert_string_equal(option_nearest(COMMAND_RUN, "inxerval")->name, "interval");
	assert_string_equal(option_nearest(COMMAND_RUN, "synth")->name, "synthetic");
	assert_string_equal(option_nearest(COMMAND_RUN, "nohuge")->name, "no-huge");
	assert_string_equal(option_nearest(COMMAND_RUN, "itnerval")->name, "interval");
	assert_string_equal(option_nearest(COMMAND_RUN, "portt")->name, "port");
	assert_string_equal(option_nearest(COMMAND_RUN, "thersholds")->name, "threshold");
	assert_null(option_nearest(COMMAND_RUN, "sort")); /* port is another word */
	assert_null(option_nearest(COMMAND_RUN, "mode"));
	assert_null(option_nearest(COMMAND_RUN, "se"));
	assert_null(option_nearest(COMMAND_RUN, "frobnicate"));
	assert_null(option_nearest(COMMAND_RUN, ""));
	assert_null(option_nearest(
		COMMAND_RUN, "a-name-that-is-far-longer-than-all-of-the-options-in-the-table-are"));
	assert_null(option_nearest(COMMAND_GENERATE, "inxerval"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_in_the_help_of_its_commands),
		cmocka_unit_test(every_row_is_in_the_man_page),
		cmocka_unit_test(every_option_of_help_and_man_page_is_a_row),
		cmocka_unit_test(every_option_of_the_prose_is_a_row),
		cmocka_unit_test(help_fits_its_width),
		cmocka_unit_test(names_are_unique_per_command),
		cmocka_unit_test(letters_are_unique_per_command),
		cmocka_unit_test(defaults_pass_their_own_row),
		cmocka_unit_test(help_names_every_sketch_and_key),
		cmocka_unit_test(nearest_name_is_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
