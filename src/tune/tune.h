/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/* Runs `sketchtap tune`. Returns the exit status. */
int tune_run(struct config *config);

extern const struct option_owner tune_owner;
