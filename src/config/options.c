/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/options.h"

#include <string.h>

#include "base/assertion.h"
#include "config/option_value.h"

static const char *const group_names[OPTION_GROUP_COUNT] = {
	[OPTION_GROUP_SOURCE] = "Source",
	[OPTION_GROUP_DESTINATION] = "Destination",
	[OPTION_GROUP_MEASURE] = "Measure",
	[OPTION_GROUP_TRY] = "Try",
	[OPTION_GROUP_REPORT] = "Report",
	[OPTION_GROUP_HOST] = "Host",
};

static const char *const group_summaries[OPTION_GROUP_COUNT] = {
	[OPTION_GROUP_SOURCE] = "where packets come from, and when to stop",
	[OPTION_GROUP_DESTINATION] = "where packets or results go",
	[OPTION_GROUP_MEASURE] = "which packets to count, by which key, and how",
	[OPTION_GROUP_TRY] = "what to compare",
	[OPTION_GROUP_REPORT] = "what to write, where and how often",
	[OPTION_GROUP_HOST] = "cores, memory, logs and the configuration file",
};

static const char *const unit_lines[] = {
	"N         5, 64K, 5M, 1G (powers of 1000; of 1024 in --width and powers of two)",
	"SIZE      4096, 4KB, 4MB, 1GB (bytes, powers of 1024)",
	"TIME      10us, 500ms, 1s, 5m, 1h, 1d",
	"RATE      500kpps, 2Mpps (packets per second)",
	"FRACTION  0.25 or 25%",
	"LIST      CPU numbers: 0-3,6",
	NULL,
};

const struct config_row *options_find(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct option_row *row = config->rows[i].row;

		if (strcmp(row->name, name) == 0 ||
			(row->former != NULL && strcmp(row->former, name) == 0))
			return &config->rows[i];
	}
	return NULL;
}

const char *options_name_as(const struct option_row *row, const char *name)
{
	return row->former != NULL && strcmp(row->former, name) == 0 ? row->former : row->name;
}

const char *options_spelling(const struct option_row *row, char *text, size_t size)
{
	bool part = row->hidden && row->part_of != NULL;
	char name[64];

	if (part)
		option_part_name(row, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", row->name);
	snprintf(text, size, "--%s%s%s",
		part               ? row->part_of
		: row->config_only ? CONFIG_SET
				   : "",
		(part || row->config_only) && *name != '\0' ? " " : "", name);
	return text;
}

const struct config_row *options_find_letter(const struct config *config, char letter)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->letter == letter)
			return &config->rows[i];
	return NULL;
}

#define NAME_MAX_LEN 32

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Counts letters to insert, remove, change or swap with a neighbor (Damerau-Levenshtein). */
static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int rows[3][NAME_MAX_LEN + 1];
	unsigned int *last = rows[0], *row = rows[1], *next = rows[2];
	size_t len = strlen(b);

	VERIFY(len, <=, NAME_MAX_LEN);
	for (unsigned int j = 0; j <= len; j++)
		row[j] = j;
	for (unsigned int i = 1; a[i - 1] != '\0'; i++) {
		unsigned int *spare = last;

		next[0] = i;
		for (size_t j = 1; j <= len; j++) {
			next[j] = min3(
				next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				last[j - 2] < next[j])
				next[j] = last[j - 2] + 1;
		}
		last = row;
		row = next;
		next = spare;
	}
	return row[len];
}

/* Only a name with a smaller edit distance is similar. 0: none is. */
static unsigned int similarity_limit(const char *name)
{
	size_t len = strlen(name);

	return len < 3 || len > NAME_MAX_LEN ? 0 : (unsigned int)len / 5 + 1;
}

static bool is_nearer(const char *name, const char *known, unsigned int *least)
{
	size_t len = strlen(name), other = strlen(known);
	unsigned int distance = 0;

	if (*least == 0)
		return false;
	/* A name that begins with the mistyped text has distance 0. */
	if (strncmp(known, name, len) != 0) {
		if ((len < other ? other - len : len - other) >= *least)
			return false;
		distance = edit_distance(name, known);
	}
	if (distance >= *least)
		return false;
	*least = distance;
	return true;
}

