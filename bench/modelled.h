/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Tables 3 and 4 of Wu et al. (2016): PPT measured with as many workers as fit, and PDR and delay
 * of six workers modelled from the measured times. Further rates and numbers of workers are both
 * measured and modelled, which gives the error of the model.
 */

#include "tune/measure/cpus.h"
#include "tune/measure/figures.h"
#include "tune/measure/pipeline.h"

struct modelled_params {
	const struct config *config;
	const struct topology *topology;
	const struct cpus *cpus;
	const struct workload *workload;
	const char *traffic;
	bool of_paper; /* `traffic` is that of the paper */
	uint32_t rounds, milliseconds;
	const char *bench; /* name of the command */
};

/* Columns of figures that only these rows have. */
#define MODELLED_COLUMNS                                                                           \
	{"how", "how", -9, ""}, {"model_drop_rate", "model", 6, "ratio"},                          \
		{"model_delay_ns", "delay", 7, "model"}, {.name = "drop_error"},                   \
		{.name = "delay_error"}, {.name = "item"}, {.name = "setting"},                    \
		{.name = "quantity"}, {.name = "unit"}, {.name = "printed"}, {.name = "ours"},     \
		{.name = "ours_min"},                                                              \
	{                                                                                          \
		.name = "ours_max"                                                                 \
	}

#define MODELLED_TITLE "model (Tables 3 and 4)"

/*
 * Writes the rows. Returns false with a line in error[LOAD_GENERATOR_ERROR_MAX]. Stops early, and
 * writes no rows, after a stop signal.
 */
bool modelled_run(const struct modelled_params *params, struct figures *figures, char *error);
