/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The methods of --dedup, a row each: what a record is worth, given what is known of its flow. A
 * new method is a row of dedup_methods[] in the order of enum dedup_method.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/held_flows.h"
#include "collect/observation.h"
#include "collect/observed_flows.h"
#include "collect/observers.h"
#include "collect/route.h"
#include "collect/worth.h"

/* What methods know beside a flow. */
struct known {
	struct observed_flows flows;
	struct observers observers;
	struct routes routes;
	struct held_flows held;
	/*
	 * Of routes that are learned: how many flows, and the sum of 1 / the groups on their way.
	 */
	double learned, inverse_groups;
	uint8_t *has_ingress; /* of each slot: it reports flows where they come in */
	bool edges;           /* an exporter's edge is known, whoever was heard */
};

struct dedup_ops {
	const char *word, *suits;
	bool flows; /* keeps flows; what finds no room is worth what the edge rule says */
	struct worth (*take)(struct known *known, struct record *record);
};

/* The route of the record, whose key is kept in it. */
struct route *route_of(struct known *known, struct record *record);

/* Learns from the held flows, before they are settled, how many observers are on a way. */
void learn_groups(struct known *known);

/* What the samples of a held flow bring, by all observers that were heard by now. */
struct worth worth_of_held(struct known *known, const struct held_flow *held);

/* In the order of enum dedup_method; a row without a word ends it. */
extern const struct dedup_ops dedup_methods[];

/*
 * Without state of the flow: what enters at an edge counts. An exporter whose edge is not known is
 * in the core where any exporter has an edge. Where none has, of those that report flows between
 * two prefixes the one in the lowest slot counts.
 */
struct worth worth_at_edge(struct known *known, struct record *record);