const struct config_row *options_nearest(const struct config *config, const char *name)
{
	const struct config_row *nearest = NULL;
	unsigned int least = similarity_limit(name);

	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct option_row *row = config->rows[i].row;

		if (row->hidden && row->part_of == NULL)
			continue;
		if (is_nearer(name, row->name, &least) ||
			(row->former != NULL && is_nearer(name, row->former, &least)))
			nearest = &config->rows[i];
	}
	return nearest;
}

void options_say_unknown(const struct config *config, const char *name, char *text, size_t size)
{
	const struct config_row *near = options_nearest(config, name);
	const struct option_row *row = near != NULL ? near->row : NULL;
	char part[64] = "";

	if (row != NULL && row->hidden)
		option_part_name(row, part, sizeof(part));
	snprintf(text, size, "%.200s: unknown key%s%s%s%s%s", name,
		row != NULL ? "; did you mean " : "",
		row == NULL   ? ""
		: row->hidden ? row->part_of
			      : row->name,
		*part != '\0' ? " " : "", part, row != NULL ? "?" : "");
}

struct config_row options_key(const struct option_owner *owner, uint32_t i)
{
	const struct option_owner *of = owner;

	for (uint32_t part = 0; of != NULL; of = owner->part != NULL ? owner->part(part++) : NULL)
		for (const struct option_row *row = of->rows; row->name != NULL; row++)
			if (i-- == 0)
				return (struct config_row){.row = row, .owner = of};
	return (struct config_row){0};
}

static bool is_key(const struct option_row *row, const char *key)
{
	size_t len = strlen(row->name);

	if (row->type != OPTION_PROPERTIES)
		return strcmp(row->name, key) == 0;
	return strncmp(row->name, key, len) == 0 && key[len] == '.' && key[len + 1] != '\0';
}

struct config_row options_find_key(const struct option_owner *owner, const char *key)
{
	struct config_row found;

	for (uint32_t i = 0; (found = options_key(owner, i)).row != NULL; i++)
		if (is_key(found.row, key))
			break;
	return found;
}

/* An option with properties is documented as "KEY.NAME". */
static const char *key_rest(const struct option_row *row)
{
	return row->type == OPTION_PROPERTIES ? ".NAME" : "";
}

void options_say_unknown_key(
	const struct option_owner *owner, const char *key, char *text, size_t size)
{
	const struct option_row *near = NULL, *row;
	char first[NAME_MAX_LEN + 1];
	unsigned int least;
	int used;

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(key, "."), key);
	least = similarity_limit(first);
	for (uint32_t i = 0; (row = options_key(owner, i).row) != NULL; i++)
		if (is_nearer(row->type == OPTION_PROPERTIES ? first : key, row->name, &least))
			near = row;
	used = snprintf(text, size, "%.200s: unknown key of [%s NAME]", key, owner->section);
	if (near != NULL) {
		snprintf(text + used, size - (size_t)used, "; did you mean %s%s?", near->name,
			key_rest(near));
		return;
	}
	for (uint32_t i = 0; (row = options_key(owner, i).row) != NULL && used < (int)size; i++)
		used += snprintf(text + used, size - (size_t)used, "%s %s%s",
			i == 0 ? "; keys:" : ",", row->name, key_rest(row));
}

#define NOTE_MAX 300

static void default_of(const struct option_row *row, char *note)
{
	const char *text = row->default_note != NULL ? row->default_note : row->default_text;

	snprintf(note, NOTE_MAX, "%s", text != NULL ? text : "");
	if (row->note != NULL)
		row->note(note, NOTE_MAX);
}

