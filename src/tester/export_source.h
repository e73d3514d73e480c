/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of `generate --export-format`. Simulates routers that forward the generated traffic
 * (tester/routers.h). Returns only their flow exports, as Ethernet frames to a collector. The same
 * SPEC without --export-format returns the traffic itself, to compare with.
 */

#include "rx/source.h"
#include "tester/routers.h"

struct export_source_options {
	uint32_t protocol; /* enum flow_protocol */
	/* path: number of routers, 0: all; sampling: 1 in N packets */
	uint32_t routers, path, sampling;
	double drop;
};

OPTION_OWNER(export_source)

struct export_source_params {
	enum flow_protocol protocol;
	uint32_t routers, path, sampling; /* see struct routers_params */
	/* probability of losing a datagram; its sequence number is used nevertheless */
	double drop;
	uint64_t seed;
};

#define EXPORT_SOURCE_COLLECTOR UINT32_C(0xc00002fe) /* 192.0.2.254 */

/*
 * Returns a source of flow exports about the traffic, and takes ownership of the traffic. If out of
 * memory, closes the traffic and returns NULL, with one line in error[SOURCE_ERROR_MAX].
 */
struct source *export_source_open(
	const struct export_source_params *params, struct source *traffic, char *error);

/*
 * If --export-format is given, replaces *source by a source of flow exports about it. Returns false
 * on failure, with a line in `error`.
 */
bool export_source_wrap(const struct config *config, struct source **source, char *error);
