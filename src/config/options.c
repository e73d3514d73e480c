/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/options.h"

#include <string.h>

static const char *const group_names[OPTION_GROUP_COUNT] = {
	[OPTION_GROUP_SOURCE] = "Source",
	[OPTION_GROUP_DESTINATION] = "Destination",
	[OPTION_GROUP_MEASURE] = "Measure",
	[OPTION_GROUP_TRY] = "Try",
	[OPTION_GROUP_REPORT] = "Report",
	[OPTION_GROUP_HOST] = "Host",
};

static const char *const unit_lines[] = {
	"N         5, 64K, 5M, 1G (powers of 1000; of 1024 where it is a power of two)",
	"SIZE      4096, 4KB, 4MB, 1GB (bytes, powers of 1024)",
	"TIME      10us, 500ms, 1s, 5m, 1h, 1d",
	"RATE      500kpps, 2Mpps (packets per second)",
	"FRACTION  0.25 or 25%",
	"LIST      CPU numbers: 0-3,6",
	NULL,
};

const struct config_row *options_find(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (strcmp(config->rows[i].row->name, name) == 0)
			return &config->rows[i];
	return NULL;
}

const struct config_row *options_find_letter(const struct config *config, char letter)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->letter == letter)
			return &config->rows[i];
	return NULL;
}

#define NAME_MAX_LEN 32 /* longer words are near to no option */

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters to put in, take out, change or swap with their neighbour; words of NAME_MAX_LEN. */
static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int rows[3][NAME_MAX_LEN + 1];
	unsigned int *last = rows[0], *row = rows[1], *next = rows[2];
	size_t len = strlen(b);

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

/* A word of four has no near ones. */
static unsigned int least_at_first(const char *name)
{
	size_t len = strlen(name);

	return len < 3 || len > NAME_MAX_LEN ? 0 : (unsigned int)len / 5 + 1;
}

/* Whether it is nearer than *least, which becomes its distance. */
static bool is_nearer(const char *name, const struct option_row *row, unsigned int *least)
{
	size_t len = strlen(name), other = strlen(row->name);
	unsigned int distance = 0;

	if (*least == 0)
		return false;
	/* One that was cut short is the nearest; no fewer letters are put in than are missing. */
	if (strncmp(row->name, name, len) != 0) {
		if ((len < other ? other - len : len - other) >= *least)
			return false;
		distance = edit_distance(name, row->name);
	}
	if (distance >= *least)
		return false;
	*least = distance;
	return true;
}

const struct config_row *options_nearest(const struct config *config, const char *name)
{
	const struct config_row *nearest = NULL;
	unsigned int least = least_at_first(name);

	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (is_nearer(name, config->rows[i].row, &least))
			nearest = &config->rows[i];
	return nearest;
}

void options_say_unknown(const struct config *config, const char *name, char *text, size_t size)
{
	const struct config_row *near = options_nearest(config, name);

	snprintf(text, size, "%.200s: unknown option%s%s%s", name,
		near != NULL ? "; did you mean " : "", near != NULL ? near->row->name : "",
		near != NULL ? "?" : "");
}

const struct option_row *options_find_key(const struct option_owner *owner, const char *key)
{
	for (const struct option_row *row = owner->rows; row->name != NULL; row++) {
		size_t len = strlen(row->name);

		if (row->type != OPTION_PROPERTIES
				? strcmp(row->name, key) == 0
				: strncmp(row->name, key, len) == 0 && key[len] == '.' &&
					  key[len + 1] != '\0')
			return row;
	}
	return NULL;
}

/* What stands behind a key's name, where it is not the whole key. */
static const char *key_rest(const struct option_row *row)
{
	return row->type == OPTION_PROPERTIES ? ".NAME" : "";
}

void options_say_unknown_key(
	const struct option_owner *owner, const char *key, char *text, size_t size)
{
	const struct option_row *near = NULL;
	char first[NAME_MAX_LEN + 1]; /* what stands before a point: kafka of kafka.acks */
	unsigned int least;
	int used;

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(key, "."), key);
	least = least_at_first(first);
	for (const struct option_row *row = owner->rows; row->name != NULL; row++)
		if (is_nearer(row->type == OPTION_PROPERTIES ? first : key, row, &least))
			near = row;
	used = snprintf(text, size, "%.200s: is no key of [%s NAME]", key, owner->section);
	if (near != NULL) {
		snprintf(text + used, size - (size_t)used, "; did you mean %s%s?", near->name,
			key_rest(near));
		return;
	}
	for (const struct option_row *row = owner->rows; row->name != NULL && used < (int)size;
		row++)
		used += snprintf(text + used, size - (size_t)used, "%s %s%s",
			row == owner->rows ? "; allowed:" : ",", row->name, key_rest(row));
}

/* --- what is said of an option --- */

#define NOTE_MAX 300

/* What it is when it is not given; empty where there is nothing to say. */
static void default_of(const struct option_row *row, char *note)
{
	const char *text = row->default_note != NULL ? row->default_note : row->default_text;

	snprintf(note, NOTE_MAX, "%s", text != NULL ? text : "");
	if (row->note != NULL)
		row->note(note, NOTE_MAX);
}

/* The words that help leaves to be listed, behind a blank; empty where it lists them. */
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

/* --- help --- */

#define HELP_COLUMN 26
#define HELP_WIDTH  100

/* Where the cursor of one option's help stands. */
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

