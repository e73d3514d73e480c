/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What `sketchtap top` shows, as lines of text: no terminal is needed to draw or to test it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/epoch_view.h"

#define TOP_SCREEN_ROWS_MAX 300
#define VIEW_EPOCHS         10 /* of a row's past that are shown */
#define VIEW_FIND_MAX       64

enum view_order {
	VIEW_BY_RANK,  /* of the run: by what the measurement counts */
	VIEW_BY_SHOWN, /* by packets or bytes, whichever is shown */
	VIEW_BY_FLOW,
	VIEW_ORDERS,
};

/* What is looked at, and how. */
struct view {
	const char *run;                        /* its name; NULL: the only one */
	struct epoch_view *epochs[VIEW_EPOCHS]; /* the newest first; they are the view's */
	uint32_t nb_epochs;
	uint64_t missed;           /* epochs that were gone before they were seen */
	const char *gone;          /* why no others come; NULL: they do */
	char *measurement;         /* by name; NULL: the first */
	bool metric_chosen, bytes; /* what is shown of rows; else what is counted */
	enum view_order order;
	bool frozen, help, places; /* what became of rows at each place, in the place of flows */
	bool finding;              /* `find` is being typed */
	char find[VIEW_FIND_MAX];
	uint32_t first; /* rows that are scrolled over */
};

/* Takes the epoch: it is the newest. */
void view_add(struct view *view, struct epoch_view *epoch);
/* Forgets all epochs. */
void view_clear(struct view *view);
/* The measurement that is shown; NULL: there is none. */
struct epoch_view_measurement *view_measurement(const struct view *view);
/* Shows the next one. False where memory is missing. */
bool view_next_measurement(struct view *view);
bool view_shows_bytes(const struct view *view);

enum top_screen_style {
	PICTURE_PLAIN,
	PICTURE_TITLE,
	PICTURE_ALARM, /* something was lost, or is down */
	PICTURE_HEAD,  /* of columns */
	PICTURE_FOUND,
	PICTURE_DIM,
};

struct top_screen {
	uint32_t rows, columns; /* rows is at most TOP_SCREEN_ROWS_MAX */
	bool utf8;
	struct top_screen_line {
		enum top_screen_style style;
		struct text text; /* no longer than the columns */
	} lines[TOP_SCREEN_ROWS_MAX];
};

/* Draws all lines anew. Returns false where memory is missing. */
bool top_screen_draw(struct top_screen *screen, const struct view *view);
void top_screen_free(struct top_screen *screen);
