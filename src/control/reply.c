/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/text.h"

int reply_error(struct rte_tel_data *answer, const char *why)
{
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_string(answer, "error", why);
	return 0;
}

int reply_mistake(struct rte_tel_data *answer, const char *why)
{
	reply_error(answer, why);
	rte_tel_data_add_dict_uint(answer, "mistake", 1);
	return 0;
}

void reply_time(struct rte_tel_data *dict, const char *name, int64_t ns)
{
	struct text text = {0};

	text_time(&text, ns);
	text_char(&text, '\0');
	if (!text.failed)
		rte_tel_data_add_dict_string(dict, name, text.data);
	text_free(&text);
}

/* Writes ASCII only: for other bytes, DPDK reads its table of escapes at a negative index. */
void reply_text(struct rte_tel_data *dict, const char *name, const char *format, ...)
{
	char value[REPLY_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	make_ascii(value);
	rte_tel_data_add_dict_string(dict, name, value);
}

struct rte_tel_data *reply_dict(struct rte_tel_data *dict, const char *name)
{
	struct rte_tel_data *inner = rte_tel_data_alloc();

	if (inner == NULL)
		return NULL;
	rte_tel_data_start_dict(inner);
	if (rte_tel_data_add_dict_container(dict, name, inner, 0) == 0)
		return inner;
	rte_tel_data_free(inner);
	return NULL;
}

struct rte_tel_data *reply_numbered(struct rte_tel_data *several, uint32_t number)
{
	char name[16];

	if (several == NULL)
		return NULL;
	snprintf(name, sizeof(name), "%u", number);
	return reply_dict(several, name);
}

static void reply_figure(struct rte_tel_data *dict, const char *name, const char *low,
	const char *high, const struct report_figure *figure)
{
	if (figure->known) {
		rte_tel_data_add_dict_uint(dict, name, figure->value);
		rte_tel_data_add_dict_uint(dict, low, figure->low);
	}
	if (figure->high_known)
		rte_tel_data_add_dict_uint(dict, high, figure->high);
}

void reply_key(struct rte_tel_data *dict, const struct key_rule *rule, const struct key *key)
{
	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		char field[KEY_FIELD_TEXT_MAX + 1];

		if (!key_rule_has(rule, (enum key_field_id)f))
			continue;
		field[key_field_print(rule, key, (enum key_field_id)f, field)] = '\0';
		rte_tel_data_add_dict_string(dict, key_fields[f].name, field);
	}
}

void reply_row(struct rte_tel_data *dict, const struct key_rule *rule, const struct report_row *row)
{
	reply_key(dict, rule, &row->key);
	reply_figure(dict, "packets", "packets_low", "packets_high", &row->packets);
	reply_figure(dict, "bytes", "bytes_low", "bytes_high", &row->bytes);
	reply_text(dict, "share", "%.6f", row->share);
}

static size_t text_bytes(size_t name, size_t value)
{
	return name + value + sizeof("\"\":\"\",") - 1;
}

static size_t figure_bytes(size_t name, const struct report_figure *figure)
{
	bool above = figure->high_known && figure->high > figure->value;
	int digits = snprintf(NULL, 0, "%" PRIu64, above ? figure->high : figure->value);

	return 3 * (name + (size_t)digits + sizeof("\"\":,") - 1) + sizeof("_low_high") - 1;
}

size_t reply_row_bytes(const struct key_rule *rule, const struct report_row *row)
{
	size_t bytes = sizeof("\"4294967295\":{},") + text_bytes(strlen("share"), 8) +
		       figure_bytes(strlen("packets"), &row->packets) +
		       figure_bytes(strlen("bytes"), &row->bytes);
	char field[KEY_FIELD_TEXT_MAX];

	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++)
		if (key_rule_has(rule, f))
			bytes += text_bytes(strlen(key_fields[f].name),
				key_field_print(rule, &row->key, f, field));
	return bytes;
}

void reply_ledger(struct rte_tel_data *dict, const struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_has(ledger, c) && ledger_column_known(ledger, c))
			rte_tel_data_add_dict_uint(
				dict, ledger_columns[c].name, ledger_column(ledger, c));
}

void reply_account(struct rte_tel_data *dict, int64_t start, int64_t end, uint64_t took,
	const struct ledger *ledger, uint64_t expired)
{
	uint64_t duration = end > start ? (uint64_t)end - (uint64_t)start : 0;

	reply_time(dict, "start", start);
	reply_time(dict, "end", end);
	if (took > 0) {
		rte_tel_data_add_dict_uint(dict, "processing_ns", took);
		duration = took;
	}
	reply_ledger(dict, ledger);
	rte_tel_data_add_dict_int(dict, "losses_known", !ledger->losses_unknown);
	if (duration > 0) {
		rte_tel_data_add_dict_uint(
			dict, "pps", report_per_second(ledger->measured, duration));
	}
	if (duration > 0 && ledger->missing_bytes == 0)
		rte_tel_data_add_dict_uint(dict, "bps",
			report_per_second((unsigned __int128)ledger->bytes * 8, duration));
	rte_tel_data_add_dict_uint(dict, "expired_records", expired);
	if (ledger->offered > 0)
		reply_text(dict, "drop_rate", "%.6f", ledger_drop_rate(ledger));
}