static void words_of(const struct option_row *row, char *words)
{
	size_t used = 0, len = strlen(row->help);

	*words = '\0';
	if (row->word == NULL || row->help[len - 1] != ':')
		return;
	for (uint32_t i = 0; row->word(i) != NULL && used < NOTE_MAX; i++) {
		const char *alias = row->alias != NULL ? row->alias(i) : NULL;
		const char *before = i == 0 ? " " : row->word(i + 1) != NULL ? ", " : " or ";

		used += (size_t)snprintf(words + used, NOTE_MAX - used,
			alias != NULL ? "%s%s (%s)" : "%s%s", before, row->word(i), alias);
	}
	if (used < NOTE_MAX)
		snprintf(words + used, NOTE_MAX - used, ".");
}

#define HELP_COLUMN 26
#define HELP_WIDTH  100

struct help_line {
	FILE *out;
	size_t column;
};

static void print_word(struct help_line *line, const char *word, size_t len)
{
	if (line->column + 1 + len > HELP_WIDTH) {
		fprintf(line->out, "\n%*s", HELP_COLUMN, "");
		line->column = HELP_COLUMN;
	} else if (line->column > HELP_COLUMN) {
		fputc(' ', line->out);
		line->column++;
	}
	fwrite(word, 1, len, line->out);
	line->column += len;
}

static void print_words(struct help_line *line, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		print_word(line, text, len);
		text += len;
		text += strspn(text, " ");
	}
}

static void begin_text(int written, FILE *out)
{
	if (written + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", HELP_COLUMN - written, "");
}

static void print_text(const struct option_row *row, FILE *out)
{
	struct help_line line = {.out = out, .column = HELP_COLUMN};
	char note[NOTE_MAX], words[NOTE_MAX];

	print_words(&line, row->help);
	words_of(row, words);
	print_words(&line, words + strspn(words, " "));
	if (row->letter != 0) {
		char also[] = {'A', 'l', 's', 'o', ' ', '-', row->letter, '.', '\0'};

		print_words(&line, also);
	}
	default_of(row, note);
	if (*note != '\0') {
		print_words(&line, "[default:");
		strcat(note, "]");
		print_words(&line, note);
	}
	fputc('\n', out);
}

/* key: prints "KEY = VALUE" instead of "--NAME VALUE". Returns the length. */
static int print_name(const struct option_row *row, bool key, FILE *out)
{
	const char *value = row->placeholder;

	if (key)
		return fprintf(out, "  %s%s = %s", row->name, key_rest(row),
			value != NULL ? value : "yes|no");
	return fprintf(
		out, "  --%s%s%s", row->name, value != NULL ? " " : "", value != NULL ? value : "");
}

static void print_row(const struct option_row *row, bool key, FILE *out)
{
	begin_text(print_name(row, key, out), out);
	print_text(row, out);
}

/* Returns the next option that is documented only as a part of the value of `row`, or NULL. */
static const struct option_row *next_hidden_part(
	const struct config *config, const struct option_row *row, const struct config_row **part)
{
	while ((*part = option_next_part(config, row, *part)) != NULL)
		if ((*part)->row->hidden)
			return (*part)->row;
	return NULL;
}

static void print_parts(const struct config *config, const struct option_row *row, FILE *out)
{
	const struct config_row *at = NULL;
	const struct option_row *part;

	while ((part = next_hidden_part(config, row, &at)) != NULL) {
		begin_text(fprintf(out, "      %s%s", part->part + (*part->part == ','),
				   part->placeholder),
			out);
		print_text(part, out);
	}
}

static size_t summary_length(const char *help)
{
	const char *end = strstr(help, ". "), *colon = strstr(help, ": ");

	if (end == NULL)
		end = help + strlen(help) - 1;
	return (size_t)((colon != NULL && colon < end ? colon : end) - help);
}

static void print_summary(const struct option_row *row, FILE *out)
{
	struct help_line line = {.out = out, .column = HELP_COLUMN};
	const char *value = row->placeholder != NULL ? row->placeholder : "";
	size_t len = strlen(value);
	char summary[300];

	if (strlen(row->name) + len + strlen("  --  ") >= HELP_COLUMN)
		len = strcspn(value, "[");
	begin_text(
		fprintf(out, "  --%s%s%.*s", row->name, len > 0 ? " " : "", (int)len, value), out);
	snprintf(summary, sizeof(summary), "%.*s", (int)summary_length(row->help), row->help);
	print_words(&line, summary);
	fputc('\n', out);
}

static bool is_listed(const struct option_row *row, bool all)
{
	return !row->hidden && !row->config_only && (all || !row->rare);
}

static void print_group(const struct config *config, enum option_group group, bool all, FILE *out)
{
	bool titled = false;

	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct option_row *row = config->rows[i].row;

		if (row->group != group || !is_listed(row, all))
			continue;
		if (!titled)
			fprintf(out, "\n%s:\n", group_names[group]);
		titled = true;
		if (!all) {
			print_summary(row, out);
			continue;
		}
		print_row(row, false, out);
		print_parts(config, row, out);
	}
}

