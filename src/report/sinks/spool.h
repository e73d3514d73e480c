/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A spool is a folder in which rows wait for their receiver, even after the end of the run. The
 * rows of one report are a segment. A segment is a file with a first line, which has a checksum.
 * The file appears only when it is complete. It is deleted when all its rows have a fate.
 *
 * One thread adds segments, and another one takes the oldest. Any thread may read the counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define SPOOL_WHY_MAX 400

struct spool;

struct spool_segment {
	uint64_t rows;
	int64_t start; /* start of the epoch of its rows, ns since 1970-01-01 UTC */
	/* text to send before these rows at the start of a connection; may be empty */
	struct text header;
	struct text text; /* the rows, as sent */
};

/* Contents of a spool that an earlier run left. */
struct spool_found {
	uint64_t rows;
	uint32_t damaged;      /* number of damaged files, which were renamed */
	uint64_t damaged_rows; /* rows in the damaged files, as far as known */
};

struct spool_position {
	const char *folder; /* created if missing */
	/* maximum bytes. To make room, damaged files are deleted, the oldest first. */
	uint64_t size;
	const char *what; /* kind and format of the rows, such as "flows json" */
	const char *url;  /* URL of the sink */
};

/*
 * Opens a spool. Returns NULL if the folder cannot be used, with the reason in why[SPOOL_WHY_MAX]:
 * another run uses it, it has rows of another kind or for another URL, or a file cannot be read.
 * Then no segment has changed.
 */
struct spool *spool_open(
	const struct spool_position *options, struct spool_found *found, char *why);
/* Frees the spool. Its files stay. NULL is allowed. */
void spool_close(struct spool *spool);

/*
 * Adds a segment: writes it to the disk, and sets *why to NULL. If that fails, sets *why to the
 * reason, and keeps the segment in memory if no other segment waits. Returns NULL if the segment
 * was added, else the reason.
 */
const char *spool_put(struct spool *spool, const struct spool_segment *segment, const char **why);

enum spool_result {
	SPOOL_EMPTY,
	SPOOL_SEGMENT,
	/* the file is damaged and was removed from the spool; segment->rows are lost */
	SPOOL_DAMAGED,
	SPOOL_UNREADABLE, /* the file cannot be read now, see errno; it stays in the spool */
};

/*
 * Reads the oldest segment. It stays in the spool until spool_done(). The caller frees its texts.
 */
enum spool_result spool_oldest(struct spool *spool, struct spool_segment *segment);
void spool_done(struct spool *spool);
/*
 * Drops the segment that is kept in memory. Returns the number of its rows. Call it after both
 * threads have ended.
 */
uint64_t spool_give_up(struct spool *spool);

/*
 * Stores the epoch start of the oldest segment, ns since 1970-01-01 UTC. Returns false if the spool
 * is empty.
 */
bool spool_oldest_start(struct spool *spool, int64_t *start);
uint64_t spool_rows(struct spool *spool);
/* returns the disk space, including that of damaged files */
uint64_t spool_bytes(struct spool *spool);
