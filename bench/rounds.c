/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/rounds.h"

#include <stdarg.h>
#include <stdio.h>

#include "bench/common.h"
#include "base/log.h"
#include "base/signals.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/setup.h"

#define ROUNDS       5
#define QUICK_ROUNDS 2

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"part", "", -60, ""},
	{"round", "round", 5, ""},
	{"value", "value", 10, ""},
	{"unit", "", -9, ""},
	{"note", "", -1, ""},
	{.name = NULL},
};

void rounds_row(struct rounds_bench *bench, const char *part, uint32_t round, double value,
	const char *unit)
{
	figures_cell(&bench->figures, "value", "%.4f", value);
	rounds_missing(bench, part, round, unit, NULL);
}

void rounds_missing(struct rounds_bench *bench, const char *part, uint32_t round, const char *unit,
	const char *why)
{
	figures_cell(&bench->figures, "bench", "%s", bench->name);
	figures_cell(&bench->figures, "part", "%s", part);
	figures_cell(&bench->figures, "round", "%u", round);
	figures_cell(&bench->figures, "unit", "%s", unit);
	if (why != NULL)
		figures_note(&bench->figures, "not measured: %s", why);
	figures_row(&bench->figures);
}

bool rounds_fail(struct rounds_bench *bench, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(bench->error, sizeof(bench->error), format, args);
	va_end(args);
	return false;
}

int rounds_run(struct rounds_bench *bench, const char *name, const struct config *config,
	bool (*run)(struct rounds_bench *bench))
{
	const struct bench_options *options = bench_options(config);
	int status, closed;

	bench->name = name;
	bench->config = config;
	bench->seed = seed_options(config)->seed;
	bench->quick = options->quick;
	bench->rounds = (uint32_t)bench_number(options, options->rounds, ROUNDS, QUICK_ROUNDS);
	if (!setup_topology(&bench->topology, config))
		return 1;
	cpus_init(&bench->cpus, &bench->topology);
	status = figures_open(&bench->figures, columns, config);
	if (status != 0)
		return status;
	figures_begin(&bench->figures);
	if (!run(bench) && !signals_stop_requested()) {
		log_error("%s", bench->error[0] != '\0' ? bench->error : "out of memory");
		status = 1;
	}
	closed = figures_close(&bench->figures);
	return status != 0 ? status : closed;
}

static const struct option_row rows[] = {
	BENCH_ROW_ROUNDS("5"),
	BENCH_ROW_QUICK(
		"Use fewer records and rounds for a quick test. The figures are not accurate."),
	{0},
};

const struct option_owner rounds_owner = {
	.rows = rows,
	.fills = &bench_owner,
};
