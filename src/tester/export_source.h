/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of the flow exports that simulated routers send about generated traffic, as Ethernet
 * frames. The same SPEC without --export-format gives the traffic itself.
 */

#include "rx/source.h"
#include "tester/routers.h"

struct export_source_options {
	uint32_t protocol; /* enum flow_protocol */
	/* path: routers per packet, 0: all; sampling: 1 in N packets */
	uint32_t routers, path, sampling;
	double drop;
};

OPTION_OWNER(export_source)

struct export_source_params {
	enum flow_protocol protocol;
	uint32_t routers, path, sampling;
	/* share of lost datagrams; their sequence numbers are used nevertheless */
	double drop;
	uint64_t seed;
};

#define EXPORT_SOURCE_COLLECTOR UINT32_C(0xc00002fe) /* 192.0.2.254 */

/*
 * Takes ownership of the traffic. On lack of memory, closes it and returns NULL with a line in
 * error[SOURCE_ERROR_MAX].
 */
struct source *export_source_open(
	const struct export_source_params *params, struct source *traffic, char *error);

/*
 * Replaces *source if --export-format is given. On failure, returns false with a line in `error`.
 */
bool export_source_wrap(const struct config *config, struct source **source, char *error);
