/* SPDX-License-Identifier: BSD-3-Clause */

/* --export prefixes: a row for each prefix that matched packets. */

#include "report/rows/rows.h"
#include "rx/filter/prefix_file.h"

#define AT(member)    .at = offsetof(struct report_rule, member)
#define KNOWN(member) .known = offsetof(struct report_rule, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"prefix", COLUMN_CHARS, AT(prefix)},
	{"name", COLUMN_CHARS, AT(name)},
	{"packets", COLUMN_U64, AT(packets.value)},
	{"bytes", COLUMN_U64, AT(bytes.value)},
	{"flows", COLUMN_U64, AT(flows)},
	{"packets_low", COLUMN_U64, AT(packets.low), .when = COLUMN_KEPT_UP},
	{"packets_high", COLUMN_U64, AT(packets.high), KNOWN(packets.high_known),
		.when = COLUMN_KEPT_UP},
	{"bytes_low", COLUMN_U64, AT(bytes.low), .when = COLUMN_KEPT_UP},
	{"bytes_high", COLUMN_U64, AT(bytes.high), KNOWN(bytes.high_known), .when = COLUMN_KEPT_UP},
};

ITEMS(epoch, rules, nb_rules)

const struct output output_prefixes = {
	OUTPUT_PART(PREFIXES, "rules", "prefixes", .inapplicable = prefix_option_inapplicable,
		.help = "Write packets, bytes and flows of each prefix of --prefixes."),
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
