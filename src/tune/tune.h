/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "config/config.h"

/*
 * `sketchtap tune`: finds the fastest configuration of this host within a memory and an error
 * target, and writes it as a file. Returns an exit status.
 */
int tune_run(struct config *config);

extern const struct option_owner tune_owner;
