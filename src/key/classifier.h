/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Finds the conditions that a 5-tuple matches: Baboescu and Varghese, "Scalable Packet
 * Classification" (2001). Each field selects a bit vector of the boxes that contain its value. The
 * boxes of a 5-tuple are the AND of five vectors. A summary has a bit for each nonzero word of a
 * vector, so that a lookup reads only words in which all fields have a box. Boxes of equal order are
 * sorted by their fields, as that paper advises, so that those of a value are in few words.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key/key.h"
#include "key/match.h"

/* Maximum number of boxes, over all conditions. */
#define CLASSIFIER_BOXES_MAX 16384

#define CLASSIFIER_WORDS_MAX     (CLASSIFIER_BOXES_MAX / 64)
#define CLASSIFIER_SUMMARIES_MAX (CLASSIFIER_WORDS_MAX / 64)

struct classifier;

/*
 * matches[n] have at most CLASSIFIER_BOXES_MAX boxes. order[n]: a lookup finds conditions of lower
 * order first; NULL: in any order. Returns NULL if out of memory.
 */
struct classifier *classifier_create(
	const struct match *matches, const uint32_t *order, uint32_t n);
void classifier_destroy(struct classifier *classifier); /* NULL is allowed */
size_t classifier_bytes(const struct classifier *classifier);

/* Position in the boxes of a 5-tuple. */
struct classifier_lookup {
	const struct classifier *classifier;
	const uint64_t *vectors[5];
	uint64_t left;                            /* boxes of the current word */
	uint64_t words[CLASSIFIER_SUMMARIES_MAX]; /* words to read */
	uint32_t word, summary;
};

#define CLASSIFIER_NONE UINT32_MAX

void classifier_look_up4(
	const struct classifier *classifier, const struct key4 *key, struct classifier_lookup *to);
void classifier_look_up6(
	const struct classifier *classifier, const struct key6 *key, struct classifier_lookup *to);

static inline void classifier_look_up(
	const struct classifier *classifier, const struct key *key, struct classifier_lookup *to)
{
	if (key->family == KEY_IPV4)
		classifier_look_up4(classifier, &key->v4, to);
	else
		classifier_look_up6(classifier, &key->v6, to);
}

/*
 * Returns the next condition that matches, or CLASSIFIER_NONE. It returns a condition once for each
 * of its boxes that contain the 5-tuple.
 */
uint32_t classifier_next(struct classifier_lookup *lookup);

/* Skips the first `boxes` boxes in order, except up to 63 in the word of the next one. */
void classifier_skip(struct classifier_lookup *lookup, uint32_t boxes);
