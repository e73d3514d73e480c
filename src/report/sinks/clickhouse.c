/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sink: a table of ClickHouse (clickhouse://, clickhouses://). The rows of an interval are one
 * INSERT over HTTP, with all columns, and the server answers after it has written them.
 */

#include "report/sinks/sink.h"

static const struct sink_scheme schemes[] = {
	{"clickhouse://", "clickhouse://HOST[:PORT]/TABLE", .note = "JSON"},
	{"clickhouses://", "clickhouses://HOST[:PORT]/TABLE", .note = "JSON, TLS", .tls = true},
	{0},
};

#ifdef CLICKHOUSE_MISSING

const struct sink_type sink_type_clickhouse = {.schemes = schemes, .missing = CLICKHOUSE_MISSING};

#else

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/assertion.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/sinks/socket_client.h"

#define PORT       "8123"
#define PORT_TLS   "8443"
#define TABLE_MAX  200
#define CONNECT_S  10L
#define OPENING_S  5L
#define LOOKING_S  2L /* seconds; limit for reading the columns of the table at the start */
#define URL_MAX    1024
#define SILENCE_S  60L /* seconds; limit of a transfer without progress */
/* After this many requests of an interval without an answer, the fate of its rows is unknown. */
#define BREAKS_MAX 3
#define ANSWER_MAX (64 << 10) /* bytes; enough to list the columns of a table */

#define TOKEN "insert_deduplication_token"
#define WAIT  "wait_for_async_insert"

#define EXCEPTION     "X-ClickHouse-Exception"
#define EXCEPTION_MAX 160
#define WORDS_MAX     240
#define LACK_ROOM     64

#define HTTP_OK        200L
#define HTTP_NOTHING   204L
#define HTTP_MULTIPLE  300L
#define HTTP_SERVER    500L
#define PORT_TEXT_ROOM 16

enum answer {
	ANSWER_WRITTEN,
	ANSWER_REFUSED, /* some of the rows can never be written */
	/* no rows are accepted until an operator fixes the server, table or user */
	ANSWER_CLOSED,
	ANSWER_BUSY,
	ANSWER_DOUBT,  /* possibly written; retry */
	ANSWER_BROKEN, /* no complete answer */
};

struct clickhouse_part {
	const char *rows;
	size_t len;
	uint64_t n;
	/* an earlier request with these rows got no clear answer */
	bool doubtful;
};

struct sink_clickhouse {
	struct sink sink;
	char *server; /* URL up to the query */
	const char *table;
	struct columns *all; /* all columns that rows of this kind can have */

	/* Used only by the sink's thread. */
	CURL *curl;
	struct curl_slist *get_headers, *post_headers;
	char answer[ANSWER_MAX]; /* start of the answer, as a string */
	size_t answer_len;
	bool has_headers;
	/* exception in a header or trailer of the answer */
	char exception[EXCEPTION_MAX];
	curl_off_t moved; /* bytes sent and received by this request */
	/* monotonic ns of the last progress of a request; during the run, the current time */
	int64_t moved_at;
	int64_t backoff;
	/* monotonic ns at which rows were last written; during the run, the current time */
	int64_t taken_at;
	uint32_t breaks; /* requests of this interval without an answer */
	uint32_t tries;
	/* refused requests of this interval that had several rows */
	uint32_t refused;
	long code;      /* ClickHouse error code in the last answer; 0: none */
	bool no_tokens; /* the server does not know the setting TOKEN */
	bool no_wait;   /* the server does not know the setting WAIT */
	char why[SINK_ERROR_MAX];
};

static size_t hear_answer(char *bytes, size_t size, size_t n, void *arg)
{
	struct sink_clickhouse *clickhouse = arg;
	size_t room = sizeof(clickhouse->answer) - 1 - clickhouse->answer_len;
	size_t len = size * n < room ? size * n : room;

	memcpy(clickhouse->answer + clickhouse->answer_len, bytes, len);
	clickhouse->answer_len += len;
	clickhouse->answer[clickhouse->answer_len] = '\0';
	return clickhouse->answer_len < sizeof(clickhouse->answer) - 1 ? size * n
								       : CURL_WRITEFUNC_ERROR;
}

static const char *header_value(const char *line, const char *name)
{
	size_t len = strlen(name);

	return strncasecmp(line, name, len) == 0 && line[len] == ':' ? line + len + 1 : NULL;
}

/* ClickHouse reports exceptions after the status line in a header or trailer. */
static void read_exception(struct sink_clickhouse *clickhouse, const char *line, size_t len)
{
	char copy[EXCEPTION_MAX];
	const char *code;

	snprintf(copy, sizeof(copy), "%.*s", (int)strnlen(line, len), line);
	copy[strcspn(copy, "\r\n")] = '\0';
	code = header_value(copy, EXCEPTION "-Code");
	if (code != NULL)
		clickhouse->code = strtol(code, NULL, 10);
	if (header_value(copy, EXCEPTION) != NULL ||
		(code != NULL && strspn(code, " 0") < strlen(code)))
		memcpy(clickhouse->exception, copy, sizeof(copy));
}

static size_t hear_header(char *line, size_t size, size_t n, void *arg)
{
	struct sink_clickhouse *clickhouse = arg;
	size_t len = size * n;

	/* interim answers (1xx) also have headers */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		clickhouse->has_headers = false;
		clickhouse->exception[0] = '\0';
		clickhouse->code = 0;
	} else if (len > 0 && (line[0] == '\r' || line[0] == '\n')) {
		clickhouse->has_headers = true;
	} else {
		read_exception(clickhouse, line, len);
	}
	return len;
}

