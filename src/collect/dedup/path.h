/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Orders the hops of a flow along its path: from the ingress edge, by next hops; if these are
 * unknown, by the time of the first report.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/observers.h"
#include "collect/exporters/collector_rows.h"

/*
 * Orders hops[n], n <= PATH_HOPS_MAX, given in order of first report; merges those of one exporter.
 * Returns the length of the path. *ordered: false if a part of the order is guessed.
 */
uint32_t path_order(
	const struct hop *const *hops, uint32_t n, struct path_hop *path, bool *ordered);
