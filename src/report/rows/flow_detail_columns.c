/* SPDX-License-Identifier: BSD-3-Clause */

/* Columns of --flow-detail. Values that need a higher level of detail are empty. */

#include "report/rows/rows.h"
#include "sketch/flow_states.h"

#define WINDOWS_PER_SECOND 1000

enum figure {
	STATE,
	DEEP_PACKETS,
	PEAK_BPS,
	BURSTS,
	GAP_MIN_NS,
	GAP_MEAN_NS,
	RETRANSMITTED,
	OUT_OF_ORDER,
	ZERO_WINDOWS,
	FIGURES,
};

static const char *const names[FIGURES] = {
	[STATE] = "state",
	[DEEP_PACKETS] = "deep_packets",
	[PEAK_BPS] = "peak_bps",
	[BURSTS] = "bursts",
	[GAP_MIN_NS] = "gap_min_ns",
	[GAP_MEAN_NS] = "gap_mean_ns",
	[RETRANSMITTED] = "retransmitted",
	[OUT_OF_ORDER] = "out_of_order",
	[ZERO_WINDOWS] = "zero_windows",
};

void columns_add_deep(struct columns *columns, const struct column *column)
{
	for (uint32_t i = 0; i < FIGURES; i++)
		columns_add(columns, &(struct column){
					     .name = names[i],
					     .type = i == STATE ? COLUMN_TEXT : COLUMN_NUMBER,
					     .index = i,
					     .print = column->print,
				     });
}

static bool is_known(const struct flow_figures *figures, enum figure figure)
{
	switch (figure) {
	case STATE:
	case DEEP_PACKETS: return true;
	case RETRANSMITTED:
	case OUT_OF_ORDER:
	case ZERO_WINDOWS: return figures->tcp;
	default: return figures->packets > 0;
	}
}

static uint64_t value(const struct flow_figures *figures, enum figure figure)
{
	switch (figure) {
	case PEAK_BPS: return figures->peak_bytes * 8 * WINDOWS_PER_SECOND;
	case BURSTS: return figures->bursts;
	case GAP_MIN_NS: return figures->gap_min;
	case GAP_MEAN_NS: return (figures->gaps + figures->packets / 2) / figures->packets;
	case RETRANSMITTED: return figures->retransmitted;
	case OUT_OF_ORDER: return figures->out_of_order;
	case ZERO_WINDOWS: return figures->zero_windows;
	default: return figures->packets;
	}
}

void deep_print(struct text *text, const struct column *column, const struct flow_figures *figures)
{
	enum figure figure = (enum figure)column->index;

	if (!is_known(figures, figure))
		return;
	if (figure == STATE)
		text_str(text, flow_depth_word(figures->state));
	else
		text_u64(text, value(figures, figure));
}
