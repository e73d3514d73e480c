/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Topology: which exporters are neighbours, and through which interfaces, from the paths of the
 * flows (Mann, Vishnoi, Bidkar 2013, requirement R6).
 *
 * The two ends of a cable carry the same flows. So `match`, the flows that leave one exporter by an
 * interface and enter another one by an interface, divided by the flows at either interface, is
 * largest for neighbours that report all their flows. The order of the exporters of a flow is the one with the largest sum of
 * matches that agrees with next hops, edges and TTL. If several have it, the order in which the
 * exporters reported most of these flows decides.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

struct neighbours;

/* seed: secret, against senders that choose flows. Returns NULL if out of memory. */
struct neighbours *neighbours_create(uint64_t seed);
void neighbours_destroy(struct neighbours *neighbours);

/*
 * Finds the neighbours in paths[n], the flows of an interval. Paths of up to 32 earlier intervals, and
 * of 65536 flows, are evidence as well, unless they pass an interface whose cable has changed since.
 * Sets *rows, from malloc(), and *nb_rows: those with flows in this interval, in order of exporters and
 * interfaces. Returns false if out of memory.
 */
bool neighbours_find(struct neighbours *neighbours, const struct path_row *const *paths, uint64_t n,
	struct neighbour_row **rows, uint64_t *nb_rows);
