/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Commands of sketchtap-bench. Each returns an exit status. */

#include "config/config.h"

/* Measures the cost of counting a key, in memory. */
int bench_kernels(struct config *config);

/* Measures the time that a measurement adds to a worker that receives and frees. */
int bench_worker(struct config *config);

/* Runs `parts`: measures everything that has a performance target. */
int bench_parts(struct config *config);

/* Measures loss, time and delay of a run under the load of a generator or of --port. */
int bench_pipeline(struct config *config);
/* Repeats the evaluation of Wu et al. (2016). */
int bench_paper(struct config *config);

/* Measures the cost of a flow table by structure, hash, size and traffic. */
int bench_flow_table(struct config *config);

/* Measures the cost of collecting flow records. */
int bench_collect(struct config *config);

/* Measures the cost of exporting results. */
int bench_exports(struct config *config);

/* Measures the cost of measuring forwarded packets. */
int bench_forward(struct config *config);
/* Measures the time of each step of packet processing, for --profile. */
int bench_profile(struct config *config);
/* Repeats the figures of Tangari et al. (2017). */
int bench_adaptive(struct config *config);
/* Measures the cost of a packet in the eBPF programs of --kernel. */
int bench_kernel(struct config *config);

/* Runs all benches and writes their results to a directory. */
int bench_all(struct config *config);

extern const struct option_owner kernels_owner, worker_owner, parts_owner, pipeline_owner,
	paper_owner, pipeline_pace_owner, pipeline_port_owner, experiment_owner,
	flow_table_bench_owner, flow_table_common_owner, forward_bench_owner,
	kernel_bench_common_owner, adaptive_bench_owner, all_owner;

extern const struct program bench_program;
