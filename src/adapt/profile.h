/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the parts of a packet cost on a host: a file that `sketchtap-bench profile` writes and a run
 * or a plan is given. Lines of text: what it is, of which host, columns, a row for each part and
 * traffic, and how many rows there are. Lines that begin with # are for people.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "adapt/distribution.h"
#include "config/option.h"
#include "key/key.h"
#include "sketch/sketch.h"

struct profile_options {
	const char *file; /* NULL: there is none */
	bool foreign;     /* it may be of another host */
};

OPTION_OWNER(profile)

#define PROFILE_TEXT_MAX  256
#define PROFILE_KEY_MAX   128
#define PROFILE_ROWS_MAX  4096
#define PROFILE_ERROR_MAX (PROFILE_TEXT_MAX * 3)

/* What figures hold for: they are worth nothing on another one. */
enum profile_fact {
	PROFILE_CPU,   /* model and caches */
	PROFILE_BUILD, /* sketchtap and its compiler, with the flags that matter */
	PROFILE_DPDK,
	PROFILE_FACTS,
};

struct profile_host {
	char facts[PROFILE_FACTS][PROFILE_TEXT_MAX];
};

enum profile_part {
	PROFILE_TIMER, /* to look at the clock */
	PROFILE_RECEIVE,
	PROFILE_PARSE,
	PROFILE_KEY,      /* the mask and the hash of a key rule */
	PROFILE_SKETCH,   /* the update of a measurement's sketch */
	PROFILE_DISTINCT, /* of its HyperLogLog */
	PROFILE_FREE,
	PROFILE_PARTS,
};

/* What a sketch is fed. */
enum profile_traffic {
	PROFILE_ANY,    /* of a part that is no sketch */
	PROFILE_ONE,    /* one flow over and over: what its state takes alone (T_p) */
	PROFILE_CACHED, /* so few flows that the nearest caches hold them (T_r^H + T_p) */
	PROFILE_UNCACHED, /* more than the largest cache holds, or the sketch has room for (T_r^M + T_p) */
	PROFILE_NEW, /* new flows alone (T_i) */
	PROFILE_TRAFFICS,
};

extern const char *const profile_traffic_names[PROFILE_TRAFFICS];

/* What a row is of. */
struct profile_what {
	enum profile_part part;
	enum profile_traffic traffic;
	bool single;                     /* packets one by one, else in bursts */
	char key[PROFILE_KEY_MAX];       /* as --key has it; "": not of a key rule */
	const struct sketch_ops *sketch; /* NULL: what follows means nothing */
	uint32_t depth;
	uint64_t width;
	enum sketch_sharing sharing;
	enum sketch_metric metric;
	enum flow_depth state; /* that all flows are in, of a sketch that keeps records */
};

struct profile_row {
	struct profile_what what;
	uint64_t flows;            /* that a sketch was fed; 0: not of one */
	uint64_t left_out;         /* samples during which another program had the CPU */
	struct distribution times; /* ns a packet */
};

struct profile {
	struct profile_host host;
	uint32_t n, room;
	struct profile_row *rows; /* [n], from malloc() */
};

/* As far as what decides what it costs is concerned. */
bool profile_same(const struct profile_what *a, const struct profile_what *b);

/* NULL where there is none. */
const struct profile_row *profile_find(
	const struct profile *profile, const struct profile_what *what);

/* False where there is no memory, or no room. */
bool profile_add(struct profile *profile, const struct profile_row *row);
void profile_free(struct profile *profile);

/* "count-min of src, 4 x 65536, packets" */
#define PROFILE_WHAT_MAX 256
void profile_describe(const struct profile_what *what, char text[PROFILE_WHAT_MAX]);

void profile_write(const struct profile *profile, FILE *out);

/*
 * Returns true, or false with what is wrong, and in which line, in error[PROFILE_ERROR_MAX].
 */
bool profile_read(struct profile *profile, FILE *in, const char *name, char *error);

/* Returns true, or false with what differs in error[PROFILE_ERROR_MAX]. */
bool profile_is_of(const struct profile *profile, const struct profile_host *host, const char *name,
	char *error);
