/* SPDX-License-Identifier: BSD-3-Clause */

/* --export overload: each change of detail, and the share of packets of each measurement. */

#include "parallel/shed/shed_options.h"
#include "report/rows/rows.h"

#define AT(member)    .at = offsetof(struct report_state, member)
#define KNOWN(member) .known = offsetof(struct report_state, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	{"time", COLUMN_TIME, AT(time)},
	{"worker", COLUMN_U32, AT(worker), KNOWN(changed)},
	{"packet", COLUMN_U64, AT(packet), KNOWN(changed)},
	{"measurement", COLUMN_CHARS, AT(measurement)},
	{"from", COLUMN_CHARS, AT(from)},
	{"to", COLUMN_CHARS, AT(to)},
	{"reason", COLUMN_STRING, AT(reason)},
	{"backlog", COLUMN_U64, AT(backlog), KNOWN(changed)},
	{"rate", COLUMN_RATIO, AT(rate)},
	{"cost_ns", COLUMN_RATIO, AT(cost_ns), KNOWN(cost_known)},
	{"target_ns", COLUMN_RATIO, AT(target_ns), KNOWN(target_known)},
	{"share", COLUMN_RATIO, AT(share)},
	{"predicted_ns", COLUMN_RATIO, AT(prediction[ESTIMATE_COSTS]),
		KNOWN(predicted[ESTIMATE_COSTS])},
	{"formula_ns", COLUMN_RATIO, AT(prediction[ESTIMATE_FORMULA]),
		KNOWN(predicted[ESTIMATE_FORMULA])},
	{"predicted_error", COLUMN_RATIO, AT(error[ESTIMATE_COSTS]),
		KNOWN(compared[ESTIMATE_COSTS])},
	{"formula_error", COLUMN_RATIO, AT(error[ESTIMATE_FORMULA]),
		KNOWN(compared[ESTIMATE_FORMULA])},
};

ITEMS(epoch, states, nb_states)

const struct output output_overload = {
	OUTPUT_PART(OVERLOAD, "states", "overload", .inapplicable = shed_policy_option_inapplicable,
		.help = "Write every change of measurement detail under overload."),
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
