/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Starts DPDK's environment as the plan wants it. */

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "base/log_level.h"

struct eal_options {
	const char *arguments; /* more, for EAL; NULL: none */
};

OPTION_OWNER(eal)

struct log_options {
	enum log_level level;
	bool verbose;
};

OPTION_OWNER(log)

/* Level of our messages. Returns true from the second if DPDK logs too. */
enum log_level log_level_asked(const struct config *config);
bool log_debug_asked(const struct config *config);

#define EAL_ERROR_MAX 512

/*
 * Hugepages where enough are free, else ordinary memory; no file is left behind, and a prefix of
 * its own lets several runs share the machine. Returns true, or false with one line in
 * error[EAL_ERROR_MAX]. Once per process.
 */
bool eal_start(const struct plan *plan, const struct config *config, char *error);
void eal_stop(void);