/* At the end of the run, aborts a request that makes no progress. */
static int look_at_progress(
	void *arg, curl_off_t to_come, curl_off_t came, curl_off_t to_go, curl_off_t went)
{
	struct sink_clickhouse *clickhouse = arg;

	(void)to_come;
	(void)to_go;
	if (came + went != clickhouse->moved)
		clickhouse->moved_at = clock_now(CLOCK_MONOTONIC);
	clickhouse->moved = came + went;
	if (clickhouse->sink.sink_queue == NULL)
		return signals_stop_requested();
	return sink_queue_gives_up(clickhouse->sink.sink_queue, &clickhouse->moved_at);
}

static bool is_among(long code, const long *codes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code == codes[i])
			return true;
	return false;
}

#define IS_AMONG(code, codes) is_among(code, codes, sizeof(codes) / sizeof((codes)[0]))

/* ClickHouse errors that pass: memory, disk, quota, too many queries, read-only replicas. */
static const long busy_codes[] = {173, 201, 202, 241, 242, 243, 252, 439};
/* ClickHouse errors after which the rows may still be written, such as timeouts. */
static const long doubtful_codes[] = {
	75, 159, 203, 209, 210, 225, 236, 279, 285, 319, 394, 999, 1000, 1001, 1002};
/* ClickHouse errors of the rows, such as a value that does not fit its column. */
static const long row_codes[] = {6, 25, 26, 27, 32, 33, 38, 41, 43, 53, 69, 70, 72, 117, 130, 131,
	158, 307, 321, 349, 376, 377, 395, 396, 407, 441, 467, 469, 675, 676, 691};
/* ClickHouse errors of a setting: it is unknown, out of range, or forbidden for this user. */
static const long setting_codes[] = {115, 164, 452};
/* ClickHouse errors of rows with a column that the table lacks. BAD_DATA also has other causes. */
#define UNKNOWN_COLUMN        16L
#define BAD_DATA              117L
/* HTTP statuses that count if the answer has no error code of ClickHouse. */
static const long busy_statuses[] = {408, 429, 503};
static const long row_statuses[] = {413};

static void note_answer(struct sink_clickhouse *clickhouse, long status)
{
	const char *words = clickhouse->answer + strspn(clickhouse->answer, "\r\n");

	if (clickhouse->answer_len == 0)
		words = clickhouse->exception;
	snprintf(clickhouse->why, sizeof(clickhouse->why), "HTTP %ld%s%.*s", status,
		*words != '\0' ? ": " : "", (int)strcspn(words, "\r\n"), words);
	if (strlen(clickhouse->why) > WORDS_MAX)
		clickhouse->why[WORDS_MAX] = '\0';
	make_printable(clickhouse->why);
}

