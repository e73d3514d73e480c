/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/follow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/epoch_stream.h"
#include "cli/epoch_view.h"
#include "cli/error.h"
#include "parallel/process.h"
#include "report/formats/format.h"
#include "report/formats/table.h"
#include "report/rows/rows.h"

#define EXIT_RUN  1
#define EXIT_TEXT 2

static const char usage[] =
	"Usage: sketchtap follow [NAME] [--json]\n"
	"\n"
	"Print the last interval of a running instance, then each new one when it ends, on one line.\n"
	"NAME is its --name; needed only if several instances run.\n"
	"\n"
	"  --json  print one object per line: the ledger, and the ten heaviest keys of each\n"
	"          measurement with their bounds (docs/OPERATIONS.md)\n"
	"\n"
	"Ends with the run. A run keeps its last 300 intervals; older ones count as missing.\n"
	"Exit status: 0; 1: no instance answers, or the connection broke; 2: usage error.\n";

/* Epochs that the run deleted before they were received. */
struct follow_missed {
	uint64_t epochs, first, last;
};

static struct follow_missed missed_before(
	const struct following *following, const struct epoch_view *epoch)
{
	if (following->closed == 0 || epoch->closed <= following->closed + 1)
		return (struct follow_missed){0};
	return (struct follow_missed){
		epoch->closed - following->closed - 1, following->number + 1, epoch->number - 1};
}

static void add_word(struct text *text, const char *name, const char *value)
{
	text_printf(text, ",\"%s\":", name);
	if (value == NULL) {
		text_str(text, "null");
		return;
	}
	text_char(text, '"');
	json_escape(text, value, strlen(value));
	text_char(text, '"');
}

static void add_count(struct text *text, const char *name, uint64_t value)
{
	text_printf(text, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void add_flag(struct text *text, const char *name, bool value)
{
	text_printf(text, ",\"%s\":%s", name, value ? "true" : "false");
}

static void add_moment(struct text *text, const char *name, int64_t ns)
{
	text_printf(text, ",\"%s\":\"", name);
	text_time(text, ns);
	text_char(text, '"');
}

static void add_ledger(struct text *text, const struct ledger *ledger)
{
	text_str(text, ",\"ledger\":{");
	for (uint32_t c = 0; c < LEDGER_COLUMNS; c++)
		if (ledger_has(ledger, c) && ledger_column_known(ledger, c))
			text_printf(text, "%s\"%s\":%llu", c > 0 ? "," : "", ledger_columns[c].name,
				(unsigned long long)ledger_column(ledger, c));
	text_char(text, '}');
}

static bool is_number(const char *text)
{
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0' &&
	       (*text != '0' || text[1] == '\0');
}

static void add_row(struct text *text, const struct epoch_view_row *row)
{
	text_printf(text, "{\"rank\":%u", row->values.rank);
	for (uint32_t f = 0; f < KEY_FIELD_COUNT; f++) {
		if (row->fields[f] == NULL)
			continue;
		if (key_fields[f].type == KEY_FIELD_NUMBER && is_number(row->fields[f]))
			text_printf(text, ",\"%s\":%s", key_fields[f].name, row->fields[f]);
		else
			add_word(text, key_fields[f].name, row->fields[f]);
	}
	for (const struct column *column = reply_row_columns; column->name != NULL; column++) {
		size_t end;

		text_printf(text, ",\"%s\":", column->name);
		end = text->len;
		column_print(text, column, &(struct output_row){.item = &row->values});
		text_str(text, text->len == end ? "null" : "");
	}
	text_char(text, '}');
}

static void add_measurement(struct text *text, const struct epoch_view_measurement *measurement)
{
	const struct ledger *ledger = &measurement->ledger;

	text_str(text, "{\"measurement\":\"");
	json_escape(text, measurement->values.name, strlen(measurement->values.name));
	text_char(text, '"');
	add_word(text, "key", measurement->key);
	add_word(text, "sketch", measurement->values.sketch);
	add_word(text, "count", measurement->values.counts_bytes ? "bytes" : "packets");
	add_ledger(text, ledger);
	add_count(text, "distinct_keys", measurement->values.distinct_keys);
	add_flag(text, "incomplete", measurement->values.incomplete);
	if (measurement->values.confidence_known)
		text_printf(text, ",\"confidence\":%.15g", measurement->values.confidence);
	else
		text_str(text, ",\"confidence\":null");
	if (ledger->kept_up) {
		text_printf(text, ",\"looked_at\":%.6f", measurement->values.looked_at);
		add_count(text, "weight", measurement->values.weight);
	}
	text_str(text, ",\"rows\":[");
	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		text_str(text, r > 0 ? "," : "");
		add_row(text, &measurement->rows[r]);
	}
	text_str(text, "]}");
}

static void add_json(
	struct text *text, const struct epoch_view *epoch, const struct follow_missed *missed)
{
	text_printf(text, "{\"epoch\":%llu", (unsigned long long)epoch->number);
	add_moment(text, "start", epoch->start);
	add_moment(text, "end", epoch->end);
	add_count(text, "closed", epoch->closed);
	add_count(text, "missed", missed->epochs);
	if (missed->epochs > 0) {
		add_count(text, "missed_first", missed->first);
		add_count(text, "missed_last", missed->last);
	}
	add_flag(text, "live", epoch->live);
	add_flag(text, "late", epoch->late);
	if (epoch->took > 0)
		add_count(text, "processing_ns", epoch->took);
	add_count(text, "closing_ns", epoch->closing_ns);
	add_count(text, "expired_records", epoch->expired);
	add_ledger(text, &epoch->ledger);
	add_count(text, "lost", ledger_lost(&epoch->ledger));
	add_count(text, "perhaps_lost", epoch->ledger.doubtful);
	add_flag(text, "losses_known", !epoch->ledger.losses_unknown);
	text_str(text, ",\"measurements\":[");
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		text_str(text, m > 0 ? "," : "");
		add_measurement(text, &epoch->measurements[m]);
	}
	text_str(text, "]}\n");
}

