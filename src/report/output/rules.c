/* SPDX-License-Identifier: BSD-3-Clause */

/* --rules: what each rule of --monitor saw, a CSV row for every one that saw packets. */

#include "report/output/csv.h"
#include "report/output/output.h"

static void rules_header(struct text *text, uint32_t fields)
{
	(void)fields;
	text_str(text, CSV_EPOCH_HEADER ",prefix,name,packets,bytes,flows\n");
}

static void rules_epoch(struct text *text, const struct report_epoch *epoch)
{
	for (uint32_t r = 0; r < epoch->nb_rules; r++) {
		const struct report_rule *rule = &epoch->rules[r];

		csv_epoch_begin(text, epoch);
		csv_string(text, rule->prefix);
		csv_string(text, rule->name);
		csv_u64(text, rule->packets);
		csv_u64(text, rule->bytes);
		csv_u64(text, rule->flows);
		csv_row_end(text);
	}
}

static uint64_t rules_rows(const struct report_epoch *epoch)
{
	return epoch->nb_rules;
}

const struct output output_rules = {
	.option = "--rules",
	.header = rules_header,
	.epoch = rules_epoch,
	.rows = rules_rows,
};
