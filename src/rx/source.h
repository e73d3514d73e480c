/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the feeder reads packets from: capture files (rx/replay.c) or the generator (rx/generate.c).
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/link.h"

#define SOURCE_ERROR_MAX 512 /* one line: what, where, what to do */

struct source_packet {
	const uint8_t *data; /* valid until the next call of next() */
	uint32_t captured;   /* bytes at data */
	uint32_t wire_len;   /* bytes on the wire without FCS */
	int64_t time;        /* ns since 1970-01-01 UTC */
	enum link_type link;
};

struct source {
	/*
	 * 1: *packet is filled. 0: the end. -1: damage; error holds one line, and what came before
	 * it counts. After 0 or -1 it is not called again.
	 */
	int (*next)(struct source *source, struct source_packet *packet);
	/* Share of the source that was read, 0 to 1; negative where it cannot be known. Any thread.
	 */
	double (*progress)(const struct source *source);
	void (*close)(struct source *source); /* frees the source */
	char error[SOURCE_ERROR_MAX];
};

/*
 * Opens capture files, merged by time ("-" is standard input). Returns NULL and one line in
 * error[SOURCE_ERROR_MAX] where one of them cannot be measured: nothing was read then.
 */
struct source *replay_open(const char *const *paths, unsigned int nb_paths, char *error);

struct synthetic_spec;

/* Opens the generator. Returns NULL and one line in error[] where memory is missing. */
struct source *generate_open(const struct synthetic_spec *spec, char *error);