static long read_code(const char *answer)
{
	static const char begin[] = "\nCode: ";
	const char *at = strstr(answer, begin);

	if (strncmp(answer, begin + 1, sizeof(begin) - 2) == 0)
		return strtol(answer + sizeof(begin) - 2, NULL, 10);
	return at != NULL ? strtol(at + sizeof(begin) - 1, NULL, 10) : 0;
}

static bool is_lacking(const struct sink_clickhouse *clickhouse)
{
	return clickhouse->code == UNKNOWN_COLUMN ||
	       (clickhouse->code == BAD_DATA &&
		       strstr(clickhouse->answer, "Unknown field") != NULL);
}

static enum answer read_answer(struct sink_clickhouse *clickhouse)
{
	long status = 0, code = read_code(clickhouse->answer);

	curl_easy_getinfo(clickhouse->curl, CURLINFO_RESPONSE_CODE, &status);
	if (code != 0)
		clickhouse->code = code;
	code = clickhouse->code;
	if ((status == HTTP_OK || status == HTTP_NOTHING) && clickhouse->answer_len == 0 &&
		clickhouse->exception[0] == '\0')
		return ANSWER_WRITTEN;
	note_answer(clickhouse, status);
	/*
	 * ClickHouse answers an INSERT without a body. A body without error code is from a proxy.
	 */
	if (IS_AMONG(code, doubtful_codes) || (code == 0 && status < HTTP_MULTIPLE))
		return ANSWER_DOUBT;
	if (IS_AMONG(code, busy_codes) || (code == 0 && IS_AMONG(status, busy_statuses)))
		return ANSWER_BUSY;
	if (code == 0 && status >= HTTP_SERVER)
		return ANSWER_DOUBT;
	if (is_lacking(clickhouse))
		return ANSWER_CLOSED;
	if (IS_AMONG(code, row_codes) || (code == 0 && IS_AMONG(status, row_statuses)))
		return ANSWER_REFUSED;
	return ANSWER_CLOSED;
}

static void note_error(struct sink_clickhouse *clickhouse, const char *why)
{
	snprintf(clickhouse->why, sizeof(clickhouse->why), "%s", why);
	make_printable(clickhouse->why);
}

static bool exchange(
	struct sink_clickhouse *clickhouse, const char *url, const char *bytes, size_t len)
{
	char error[CURL_ERROR_SIZE] = "";
	CURLcode result;

	clickhouse->answer_len = 0;
	clickhouse->answer[0] = '\0';
	clickhouse->has_headers = false;
	clickhouse->exception[0] = '\0';
	clickhouse->code = 0;
	clickhouse->moved = 0;
	curl_easy_setopt(clickhouse->curl, CURLOPT_URL, url);
	curl_easy_setopt(clickhouse->curl, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(clickhouse->curl, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(clickhouse->curl, CURLOPT_HTTPHEADER,
		bytes != NULL ? clickhouse->post_headers : clickhouse->get_headers);
	if (bytes != NULL) {
		curl_easy_setopt(clickhouse->curl, CURLOPT_POSTFIELDS, bytes);
		curl_easy_setopt(clickhouse->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	}
	result = curl_easy_perform(clickhouse->curl);
	curl_easy_setopt(clickhouse->curl, CURLOPT_ERRORBUFFER, NULL);
	/* CURLE_WRITE_ERROR: the answer is longer than the buffer. Its start is enough. */
	if (result == CURLE_OK || (result == CURLE_WRITE_ERROR && clickhouse->answer_len > 0)) {
		/* libcurl also accepts an answer that ends before its headers do. */
		if (clickhouse->has_headers)
			return true;
		note_error(clickhouse, "the answer ended within its headers");
	} else if (result == CURLE_ABORTED_BY_CALLBACK) {
		note_error(clickhouse, "no answer");
	} else {
		note_error(clickhouse, error[0] != '\0' ? error : curl_easy_strerror(result));
	}
	return false;
}

static enum answer post(
	struct sink_clickhouse *clickhouse, const char *url, const char *bytes, size_t len)
{
	bool answered = exchange(clickhouse, url, bytes, len);
	enum answer answer = answered ? read_answer(clickhouse) : ANSWER_BROKEN;
	curl_off_t sent = 0;

	curl_easy_getinfo(clickhouse->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
	if (answer == ANSWER_WRITTEN && sent < (curl_off_t)len) {
		note_error(clickhouse, "the answer came before all rows were sent");
		return ANSWER_BROKEN;
	}
	return answered || sent > 0 ? answer : ANSWER_BUSY;
}

static bool is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return len > 0 && !isdigit((unsigned char)name[0]);
}

static bool describe(struct sink_clickhouse *clickhouse)
{
	char url[URL_MAX];
	long status = 0;

	snprintf(url, sizeof(url), "%s?query=DESCRIBE%%20TABLE%%20%s%%20FORMAT%%20TabSeparated",
		clickhouse->server, clickhouse->table);
	if (!exchange(clickhouse, url, NULL, 0))
		return false;
	curl_easy_getinfo(clickhouse->curl, CURLINFO_RESPONSE_CODE, &status);
	note_answer(clickhouse, status);
	return status == HTTP_OK && clickhouse->exception[0] == '\0' &&
	       read_code(clickhouse->answer) == 0 &&
	       is_name(clickhouse->answer, strcspn(clickhouse->answer, "\t")) &&
	       clickhouse->answer_len < sizeof(clickhouse->answer) - 1;
}

/* `answer` must be the output of DESCRIBE TABLE, whose lines begin with NAME and a tab. */
static bool has_column(const struct sink_clickhouse *clickhouse, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = clickhouse->answer; *line != '\0'; line += strcspn(line, "\n")) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == '\t')
			return true;
	}
	return false;
}

