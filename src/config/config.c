/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/config.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/printable.h"
#include "config/config_check.h"
#include "config/config_file.h"
#include "base/journal.h"
#include "config/option_value.h"
#include "config/options.h"

#define LINE_LEN_MAX 1024 /* of one line on err */

/* Who gave an option. A later one of the list wins over an earlier one. */
enum level {
	LEVEL_NOBODY,
	LEVEL_DEFAULT,
	LEVEL_FILE,    /* for the whole run */
	LEVEL_SECTION, /* of the file */
	LEVEL_COMMAND_LINE,
};

struct origin {
	enum level level;
	uint32_t line; /* of the file; 0: not from it */
};

/* What options are given to: the run, or one measurement; and who gave which. */
struct target {
	struct measurement_config *measurement; /* NULL: the run */
	struct origin origins[OPTIONS_MAX];     /* by row */
};

struct argument {
	const struct option_row *row;
	const char *value; /* "yes" for a flag */
};

struct loader {
	struct config *config;
	FILE *out, *err;
	struct argument *arguments;
	unsigned int nb_arguments;
	const char *path; /* of the configuration file; NULL: none */
	struct measurement_config base_measurement;
	struct target run;
	struct target base; /* what every measurement starts from */
	struct target measurements[CONFIG_MEASUREMENTS_MAX];
};

