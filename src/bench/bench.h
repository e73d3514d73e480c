/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `sketchtap bench`: what this host can do. Each returns an exit status. */

#include "config/config.h"
#include "rx/port/name.h"

/* What it costs to count a key, in memory. argv[argc] is the command line, for the report. */
int bench_kernels(const struct config *config, int argc, char *const argv[]);

/* What a measurement adds to a worker that receives and frees. */
int bench_worker(const struct config *config, int argc, char *const argv[]);

/* What the project wants to reach, and what this host reaches. */
int bench_targets(const struct config *config, int argc, char *const argv[]);

/* Loss, time and delay of the whole engine under a generator's load, or that of --port,
 * resolved. */
int bench_pipeline(
	const struct config *config, const struct port_name *names, int argc, char *const argv[]);

/* What a flow table costs by structure, hash, size and traffic. */
int bench_flow_table(const struct config *config, int argc, char *const argv[]);

/* The fastest configuration of this host within a memory and an error target, as a file. */
int bench_tune(const struct config *config, int argc, char *const argv[]);
