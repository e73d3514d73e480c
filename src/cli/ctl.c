/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connection.h"
#include "cli/error.h"
#include "cli/json_tree.h"
#include "control/control_commands.h"
#include "parallel/process.h"

#define EXIT_RUN     1
#define EXIT_TEXT    2
#define COMMAND_SIZE (CONTROL_COMMAND_MAX + 1)
#define LINE_SIZE    CLI_ERROR_MAX
#define REFUSAL_END  "_error" /* suffix of JSON names whose value is the reason of a refusal */
#define USE_COLUMN   37

struct use {
	const char *words, *help;
};

struct ctl_command {
	const char *name;
	struct use uses[5]; /* ends with `words` NULL */
};

#define COMMAND_ROW(name, help, ...) {#name, {__VA_ARGS__, {NULL, NULL}}},
static const struct ctl_command commands[] = {CONTROL_COMMANDS(COMMAND_ROW){0}};

#define COMMAND_NAME(name, ...) ", " #name
static const char command_names[] = CONTROL_COMMANDS(COMMAND_NAME);

static const char usage_begin[] =
	"Usage: sketchtap ctl [--name NAME] [--format text|json] COMMAND\n"
	"\n"
	"Query a running instance, or change its measurements. NAME is its --name; needed only if\n"
	"several instances run.\n"
	"\n";

static const char usage_end[] =
	"\n"
	"Options are those of a [measurement NAME] section: key, sketch, width, memory, top, ...\n"
	"A change applies from the interval named in the reply, until the next reload.\n"
	"Exit status: 0; 1: no instance answers, or it refuses the command; 2: usage error.\n"
	"\n"
	"Examples:\n"
	"  sketchtap ctl measure add senders key=src/24 sketch=count-min top=20\n"
	"  sketchtap ctl measure change senders width=256K\n"
	"  sketchtap ctl --name backbone top senders 5\n";

struct ctl_words {
	const char *name;
	bool json;
	int n;
	char **list;
};

static bool send_command(const char *name, const char *command, char *answer)
{
	int fd = connection_open(name, false);
	bool answered;

	if (fd < 0)
		return false;
	answered = connection_send(fd, command) && connection_receive(fd, answer);
	if (!answered)
		connection_error();
	close(fd);
	return answered;
}

/* A string of a reply has a maximum length. A run splits longer texts into NAME, NAME_2, ... */
static void join(const struct json_node *node, const char *name, char line[LINE_SIZE])
{
	char piece[64];
	size_t used = 0;

	snprintf(piece, sizeof(piece), "%s", name);
	for (int i = 2; json_find(node, piece) != NULL && used < LINE_SIZE; i++) {
		used += (size_t)snprintf(
			line + used, LINE_SIZE - used, "%s", json_value(node, piece));
		snprintf(piece, sizeof(piece), "%s_%d", name, i);
	}
}

static void print_change(const struct json_node *node)
{
	const char *at_least = json_value(node, "epoch_at_least");

	if (json_find(node, "measurements") == NULL)
		puts("nothing to change");
	else if (*at_least != '\0')
		printf("measurements: %s, from interval %s on or later\n",
			json_value(node, "measurements"), at_least);
	else
		printf("measurements: %s, from interval %s on\n", json_value(node, "measurements"),
			json_value(node, "epoch"));
}

static void print_list(const struct json_node *node)
{
	const struct json_node *list = json_find(node, "measurements");

	if (list != NULL)
		json_print(list, stdout);
}

/* In the reply to a reload, a value is the reason why a part was refused. */
static bool is_refusal(const struct json_node *part)
{
	size_t length = strlen(part->name), end = strlen(REFUSAL_END);

	return length > end && strcmp(part->name + length - end, REFUSAL_END) == 0;
}

static bool has_refused(const struct json_node *node)
{
	bool has = false;

	for (const struct json_node *part = node->first; part != NULL; part = part->next)
		has |= is_refusal(part);
	return has;
}

static void print_all(const struct json_node *node)
{
	json_print(node, stdout);
	for (const struct json_node *part = node->first; part != NULL; part = part->next) {
		char line[LINE_SIZE] = "";

		if (!is_refusal(part))
			continue;
		join(node, part->name, line);
		cli_error(0, "reload: %s", line);
	}
}

static int failure(const struct json_node *node)
{
	return json_find(node, "mistake") != NULL ? EXIT_TEXT : EXIT_RUN;
}

static int print_answer(
	const struct ctl_words *words, char *answer, void (*print)(const struct json_node *node))
{
	struct json_node *root = json_read(answer);
	const struct json_node *node = root != NULL ? root->first : NULL;
	int status = 0;

	if (node == NULL || !node->is_object) {
		status = cli_error(
			EXIT_RUN, "ctl %s: unknown to the running instance", words->list[0]);
	} else if (json_find(node, "error") != NULL) {
		char line[LINE_SIZE] = "";

		join(node, "error", line);
		status = cli_error(failure(node), "%s", line);
	} else {
		if (words->json)
			puts(answer);
		else
			print(node);
		status = has_refused(node) ? failure(node) : 0;
	}
	json_free(root);
	return status;
}

static int ask_and_print(const struct ctl_words *words, const char *command,
	void (*print)(const struct json_node *node))
{
	char *answer = malloc(CONNECTION_ANSWER_MAX);
	int status = EXIT_RUN;

	if (answer == NULL)
		return cli_error(EXIT_RUN, "out of memory");
	if (send_command(words->name, command, answer))
		status = print_answer(words, answer, print);
	free(answer);
	return status;
}

