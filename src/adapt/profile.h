/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Profile: the time per packet of each part of the processing on a host. A text file, written by
 * `sketchtap-bench profile` and read by a run or a plan: first line, host, columns, a row for each
 * part and traffic pattern, number of rows. Lines that begin with # are comments.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adapt/distribution.h"
#include "config/option.h"
#include "key/key.h"
#include "sketch/sketch.h"

struct profile_options {
	const char *file; /* NULL: none */
	bool foreign;     /* accept a profile of another host */
};

OPTION_OWNER(profile)

#define PROFILE_TEXT_MAX  256
#define PROFILE_KEY_MAX   128
#define PROFILE_ROWS_MAX  4096
#define PROFILE_ERROR_MAX (PROFILE_TEXT_MAX * 3)

/* Facts that must match. On a host with other facts the figures are invalid. */
enum profile_fact {
	PROFILE_CPU,   /* model and caches */
	PROFILE_BUILD, /* sketchtap and its compiler, with relevant flags */
	PROFILE_DPDK,
	PROFILE_FACTS,
};

struct profile_host {
	char facts[PROFILE_FACTS][PROFILE_TEXT_MAX];
};

enum profile_part {
	PROFILE_TIMER, /* reading the clock */
	PROFILE_RECEIVE,
	PROFILE_PARSE,
	PROFILE_KEY,      /* mask and hash of a key rule */
	PROFILE_SKETCH,   /* update of a measurement's sketch */
	PROFILE_DISTINCT, /* update of its HyperLogLog */
	PROFILE_FREE,
	PROFILE_PARTS,
};

/* Traffic pattern of a sketch row. */
enum profile_traffic {
	PROFILE_ANY,      /* any; for parts other than sketches */
	PROFILE_ONE,      /* a single flow, so that only the cost of its flow state differs */
	PROFILE_CACHED,   /* flows that fit in the L2 cache */
	PROFILE_UNCACHED, /* flows that exceed the largest cache, or fill the sketch */
	PROFILE_NEW,      /* only new flows (T_i) */
	PROFILE_TRAFFICS,
};

extern const char *const profile_traffic_names[PROFILE_TRAFFICS];

/* Subject of a row. */
struct profile_what {
	enum profile_part part;
	enum profile_traffic traffic;
	bool single;                     /* single packets instead of bursts */
	char key[PROFILE_KEY_MAX];       /* text of --key; "": no key rule */
	const struct sketch_ops *sketch; /* NULL: the fields below are not used */
	uint32_t depth;
	uint64_t width;
	enum sketch_sharing sharing;
	enum sketch_metric metric;
	enum flow_depth state; /* state of all flows, for a sketch with SKETCH_RECORDS */
};

struct profile_row {
	struct profile_what what;
	uint64_t flows;            /* flows in the sketch; 0: not a sketch row */
	uint64_t left_out;         /* samples during which another program had the CPU */
	struct distribution times; /* ns per packet */
};

struct profile {
	struct profile_host host;
	uint32_t n;
	struct profile_row *rows; /* [n], from malloc() */
};

/* Returns the row, or NULL. */
const struct profile_row *profile_find(
	const struct profile *profile, const struct profile_what *what);

/* Returns false if out of memory or above PROFILE_ROWS_MAX. */
bool profile_add(struct profile *profile, const struct profile_row *row);
void profile_free(struct profile *profile);

/* Writes a description: "count-min of src, 4 x 65536, packets". */
#define PROFILE_WHAT_MAX 256
void profile_describe(const struct profile_what *what, char text[PROFILE_WHAT_MAX]);

void profile_write(const struct profile *profile, FILE *out);

/* Returns true, or false with the reason and its line in error[PROFILE_ERROR_MAX]. */
bool profile_read(struct profile *profile, FILE *in, const char *name, char *error);

/* Returns true if the facts match, or false with the difference in error[PROFILE_ERROR_MAX]. */
bool profile_is_of(const struct profile *profile, const struct profile_host *host, const char *name,
	char *error);