/* Unknown values are NULL or an empty string. */
static const char *type_of(const struct column *column)
{
	switch (column->type) {
	case COLUMN_TIME: return "Nullable(DateTime)";
	case COLUMN_RATIO:
	case COLUMN_EXACT:
	case COLUMN_FRACTION: return "Nullable(Float64)";
	default: return column_is_number(column) ? "Nullable(UInt64)" : "String";
	}
}

/* part NULL: returns true if the rows of this run will have the column. */
static bool is_sent(const struct sink_clickhouse *clickhouse, const struct column *column,
	const struct clickhouse_part *part)
{
	const struct columns *columns = clickhouse->sink.columns;

	/* Quotes within a value are escaped, so only a column name can match. */
	if (part != NULL)
		return memmem(part->rows, part->len, column->label + 1, column->label_len - 1) !=
		       NULL;
	for (uint32_t c = 0; c < columns->n; c++)
		if (strcmp(columns->list[c].name, column->name) == 0)
			return true;
	return false;
}

/*
 * `answer` must be the output of DESCRIBE TABLE. part NULL: checks the columns of all rows of the
 * run. Stores in `why` the missing columns, with a statement that adds them.
 */
static bool note_lacking(struct sink_clickhouse *clickhouse, const struct clickhouse_part *part)
{
	char what[SINK_ERROR_MAX];
	size_t len = (size_t)snprintf(what, sizeof(what),
		"the table lacks columns of these rows; run ALTER TABLE %s", clickhouse->table);
	uint32_t n = 0, more = 0;

	for (uint32_t c = 0; c < clickhouse->all->n; c++) {
		const struct column *column = &clickhouse->all->list[c];

		if (has_column(clickhouse, column->name) || !is_sent(clickhouse, column, part))
			continue;
		if (len < sizeof(what) - COLUMN_LABEL_ROOM - LACK_ROOM)
			len += (size_t)snprintf(what + len, sizeof(what) - len,
				"%s ADD COLUMN %s %s", n > 0 ? "," : "", column->name,
				type_of(column));
		else
			more++;
		n++;
	}
	if (more > 0)
		snprintf(what + len, sizeof(what) - len, "; and %u more", more);
	if (n > 0)
		snprintf(clickhouse->why, sizeof(clickhouse->why), "%s", what);
	return n > 0;
}

static void explain_lack(struct sink_clickhouse *clickhouse, const struct clickhouse_part *part)
{
	char why[sizeof(clickhouse->why)];

	memcpy(why, clickhouse->why, sizeof(why));
	if (!describe(clickhouse) || !note_lacking(clickhouse, part))
		memcpy(clickhouse->why, why, sizeof(why));
}

