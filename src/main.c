/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/notify.h"
#include "base/process_limits.h"
#include "base/signals.h"
#include "base/standard_files.h"
#include "commands/command.h"
#include "commands/commands.h"
#include "parallel/run/eal.h"

/* Handles the former command "bench": names the program that replaces it. */
static int print_bench_location(int argc, char **argv)
{
	bool is_tune = argc > 2 && strcmp(argv[2], "tune") == 0;

	fprintf(stderr, "sketchtap: 'bench': not a command; use %s\n",
		is_tune ? "sketchtap tune"
			: "sketchtap-bench kernels|worker|parts|pipeline|flow-table");
	return EXIT_TEXT;
}

static int close_standard_output(int status)
{
	if (status != 0 || standard_files_printed())
		return status;
	log_error("cannot write to standard output: output is incomplete");
	return EXIT_MACHINE;
}

int main(int argc, char **argv)
{
	static struct config config;
	struct notify notify;
	char error[PROCESS_LIMITS_ERROR_MAX];
	const char *why;
	int status;

	standard_files_fill();
	for (const struct program_other *other = commands.others; argc > 1 && other->name != NULL;
		other++)
		if (strcmp(argv[1], other->name) == 0)
			return close_standard_output(other->run(argc - 1, argv + 1));
	if (argc > 1 && strcmp(argv[1], "bench") == 0)
		return print_bench_location(argc, argv);
	switch (config_load(&config, &commands, argc, argv, stdout, stderr)) {
	case CONFIG_OK: break;
	case CONFIG_EXIT_0: return close_standard_output(0);
	case CONFIG_EXIT_1: return EXIT_MACHINE;
	case CONFIG_EXIT_2: return EXIT_TEXT;
	}
	log_init(log_level_asked(&config), log_debug_asked(&config));
	if (!process_limits_check(error)) {
		log_error("%s", error);
		config_free(&config);
		return EXIT_MACHINE;
	}
	why = notify_open(&notify);
	if (why != NULL)
		log_warning("cannot notify the service manager: %s", why);
	signals_install();
	status = commands_run(&config, &notify);
	notify_close(&notify);
	config_free(&config);
	return close_standard_output(status);
}
