/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A spool is a folder in which rows wait for their receiver, even after the end of the run. The
 * rows of one report are a segment: a file with a checksum, which is deleted when all its rows have
 * a fate. One thread adds segments, another one takes the oldest, and any thread may read the
 * counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define SPOOL_WHY_MAX 400

struct spool;

struct spool_segment {
	uint64_t rows;
	int64_t start; /* start of the epoch of its rows, ns since 1970-01-01 UTC */
	/* sent before the rows at the start of a connection; may be empty */
	struct text header;
	struct text text;
};

/* Contents of a spool that an earlier run left. */
struct spool_found {
	uint64_t rows;
	uint32_t damaged;      /* damaged files, which were renamed */
	uint64_t damaged_rows; /* rows in the damaged files, as far as known */
};

struct spool_position {
	const char *folder; /* created if missing */
	/* maximum bytes; damaged files are deleted to make room, the oldest first */
	uint64_t size;
	const char *what; /* kind and format of the rows, such as "flows json" */
	const char *url;
};

/*
 * Returns NULL with the reason in why[SPOOL_WHY_MAX] if another run uses the folder, it has rows of
 * another kind or for another URL, or a file cannot be read. No segment has changed then.
 */
struct spool *spool_open(
	const struct spool_position *options, struct spool_found *found, char *why);
/* The files stay. */
void spool_close(struct spool *spool);

/*
 * Writes a segment to the disk. If that fails, sets *why to the reason, else to NULL, and keeps the
 * segment in memory if no other segment waits. Returns NULL if the segment was added, else the
 * reason.
 */
const char *spool_put(struct spool *spool, const struct spool_segment *segment, const char **why);

enum spool_result {
	SPOOL_EMPTY,
	SPOOL_SEGMENT,
	/* damaged and removed from the spool; segment->rows are lost */
	SPOOL_DAMAGED,
	SPOOL_UNREADABLE, /* cannot be read now, see errno; stays in the spool */
};

/* The segment stays in the spool until spool_done(). The caller frees its texts. */
enum spool_result spool_oldest(struct spool *spool, struct spool_segment *segment);
void spool_done(struct spool *spool);
/*
 * Drops the segment that is kept in memory. Returns its number of rows. Call it after both threads
 * have ended.
 */
uint64_t spool_give_up(struct spool *spool);

/*
 * Stores the epoch start of the oldest segment, ns since 1970-01-01 UTC. Returns false if the spool
 * is empty.
 */
bool spool_oldest_start(struct spool *spool, int64_t *start);
uint64_t spool_rows(struct spool *spool);
/* disk space, including that of damaged files */
uint64_t spool_bytes(struct spool *spool);
