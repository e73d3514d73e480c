/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_version.h>

#include "base/assertion.h"
#include "base/printable.h"
#include "base/text.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

#define REPLY_BYTES 16000 /* limit for the items; the rest of 16 KB is for members after them */

/* bytes: size of the reply so far. trial: reply_fits() counts bytes, and nothing is added. */
static _Thread_local struct {
	size_t bytes;
	bool trial;
} reply;

/* Returns false in a trial. */
static bool count(const char *name, size_t value)
{
	reply.bytes += strlen(name) + value + sizeof("\"\":,") - 1;
	return !reply.trial;
}

void reply_start(struct rte_tel_data *answer)
{
	ASSERT(reply.trial, ==, false);
	reply.bytes = 0;
	rte_tel_data_start_dict(answer);
}

int reply_error(struct rte_tel_data *answer, const char *why)
{
	reply_start(answer);
	rte_tel_data_add_dict_string(answer, "error", why);
	return 0;
}

int reply_mistake(struct rte_tel_data *answer, const char *why)
{
	reply_error(answer, why);
	reply_uint(answer, "mistake", 1);
	return 0;
}

void reply_uint(struct rte_tel_data *dict, const char *name, uint64_t value)
{
	if (count(name, (size_t)snprintf(NULL, 0, "%" PRIu64, value)))
		rte_tel_data_add_dict_uint(dict, name, value);
}

void reply_int(struct rte_tel_data *dict, const char *name, int value)
{
	if (count(name, (size_t)snprintf(NULL, 0, "%d", value)))
		rte_tel_data_add_dict_int(dict, name, value);
}

/* DPDK escapes bytes that are not ASCII with a negative index, so they are replaced. */
void reply_text(struct rte_tel_data *dict, const char *name, const char *format, ...)
{
	char value[REPLY_TEXT_MAX];
	size_t escapes = 0;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	make_ascii(value);
	for (const char *at = value; *at != '\0'; at++)
		escapes += *at == '"' || *at == '\\' || *at < ' ';
	if (count(name, strlen(value) + escapes + sizeof("\"\"") - 1))
		rte_tel_data_add_dict_string(dict, name, value);
}

void reply_string(struct rte_tel_data *dict, const char *name, const char *value)
{
	reply_text(dict, name, "%s", value);
}

void reply_time(struct rte_tel_data *dict, const char *name, int64_t ns)
{
	struct text text = {0};

	text_time(&text, ns);
	text_char(&text, '\0');
	if (!text.failed)
		reply_string(dict, name, text.data);
	text_free(&text);
}

struct rte_tel_data *reply_dict(struct rte_tel_data *dict, const char *name)
{
	struct rte_tel_data *inner;

	if (!count(name, sizeof("{}") - 1))
		return dict;
	inner = rte_tel_data_alloc();
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

void reply_list(struct rte_tel_data *dict, const char *name, uint32_t first, uint32_t n,
	reply_item item, const void *of)
{
	struct rte_tel_data *several = reply_dict(dict, name), *inner;

	for (uint32_t i = 0; i < n && (inner = reply_numbered(several, first + i)) != NULL; i++)
		item(inner, of, i);
}

bool reply_fits(reply_item item, const void *of, uint32_t number)
{
	static char anything; /* not used in a trial */
	size_t before = reply.bytes;
	bool fits;

	VERIFY(reply.trial, ==, false);
	reply.trial = true;
	item(reply_numbered((struct rte_tel_data *)&anything, UINT32_MAX), of, number);
	reply.trial = false;
	fits = reply.bytes <= REPLY_BYTES;
	reply.bytes = before;
	return fits;
}

void reply_columns(
	struct rte_tel_data *dict, const struct column *columns, bool kept_up, const void *item)
{
	const struct output_row row = {.item = item};
	struct text text = {0};

	for (const struct column *column = columns; column->name != NULL; column++) {
		if (column->when == COLUMN_KEPT_UP && !kept_up)
			continue;
		text_clear(&text);
		column_print(&text, column, &row);
		if (text.len == 0 && column->type != COLUMN_STRING)
			continue;
		text_char(&text, '\0');
		if (text.failed)
			break;
		if (column->type == COLUMN_INT)
			reply_int(dict, column->name, *(const int *)column_at(column, &row));
		else if (column->type <= COLUMN_BOOL)
			reply_uint(dict, column->name, strtoull(text.data, NULL, 10));
		else
			reply_string(dict, column->name, text.data);
	}
	text_free(&text);
}

void reply_key(struct rte_tel_data *dict, const struct key_rule *rule, const struct key *key)
{
	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++) {
		char field[KEY_FIELD_TEXT_MAX + 1];

		if (!key_rule_has(rule, f))
			continue;
		field[key_field_print(rule, key, f, field)] = '\0';
		reply_string(dict, key_fields[f].name, field);
	}
}

void reply_row(struct rte_tel_data *dict, const void *measurement, uint32_t number)
{
	const struct report_measurement *of = measurement;

	reply_key(dict, of->key_rule, &of->rows[number].key);
	reply_columns(dict, reply_row_columns, false, &of->rows[number]);
}

void reply_ledger(struct rte_tel_data *dict, const struct ledger *ledger)
{
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_has(ledger, c) && ledger_column_known(ledger, c))
			reply_uint(dict, ledger_columns[c].name, ledger_column(ledger, c));
}

void reply_account(struct rte_tel_data *dict, int64_t start, int64_t end, uint64_t took,
	const struct ledger *ledger, uint64_t expired)
{
	uint64_t duration = end > start ? (uint64_t)end - (uint64_t)start : 0;

	reply_time(dict, "start", start);
	reply_time(dict, "end", end);
	if (took > 0) {
		reply_uint(dict, "processing_ns", took);
		duration = took;
	}
	reply_ledger(dict, ledger);
	reply_int(dict, "losses_known", !ledger->losses_unknown);
	if (duration > 0)
		reply_uint(dict, "pps", report_per_second(ledger->measured, duration));
	if (duration > 0 && ledger->missing_bytes == 0)
		reply_uint(dict, "bps",
			report_per_second((unsigned __int128)ledger->bytes * 8, duration));
	reply_uint(dict, "expired_records", expired);
	if (ledger->offered > 0)
		reply_text(dict, "drop_rate", "%.6f", ledger_drop_rate(ledger));
}
