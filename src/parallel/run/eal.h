/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Starts the environment abstraction layer (EAL) of DPDK according to the plan. */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "base/log_level.h"

struct eal_options {
	const char *arguments; /* more arguments for EAL, separated by spaces; NULL: none */
};

OPTION_OWNER(eal)

struct log_options {
	enum log_level level;
	bool verbose;
};

OPTION_OWNER(log)

/* Returns the log level of the messages of sketchtap. */
enum log_level log_level_asked(const struct config *config);
/* Returns true if DPDK must also log its messages. */
bool log_debug_asked(const struct config *config);

#define EAL_ERROR_MAX 512

/*
 * Starts EAL, with hugepages or ordinary memory as planned. Creates no files that remain after the
 * end. Uses its own --file-prefix, so that several runs can share the machine. Returns false on
 * error, with one line in error[EAL_ERROR_MAX]. Call once per process.
 */
bool eal_start(const struct plan *plan, const struct config *config, char *error);
void eal_stop(void);