static bool rejects_setting(
	const struct sink_clickhouse *clickhouse, const char *name, bool *rejects)
{
	*rejects |= IS_AMONG(clickhouse->code, setting_codes) &&
		    strstr(clickhouse->answer, name) != NULL;
	return *rejects;
}

/*
 * TOKEN is a checksum of the rows, by which a server drops repeated rows if the table has
 * deduplication enabled. It is unique because rows contain the identity of the run. WAIT makes a
 * server that buffers rows answer only after it has written them. Older versions lack these
 * settings.
 */
static enum answer insert(struct sink_clickhouse *clickhouse, const struct clickhouse_part *part)
{
	enum answer answer;
	bool again;

	do {
		bool no_tokens = clickhouse->no_tokens, no_wait = clickhouse->no_wait;
		char url[URL_MAX];
		int len = snprintf(url, sizeof(url),
			"%s?query=INSERT%%20INTO%%20%s%%20FORMAT%%20JSONEachRow"
			"&date_time_input_format=best_effort&input_format_skip_unknown_fields=0%s",
			clickhouse->server, clickhouse->table, no_wait ? "" : "&" WAIT "=1");

		if (!no_tokens)
			snprintf(url + len, sizeof(url) - (size_t)len,
				"&" TOKEN "=%016" PRIx64 "-%zu",
				checksum_add(CHECKSUM_START, part->rows, part->len), part->len);
		answer = post(clickhouse, url, part->rows, part->len);
		again = answer == ANSWER_CLOSED &&
			((!no_wait && rejects_setting(clickhouse, WAIT, &clickhouse->no_wait)) ||
				(!no_tokens && rejects_setting(
						       clickhouse, TOKEN, &clickhouse->no_tokens)));
	} while (again);
	if (answer == ANSWER_CLOSED && is_lacking(clickhouse))
		explain_lack(clickhouse, part);
	return answer;
}

static void wait_to_try_again(struct sink_clickhouse *clickhouse)
{
	struct sink *sink = &clickhouse->sink;
	enum sink_pause pause = SINK_PAUSED;

	sink_say_waits(sink, clickhouse->why);
	clickhouse->backoff =
		socket_client_backoff(clickhouse->backoff, sink_queue_second(sink->sink_queue));
	for (int64_t left = clickhouse->backoff; left > 0 && pause == SINK_PAUSED;
		left -= SINK_PAUSE_NS)
		pause = sink_pause(sink, &clickhouse->moved_at, clickhouse->why);
	if (pause == SINK_HURRIES) {
		clickhouse->backoff = 0;
		clickhouse->moved_at = clock_now(CLOCK_MONOTONIC);
	}
}

static void warn_breaks(struct sink_clickhouse *clickhouse)
{
	char why[sizeof(clickhouse->why) + 64];

	snprintf(why, sizeof(why), "%d requests with an interval's rows had no answer (%s)",
		BREAKS_MAX, clickhouse->why);
	sink_warn_doubtful(&clickhouse->sink, why);
}

/* After SINK_REFUSALS_MAX refusals in an interval, the table does not suit the rows at all. */
static bool is_split(struct sink_clickhouse *clickhouse, const struct clickhouse_part *part)
{
	if (part->n == 1 || clickhouse->sink.left || clickhouse->refused == SINK_REFUSALS_MAX)
		return false;
	clickhouse->refused++;
	/* At the end of the run, refusals have the same time limit as missing answers. */
	return !sink_gives_up(&clickhouse->sink, &clickhouse->taken_at, clickhouse->why);
}

enum fate {
	FATE_WRITTEN,
	FATE_LOST,
	FATE_SPLIT,
};

/* With a spool, only a row that was refused on its own is lost. Others wait in the spool. */
static bool is_lost(const struct sink_clickhouse *clickhouse, enum answer answer,
	const struct clickhouse_part *part)
{
	return (answer == ANSWER_REFUSED && part->n == 1) ||
	       ((answer == ANSWER_REFUSED || answer == ANSWER_CLOSED) &&
		       clickhouse->sink.spooled == NULL);
}

static enum fate send_part(struct sink_clickhouse *clickhouse, struct clickhouse_part *part)
{
	struct sink *sink = &clickhouse->sink;

