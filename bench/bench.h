/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Commands of sketchtap-bench. Each returns an exit status. */

#include "config/config.h"

int bench_kernels(struct config *config);

int bench_worker(struct config *config);

int bench_parts(struct config *config);

int bench_pipeline(struct config *config);
int bench_paper(struct config *config);

int bench_flow_table(struct config *config);

int bench_collect(struct config *config);

int bench_exports(struct config *config);

int bench_forward(struct config *config);
int bench_profile(struct config *config);
int bench_adaptive(struct config *config);
int bench_kernel(struct config *config);

int bench_all(struct config *config);

/*
 * Runs each bench of `all` whose name is in files[] (NULL at the end) and whose CSV file is not in
 * the directory. *failed: a bench failed, and its file is not there. Returns false if the directory
 * cannot be created or a signal asks for the end.
 */
bool all_fill_directory(const struct config *config, const char *directory,
	const char *const *files, bool quick, bool *failed);

extern const struct option_owner kernels_owner, worker_owner, parts_owner, pipeline_owner,
	paper_owner, papers_owner, pipeline_pace_owner, pipeline_port_owner, experiment_owner,
	flow_table_bench_owner, flow_table_common_owner, forward_bench_owner,
	kernel_bench_common_owner, adaptive_bench_owner, all_owner;

extern const struct program bench_program;
