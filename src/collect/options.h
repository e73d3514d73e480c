/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The options of sketchtap collect: who may send, and how one flow of several observers is counted. */

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "config/option.h"

struct collect_options {
	struct option_list listen;    /* --listen; none: datagrams come from a capture */
	struct option_list exporters; /* --exporter */
	const char *templates;        /* NULL: they are not kept */
	uint32_t dedup;               /* enum dedup_method */
	uint64_t export_timeout;      /* ns */
	uint64_t observed_flows;
	uint64_t receive_buffer; /* bytes, of each socket */
	uint32_t link_overhead;  /* bytes a packet */
	uint32_t exporters_max;
};

OPTION_OWNER(collect)

/* Whether the input is what exporters tell, in place of packets: of collect, and of a plan for
 * --listen. */
bool collect_asked(const struct config *config);

/* Whether datagrams come from sockets, now. */
bool collect_listens(const struct config *config);

/*
 * Returns the first --listen with a public address, if --exporter does not limit who may send to it;
 * NULL: there is none.
 */
const char *collect_open_address(const struct config *config);

/* What the collector is to be like; its callbacks are the caller's. `rules` has room for
 * OPTION_LIST_MAX, and must live as long. */
struct collector_params collect_collector_params(
	const struct config *config, struct exporter_rule *rules);
struct dedup_params collect_dedup_params(const struct config *config);

/* Whether a collector that runs with one configuration can measure what another one asks for; else
 * the reason is in why[OPTION_WHY_MAX]. */
bool collect_takes(const struct config *running, const struct config *config, char *why);

/* Bytes that one decoder and so many workers take, without sketches. */
size_t collect_memory(const struct config *config, uint32_t workers);
