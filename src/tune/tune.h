/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/*
 * Implements `sketchtap tune`: finds the fastest configuration on this host that meets a memory
 * target and an error target, and writes it as a configuration file. Returns an exit status.
 */
int tune_run(struct config *config);

extern const struct option_owner tune_owner;