static bool put_together(
	char command[COMMAND_SIZE], const char *name, char separator, int n, char *const words[])
{
	size_t used = (size_t)snprintf(command, COMMAND_SIZE, CONTROL_PATH "%s", name);

	for (int i = 0; i < n; i++) {
		size_t len = strlen(words[i]);

		if (used + 1 + len >= COMMAND_SIZE) {
			cli_error(0, "the command is longer than %d characters", COMMAND_SIZE - 1);
			return false;
		}
		command[used++] = i == 0 ? ',' : separator;
		memcpy(command + used, words[i], len + 1);
		used += len;
	}
	return true;
}

static const struct ctl_command *find_command(const char *name)
{
	const struct ctl_command *command = commands;

	while (command->name != NULL && strcmp(command->name, name) != 0)
		command++;
	return command->name != NULL ? command : NULL;
}

/* Returns the length of "add" in "add NAME ..."; 0: no subcommand. */
static int subcommand_length(const struct use *use)
{
	return islower((unsigned char)use->words[0]) ? (int)strcspn(use->words, " ") : 0;
}

static const struct use *find_use(const struct ctl_command *command, const char *verb)
{
	char verbs[LINE_SIZE / 2] = "";
	size_t used = 0;

	for (const struct use *use = command->uses; use->words != NULL; use++) {
		int len = subcommand_length(use);

		if (len == 0 ||
			((int)strlen(verb) == len && strncmp(verb, use->words, (size_t)len) == 0))
			return use;
		used += (size_t)snprintf(
			verbs + used, sizeof(verbs) - used, ", %.*s", len, use->words);
	}
	cli_error(0, "%s '%s': unknown command; commands: %s", command->name, verb, verbs + 2);
	return NULL;
}

static int max_arguments(const struct use *use)
{
	const char *at = use->words;
	int n = 0;

	if (strstr(at, "...") != NULL)
		return INT_MAX;
	for (; *at != '\0'; at += strspn(at, " "), n++)
		at += strcspn(at, " ");
	return n;
}

static int ask_measure(const struct ctl_words *words)
{
	const char *verb = words->list[1];
	char command[COMMAND_SIZE];

	if (strcmp(verb, "list") == 0)
		return ask_and_print(words, CONTROL_PATH "plan", print_list);
	if (words->n < 3)
		return cli_error(EXIT_TEXT, "measure %s: needs the NAME of a measurement", verb);
	for (int i = 1; i < words->n; i++)
		if (strpbrk(words->list[i], " \t\r\n") != NULL || *words->list[i] == '\0')
			return cli_error(
				EXIT_TEXT, "'%s': empty, or contains white space", words->list[i]);
	if (!put_together(command, "measure", ' ', words->n - 1, words->list + 1))
		return EXIT_TEXT;
	return ask_and_print(words, command, print_change);
}

static int ask_command(const struct ctl_words *words)
{
	const struct ctl_command *row = find_command(words->list[0]);
	const struct use *use;
	char command[COMMAND_SIZE];
	int most;

	if (row == NULL)
		return cli_error(EXIT_TEXT, "ctl '%s': allowed: %s; see --help", words->list[0],
			command_names + 2);
	use = find_use(row, words->n > 1 ? words->list[1] : "");
	if (use == NULL)
		return EXIT_TEXT;
	most = max_arguments(use);
	if (words->n - 1 > most)
		return cli_error(EXIT_TEXT, "'%s': unexpected argument", words->list[1 + most]);
	if (subcommand_length(use) > 0)
		return ask_measure(words);
	if (!put_together(command, row->name, ',', words->n - 1, words->list + 1))
		return EXIT_TEXT;
	return ask_and_print(words, command, print_all);
}

/* Reads --NAME VALUE or --NAME=VALUE. Returns NULL for another option and for a missing value. */
static const char *option_value(const char *name, int argc, char **argv, int *i)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) != 0)
		return NULL;
	if (argv[*i][len] == '=')
		return argv[*i] + len + 1;
	return argv[*i][len] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

static int read_words(int argc, char **argv, struct ctl_words *words)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *name = option_value("--name", argc, argv, &i), *format;

		if (name != NULL && !process_name_allowed(name))
			return cli_error(
				EXIT_TEXT, "ctl --name '%.100s': not an instance name", name);
		if (name != NULL) {
			words->name = name;
			continue;
		}
		format = option_value("--format", argc, argv, &i);
		if (format == NULL || (strcmp(format, "text") != 0 && strcmp(format, "json") != 0))
			return cli_error(EXIT_TEXT,
				"ctl %s: allowed: --name NAME, --format text or json, --help",
				argv[i]);
		words->json = strcmp(format, "json") == 0;
	}
	words->n = argc - i;
	words->list = argv + i;
	return words->n > 0 ? 0 : cli_error(EXIT_TEXT, "ctl: give a command; --help lists them");
}

static void print_usage(void)
{
	fputs(usage_begin, stdout);
	for (const struct ctl_command *command = commands; command->name != NULL; command++)
		for (const struct use *use = command->uses; use->words != NULL; use++)
			printf("  %s %-*s%s\n", command->name,
				USE_COLUMN - (int)strlen(command->name), use->words, use->help);
	fputs(usage_end, stdout);
}

int ctl(int argc, char **argv)
{
	struct ctl_words words = {0};
	int status;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			print_usage();
			return 0;
		}
	status = read_words(argc, argv, &words);
	if (status != 0)
		return status;
	return ask_command(&words);
}