static void add_rate(
	struct text *text, const struct epoch_view *epoch, uint64_t amount, uint32_t factor)
{
	uint64_t duration = epoch_view_rate_time(epoch);

	if (duration > 0)
		table_human(text, report_per_second((unsigned __int128)amount * factor, duration));
	else
		text_char(text, '-');
}

static void add_heaviest(struct text *text, const struct epoch_view_measurement *measurement)
{
	text_printf(text, "; %s: ", measurement->values.name);
	if (measurement->nb_rows == 0)
		text_str(text, "none");
	else
		text_printf(text, "%s %.1f %%", measurement->rows[0].flow,
			measurement->rows[0].values.share * 100);
}

static void add_line(struct text *text, const struct epoch_view *epoch)
{
	const struct ledger *ledger = epoch_view_ledger(epoch);

	text_printf(text, "%llu  ", (unsigned long long)epoch->number);
	text_time(text, epoch->start);
	text_str(text, "  ");
	text_grouped(text, ledger->offered);
	text_str(text, epoch->took > 0 ? " packets, timestamps generated, processed "
				       : " packets, measured ");
	add_rate(text, epoch, ledger->measured, 1);
	text_str(text, "pps ");
	text_str(text, ledger->missing_bytes > 0 ? "at least " : "");
	add_rate(text, epoch, ledger->bytes, 8);
	text_str(text, "bit/s");
	text_str(text, ", ");
	ledger_losses(text, ledger);
	ledger_others(text, ledger);
	text_str(text, epoch->late ? ", late" : "");
	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		add_heaviest(text, &epoch->measurements[m]);
	text_char(text, '\n');
}

static void print_missed(const struct follow_missed *missed)
{
	if (missed->epochs > 0)
		cli_error(0,
			"warning: %llu intervals from %llu to %llu are missing: a run keeps only "
			"its last 300",
			(unsigned long long)missed->epochs, (unsigned long long)missed->first,
			(unsigned long long)missed->last);
}

