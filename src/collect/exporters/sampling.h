/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Determines the sampling interval of a record. The first source with an interval decides
 * (docs/COLLECTOR.md): the record, its sFlow sample or NetFlow v5 header; options about its
 * sampler, interface or template; about a part of the exporter; about its domain; options of domain
 * 0 about its domain; --exporter ...,sampling=N, which also replaces an unknown ratio.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"
#include "flow_protocols/flow_protocol.h"

/* Initialize with 0, except for the seed, which is secret: senders choose the hashed keys. */
struct sampling {
	struct sampling_interval *intervals; /* [capacity], open addressing */
	uint32_t n, capacity;
	uint32_t of_domain; /* interval of the domain; 0: unknown */
	uint32_t of_parts;  /* smallest interval of its parts, such as line cards; 0: unknown */
	bool parts_differ;
	bool parts_changed; /* changed since the last sampling_settle() */
	bool selects_flows; /* some flows are not exported (RFC 7014) */
	bool has_samplers;  /* some samplers do not select all packets */
	bool turned_away;
	/* Set by the caller: records have a sampler field, and some were counted as unsampled. */
	bool named, unsampled;
	uint64_t seed;
};

/* SAMPLING_SURE, or why the interval of a record may be wrong. */
enum sampling_certainty {
	SAMPLING_SURE,
	SAMPLING_UNDESCRIBED, /* the sampler of a record was not described */
	SAMPLING_UNNAMED,     /* samplers were described, but records have no sampler field */
	SAMPLING_TOO_MANY,    /* more samplers were described than fit the table */
	SAMPLING_LATE,        /* the sampler was described after records were counted */
	SAMPLING_RATIO,       /* packets are sampled at an unknown ratio */
	SAMPLING_PARTS,       /* parts of the exporter differ, and records do not name one */
	SAMPLING_FLOWS,
};

struct sampling_interval {
	uint64_t id;
	uint32_t kind; /* 0: an empty cell */
	uint32_t interval;
};

/*
 * Stores the sampling interval of an options record from `domain`. Only domain 0 may describe
 * another domain. `limit`: cells, a power of two up to SAMPLING_LIMIT_MAX. Returns true if the
 * interval changed.
 */
#define SAMPLING_LIMIT_MAX 1024
bool sampling_learn(struct sampling *sampling, uint32_t domain, const struct option_record *option,
	uint32_t limit);
/* Precomputes results that are common to all records, before sampling_of(). */
void sampling_settle(struct sampling *sampling);
void sampling_forget(struct sampling *sampling);

/* Serializes all intervals. Returns the number of bytes; 0: nothing is known. */
#define SAMPLING_INTERVAL_BYTES 16
#define SAMPLING_BYTES_MAX      ((SAMPLING_LIMIT_MAX + 1) * SAMPLING_INTERVAL_BYTES)
uint32_t sampling_write(const struct sampling *sampling, uint8_t bytes[SAMPLING_BYTES_MAX]);
/* Returns false if the bytes are malformed. */
bool sampling_read(struct sampling *sampling, const uint8_t *bytes, uint32_t len, uint32_t limit);

struct sampling_knowledge {
	const struct sampling *own;     /* options of the record's domain */
	const struct sampling *process; /* options of domain 0; NULL: none, or `own` has them */
	uint32_t domain;
	uint32_t configured;
	/*
	 * Records count packets times their sampling interval, which is at most `scaled`, and do
	 * not state it. 0: they do not; SAMPLING_RATIO_UNKNOWN: the interval is unknown.
	 */
	uint32_t scaled;
	enum flow_protocol protocol;
};

struct sampling_verdict {
	uint32_t interval; /* 1 if the ratio is unknown */
	enum sampling_source source;
	/* never SAMPLING_UNNAMED or SAMPLING_LATE, which the caller detects */
	enum sampling_certainty certainty;
};

/* Returns true if options describe samplers that do not select all packets. */
bool sampling_has_samplers(const struct sampling_knowledge *knowledge);

struct sampling_verdict sampling_of(
	const struct sampling_knowledge *knowledge, const struct flow_record *record);

/* Fields of a record that determine its struct sampling_verdict. */
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

/* Returns true if no option describes a single sampler, interface or template. */
static inline bool sampling_is_uniform(const struct sampling_knowledge *knowledge)
{
	return knowledge->own->n == 0 && knowledge->process == NULL;
}

/* Returns true if the record has the same verdict as one with this basis. */
static inline bool sampling_is_same(const struct sampling_knowledge *knowledge,
	const struct sampling_basis *basis, const struct flow_record *record)
{
	uint64_t different = ((record->has & SAMPLING_BASIS_HAS) ^ basis->has) |
			     (record->sampling ^ basis->sampling) |
			     (record->sampler ^ basis->sampler);

	if (different != 0)
		return false;
	return sampling_is_uniform(knowledge) ||
	       (record->input == basis->input && record->output == basis->output &&
		       record->template_id == basis->template_id &&
		       record->direction == basis->direction);
}

/* Returns the largest interval by options; 0: none, SAMPLING_RATIO_UNKNOWN: only unknown ones. */
uint32_t sampling_described(const struct sampling_knowledge *knowledge);

/* Compares the sample pool (packets that an sFlow sampler processed) with the samples. */
struct sampling_checks;

size_t sampling_checks_memory(void);
struct sampling_checks *sampling_checks_create(void);
void sampling_checks_destroy(struct sampling_checks *checks);

struct sampler_result {
	/* interval by the sample pool, once per sampler, if it differs significantly; else 0 */
	uint32_t measured;
	/* samples that the agent took but did not send since the last sample */
	uint32_t lost;
	/* interval by the sample pool if the difference was significant once; else 0 */
	uint32_t pool_interval;
	/*
	 * if pool_interval exceeds the announced interval: packets of the pool minus upscaled
	 * samples
	 */
	int64_t excess;
};

/*
 * owner: session ID, not 0. breaks: gaps so far, whose samples the agent did not lose. Returns false
 * if all of *result is 0.
 */
bool sampling_check(struct sampling_checks *checks, uint64_t owner, uint32_t breaks,
	const struct sampler_state *sampler, struct sampler_result *result);