/* One line on err, whatever the texts in it hold. */
__attribute__((format(printf, 2, 3))) static enum config_result complain(
	const struct loader *loader, const char *format, ...)
{
	char line[LINE_LEN_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	make_printable(line);
	fprintf(loader->err, "%s%s\n",
		journal_reads(fileno(loader->err)) ? "<3>" : "sketchtap: ", line);
	return CONFIG_EXIT_2;
}

static enum config_result complain_about(const struct loader *loader, const struct option_row *row,
	const struct origin *origin, const char *why)
{
	if (origin->line > 0)
		return complain(
			loader, "%.300s:%u: %s: %s", loader->path, origin->line, row->name, why);
	return complain(loader, "--%s: %s", row->name, why);
}

/*
 * Options of a set exclude each other where the same level gives them; else the one that is given
 * now, on the higher level, takes the place of the other.
 */
static enum config_result displace_rivals(
	struct loader *loader, struct target *target, const struct option_row *row)
{
	const struct origin *origin = &target->origins[row - options];

	for (const struct option_row *other = options; other < options + nb_options; other++) {
		struct origin *rival = &target->origins[other - options];

		if (other == row || other->set != row->set || rival->level == LEVEL_NOBODY ||
			!option_is_set(other, loader->config, target->measurement))
			continue;
		if (rival->level == origin->level) {
			char why[OPTION_WHY_MAX];

			snprintf(why, sizeof(why), "contradicts %s; give one of the two",
				other->name);
			return complain_about(loader, row, origin, why);
		}
		option_clear(other, loader->config, target->measurement);
		*rival = (struct origin){LEVEL_NOBODY, 0};
	}
	return CONFIG_OK;
}

static enum config_result give(struct loader *loader, struct target *target,
	const struct option_row *row, const char *value, struct origin origin)
{
	struct origin *before = &target->origins[row - options];
	char why[OPTION_WHY_MAX];

	if (before->level < origin.level)
		option_clear(row, loader->config, target->measurement);
	*before = origin;
	if (!option_set(row, value, loader->config, target->measurement, why))
		return complain_about(loader, row, &origin, why);
	if (row->set == OPTION_SET_NONE || !option_is_set(row, loader->config, target->measurement))
		return CONFIG_OK;
	return displace_rivals(loader, target, row);
}

/* The run for its options, else what every measurement starts from. */
static struct target *common_target(struct loader *loader, const struct option_row *row)
{
	return row->scope == OPTION_OF_MEASUREMENT ? &loader->base : &loader->run;
}

static enum config_result give_defaults(struct loader *loader)
{
	const struct origin origin = {LEVEL_DEFAULT, 0};

	for (const struct option_row *row = options; row < options + nb_options; row++) {
		enum config_result result = CONFIG_OK;

		if (row->default_text != NULL && option_of_command(row, loader->config->command))
			result = give(
				loader, common_target(loader, row), row, row->default_text, origin);
		if (result != CONFIG_OK)
			return result;
	}
	return CONFIG_OK;
}

/* The settings of one section of the file; section 0 holds for the whole run. */
static enum config_result give_section(struct loader *loader, uint32_t section)
{
	const struct config_file *file = loader->config->file;

	for (uint32_t i = 0; i < file->nb_settings; i++) {
		const struct config_setting *setting = &file->settings[i];
		struct target *target;
		enum config_result result;

		if (setting->section != section)
			continue;
		target = section > 0 ? &loader->measurements[section - 1]
				     : common_target(loader, setting->row);
		result = give(loader, target, setting->row, setting->value,
			(struct origin){section > 0 ? LEVEL_SECTION : LEVEL_FILE, setting->line});
		if (result != CONFIG_OK)
			return result;
	}
	return CONFIG_OK;
}

static void add_measurement(struct loader *loader, const char *name)
{
	uint32_t i = loader->config->nb_measurements++;
	struct measurement_config *measurement = &loader->config->measurements[i];

	*measurement = loader->base_measurement;
	measurement->name = name;
	loader->measurements[i] = loader->base;
	loader->measurements[i].measurement = measurement;
}

/* The file's sections are the measurements; without any there is one, "main". */
static enum config_result make_measurements(struct loader *loader)
{
	const struct config_file *file = loader->config->file;

	if (option_find(loader->config->command, "key") == NULL)
		return CONFIG_OK;
	for (uint32_t i = 1; file != NULL && i < file->nb_sections; i++) {
		enum config_result result;

		add_measurement(loader, file->sections[i].name);
		result = give_section(loader, i);
		if (result != CONFIG_OK)
			return result;
	}
	if (loader->config->nb_measurements == 0)
		add_measurement(loader, "main");
	return CONFIG_OK;
}

/* An option of measurements goes to all of them. */
static enum config_result give_argument(struct loader *loader, const struct argument *argument)
{
	const struct origin origin = {LEVEL_COMMAND_LINE, 0};

	if (argument->row->scope != OPTION_OF_MEASUREMENT)
		return give(loader, &loader->run, argument->row, argument->value, origin);
	for (uint32_t i = 0; i < loader->config->nb_measurements; i++) {
		enum config_result result = give(
			loader, &loader->measurements[i], argument->row, argument->value, origin);

		if (result != CONFIG_OK)
			return result;
	}
	return CONFIG_OK;
}

static enum config_result read_file(struct loader *loader)
{
	char error[CONFIG_FILE_ERROR_MAX];
	enum config_result result;

	if (loader->path == NULL)
		return CONFIG_OK;
	result = config_file_read(
		&loader->config->file, loader->path, loader->config->command, error);
	if (result != CONFIG_OK) {
		complain(loader, "%s", error);
		return result;
	}
	return give_section(loader, 0);
}

/* Whether somebody asked for it: a default did not, nor who turns it off. */
static bool is_asked_for(
	const struct loader *loader, const struct target *target, const struct option_row *row)
{
	bool may_be_off = row->type == OPTION_FLAG || row->zero;

	return target->origins[row - options].level > LEVEL_DEFAULT &&
	       (!may_be_off || option_is_set(row, loader->config, target->measurement));
}

/* Refuses what is asked for and would have no effect. */
static enum config_result check_effects(const struct loader *loader, const struct target *target)
{
	for (const struct option_row *row = options; row < options + nb_options; row++) {
		char why[OPTION_WHY_MAX];
		const char *lacks;

		if (!is_asked_for(loader, target, row))
			continue;
		lacks = config_lacks(row, loader->config, target->measurement);
		if (lacks == NULL)
			continue;
		snprintf(why, sizeof(why), "has no effect %s; leave it out", lacks);
		return complain_about(loader, row, &target->origins[row - options], why);
	}
	return CONFIG_OK;
}

static enum config_result check_all_effects(const struct loader *loader)
{
	enum config_result result = check_effects(loader, &loader->run);

	for (uint32_t m = 0; result == CONFIG_OK && m < loader->config->nb_measurements; m++)
		result = check_effects(loader, &loader->measurements[m]);
	return result;
}

/* What nobody said, and --threshold does not make superfluous. */
static enum config_result give_top(struct loader *loader, const char *top)
{
	const struct option_row *row = option_find(loader->config->command, "top");
	const struct option_row *threshold = option_find(loader->config->command, "threshold");
	enum config_result result = CONFIG_OK;

	for (uint32_t m = 0; result == CONFIG_OK && m < loader->config->nb_measurements; m++) {
		struct target *target = &loader->measurements[m];

		if (target->origins[row - options].level == LEVEL_DEFAULT &&
			target->origins[threshold - options].level == LEVEL_DEFAULT)
			result = give(loader, target, row, top, (struct origin){LEVEL_DEFAULT, 0});
	}
	return result;
}

static enum config_result give_interval(struct loader *loader, const char *interval)
{
	const struct option_row *row = option_find(loader->config->command, "interval");

	if (loader->run.origins[row - options].level != LEVEL_DEFAULT)
		return CONFIG_OK;
	return give(loader, &loader->run, row, interval, (struct origin){LEVEL_DEFAULT, 0});
}

/*
 * A person at a terminal gets a capture summed up once, on one screen. What goes to files is what
 * it would be without a terminal.
 */
static enum config_result suit_terminal(struct loader *loader)
{
	const struct config *config = loader->config;
	enum config_result result = CONFIG_OK;
	bool terminal = isatty(fileno(loader->out));

	if (config->command != COMMAND_RUN || config->nb_port > 0 || !terminal ||
		!config_shows_table(config, terminal))
		return CONFIG_OK;
	if (config_to_stdout(config, ROWS_HEAVY_HITTERS))
		result = give_top(loader, "20");
	if (result == CONFIG_OK && !config_names_files(config))
		result = give_interval(loader, "0");
	return result;
}

static enum config_result check(const struct loader *loader)
{
	const struct config *config = loader->config;
	const struct target *target = &loader->run;
	const struct option_row *row;
	struct config_fault fault;

	if (config_check(config, &fault))
		return CONFIG_OK;
	if (fault.option == NULL)
		return complain(loader, "%s", fault.why);
	if (fault.measurement != NULL)
		target = &loader->measurements[fault.measurement - config->measurements];
	row = option_find(config->command, fault.option);
	return complain_about(loader, row, &target->origins[row - options], fault.why);
}

static enum config_result pick_seed(struct loader *loader)
{
	uint64_t *seed = &loader->config->seed;

	if (loader->config->seed_given)
		return CONFIG_OK;
	if (getrandom(seed, sizeof(*seed), 0) == (ssize_t)sizeof(*seed))
		return CONFIG_OK;
	complain(loader, "no random seed from the system; give --seed N");
	return CONFIG_EXIT_1;
}

static enum config_result apply(struct loader *loader)
{
	enum config_result result = give_defaults(loader);

	if (result == CONFIG_OK)
		result = read_file(loader);
	if (result == CONFIG_OK)
		result = make_measurements(loader);
	for (unsigned int i = 0; result == CONFIG_OK && i < loader->nb_arguments; i++)
		result = give_argument(loader, &loader->arguments[i]);
	if (result == CONFIG_OK)
		result = suit_terminal(loader);
	if (result == CONFIG_OK)
		result = check_all_effects(loader);
	if (result == CONFIG_OK)
		result = check(loader);
	if (result == CONFIG_OK)
		result = pick_seed(loader);
	return result;
}

static enum config_result complain_unknown(const struct loader *loader, const char *name)
{
	const struct option_row *near = option_nearest(loader->config->command, name);

	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		if (option_find(command, name) != NULL)
			return complain(loader, "--%s: %s does not take it; %s does", name,
				command_names[loader->config->command], command_names[command]);
	}
	if (near != NULL)
		return complain(
			loader, "--%.200s: unknown option; did you mean --%s?", name, near->name);
	return complain(loader, "--%.200s: unknown option; --help lists them", name);
}