/* key: it is one of a section's, not an option. */
static void print_row(const struct option_row *row, bool key, FILE *out)
{
	struct help_line line = {.out = out, .column = HELP_COLUMN};
	char note[NOTE_MAX], words[NOTE_MAX];
	int written =
		key ? fprintf(out, "  %s%s = %s", row->name, key_rest(row), row->placeholder)
		    : fprintf(out, "  --%s%s%s", row->name, row->placeholder != NULL ? " " : "",
			      row->placeholder != NULL ? row->placeholder : "");

	if (written + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", HELP_COLUMN - written, "");
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

static void print_group(const struct config *config, enum option_group group, bool all, FILE *out)
{
	bool titled = false;

	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct option_row *row = config->rows[i].row;

		if (row->group != group || (row->rare && !all))
			continue;
		if (!titled)
			fprintf(out, "\n%s:\n", group_names[group]);
		titled = true;
		print_row(row, false, out);
	}
}

static void print_keys(const struct option_owner *owner, FILE *out)
{
	fprintf(out, "\nKeys of a section [%s NAME]:\n", owner->section);
	for (const struct option_row *row = owner->rows; row->name != NULL; row++)
		print_row(row, true, out);
}

/* Of the command that may be left out: the others too. */
static void print_usage(const struct command *command, const struct program *program, FILE *out)
{
	const struct command *const *each = program->commands;
	const struct program_other *other = program->others;

	if (command != *each || program->named) {
		fprintf(out, "Usage: %s %s %s\n%s\n", program->name, command->name, command->usage,
			command->about != NULL ? command->about : command->summary);
		return;
	}
	for (; *each != NULL; each++)
		fprintf(out, "%s %s %s%s%s %s\n%*s%s\n",
			each == program->commands ? "Usage:" : "      ", program->name,
			*each == command ? "[" : "", (*each)->name, *each == command ? "]" : "",
			(*each)->usage, HELP_COLUMN, "", (*each)->summary);
	for (; other != NULL && other->name != NULL; other++)
		fprintf(out, "       %s %s %s\n%*s%s\n", program->name, other->name, other->usage,
			HELP_COLUMN, "", other->summary);
	fprintf(out, "       %s COMMAND --help\n%*sthe options of a command\n", program->name,
		HELP_COLUMN, "");
}

static void print_lines(const char *title, const char *const *lines, FILE *out)
{
	fprintf(out, "\n%s:\n", title);
	for (; lines != NULL && *lines != NULL; lines++)
		fprintf(out, "  %s\n", *lines);
}

/* Goes over the words that have something said for them: row and i are 0 at first. */
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

static void print_choices(const struct config *config, FILE *out)
{
	const char *word, *suits;
	uint32_t row = 0, i = 0;

	while ((word = next_word(config, &row, &i, &suits)) != NULL) {
		const char *name = config->rows[row].row->name;

		if (suits == NULL)
			continue;
		fprintf(out, "  %-9s%-13s%s\n", i == 1 ? name : "", word, suits);
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
	for (enum option_group group = 0; group < OPTION_GROUP_COUNT; group++)
		print_group(config, group, all, out);
	if (all) {
		for (uint32_t k = 0; k < config->nb_kinds; k++)
			print_keys(config->kinds[k], out);
		print_lines("Values", unit_lines, out);
		if (has_choices(config)) {
			print_lines("Which to choose", NULL, out);
			print_choices(config, out);
		}
		print_terms(program->terms, out);
	} else {
		fprintf(out, "\n--help all lists every option and says how values are written.\n");
	}
	if (command->examples != NULL)
		print_lines("Examples", command->examples, out);
}

/* --- the man page --- */

/* Text as roff wants it: dashes that can be copied, no line that could be taken for a request. */
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

static void print_man_row(const struct config_row *row, FILE *out)
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
	print_man_help(option, out);
	if (option->letter != 0)
		fprintf(out, " Also \\-%c.", option->letter);
	if (row->owner->of_measurement)
		fputs(" May stand in a [measurement] section.", out);
	print_man_default(option, out);
}

static void print_man_keys(const struct option_owner *owner, FILE *out)
{
	fprintf(out, ".SS Keys of a section [%s NAME]\n", owner->section);
	for (const struct option_row *row = owner->rows; row->name != NULL; row++) {
		fputs(".TP\n\\fB", out);
		print_escaped(row->name, out);
		fprintf(out, "%s\\fR = \\fI%s\\fR", key_rest(row), row->placeholder);
		print_man_help(row, out);
		print_man_default(row, out);
	}
}

static void print_man_group(const struct config *config, enum option_group group, FILE *out)
{
	bool titled = false;

	for (uint32_t i = 0; i < config->nb_rows; i++) {
		if (config->rows[i].row->group != group)
			continue;
		if (!titled)
			fprintf(out, ".SS %s\n", group_names[group]);
		titled = true;
		print_man_row(&config->rows[i], out);
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
	const char *word, *suits;
	uint32_t row = 0, i = 0;

	fputs(".SH VALUES\n", out);
	print_man_lines(unit_lines, out);
	fputs(".SH WHICH TO CHOOSE\n", out);
	while ((word = next_word(config, &row, &i, &suits)) != NULL) {
		if (suits == NULL)
			continue;
		fputs(".TP\n", out);
		print_escaped(config->rows[row].row->name, out);
		fputs(" \\fB", out);
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
	for (uint32_t i = 0; i < config->nb_rows; i++)
		fprintf(out, "--%s\n", config->rows[i].row->name);
}
