/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which flow table suits a traffic: structures, hashes and sizes count it in turns, in memory. The
 * choice is tune_choose()'s among those that had room for every key: the smallest of those that are
 * as fast as the fastest.
 */

#include "config/config.h"
#include "bench/crew.h"
#include "bench/sheet.h"
#include "bench/workload.h"
#include "parallel/plan/topology.h"

/* The columns that rows are printed in beside those of `bench tune`. */
#define TUNE_TABLE_COLUMNS                                                                         \
	{"collision", "", -6}, {"hash", "", -9},                                                   \
	{                                                                                          \
		"ns", "ns", 7                                                                      \
	}

struct tune_table {
	const struct config *config;
	const struct topology *topology;
	const struct crew *crew;
	const struct workload *workload;
	uint32_t rounds;
	struct sheet *sheet;
	const struct host_facts *facts;
	const char *source; /* of the traffic, in words */
};

/* Whether a flow table is all that is to be tried. */
bool tune_table_asked(const struct bench_config *bench);

/* Bytes of DPDK's heap that a try takes at most. */
size_t tune_table_heap(const struct config *config, const struct workload *workload);

/*
 * Prints a row for every table, and fills *chosen with the one to take, its width too. Returns
 * false with one line logged.
 */
bool tune_table_choose(const struct tune_table *tune, struct contestant *chosen);