static bool has_group(const struct config *config, enum option_group group)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->group == group && is_listed(config->rows[i].row, true))
			return true;
	return false;
}

static bool has_config_only(const struct config *config)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->config_only)
			return true;
	return false;
}

#define CONFIG_KEYS "Keys of the configuration file"

static void print_groups(const struct config *config, FILE *out)
{
	fprintf(out, "\nGroups of options:\n");
	for (enum option_group group = 0; group < OPTION_GROUP_COUNT; group++)
		if (has_group(config, group))
			fprintf(out, "  %-24s%s\n", group_names[group], group_summaries[group]);
	if (has_config_only(config))
		fprintf(out, "  %-24s%s\n", "Keys", "rare settings: in the file, or by --set");
}

static void print_config_only(const struct config *config, FILE *out)
{
	if (has_config_only(config))
		fprintf(out, "\n" CONFIG_KEYS " (each option above is one too):\n");
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->config_only)
			print_row(config->rows[i].row, true, out);
}

static void print_keys(const struct option_owner *owner, FILE *out)
{
	const struct option_row *row;

	fprintf(out, "\nKeys of a section [%s NAME]:\n", owner->section);
	for (uint32_t i = 0; (row = options_key(owner, i).row) != NULL; i++)
		print_row(row, true, out);
}

static void print_usage(const struct command *command, const struct program *program, FILE *out)
{
	const struct command *const *each = program->commands;
	const struct program_other *other = program->others;

	if (command != *each || program->named) {
		fprintf(out, "Usage: %s %s %s\n%s\n", program->name, command->name, command->usage,
			command->about != NULL ? command->about : command->summary);
		return;
	}
	fprintf(out, "Usage: %s [%s] %s\n       %s COMMAND --help\n\nCommands:\n", program->name,
		command->name, command->usage, program->name);
	for (; *each != NULL; each++)
		fprintf(out, "  %-24s%s\n", (*each)->name, (*each)->summary);
	for (; other != NULL && other->name != NULL; other++)
		fprintf(out, "  %-24s%s\n", other->name, other->summary);
}

static void print_lines(const char *title, const char *const *lines, FILE *out)
{
	fprintf(out, "\n%s:\n", title);
	for (; lines != NULL && *lines != NULL; lines++)
		fprintf(out, "  %s\n", *lines);
}

/* Iterates over values with option_row.suits: value *i of option *row, both from 0. */
static const char *next_word(
	const struct config *config, uint32_t *row, uint32_t *i, const char **suits)
{
	for (; *row < config->nb_rows; ++*row, *i = 0) {
		const struct option_row *of = config->rows[*row].row;

		if (of->suits == NULL || of->word(*i) == NULL)
			continue;
		*suits = of->suits(*i);
		return of->word((*i)++);
	}
	return NULL;
}

/* Returns the name; for "--design async:", *before is "async:". */
static const char *choice_name(const struct option_row *row, const char **before)
{
	bool part = row->hidden && row->part_of != NULL;

	*before = part ? row->part : "";
	return part ? row->part_of : row->name;
}

