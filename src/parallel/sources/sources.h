/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What packets may come from: the table of sources, whose words stand in rx/capture/meson.build. */

#include <stdbool.h>

#include "config/option.h"
#include "rx/source.h"

/* The options of all sources. */
extern const struct option_owner sources_owner;

/*
 * Opens the source that is asked for. Returns 0, *source is NULL on live ports; or an exit status
 * with one line in error[SOURCE_ERROR_MAX].
 */
int sources_open(const struct config *config, struct source **source, char *error);

/* For who cannot do without a source: "nothing to measure" where none is asked for. */
bool sources_check(const struct config *config, const char *verb, struct option_fault *fault);
