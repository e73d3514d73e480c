/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* From an option's text to its field. */

#include <stdbool.h>

#include "config/config.h"
#include "config/options.h"

#define OPTION_WHY_MAX 400 /* room for why a value is refused, with the value */

/*
 * Reads text into the row's field. `measurement` is the one that an OPTION_OF_MEASUREMENT row
 * fills, else not looked at. Strings are not copied. Returns true, or false with
 * why[OPTION_WHY_MAX] filled ("'5x' is not a time; write 500ms, 1s or 5m") and the field as it was.
 */
bool option_set(const struct option_row *row, const char *text, struct config *config,
	struct measurement_config *measurement, char *why);

/* Back to what the field is when the option was never given and has no default. */
void option_clear(const struct option_row *row, struct config *config,
	struct measurement_config *measurement);

/* True where the field says more than option_clear() leaves. */
bool option_is_set(const struct option_row *row, const struct config *config,
	const struct measurement_config *measurement);
