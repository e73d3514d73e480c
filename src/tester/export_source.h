/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of `generate --export-format`: instead of the traffic, the datagrams of routers on its
 * path (tester/routers.h), as Ethernet frames to a collector. The same SPEC without --export-format
 * generates the exact traffic that they describe.
 */

#include "rx/source.h"
#include "tester/routers.h"

struct export_source_options {
	uint32_t protocol;                /* enum flow_protocol */
	uint32_t routers, path, sampling; /* path 0: all routers; sampling: 1 in N packets */
	double drop;
};

OPTION_OWNER(export_source)

struct export_source_params {
	enum flow_protocol protocol;
	uint32_t routers, path, sampling; /* see struct routers_params */
	double drop; /* probability of losing a datagram, 0 to 1; sequence numbers include it */
	uint64_t seed;
};

#define EXPORT_SOURCE_COLLECTOR UINT32_C(0xc00002fe) /* 192.0.2.254 */

/*
 * Returns a source of the exports about the traffic, and owns the traffic. If out of memory, closes
 * the traffic and returns NULL with one line in error[SOURCE_ERROR_MAX].
 */
struct source *export_source_open(
	const struct export_source_params *params, struct source *traffic, char *error);

/*
 * Replaces the traffic in *source if --export-format is given. Returns false on failure, as
 * export_source_open() returns NULL.
 */
bool export_source_wrap(const struct config *config, struct source **source, char *error);
