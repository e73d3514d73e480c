/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * `generate --export-format`: in the place of traffic, the datagrams of routers that it passes
 * (tester/routers.h), as Ethernet frames to a collector. The traffic without --export-format, of the same
 * SPEC, is the exact truth about them.
 */

#include "rx/source.h"
#include "tester/routers.h"

struct export_source_options {
	uint32_t protocol;                /* enum flow_protocol */
	uint32_t routers, path, sampling; /* path 0: all routers */
	double drop;
};

OPTION_OWNER(export_source)

struct export_source_params {
	enum flow_protocol protocol;
	uint32_t routers, path, sampling; /* as struct routers_params' */
	double drop; /* probability that a datagram is lost on its way; sequences count it */
	uint64_t seed;
};

#define EXPORT_SOURCE_COLLECTOR UINT32_C(0xc00002fe) /* 192.0.2.254 */

/*
 * A source of what is exported about the traffic, which it takes over. NULL and one line in
 * error[SOURCE_ERROR_MAX] where memory is missing: the traffic is closed then.
 */
struct source *export_source_open(
	const struct export_source_params *params, struct source *traffic, char *error);

/* Puts it in the traffic's place where --export-format asks for it. False as above. */
bool export_source_wrap(const struct config *config, struct source **source, char *error);