	while (!sink->left) {
		enum answer answer;

		delivery_count(&sink->delivery.retries, clickhouse->tries++ > 0);
		answer = insert(clickhouse, part);
		if (answer == ANSWER_WRITTEN) {
			delivery_count(&sink->delivery.bytes, part->len);
			sink_say_takes(sink);
			clickhouse->backoff = 0;
			clickhouse->taken_at = clock_now(CLOCK_MONOTONIC);
			return FATE_WRITTEN;
		}
		if (answer == ANSWER_REFUSED && is_split(clickhouse, part))
			return FATE_SPLIT;
		if (sink->left)
			break;
		if (is_lost(clickhouse, answer, part)) {
			sink_warn_refused(sink, clickhouse->why);
			break;
		}
		part->doubtful |= answer == ANSWER_DOUBT || answer == ANSWER_BROKEN;
		clickhouse->breaks += answer == ANSWER_BROKEN;
		/* With a spool, the rows wait there and are sent again with the same bytes. */
		if (clickhouse->breaks >= BREAKS_MAX && sink->spooled == NULL) {
			warn_breaks(clickhouse);
			break;
		}
		wait_to_try_again(clickhouse);
	}
	return FATE_LOST;
}

static struct clickhouse_part first_half(const struct clickhouse_part *part)
{
	size_t len = 0;

	for (uint64_t row = 0; row < part->n / 2 && len < part->len; row++) {
		const char *end = memchr(part->rows + len, '\n', part->len - len);

		len = end != NULL ? (size_t)(end - part->rows) + 1 : part->len;
	}
	ASSERT(len, <=, part->len);
	return (struct clickhouse_part){part->rows, len, part->n / 2, part->doubtful};
}

/* Capacity of a stack of parts. Each split halves a part, so this is enough for 2^64 rows. */
#define PARTS_MAX             65

static void send_rows(struct sink *sink, uint64_t rows)
{
	struct sink_clickhouse *clickhouse = (struct sink_clickhouse *)sink;
	struct clickhouse_part parts[PARTS_MAX] = {{sink->text.data, sink->text.len, rows, false}};
	uint32_t n = 1;

	clickhouse->moved_at = clickhouse->taken_at = clock_now(CLOCK_MONOTONIC);
	clickhouse->breaks = clickhouse->tries = clickhouse->refused = 0;
	while (n > 0) {
		struct clickhouse_part *part = &parts[n - 1], half;

		switch (send_part(clickhouse, part)) {
		case FATE_WRITTEN:
			delivery_count(&sink->fates->acknowledged, part->n);
			n--;
			break;
		case FATE_LOST:
			delivery_count(
				part->doubtful ? &sink->fates->unknown : &sink->fates->failed,
				part->n);
			n--;
			break;
		case FATE_SPLIT:
			VERIFY(n, <, PARTS_MAX);
			half = first_half(part);
			*part = (struct clickhouse_part){part->rows + half.len,
				part->len - half.len, part->n - half.n, part->doubtful};
			parts[n++] = half;
			break;
		}
	}
}

static bool connect_sink(struct sink_clickhouse *clickhouse)
{
	/* ClickHouse answers without a body, as it does to an INSERT */
	static const char query[] = "SELECT 1 FORMAT Null";
	enum answer answer;

	curl_easy_setopt(clickhouse->curl, CURLOPT_TIMEOUT, OPENING_S);
	answer = post(clickhouse, clickhouse->server, query, strlen(query));
	curl_easy_setopt(clickhouse->curl, CURLOPT_TIMEOUT, 0L);
	return answer == ANSWER_WRITTEN;
}

/* Returns true also if the columns of the table could not be read. */
static bool is_server_suitable(struct sink_clickhouse *clickhouse)
{
	bool listed;

	curl_easy_setopt(clickhouse->curl, CURLOPT_TIMEOUT, LOOKING_S);
	listed = describe(clickhouse);
	curl_easy_setopt(clickhouse->curl, CURLOPT_TIMEOUT, 0L);
	return !listed || !note_lacking(clickhouse, NULL);
}

