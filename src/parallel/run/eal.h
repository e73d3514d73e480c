/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Starts DPDK's environment (EAL) according to the plan. */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "base/log_level.h"

struct eal_options {
	const char *arguments; /* additional arguments of EAL; NULL: none */
};

OPTION_OWNER(eal)

struct log_options {
	enum log_level level;
	bool verbose;
};

OPTION_OWNER(log)

/* Return the level of sketchtap's messages, and true if DPDK also logs. */
enum log_level log_level_asked(const struct config *config);
bool log_debug_asked(const struct config *config);

#define EAL_ERROR_MAX 512

/*
 * Starts EAL with hugepages if enough are free, else with ordinary memory. Leaves no files, and
 * uses its own file prefix so that several runs can share the machine. Returns true, or false with
 * one line in error[EAL_ERROR_MAX]. Call once per process.
 */
bool eal_start(const struct plan *plan, const struct config *config, char *error);
void eal_stop(void);
