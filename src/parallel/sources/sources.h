/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Table of packet sources; rx/capture/meson.build has their names. */

#include <stdbool.h>

#include "config/option.h"
#include "rx/source.h"

/* Options of all sources. */
extern const struct option_owner sources_owner;

/*
 * Opens the selected source. Returns 0, with NULL in *source on live ports, or an exit status with
 * one line in error[SOURCE_ERROR_MAX].
 */
int sources_open(const struct config *config, struct source **source, char *error);

/* Returns true if a source is selected; otherwise false with the fault "nothing to VERB". */
bool sources_check(const struct config *config, const char *verb, struct option_fault *fault);
