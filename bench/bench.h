/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `sketchtap-bench`: what this host can do. Each returns an exit status. */

#include "config/config.h"

/* What it costs to count a key, in memory. */
int bench_kernels(struct config *config);

/* What a measurement adds to a worker that receives and frees. */
int bench_worker(struct config *config);

/* What the project has targets for. */
int bench_parts(struct config *config);

/* Loss, time and delay of the whole engine under a generator's load, or that of --port. */
int bench_pipeline(struct config *config);
/* The figures of Wu et al. (2016), beside the paper's. */
int bench_paper(struct config *config);

/* What a flow table costs by structure, hash, size and traffic. */
int bench_flow_table(struct config *config);

/* What it costs to collect what routers export. */
int bench_collect(struct config *config);

/* What it costs to send what is measured. */
int bench_exports(struct config *config);

/* What it costs to measure what is forwarded. */
int bench_forward(struct config *config);
/* What the parts of a packet cost, for --profile. */
int bench_profile(struct config *config);
/* The figures of Tangari et al. (2017), beside the paper's. */
int bench_adaptive(struct config *config);
/* What a packet costs that a program in the kernel looks at. */
int bench_kernel(struct config *config);

/* All of these, into a directory. */
int bench_all(struct config *config);

/* Their options. */
extern const struct option_owner kernels_owner, worker_owner, parts_owner, pipeline_owner,
	paper_owner, pipeline_pace_owner, pipeline_port_owner, experiment_owner,
	flow_table_bench_owner, flow_table_common_owner, forward_bench_owner,
	kernel_bench_common_owner, adaptive_bench_owner, all_owner;

extern const struct program bench_program;
