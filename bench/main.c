/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench: benchmarks of this host, and variants that only the benchmarks have. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/process_limits.h"
#include "base/signals.h"
#include "base/standard_files.h"
#include "bench/bench.h"
#include "config/config.h"
#include "parallel/plan/plan.h"
#include "parallel/run/eal.h"
#include "rx/source.h"

static int run(struct config *config)
{
	char error[PROCESS_LIMITS_ERROR_MAX];

	log_init(log_level_asked(config), log_debug_asked(config));
	if (!process_limits_check(error)) {
		log_error("%s", error);
		return 1;
	}
	if (!seed_pick(config)) {
		log_error("cannot get a random seed from the system; use --seed N");
		return 1;
	}
	signals_install();
	return config->command->run(config);
}

static int close_standard_output(void)
{
	if (standard_files_printed())
		return 0;
	log_error("cannot write to standard output: output is incomplete");
	return 1;
}

static int print_names(void)
{
	for (uint32_t c = 0; bench_program.commands[c] != NULL; c++)
		puts(bench_program.commands[c]->name);
	return close_standard_output();
}

static int print_commands(void)
{
	fputs("Usage: sketchtap-bench COMMAND [options]; see COMMAND --help\n", stdout);
	for (uint32_t c = 0; bench_program.commands[c] != NULL; c++)
		printf("  %-12s%s\n", bench_program.commands[c]->name,
			bench_program.commands[c]->summary);
	return close_standard_output();
}

/* There is no default, because each bench takes minutes. */
static int print_no_command(void)
{
	fputs("sketchtap-bench: missing command; commands:", stderr);
	for (uint32_t c = 0; bench_program.commands[c] != NULL; c++)
		fprintf(stderr, " %s", bench_program.commands[c]->name);
	fputs("; see --help\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static struct config config;
	int status;

	standard_files_fill();
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return argc == 3 && strcmp(argv[2], "words") == 0 ? print_names()
								  : print_commands();
	if (argc < 2 || (argv[1][0] == '-' && strcmp(argv[1], "--version") != 0))
		return print_no_command();
	switch (config_load(&config, &bench_program, argc, argv, stdout, stderr)) {
	case CONFIG_OK: break;
	case CONFIG_EXIT_0: return close_standard_output();
	case CONFIG_EXIT_1: return 1;
	case CONFIG_EXIT_2: return 2;
	}
	status = run(&config);
	config_free(&config);
	return status;
}
