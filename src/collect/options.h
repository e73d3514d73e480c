/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/dedup/dedup.h"
#include "config/option.h"
#include "rx/source.h"

struct collect_options {
	struct option_list listen;
	const char *collectors;     /* ADDRESS:PORT[,N]; NULL: none */
	uint64_t collectors_wait;   /* ns */
	uint64_t collectors_memory; /* bytes of datagrams per collector */
	struct option_list exporters;
	const char *templates;
	uint32_t dedup;          /* enum dedup_method */
	uint64_t export_timeout; /* ns */
	uint64_t observed_flows;
	uint64_t receive_buffer; /* bytes per socket */
	uint32_t link_overhead;  /* bytes per packet */
	uint32_t exporters_max;
	uint64_t sampling_budget; /* records per second of an exporter; 0: no limit */
	double sampling_error;    /* in parts of an estimate; 0: no target */
	const char *sampling_command;
};

OPTION_OWNER(collect)

/* Only `sketchtap collect` has the option. */
#define COLLECT_OPTION .not_for = SOURCE_PACKETS | SOURCE_KEYS

/* For option_row.inapplicable: without a budget or target. */
const char *sampling_target_inapplicable(
	const struct config *config, const struct measurement_config *measurement);

/* First --listen with a public address if --exporter does not limit the senders, else NULL. */
const char *collect_open_address(const struct config *config);

/*
 * Returns the first program that a live run needs to change the sampling of exporters, and cannot
 * execute, with an error number in *failure; NULL: none.
 */
const char *collect_missing_program(const struct config *config, int *failure);

/* Callbacks are not set. `rules` has OPTION_LIST_MAX entries and must outlive the collector. */
struct collector_params collect_collector_params(
	const struct config *config, struct exporter_rule *rules);
struct dedup_params collect_dedup_params(const struct config *config);

/*
 * Returns true if a running collector can switch to `config`, else false with a reason in
 * why[OPTION_WHY_MAX].
 */
bool collect_takes(const struct config *running, const struct config *config, char *why);

/* Returns the bytes of one decoder and `workers` workers, without sketches. */
size_t collect_memory(const struct config *config, uint32_t workers);
