/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The sampling interval of a record: from the record, its sample or header, from options, or from
 * the operator. Also checks the sample pool of sFlow against the announced interval.
 *
 * The first source that has an interval decides (docs/COLLECTOR.md has the reasons):
 *   1. the record itself: field 34 and the like, the sFlow sample, the header of v5
 *   2. options about its sampler, its interface, its template
 *   3. options about a part of the exporter: line card, cache, process
 *   4. options about its domain
 *   5. options that domain 0 sends about its domain: as 2 to 4
 *   6. --exporter ...,sampling=N, which also replaces an unknown ratio
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "flow_protocols/flow_protocol.h"

/* What the options of a domain said. Zeroed at the start but for the seed, a secret because senders
 * choose what is looked up; one without options allocates nothing. */
struct sampling {
	struct sampling_interval *intervals; /* [capacity], open addressing */
	uint32_t n, capacity;
	uint32_t of_domain; /* 0: not said */
	uint32_t of_parts;  /* the finest; 0: not said */
	bool parts_differ;
	bool parts_changed; /* since these two were found */
	bool selects_flows; /* records of some flows are missing (RFC 7014) */
	bool has_samplers;  /* some of them do not look at all packets */
	bool turned_away;   /* there was no room for all of them */
	/* The caller's: records have a field for their sampler; some were taken to be unsampled. */
	bool named, unsampled;
	uint64_t seed;
};

/* Why packets of records of which nothing says that they are sampled may be so all the same. */
enum sampling_certainty {
	SAMPLING_SURE,
	SAMPLING_UNSAID,   /* they name a sampler of whose interval nothing was said */
	SAMPLING_UNNAMED,  /* samplers were described, and no record has a field for one */
	SAMPLING_TOO_MANY, /* more was described than is remembered */
	SAMPLING_LATE,     /* what was described now was not when records counted */
	SAMPLING_RATIO,    /* packets are sampled at an unknown ratio */
	SAMPLING_PARTS,    /* parts of the exporter sample differently, and records name none */
	SAMPLING_FLOWS,    /* flows are selected */
};

struct sampling_interval {
	uint64_t id;   /* of the sampler or interface */
	uint32_t kind; /* 0: an empty cell */
	uint32_t interval;
};

/*
 * Stores the interval of an options record that `domain` sent, for at most `limit` scopes; limit is
 * a power of two up to SAMPLING_LIMIT_MAX. Returns true if that is new. Only domain 0 may describe
 * another domain.
 */
#define SAMPLING_LIMIT_MAX 1024
bool sampling_learn(struct sampling *sampling, uint32_t domain, const struct option_record *option,
	uint32_t limit);
/* Before records are looked up: finds once what else each of them would. */
void sampling_settle(struct sampling *sampling);
void sampling_forget(struct sampling *sampling);

/*
 * All of it as bytes, for a file: of each interval what it is of, it, and the number of the sampler
 * or interface. Returns how many bytes; 0: nothing is known.
 */
#define SAMPLING_INTERVAL_BYTES 16
#define SAMPLING_BYTES_MAX      ((SAMPLING_LIMIT_MAX + 1) * SAMPLING_INTERVAL_BYTES)
uint32_t sampling_write(const struct sampling *sampling, uint8_t bytes[SAMPLING_BYTES_MAX]);
/* Remembers what such bytes say. False where they are none. */
bool sampling_read(struct sampling *sampling, const uint8_t *bytes, uint32_t len, uint32_t limit);

/* What is known about the sampling of one exporter. */
struct sampling_knowledge {
	const struct sampling *own;     /* by options of the record's domain */
	const struct sampling *process; /* by options of domain 0; NULL: none, or the same */
	uint32_t domain;
	uint32_t configured; /* --exporter ...,sampling=N; 0: not set */
	enum flow_protocol protocol;
};

struct sampling_verdict {
	uint32_t interval; /* 1 or more; 1 if the ratio is unknown */
	enum sampling_source source;
	enum sampling_certainty
		doubt; /* never SAMPLING_UNNAMED or SAMPLING_LATE: the caller sees those */
};

/* Returns true if options describe samplers of the domain that do not select all packets. */
bool sampling_has_samplers(const struct sampling_knowledge *knowledge);

struct sampling_verdict sampling_of(
	const struct sampling_knowledge *knowledge, const struct flow_record *record);

/* The fields of a record that its verdict depends on. */
struct sampling_basis {
	uint64_t sampler;
	uint32_t has, sampling, input, output;
	uint16_t template_id;
	uint8_t direction;
};

#define SAMPLING_BASIS_HAS                                                                         \
	(FLOW_SAMPLED | FLOW_SAMPLING | FLOW_SAMPLER | FLOW_SELECTED | FLOW_DIRECTION |            \
		FLOW_INPUT | FLOW_OUTPUT)

static inline struct sampling_basis sampling_basis_of(const struct flow_record *record)
{
	return (struct sampling_basis){
		.sampler = record->sampler,
		.has = record->has & SAMPLING_BASIS_HAS,
		.sampling = record->sampling,
		.input = record->input,
		.output = record->output,
		.template_id = record->template_id,
		.direction = record->direction,
	};
}

/* Returns true if no option describes one sampler, interface or template of the exporter. */
static inline bool sampling_is_uniform(const struct sampling_knowledge *knowledge)
{
	return knowledge->own->n == 0 && knowledge->process == NULL;
}

/* Returns true if the record has the same verdict as one with this basis. */
static inline bool sampling_is_same(const struct sampling_knowledge *knowledge,
	const struct sampling_basis *basis, const struct flow_record *record)
{
	if (((record->has & SAMPLING_BASIS_HAS) ^ basis->has) != 0 ||
		record->sampling != basis->sampling || record->sampler != basis->sampler)
		return false;
	return sampling_is_uniform(knowledge) ||
	       (record->input == basis->input && record->output == basis->output &&
		       record->template_id == basis->template_id &&
		       record->direction == basis->direction);
}

/*
 * Returns the coarsest interval that options describe for records of the exporter: 0 if they
 * describe none, SAMPLING_RATIO_UNKNOWN if they describe only unknown ones.
 */
uint32_t sampling_described(const struct sampling_knowledge *knowledge);

/*
 * The cross-check: packets that passed a sampler over samples that it took, the lost included. A
 * table of the samplers that were heard last: one that was pushed out starts anew.
 */
struct sampling_checks;

size_t sampling_checks_memory(void);
struct sampling_checks *sampling_checks_create(void);
void sampling_checks_destroy(struct sampling_checks *checks);

/* Result of a check. */
struct sampler_news {
	/* The interval by the sample pool, where that is not the announced one by more than chance
	 * allows, once for each sampler; else 0. */
	uint32_t measured;
	/* Samples that the agent took and did not send since the sampler's last one: by its count of
	 * drops, and by their sequence numbers. */
	uint32_t lost;
	/* The interval by the sample pool, once it is known to disagree; else 0. */
	uint32_t pool_interval;
	/* If that is coarser: packets of the pool beyond those of samples since the last sample.
	 * Chance makes some of them negative. */
	int64_t excess;
};

/*
 * Another sample; `owner` is its domain's, never 0. breaks: how often datagrams of the domain were
 * missing or late so far; what is missing then was not lost by the agent.
 */
struct sampler_news sampling_check(struct sampling_checks *checks, uint64_t owner, uint32_t breaks,
	const struct sampler_state *sampler);