static void print_choices(const struct config *config, FILE *out)
{
	const char *word, *suits;
	uint32_t row = 0, i = 0;

	while ((word = next_word(config, &row, &i, &suits)) != NULL) {
		const char *name, *before;

		if (suits == NULL)
			continue;
		name = choice_name(config->rows[row].row, &before);
		fprintf(out, "  %-15s%s%-*s%s\n", i == 1 ? name : "", before,
			14 - (int)strlen(before), word, suits);
	}
}

static bool has_choices(const struct config *config)
{
	uint32_t row = 0, i = 0;
	const char *suits;

	return next_word(config, &row, &i, &suits) != NULL;
}

static void print_terms(const struct program_term *terms, FILE *out)
{
	if (terms != NULL)
		print_lines("Terms", NULL, out);
	for (; terms != NULL && terms->word != NULL; terms++)
		fprintf(out, "  %-14s%s\n", terms->word, terms->meaning);
}

void options_help(const struct config *config, const struct program *program, bool all, FILE *out)
{
	const struct command *command = config->command;

	print_usage(command, program, out);
	if (all)
		print_groups(config, out);
	for (enum option_group group = 0; group < OPTION_GROUP_COUNT; group++)
		print_group(config, group, all, out);
	if (all) {
		print_config_only(config, out);
		for (uint32_t k = 0; k < config->nb_kinds; k++)
			print_keys(config->kinds[k], out);
		print_lines("Values", unit_lines, out);
		if (has_choices(config)) {
			print_lines("Which to choose", NULL, out);
			print_choices(config, out);
		}
		print_terms(program->terms, out);
	} else {
		fprintf(out, "\n--help all: all options, keys and values. man %s: details.\n",
			program->name);
	}
	if (command->examples != NULL)
		print_lines("Examples", command->examples, out);
}

/* Escapes "-", so that readers can copy the dash, and "\". */
static void print_escaped(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\\')
			fputs("\\e", out);
		else
			fputc(*text, out);
	}
}

static void print_man_help(const struct option_row *option, FILE *out)
{
	char words[NOTE_MAX];

	fputs("\n\\&", out);
	print_escaped(option->help, out);
	words_of(option, words);
	print_escaped(words, out);
	if (option->man != NULL) {
		fputs("\n\\&", out);
		print_escaped(option->man, out);
	}
}

static void print_man_default(const struct option_row *option, FILE *out)
{
	char note[NOTE_MAX];

	default_of(option, note);
	if (*note != '\0') {
		fputs("\n\\&[default: ", out);
		print_escaped(note, out);
		fputc(']', out);
	}
	fputc('\n', out);
}

static void print_man_rest(const struct config_row *row, FILE *out)
{
	const struct option_row *option = row->row;

	print_man_help(option, out);
	if (option->letter != 0)
		fprintf(out, " Also \\-%c.", option->letter);
	if (row->owner->of_measurement && option->part_of == NULL)
		fputs(" May be set in a [measurement] section.", out);
	print_man_default(option, out);
}

static void print_man_parts(const struct config *config, const struct option_row *row, FILE *out)
{
	const struct config_row *at = NULL;
	const struct option_row *part;
	bool begun = false;

	while ((part = next_hidden_part(config, row, &at)) != NULL) {
		fprintf(out, "%s.TP\n\\fB", begun ? "" : ".RS\n");
		begun = true;
		print_escaped(part->part + (*part->part == ','), out);
		fputs("\\fI", out);
		print_escaped(part->placeholder, out);
		fputs("\\fR", out);
		print_man_rest(at, out);
	}
	if (begun)
		fputs(".RE\n", out);
}

static void print_man_row(const struct config *config, const struct config_row *row, FILE *out)
{
	const struct option_row *option = row->row;

	fputs(".TP\n\\fB\\-\\-", out);
	print_escaped(option->name, out);
	fputs("\\fR", out);
	if (option->placeholder != NULL) {
		fputs(" \\fI", out);
		print_escaped(option->placeholder, out);
		fputs("\\fR", out);
	}
	print_man_rest(row, out);
	print_man_parts(config, option, out);
}

