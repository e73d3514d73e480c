/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * How an exporter samples: what its samples, headers, options and records say, and the operator;
 * and whether the sample pool of sFlow agrees with what is said.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/rows.h"
#include "wire/wire.h"

/* What the options of a domain said. Zeroed at the start but for the seed, a secret because senders
 * choose what is looked up; one without options allocates nothing. */
struct sampling {
	struct sampling_interval *intervals; /* [capacity], open addressing */
	uint32_t n, capacity;
	uint32_t of_domain; /* 0: not said */
	bool has_samplers;  /* some of them do not look at all packets */
	bool turned_away;   /* there was no room for all of them */
	/* The caller's: records have a field for their sampler; some were taken to be unsampled. */
	bool named, unsampled;
	uint64_t seed;
};

/* Why packets of records of which nothing says that they are sampled may be so all the same. */
enum sampling_doubt {
	SAMPLING_SURE,
	SAMPLING_UNSAID,   /* they name a sampler of whose interval nothing was said */
	SAMPLING_UNNAMED,  /* samplers were described, and no record has a field for one */
	SAMPLING_TOO_MANY, /* more was described than is remembered */
	SAMPLING_LATE,     /* what was described now was not when records counted */
};

struct sampling_interval {
	uint64_t id;   /* of the sampler or interface */
	uint32_t kind; /* 0: an empty cell */
	uint32_t interval;
};

/*
 * Remembers the interval that an options record says, for at most `limit` samplers and interfaces;
 * limit is a power of two up to SAMPLING_LIMIT_MAX. Whether that is news.
 */
#define SAMPLING_LIMIT_MAX 1024
bool sampling_learn(struct sampling *sampling, const struct wire_option *option, uint32_t limit);
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

/* The interval of a record, 1 or more; configured: --exporter's, or 0. */
uint32_t sampling_of(const struct sampling *sampling, const struct flow_record *record,
	enum wire_protocol protocol, uint32_t configured, enum sampling_source *source);

/* What there is to doubt where the source is SAMPLING_NONE; SAMPLING_UNNAMED and SAMPLING_LATE are
 * for the caller to say, who sees all records. Most are such. */
static inline enum sampling_doubt sampling_doubt(
	const struct sampling *sampling, const struct flow_record *record)
{
	if (sampling->turned_away)
		return SAMPLING_TOO_MANY;
	return record->has & FLOW_SAMPLER && record->sampler != 0 ? SAMPLING_UNSAID : SAMPLING_SURE;
}

/*
 * The cross-check: packets that passed a sampler over samples that it took, the lost included. A
 * table of the samplers that were heard last: one that was pushed out starts anew.
 */
struct sampling_checks;

size_t sampling_checks_memory(void);
struct sampling_checks *sampling_checks_create(void);
void sampling_checks_destroy(struct sampling_checks *checks);

/*
 * Another sample; `owner` is its domain's, never 0. Returns what the pool says, where that is not
 * the interval by more than chance allows, once for each sampler; else 0.
 */
uint32_t sampling_check(
	struct sampling_checks *checks, uint64_t owner, const struct wire_sampler *sampler);