/* Options that are acted on rather than kept. Returns CONFIG_OK where reading goes on. */
static enum config_result act(struct loader *loader, const struct argument *argument)
{
	if (strcmp(argument->row->name, "help") == 0) {
		options_print_help(loader->config->command, loader->out);
		return CONFIG_EXIT_0;
	}
	if (strcmp(argument->row->name, "version") == 0) {
		fprintf(loader->out, "sketchtap %s\n", SKETCHTAP_VERSION);
		return CONFIG_EXIT_0;
	}
	if (*argument->value == '\0')
		return complain(loader, "--config: '' is empty; give FILE");
	loader->path = argument->value;
	return CONFIG_OK;
}

static enum config_result take(
	struct loader *loader, const struct option_row *row, const char *value)
{
	const struct argument argument = {.row = row, .value = value};

	if (row->type == OPTION_ACTION)
		return act(loader, &argument);
	loader->arguments[loader->nb_arguments++] = argument;
	return CONFIG_OK;
}

/* NAME, NAME=VALUE, or NAME with its value in `next`, which may be NULL; sets *took_next. */
static enum config_result read_option(
	struct loader *loader, const char *text, const char *next, bool *took_next)
{
	const char *equals = strchr(text, '=');
	const struct option_row *row;
	const char *value = "yes";
	char name[64];

