/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/collector_rows.h"

const char *const sampling_source_words[SAMPLING_SOURCE_COUNT] = {
	[SAMPLING_NONE] = "none",
	[SAMPLING_SAMPLE] = "sample",
	[SAMPLING_HEADER] = "header",
	[SAMPLING_OPTIONS] = "options",
	[SAMPLING_RECORD] = "record",
	[SAMPLING_CONFIGURED] = "configured",
};
