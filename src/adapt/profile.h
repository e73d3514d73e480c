/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A profile has the time per packet of each part of packet processing on a host.
 * `sketchtap-bench profile` writes it as a text file. `plan` and a run read it. The file has a
 * first line, the facts of the host, column names, one row for each part and traffic pattern, and
 * the number of rows. Lines that begin with # are comments.
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
	bool foreign;
};

OPTION_OWNER(profile)

#define PROFILE_TEXT_MAX  256
#define PROFILE_KEY_MAX   128
#define PROFILE_ROWS_MAX  4096
#define PROFILE_ERROR_MAX (PROFILE_TEXT_MAX * 3)

/* Facts that affect processing times. A profile is valid only on hosts with the same facts. */
enum profile_fact {
	PROFILE_CPU,   /* CPU model and cache sizes */
	PROFILE_BUILD, /* version of sketchtap; compiler, its version and relevant flags */
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
	PROFILE_KEY,      /* mask and hash a key */
	PROFILE_SKETCH,   /* update the sketch of a measurement */
	PROFILE_DISTINCT, /* update the HyperLogLog of a measurement */
	PROFILE_FREE,
	PROFILE_PARTS,
};

/* Traffic pattern of a sketch row. */
enum profile_traffic {
	PROFILE_ANY,      /* all rows of parts other than sketches */
	PROFILE_ONE,      /* a single flow: no cache misses */
	PROFILE_CACHED,   /* flows that fit in the L2 cache */
	PROFILE_UNCACHED, /* flows that exceed the largest cache, or fill the sketch */
	PROFILE_NEW,      /* each packet belongs to a new flow */
	PROFILE_TRAFFICS,
};

extern const char *const profile_traffic_names[PROFILE_TRAFFICS];

/* Subject of a row. */
struct profile_what {
	enum profile_part part;
	enum profile_traffic traffic;
	bool single;                     /* true: one packet per call; false: full bursts */
	char key[PROFILE_KEY_MAX];       /* argument of --key, or "" if the part has no key */
	const struct sketch_ops *sketch; /* NULL: not a sketch; the fields below are not used */
	uint32_t depth;
	uint64_t width;
	enum sketch_sharing sharing;
	enum sketch_metric metric;
	enum flow_depth state; /* state of all flows; only used with flow tables */
};

struct profile_row {
	struct profile_what what;
	uint64_t flows;            /* flows in the sketch; 0: not a sketch row */
	uint64_t left_out;         /* dropped samples, in which another program used the CPU */
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

/* Appends a copy of the row. Returns false if out of memory, or if there are PROFILE_ROWS_MAX. */
bool profile_add(struct profile *profile, const struct profile_row *row);
void profile_free(struct profile *profile);

/* Writes a description: "count-min of src, 4 x 65536, packets". */
#define PROFILE_WHAT_MAX 256
void profile_describe(const struct profile_what *what, char text[PROFILE_WHAT_MAX]);

void profile_write(const struct profile *profile, FILE *out);

/*
 * Reads a profile. `name` is the file name for error messages. Returns false on error, with the
 * reason and the line number in error[PROFILE_ERROR_MAX].
 */
bool profile_read(struct profile *profile, FILE *in, const char *name, char *error);

/*
 * Returns true if the facts of the profile match the host. Otherwise writes the difference to
 * error[PROFILE_ERROR_MAX].
 */
bool profile_is_of(const struct profile *profile, const struct profile_host *host, const char *name,
	char *error);
