/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The methods of --dedup, a row each: what a record is worth, given what is known of its flow. A
 * new method is a row of dedup_methods[] in the order of enum dedup_method.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/dedup/deferred_flows.h"
#include "collect/dedup/interface_roles.h"
#include "collect/dedup/observed_flows.h"
#include "collect/dedup/observers.h"
#include "collect/dedup/record_value.h"
#include "collect/dedup/route.h"
#include "collect/exporters/observation.h"

/* What methods know beside a flow. */
struct dedup_context {
	struct observed_flows flows;
	struct observation_points observers;
	struct routes routes;
	struct deferred_flows held;
	struct roles roles;
	struct role_doubt doubt; /* of the burst, or the epoch's end */
	uint8_t *has_ingress;    /* of each slot: it reports flows where they come in */
	bool edges;              /* an exporter's edge is known, whoever was heard */
};

struct dedup_ops {
	const char *word, *suits;
	bool flows; /* keeps flows; what finds no room is worth what the edge rule says */
	struct record_value (*take)(struct dedup_context *known, struct record *record);
};

/* The route of the record, whose key is kept in it. */
struct route *route_of(struct dedup_context *known, struct record *record);

/* Where an unsampled record begins, in packets of the flow; before the share has the record. */
void find_begin(struct dedup_context *known, struct record *record);

/* The record, which its share has, is evidence of the roles of interfaces. */
void add_evidence(struct dedup_context *known, const struct record *record);

/* What the samples of a held flow bring, by the roles as they are known now. */
struct record_value worth_of_held(struct dedup_context *known, const struct deferred_flow *held);

/* In the order of enum dedup_method; a row without a word ends it. */
extern const struct dedup_ops dedup_methods[];

/*
 * Without state of the flow: what enters at an edge counts. An exporter whose edge is not known is
 * in the core where any exporter has an edge. Where none has, of those that report flows between
 * two prefixes the one in the lowest slot counts.
 */
struct record_value worth_at_edge(struct dedup_context *known, struct record *record);
