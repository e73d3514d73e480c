/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Queries: sections [query NAME] of the configuration, after Tangari et al. 2017, section V. A
 * query matches flows, requests a state for them, and has a rank, by which overload turns it off.
 * A flow is in the deepest state that an active query requests for it. Queries apply to flow tables
 * of 5-tuples.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "key/key.h"
#include "key/match.h"
#include "sketch/flow_states.h"

#define QUERIES_MAX   4096
#define QUERY_RANKS   FLOW_ALL_RANKS /* ranks are from 1 to this value; higher ones are off first */
#define QUERY_NO_RANK (QUERY_RANKS + 1)

struct query_options {
	const char *match;
	uint32_t state; /* enum flow_depth */
	uint32_t rank;
};

extern const struct option_owner query_owner;

/* Lowest rank of the queries that request at least a state for a flow, or QUERY_NO_RANK. */
struct query_ranks {
	uint8_t rate, tcp; /* rate <= tcp */
};

/* States of a flow if only queries up to rank `limit` are on. */
static inline enum flow_depth query_ranks_state(struct query_ranks ranks, uint32_t limit)
{
	return (enum flow_depth)((ranks.rate <= limit) + (ranks.tcp <= limit));
}

struct query {
	char name[64];
	uint8_t rank;
	enum flow_depth state;
};

/* Immutable. Any thread may read it. */
struct queries {
	uint32_t n;
	struct query *list;            /* [n], by rank, then in the order of the configuration */
	struct classifier *classifier; /* its conditions are list[] */
	/* Finds those with a state: first state tcp, then state rate, each by rank. NULL: none. */
	struct classifier *deep;
	uint32_t tcp_boxes; /* boxes of `deep` with state tcp */
};

bool queries_given(const struct config *config);
/* Returns true if the queries apply to the measurement. */
bool queries_apply(const struct config *config, const struct measurement_config *measurement);

/* Returns NULL if out of memory. `config` must have passed its checks. */
struct queries *queries_create(const struct config *config);
/*
 * Creates the classifiers of list[n]. matches[n]: its conditions, of which it frees those of state
 * count. Returns false if out of memory.
 */
bool queries_classify(struct queries *queries, struct match *matches);
void queries_destroy(struct queries *queries); /* NULL is allowed */
size_t queries_bytes(const struct queries *queries);

struct query_ranks queries_ranks4(const struct queries *queries, const struct key4 *key);
struct query_ranks queries_ranks6(const struct queries *queries, const struct key6 *key);

/* Calls found() for each query that matches, once or more, with its index in list[]. */
void queries_match(const struct queries *queries, const struct key *key,
	void (*found)(uint32_t query, void *arg), void *arg);

/* For option_row.inapplicable(). */
const char *queries_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
