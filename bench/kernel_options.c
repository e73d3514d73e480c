/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/kernel_options.h"

#include <string.h>

#include "bench/common.h"
#include "tune/measure/bench_options.h"

static bool check_rivals(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *list = &kernel_bench_options(config)->rivals;

	for (uint32_t i = 0; i < list->n; i++) {
		const char *colon = strrchr(list->texts[i], ':');

		if (colon == NULL || colon == list->texts[i] || colon[1] == '\0')
			return option_fault(fault, "rival", measurement,
				"'%.100s': not a program; write OBJECT.o:PROGRAM", list->texts[i]);
	}
	return true;
}

static const struct option_row rival_rows[] = {
	{
		.name = "rival",
		.placeholder = "OBJECT.o:PROGRAM",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_LIST,
		OPTION_FIELD(kernel_bench_options, rivals),
		.help = "Measure also this tc or xdp program on the same packets. Repeatable.",
	},
	{0},
};

const struct option_owner kernel_bench_owner = {
	.rows = rival_rows,
	.size = sizeof(struct kernel_bench_options),
	.check = check_rivals,
};

static const struct option_row kernel_bench_rows[] = {
	BENCH_ROW_FLOWS(NULL, "1,1000,2550,64000"),
	BENCH_ROW_ROUNDS("9"),
	BENCH_ROW_QUICK(
		"Use fewer packets and rounds for a quick test. The figures are not accurate."),
	{0},
};

const struct option_owner kernel_bench_common_owner = {
	.rows = kernel_bench_rows,
	.fills = &bench_owner,
};
