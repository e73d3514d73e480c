/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Draws the screen of `sketchtap top` as lines of text, without a terminal. */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/epoch_view.h"

#define TOP_SCREEN_ROWS_MAX 300
#define VIEW_EPOCHS         10
#define VIEW_FIND_MAX       64

enum view_order {
	VIEW_BY_RANK,  /* metric of the measurement */
	VIEW_BY_SHOWN, /* packets or bytes, whichever the screen shows */
	VIEW_BY_FLOW,
	VIEW_ORDERS,
};

struct view {
	const char *run;
	struct epoch_view *epochs[VIEW_EPOCHS]; /* newest first; the view owns them */
	uint32_t nb_epochs;
	uint64_t missed;  /* epochs that the run deleted before they were received */
	const char *gone; /* why no more epochs arrive; NULL: connected */
	char *measurement;
	bool metric_chosen; /* `bytes` overrides the metric of the measurement */
	bool bytes;
	enum view_order order;
	bool frozen, help, places; /* places: shows exports instead of flows */
	bool finding;              /* the user is typing into `find` */
	char find[VIEW_FIND_MAX];
	uint32_t first;
};

/* Takes ownership of the epoch. */
void view_add(struct view *view, struct epoch_view *epoch);
void view_clear(struct view *view);
/* Returns the chosen measurement; the first one if it no longer exists; NULL if there is none. */
struct epoch_view_measurement *view_measurement(const struct view *view);
bool view_next_measurement(struct view *view);
bool view_shows_bytes(const struct view *view);

enum top_screen_style {
	PICTURE_PLAIN,
	PICTURE_TITLE,
	PICTURE_ALARM, /* lost packets, or a link that is down */
	PICTURE_HEAD,
	PICTURE_FOUND,
	PICTURE_DIM,
};

struct top_screen {
	uint32_t rows, columns; /* rows is at most TOP_SCREEN_ROWS_MAX */
	bool utf8;
	struct top_screen_line {
		enum top_screen_style style;
		struct text text; /* truncated to `columns` characters */
	} lines[TOP_SCREEN_ROWS_MAX];
};

/* Returns false if out of memory. */
bool top_screen_draw(struct top_screen *screen, const struct view *view);
void top_screen_free(struct top_screen *screen);
