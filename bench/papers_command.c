/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench paper --all DIR. */

#include "bench/bench.h"
#include "bench/papers.h"
#include "tune/measure/bench_options.h"

int papers_run(const struct config *config)
{
	const char *directory = papers_options(config)->directory, *files[PAPERS_FILES_MAX + 1];
	char names[PAPERS_FILES_MAX][PAPERS_NAME_MAX];
	uint32_t n = papers_files(names);
	bool failed;

	for (uint32_t i = 0; i < n; i++)
		files[i] = names[i];
	files[n] = NULL;
	if (!all_fill_directory(config, directory, files, bench_options(config)->quick, &failed))
		return 1;
	return papers_join(directory) && !failed ? 0 : 1;
}

/* The benches of --all have their own settings. */
static bool check_all(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	static const char *const others[] = {"experiment", "zipf", "workers", "duration", "rounds",
		"pace", "port", "output", "lcores"};

	for (uint32_t i = 0;
		papers_options(config)->directory != NULL && i < sizeof(others) / sizeof(others[0]);
		i++)
		if (config_asks(config, NULL, others[i]))
			return option_fault(fault, others[i], measurement,
				"not possible with --all, which runs each bench with settings of "
				"its own");
	return true;
}

static const struct option_row rows[] = {
	{
		.name = "all",
		.placeholder = "DIR",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		OPTION_FIELD(papers_options, directory),
		.default_note = "off",
		.help = "Write DIR/papers.csv: every figure that five papers print, with the "
			"figure of this host. Benches without a CSV file in DIR run first. With "
			"--quick they take a minute, otherwise half an hour.",
	},
	{0},
};

const struct option_owner papers_owner = {
	.rows = rows,
	.size = sizeof(struct papers_options),
	.check = check_all,
};