static void print_man_key(const struct option_row *row, FILE *out)
{
	fputs(".TP\n\\fB", out);
	print_escaped(row->name, out);
	fprintf(out, "%s\\fR = \\fI%s\\fR", key_rest(row),
		row->placeholder != NULL ? row->placeholder : "yes|no");
}

static void print_man_config_only(const struct config *config, FILE *out)
{
	if (has_config_only(config))
		fputs(".SS " CONFIG_KEYS ", also for \\-\\-set\n", out);
	for (uint32_t i = 0; i < config->nb_rows; i++) {
		if (!config->rows[i].row->config_only)
			continue;
		print_man_key(config->rows[i].row, out);
		print_man_rest(&config->rows[i], out);
	}
}

static void print_man_keys(const struct option_owner *owner, FILE *out)
{
	const struct option_row *row;

	fprintf(out, ".SS Keys of a section [%s NAME]\n", owner->section);
	for (uint32_t i = 0; (row = options_key(owner, i).row) != NULL; i++) {
		print_man_key(row, out);
		print_man_help(row, out);
		print_man_default(row, out);
	}
}

static void print_man_group(const struct config *config, enum option_group group, FILE *out)
{
	bool titled = false;

	for (uint32_t i = 0; i < config->nb_rows; i++) {
		if (config->rows[i].row->group != group || !is_listed(config->rows[i].row, true))
			continue;
		if (!titled)
			fprintf(out, ".SS %s\n", group_names[group]);
		titled = true;
		print_man_row(config, &config->rows[i], out);
	}
}

static void print_man_lines(const char *const *lines, FILE *out)
{
	fputs(".nf\n", out);
	for (; *lines != NULL; lines++) {
		fputs("\\&", out);
		print_escaped(*lines, out);
		fputc('\n', out);
	}
	fputs(".fi\n", out);
}

void options_man_terms(const struct config *config, const struct program *program, FILE *out)
{
	const char *word, *suits, *before;
	uint32_t row = 0, i = 0;

	fputs(".SH VALUES\n", out);
	print_man_lines(unit_lines, out);
	fputs(".SH WHICH TO CHOOSE\n", out);
	while ((word = next_word(config, &row, &i, &suits)) != NULL) {
		if (suits == NULL)
			continue;
		fputs(".TP\n", out);
		print_escaped(choice_name(config->rows[row].row, &before), out);
		fputs(" \\fB", out);
		print_escaped(before, out);
		print_escaped(word, out);
		fputs("\\fR\n\\&", out);
		print_escaped(suits, out);
		fputc('\n', out);
	}
	fputs(".SH TERMS\n", out);
	for (const struct program_term *term = program->terms; term->word != NULL; term++)
		fprintf(out, ".TP\n\\fB%s\\fR\n\\&%s\n", term->word, term->meaning);
}

void options_man(const struct config *config, FILE *out)
{
	for (enum option_group group = 0; group < OPTION_GROUP_COUNT; group++)
		print_man_group(config, group, out);
	print_man_config_only(config, out);
	for (uint32_t k = 0; k < config->nb_kinds; k++)
		print_man_keys(config->kinds[k], out);
}

void options_words(const struct config *config, const struct program *program, FILE *out)
{
	const struct program_other *other = program->others;

	for (const struct command *const *each = program->commands; *each != NULL; each++)
		fprintf(out, "%s\n", (*each)->name);
	for (; other != NULL && other->name != NULL; other++)
		fprintf(out, "%s\n", other->name);
	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct option_row *row = config->rows[i].row;

		if (is_listed(row, true))
			fprintf(out, "--%s\n", row->name);
		else if (row->config_only)
			fprintf(out, "--" CONFIG_SET " %s=\n", row->name);
		if (row->part_of != NULL && *row->part != ',')
			fprintf(out, "--%s %s\n", row->part_of, row->part);
		for (uint32_t w = 0; is_listed(row, true) && row->word != NULL &&
				     row->type != OPTION_PARTS && row->word(w) != NULL;
			w++)
			fprintf(out, "--%s %s\n", row->name, row->word(w));
	}
}