	snprintf(name, sizeof(name), "%.*s",
		equals != NULL ? (int)(equals - text) : (int)sizeof(name), text);
	row = option_find(loader->config->command, name);
	if (row == NULL)
		return complain_unknown(loader, name);
	if (row->placeholder == NULL && equals != NULL)
		return complain(loader, "--%s: takes no value", name);
	if (row->placeholder != NULL) {
		*took_next = equals == NULL;
		value = equals != NULL ? equals + 1 : next;
		if (value == NULL)
			return complain(loader, "--%s: needs %s", name, row->placeholder);
	}
	return take(loader, row, value);
}

static enum config_result complain_letter(const struct loader *loader, char letter)
{
	if (letter == 'w')
		return complain(loader,
			"-w: packets are measured, not kept; tcpdump -w writes a "
			"capture, sketchtap generate --output FILE a synthetic one");
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		if (option_find_letter(command, letter) != NULL)
			return complain(loader, "-%c: %s does not take it; %s does", letter,
				command_names[loader->config->command], command_names[command]);
	}
	return complain(loader, "-%c: unknown option; --help lists them", letter);
}

static bool takes_captures(const struct loader *loader)
{
	return option_find(loader->config->command, "pcap") != NULL;
}

/* Letters as of tcpdump: a value stands right behind its letter, or in `next`. */
static enum config_result read_letters(
	struct loader *loader, const char *letters, const char *next, bool *took_next)
{
	enum config_result result = CONFIG_OK;

	for (; *letters != '\0' && result == CONFIG_OK; letters++) {
		const struct option_row *row =
			option_find_letter(loader->config->command, *letters);

		if (row != NULL && row->placeholder != NULL) {
			*took_next = letters[1] == '\0';
			if (*took_next && next == NULL)
				return complain(
					loader, "-%c: needs %s", *letters, row->placeholder);
			return take(loader, row, *took_next ? next : letters + 1);
		}
		if (row != NULL)
			result = take(loader, row, "yes");
		else if (*letters != 'n' || !takes_captures(loader)) /* -n: nothing is resolved */
			result = complain_letter(loader, *letters);
	}
	return result;
}

/* Other words are more likely a mistyped command, or part of an expression. */
static bool looks_like_file(const char *word)
{
	return strpbrk(word, "./") != NULL;
}

static enum config_result read_word(struct loader *loader, const char *word)
{
	if (!takes_captures(loader))
		return complain(loader,
			"'%.200s': unexpected argument; options are --NAME VALUE, and --help lists "
			"them",
			word);
	if (!looks_like_file(word))
		return complain(loader,
			"'%.200s': unexpected argument; --pcap FILE measures a capture, --filter "
			"'EXPRESSION' what matches, and --help lists all options",
			word);
	return take(loader, option_find(loader->config->command, "pcap"), word);
}

static enum config_result read_arguments(
	struct loader *loader, int argc, char *const argv[], int first)
{
	for (int i = first; i < argc; i++) {
		const char *text = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
		bool took_next = false;
		enum config_result result;

		if (strncmp(text, "--", 2) == 0 && text[2] != '\0')
			result = read_option(loader, text + 2, next, &took_next);
		else if (text[0] == '-' && text[1] != '\0' && text[1] != '-')
			result = read_letters(loader, text + 1, next, &took_next);
		else
			result = read_word(loader, text);
		if (result != CONFIG_OK)
			return result;
		i += took_next;
	}
	return CONFIG_OK;
}

