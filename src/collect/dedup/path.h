/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The order of those who saw a flow: from the edge where it came in, by their next hops, and where
 * nobody says, by the time of their first report. */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/observers.h"
#include "collect/exporters/collector_rows.h"

/*
 * Puts hops[n], n <= PATH_HOPS_MAX, which are in the order of first sight, in the order of the way;
 * those of one exporter become one. Returns how many there are; *ordered: whether all of it is known
 * and not guessed.
 */
uint32_t path_order(
	const struct hop *const *hops, uint32_t n, struct path_hop *path, bool *ordered);
