/* SPDX-License-Identifier: BSD-3-Clause */

/* --export forwarded: a row for each port that forwards. */

#include "report/rows/rows.h"
#include "rx/port/forwarding.h"

#define AT(member)    .at = offsetof(struct report_forwarded, member)
#define COUNT(member) {#member, COLUMN_U64, AT(counts.member)},
#define TIME(member)                                                                               \
	{                                                                                          \
#member, COLUMN_U64, AT(member), .known = offsetof(struct report_forwarded, timed) \
	}

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"in", COLUMN_STRING, AT(in)},
	{"out", COLUMN_STRING, AT(out)},
	COUNT(received) FORWARDED_FATES(COUNT) COUNT(bytes) TIME(p50_ns),
	TIME(p99_ns),
	TIME(p999_ns),
	TIME(max_ns),
};

ITEMS(epoch, forwarded, nb_forwarded)

const struct output output_forwarded = {
	OUTPUT_PART(FORWARDED, "forwarded", "forwarded",
		.inapplicable = forward_option_inapplicable,
		.help = "Write packets that --forward sent, those it lost, by "
			"reason, and the delay."),
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
