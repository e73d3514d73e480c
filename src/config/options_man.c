/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Build-time program: copies a man page from standard input to standard output and puts what the
 * options table says where a line holds a mark:
 *     @options COMMAND@  the options of a command
 *     @values@           how values with units are written
 *     @choices@          which design, sharing and sketch suits what
 *     @title@            the .TH line, with the version
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/options.h"

/* Text as roff wants it: dashes that can be copied, no line that could be taken for a request. */
static void print_escaped(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
	}
}

static void print_option(const struct option_row *row)
{
	const char *default_text = option_default(row);

	fputs(".TP\n\\fB\\-\\-", stdout);
	print_escaped(row->name);
	fputs("\\fR", stdout);
	if (row->placeholder != NULL) {
		fputs(" \\fI", stdout);
		print_escaped(row->placeholder);
		fputs("\\fR", stdout);
	}
	fputs("\n\\&", stdout);
	print_escaped(row->help);
	if (row->letter != 0)
		printf(" Also \\-%c.", row->letter);
	if (row->scope == OPTION_OF_MEASUREMENT)
		fputs(" May stand in a [measurement] section.", stdout);
	if (default_text != NULL) {
		fputs("\n\\&[default: ", stdout);
		print_escaped(default_text);
		putchar(']');
	}
	putchar('\n');
}

static void print_options(enum command command)
{
	for (enum option_group group = 0; group < OPTION_GROUP_COUNT; group++) {
		bool titled = false;

		for (unsigned int i = 0; i < nb_options; i++) {
			if (options[i].group != group || !option_of_command(&options[i], command))
				continue;
			if (!titled)
				printf(".SS %s\n", option_group_names[group]);
			titled = true;
			print_option(&options[i]);
		}
	}
}

static void print_lines(const char *const *lines)
{
	fputs(".nf\n", stdout);
	for (const char *const *line = lines; *line != NULL; line++) {
		fputs("\\&", stdout);
		print_escaped(*line);
		putchar('\n');
	}
	fputs(".fi\n", stdout);
}

/* Prints what a mark stands for; false where the line is not a mark. */
static bool print_mark(const char *line)
{
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		char mark[64];

		snprintf(mark, sizeof(mark), "@options %s@\n", command_names[command]);
		if (strcmp(line, mark) == 0) {
			print_options(command);
			return true;
		}
	}
	if (strcmp(line, "@values@\n") == 0) {
		print_lines(option_unit_lines);
		return true;
	}
	if (strcmp(line, "@choices@\n") == 0) {
		print_lines(option_choice_lines);
		return true;
	}
	if (strcmp(line, "@title@\n") == 0) {
		printf(".TH SKETCHTAP 1 \"\" \"sketchtap %s\" \"User Commands\"\n",
			SKETCHTAP_VERSION);
		return true;
	}
	return false;
}

int main(void)
{
	char line[1024];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (print_mark(line))
			continue;
		if (line[0] == '@') {
			fprintf(stderr, "options_man: unknown mark %s", line);
			return 1;
		}
		fputs(line, stdout);
	}
	return ferror(stdin) != 0 || fflush(stdout) != 0;
}