/* Returns false if printing must end. *status is then 0 if the reader closed the pipe. */
static bool print(const struct text *text, int *status)
{
	bool printed = !text->failed && fwrite(text->data, 1, text->len, stdout) == text->len &&
		       fflush(stdout) == 0;

	if (printed)
		return true;
	if (text->failed)
		*status = cli_error(EXIT_RUN, "out of memory");
	else if (errno == EPIPE)
		*status = 0;
	else
		*status = cli_error(EXIT_RUN, "standard output: %s", strerror(errno));
	return false;
}

void following_add(struct following *following, const struct epoch_view *epoch, struct text *text)
{
	struct follow_missed missed = missed_before(following, epoch);

	if (following->json) {
		add_json(text, epoch, &missed);
	} else {
		print_missed(&missed);
		add_line(text, epoch);
	}
	following->closed = epoch->closed;
	following->number = epoch->number;
}

static bool print_epoch(struct following *following, const struct epoch_view *epoch, int *status)
{
	struct text text = {0};
	bool printed;

	following_add(following, epoch, &text);
	printed = print(&text, status);
	text_free(&text);
	return printed;
}

static int end(const struct following *following)
{
	struct text text = {0};
	int status = 0;

	if (!following->json)
		return cli_error(0, "the run ended");
	text_str(&text, "{\"ended\":true}\n");
	print(&text, &status);
	text_free(&text);
	return status;
}

#define SILENCE_S 10

static bool wait_for_news(const struct epoch_stream *stream)
{
	struct pollfd files[] = {
		{.fd = epoch_stream_fd(stream), .events = POLLIN},
		{.fd = STDOUT_FILENO}, /* no events: only POLLERR */
	};

	int timeout = SILENCE_S * 1000, n;

	while ((n = poll(files, 2, timeout)) == 0 || (n < 0 && errno == EINTR)) {
		if (n < 0)
			continue;
		cli_error(0,
			"no answer for %d s: the run is stopped, or the machine is overloaded; "
			"still waiting",
			SILENCE_S);
		timeout = -1;
	}
	return (files[1].revents & POLLERR) == 0;
}

static int follow_run(struct following *following, struct epoch_stream *stream)
{
	struct epoch_view *epoch;
	int status = 0;
	bool printed;

	while (wait_for_news(stream)) {
		switch (epoch_stream_take(stream, &epoch)) {
		case EPOCH_STREAM_NOTHING: break;
		case EPOCH_STREAM_ENDED: return end(following);
		case EPOCH_STREAM_GONE:
			return cli_error(EXIT_RUN,
				"the connection broke: the run was killed, or ended while this "
				"program was stopped");
		case EPOCH_STREAM_ODD:
			return cli_error(
				EXIT_RUN, "unexpected answer: the run has another version");
		case EPOCH_STREAM_EPOCH:
			printed = print_epoch(following, epoch, &status);
			epoch_view_free(epoch);
			if (!printed)
				return status;
		}
	}
	return status;
}

static int read_arguments(int argc, char **argv, struct following *following)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			following->json = true;
		else if (argv[i][0] == '-' || following->name != NULL)
			return cli_error(EXIT_TEXT,
				"follow '%.100s': allowed: NAME, --json, --help", argv[i]);
		else if (argv[i][0] == '\0' || !process_name_allowed(argv[i]))
			return cli_error(
				EXIT_TEXT, "follow '%.100s': not an instance name", argv[i]);
		else
			following->name = argv[i];
	}
	return 0;
}

int follow(int argc, char **argv)
{
	struct following following = {0};
	struct epoch_stream *stream;
	int status;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
	status = read_arguments(argc, argv, &following);
	if (status != 0)
		return status;
	stream = epoch_stream_open(following.name, false, false);
	if (stream == NULL)
		return EXIT_RUN;
	signal(SIGPIPE, SIG_IGN);
	status = follow_run(&following, stream);
	epoch_stream_close(stream);
	return status;
}
