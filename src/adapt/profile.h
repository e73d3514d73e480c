/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A profile: the time per packet of each part of packet processing on a host. `sketchtap-bench
 * profile` writes it as a text file.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adapt/distribution.h"
#include "config/option.h"
#include "key/key.h"
#include "sketch/sketch.h"

struct profile_options {
	const char *file;
	bool foreign;
};

OPTION_OWNER(profile)

#define PROFILE_TEXT_MAX  256
#define PROFILE_KEY_MAX   128
#define PROFILE_ROWS_MAX  4096
#define PROFILE_ERROR_MAX (PROFILE_TEXT_MAX * 3)

/* A profile is valid only on hosts with the same facts. */
enum profile_fact {
	PROFILE_CPU,   /* CPU model, cache sizes */
	PROFILE_BUILD, /* version of sketchtap; compiler, its version and relevant flags */
	PROFILE_DPDK,
	PROFILE_FACTS,
};

struct profile_host {
	char facts[PROFILE_FACTS][PROFILE_TEXT_MAX];
};

enum profile_part {
	PROFILE_TIMER,
	PROFILE_RECEIVE,
	PROFILE_PARSE,
	PROFILE_KEY,
	PROFILE_SKETCH,
	PROFILE_DISTINCT,
	PROFILE_FREE,
	PROFILE_PARTS,
};

/* Traffic pattern with which a sketch was measured. */
enum profile_traffic {
	PROFILE_ANY,      /* not a sketch */
	PROFILE_ONE,      /* a single flow: no cache misses */
	PROFILE_CACHED,   /* flows that fit in the L2 cache */
	PROFILE_UNCACHED, /* flows that exceed the largest cache, or fill the sketch */
	PROFILE_NEW,
	PROFILE_TRAFFICS,
};

extern const char *const profile_traffic_names[PROFILE_TRAFFICS];

struct profile_what {
	enum profile_part part;
	enum profile_traffic traffic;
	bool single;                     /* one packet per call, not full bursts */
	bool lookup;                     /* only finding the key; implies `single` */
	char key[PROFILE_KEY_MAX];       /* argument of --key; "": none */
	const struct sketch_ops *sketch; /* NULL: not a sketch, and the members below are unused */
	uint32_t depth;
	uint64_t width;
	enum sketch_sharing sharing;
	enum sketch_metric metric;
	enum flow_depth state;
};

struct profile_row {
	struct profile_what what;
	uint64_t flows;            /* in the sketch; 0: not a sketch */
	uint64_t left_out;         /* samples dropped because another program used the CPU */
	struct distribution times; /* ns per packet */
};

struct profile {
	struct profile_host host;
	uint32_t n;
	struct profile_row *rows;
};

const struct profile_row *profile_find(
	const struct profile *profile, const struct profile_what *what);

/* Appends a copy. Returns false if out of memory or PROFILE_ROWS_MAX rows exist. */
bool profile_add(struct profile *profile, const struct profile_row *row);
void profile_free(struct profile *profile);

/* Example: "count-min of src, 4 x 65536, packets". */
#define PROFILE_WHAT_MAX 256
void profile_describe(const struct profile_what *what, char text[PROFILE_WHAT_MAX]);

void profile_write(const struct profile *profile, FILE *out);

/*
 * name: file name for error messages. On error, returns false with a line in
 * error[PROFILE_ERROR_MAX].
 */
bool profile_read(struct profile *profile, FILE *in, const char *name, char *error);

/*
 * Compares the facts of the profile with those of the host. If they differ, returns false with the
 * difference in error[PROFILE_ERROR_MAX].
 */
bool profile_is_of(const struct profile *profile, const struct profile_host *host, const char *name,
	char *error);
