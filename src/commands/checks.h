/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Checks and defaults of options that several commands have. */

#include "config/config.h"

/* Message for an argument that is not an option. */
#define CHECKS_STRAY "give captures with --pcap FILE, filters with --filter 'EXPRESSION'"

/* Options of tcpdump. */
extern const struct command_letter checks_letters[];

/* Each check returns true, or fills `fault` and returns false. */
bool checks_pace(const struct config *config, struct option_fault *fault);

/*
 * plan and doctor accept options of run and of collect. Rejects those that have no effect in a
 * collector.
 */
bool checks_collector(const struct config *config, struct option_fault *fault);

/* Checks the source and options that depend on it. */
bool checks_source(const struct config *config, struct option_fault *fault);

/* On a terminal, shows a capture as one interval on one screen. Output to files does not change. */
void checks_at_terminal(struct config *config);