static int open_place(struct sink *sink, bool require, char *why)
{
	struct sink_clickhouse *clickhouse = (struct sink_clickhouse *)sink;
	const struct column_choice every = column_choice_every(sink->columns->choice.names);
	CURL *curl = curl_easy_init();

	clickhouse->curl = curl;
	clickhouse->all = columns_of(outputs[sink->kind], &every);
	/*
	 * "Expect: 100-continue" would cost a round trip. Some servers require Content-Length also
	 * in a GET request.
	 */
	clickhouse->post_headers = curl_slist_append(NULL, "Expect:");
	clickhouse->get_headers = curl_slist_append(NULL, "Content-Length: 0");
	snprintf(why, SINK_ERROR_MAX, "out of memory");
	if (curl == NULL || clickhouse->post_headers == NULL || clickhouse->get_headers == NULL ||
		clickhouse->all == NULL)
		return 1;
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "sketchtap/" SKETCHTAP_VERSION);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	/* With this option, an aborted request does not wait for the name server. */
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	/*
	 * Uses a new connection for each request: on a reused one, libcurl repeats a failed request
	 * without reporting the failure.
	 */
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, hear_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, clickhouse);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hear_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, clickhouse);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_at_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, clickhouse);
	if (require && !connect_sink(clickhouse))
		return sink_absent(why, clickhouse->why);
	if (is_server_suitable(clickhouse))
		return 0;
	snprintf(why, SINK_ERROR_MAX, "%s", clickhouse->why);
	return 1;
}

static bool is_table(const char *table)
{
	size_t len = strlen(table), database = strcspn(table, ".");

	if (len > TABLE_MAX)
		return false;
	return is_name(table, database) &&
	       (database == len || is_name(table + database + 1, len - database - 1));
}

/* slash: position of the slash before TABLE */
static bool parse(const struct sink_url *url, const char *slash,
	struct socket_client_address *address, char *why)
{
	char text[sizeof(address->host) + PORT_TEXT_ROOM];

	snprintf(text, sizeof(text), "%.*s", (int)(slash - url->rest), url->rest);
	return socket_client_parse(
		text, SOCKET_CLIENT_TCP, url->scheme->tls ? PORT_TLS : PORT, address, why);
}

static bool check(const struct sink_url *url, const struct sink_request *request, char *why)
{
	const char *host = url->rest, *slash = strchr(host, '/');
	struct socket_client_address address;

	(void)request;
	if (strcspn(host, "@") < strcspn(host, "/")) {
		snprintf(why, SINK_ERROR_MAX,
			"contains a user; write a line \"machine HOST login USER password PASSWORD\" "
			"into ~/.netrc");
		return false;
	}
	if (slash == NULL || !is_table(slash + 1)) {
		snprintf(why, SINK_ERROR_MAX,
			"must end with /TABLE or /DATABASE.TABLE, of letters, digits and '_'");
		return false;
	}
	return parse(url, slash, &address, why);
}

static void free_place(struct sink *sink)
{
	struct sink_clickhouse *clickhouse = (struct sink_clickhouse *)sink;

	curl_easy_cleanup(clickhouse->curl);
	curl_slist_free_all(clickhouse->get_headers);
	curl_slist_free_all(clickhouse->post_headers);
	free(clickhouse->all);
	free(clickhouse->server);
	free(clickhouse);
}

static void init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sink_clickhouse *clickhouse = calloc(1, sizeof(*clickhouse));
	const char *host = url->rest, *slash = strchr(host, '/');
	struct socket_client_address address;
	char why[SINK_ERROR_MAX];

	(void)request;
	(void)number;
	pthread_once(&once, init_curl);
	if (clickhouse != NULL && parse(url, slash, &address, why) &&
		asprintf(&clickhouse->server, "http%s://%s%s%s:%s/", url->scheme->tls ? "s" : "",
			*host == '[' ? "[" : "", address.host, *host == '[' ? "]" : "",
			address.port) >= 0) {
		clickhouse->table = slash + 1;
		return &clickhouse->sink;
	}
	free(clickhouse);
	return NULL;
}

static void reopen(void *arg)
{
	struct sink_clickhouse *clickhouse = arg;

	clickhouse->backoff = 0;
}

const struct sink_type sink_type_clickhouse = {
	.schemes = schemes,
	.rows = SINK_ENCODING_JSON,
	.check = check,
	.create = create,
	.open = open_place,
	.bring = send_rows,
	.free = free_place,
	.ops = {.write = sink_write, .reopen = reopen},
};

#endif
