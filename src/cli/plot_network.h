/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Draws the links of `--export neighbours` as an undirected graph in the DOT language of Graphviz: a
 * node per exporter, an edge per cable with the traffic of both directions.
 */

#include <stdint.h>

#include "base/text.h"
#include "cli/csv_replay.h"

#define PLOT_NETWORK_ERROR_MAX 512

/*
 * Appends the graph of the files, which are in the order of time. Returns 0, or the exit status with a
 * line in error[PLOT_NETWORK_ERROR_MAX].
 */
int plot_network(const struct csv_replay_files *files, struct text *text, char *error);
