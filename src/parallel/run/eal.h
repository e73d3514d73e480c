/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "parallel/plan/plan.h"
#include "base/log_level.h"

struct eal_options {
	const char *arguments; /* separated by spaces; NULL: none */
};

OPTION_OWNER(eal)

struct log_options {
	enum log_level level;
	bool verbose;
};

OPTION_OWNER(log)

enum log_level log_level_asked(const struct config *config);
bool log_debug_asked(const struct config *config);

#define EAL_ERROR_MAX 512

/* Must be called only once. On error, returns false with one line in error[EAL_ERROR_MAX]. */
bool eal_start(const struct plan *plan, const struct config *config, char *error);
void eal_stop(void);