/* How many arguments from argv[1] on are the words of a command's name; 0: they are not. */
static int count_words(const char *name, int argc, char *const argv[])
{
	int words = 0;

	while (*name != '\0') {
		size_t len = strcspn(name, " ");

		if (++words >= argc || strlen(argv[words]) != len ||
			memcmp(argv[words], name, len) != 0)
			return 0;
		name += len;
		name += strspn(name, " ");
	}
	return words;
}

static enum config_result complain_command(const struct loader *loader, const char *name)
{
	char list[256] = "";
	size_t used = 0;

	for (enum command command = 0; command < COMMAND_COUNT && used < sizeof(list); command++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
			used > 0 ? ", " : "", command_names[command]);
	return complain(loader,
		"'%.200s': unknown command; allowed: %s; a capture is measured with --pcap FILE",
		name, list);
}

/* The command may be left out. Sets *first to the first argument after it. */
static enum config_result read_command(
	struct loader *loader, int argc, char *const argv[], int *first)
{
	*first = 1;
	if (argc < 2 || argv[1][0] == '-' || looks_like_file(argv[1]))
		return CONFIG_OK; /* run */
	for (enum command command = 0; command < COMMAND_COUNT; command++) {
		int words = count_words(command_names[command], argc, argv);

		if (words > 0) {
			loader->config->command = command;
			*first = 1 + words;
			return CONFIG_OK;
		}
	}
	return complain_command(loader, argv[1]);
}

static enum config_result load(struct loader *loader, int argc, char *const argv[])
{
	int first;
	enum config_result result = read_command(loader, argc, argv, &first);

	if (result == CONFIG_OK)
		result = read_arguments(loader, argc, argv, first);
	if (result == CONFIG_OK)
		result = apply(loader);
	return result;
}

enum config_result config_load(
	struct config *config, int argc, char *const argv[], FILE *out, FILE *err)
{
	struct loader loader = {.config = config, .out = out, .err = err};
	enum config_result result;

	*config = (struct config){0};
	loader.base.measurement = &loader.base_measurement;
	loader.arguments = calloc((size_t)argc + 1, sizeof(*loader.arguments));
	if (loader.arguments == NULL) {
		complain(&loader, "no memory for the arguments; free some memory");
		return CONFIG_EXIT_1;
	}
	result = load(&loader, argc, argv);
	free(loader.arguments);
	if (result != CONFIG_OK)
		config_free(config);
	return result;
}

/* path: "-" is standard input, where the option takes it; NULL: the option was not given. */
static bool is_input(const char *path, bool dash_is_stdin, const struct stat *file)
{
	bool is_stdin = dash_is_stdin && path != NULL && strcmp(path, "-") == 0;
	struct stat input;

	return path != NULL && (is_stdin ? fstat(STDIN_FILENO, &input) : stat(path, &input)) == 0 &&
	       S_ISREG(input.st_mode) && input.st_dev == file->st_dev &&
	       input.st_ino == file->st_ino;
}

/* A file in the DEVARGS of a port, as rx_pcap=FILE of net_pcap. */
static bool is_in_devargs(const char *port, const struct stat *file)
{
	for (const char *rest = strchr(port, ','); rest != NULL; rest = strchr(rest + 1, ',')) {
		const char *value = rest + 1 + strcspn(rest + 1, ",=");
		char path[PATH_MAX];

		if (*value != '=')
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(value + 1, ","), value + 1);
		if (is_input(path, false, file))
			return true;
	}
	return false;
}

const char *config_input(const struct config *config, const struct stat *file)
{
	for (uint32_t i = 0; i < config->nb_pcap; i++)
		if (is_input(config->pcap[i], true, file))
			return "pcap";
	for (uint32_t i = 0; i < config->nb_port; i++)
		if (is_in_devargs(config->port[i], file))
			return "port";
	if (is_input(config->monitor, false, file))
		return "monitor";
	return config->file != NULL && is_input(config->file->path, false, file) ? "config" : NULL;
}

void config_free(struct config *config)
{
	config_file_free(config->file);
	*config = (struct config){0};
}
