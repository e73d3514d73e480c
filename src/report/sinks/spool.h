/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A folder in which rows wait for their receiver, also after the run. The rows of one report are a
 * segment: a file with a header line and a checksum. It appears complete or not at all, and is
 * deleted when the fate of its rows is known.
 *
 * One thread adds segments, and one takes the oldest. Any thread may read the counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define SPOOL_WHY_MAX 400

struct spool;

struct spool_segment {
	uint64_t rows;
	int64_t start;      /* start of its epoch, ns since 1970 */
	struct text header; /* text sent first on a connection with these rows; may be empty */
	struct text text;   /* the rows, as sent */
};

/* Contents left by an earlier run. */
struct spool_found {
	uint64_t rows;
	uint32_t damaged;      /* damaged files, which were renamed */
	uint64_t damaged_rows; /* rows of damaged files, if known */
};

struct spool_position {
	const char *folder; /* created if missing */
	uint64_t size;      /* limit in bytes; damaged files are deleted for it, oldest first */
	const char *what;   /* the kind of rows: "flows json" */
	const char *url;    /* URL of the sink */
};

/*
 * Returns NULL with a phrase in why[SPOOL_WHY_MAX] if the folder cannot be used: another run uses
 * it, it has rows of another kind or URL, or a file is not readable. Then no segment was changed.
 */
struct spool *spool_open(
	const struct spool_position *options, struct spool_found *found, char *why);
/* Frees the spool and keeps its files. NULL: nothing happens. */
void spool_close(struct spool *spool);

/*
 * Adds a segment. Returns NULL, or the reason why it was not added. A segment that cannot be
 * written is kept in memory if no other one waits: returns NULL with the reason in *why.
 */
const char *spool_put(struct spool *spool, const struct spool_segment *segment, const char **why);

enum spool_result {
	SPOOL_EMPTY,
	SPOOL_SEGMENT,
	SPOOL_DAMAGED,    /* segment->rows are lost; the segment was removed */
	SPOOL_UNREADABLE, /* not readable now, see errno; the segment stays */
};

/* Reads the oldest segment, which stays until spool_done(). The caller frees its texts. */
enum spool_result spool_oldest(struct spool *spool, struct spool_segment *segment);
void spool_done(struct spool *spool);
/* Called after both threads. Drops the segment that is kept in memory. Returns its rows. */
uint64_t spool_give_up(struct spool *spool);

/* Stores the start of the oldest segment. Returns false if there is none. */
bool spool_oldest_start(struct spool *spool, int64_t *start);
uint64_t spool_rows(struct spool *spool);
uint64_t spool_bytes(struct spool *spool); /* disk space, including damaged files */
