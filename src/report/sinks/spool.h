/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * A folder in which rows wait until their place has them, longer than the run if need be. What a
 * report has for the place is a segment: a file of its own that says what it is and has a checksum.
 * It is there as a whole or not at all, and gone when the fate of its rows is known.
 *
 * One thread puts, one takes, the oldest first; anybody may ask how much there is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define SPOOL_WHY_MAX 400

struct spool;

struct spool_segment {
	uint64_t rows;
	int64_t start;      /* of its epoch, ns since 1970 */
	struct text header; /* what begins a connection with such rows; empty: nothing */
	struct text text;   /* the rows, as they go to the place */
};

/* What an earlier run left. */
struct spool_found {
	uint64_t rows;
	uint32_t damaged;      /* files, which stay under another name, */
	uint64_t damaged_rows; /* and as far as known their rows */
};

struct spool_position {
	const char *folder; /* made where it is not there */
	uint64_t size;      /* of the disk, at most; damaged files make room, the oldest first */
	const char *what;   /* the kind of rows: "flows json" */
	const char *url;    /* whose they are */
};

/* NULL with a phrase in why[SPOOL_WHY_MAX] where it cannot be used: another run has it, it has other
 * rows or those of another place, or one cannot be read. Then nothing in it was changed. */
struct spool *spool_open(
	const struct spool_position *options, struct spool_found *found, char *why);
/* What is in it stays. NULL is allowed. */
void spool_close(struct spool *spool);

/* NULL, or why it does not take the segment: then it has none of it. Where nothing else waits it
 * keeps in memory what the disk does not take, and returns NULL, with *why set. */
const char *spool_put(struct spool *spool, const struct spool_segment *segment, const char **why);

enum spool_result {
	SPOOL_EMPTY,
	SPOOL_SEGMENT,
	SPOOL_DAMAGED,    /* segment->rows are lost; it is not the oldest any more */
	SPOOL_UNREADABLE, /* now; it stays where it is */
};

/* Reads the oldest, whose texts are the caller's; it stays until spool_done(). errno says why it is
 * unreadable. */
enum spool_result spool_oldest(struct spool *spool, struct spool_segment *segment);
void spool_done(struct spool *spool);
/* At the end, when nobody puts or takes any more: forgets what it keeps in memory. Returns its rows. */
uint64_t spool_give_up(struct spool *spool);

/* When the oldest starts; false: there is none. */
bool spool_oldest_start(struct spool *spool, int64_t *start);
uint64_t spool_rows(struct spool *spool);
uint64_t spool_bytes(struct spool *spool); /* on the disk, damaged ones too */
