/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A table of ClickHouse as a place of reports: clickhouse://, clickhouses://. An interval's rows are
 * one INSERT by HTTP, which waits until the server has answered it. What is sent again has the same
 * bytes, and each row says whose it is.
 */

#include "report/outlet/remote.h"

#define PREFIX     "clickhouse://"
#define PREFIX_TLS "clickhouses://"
#define FORM       PREFIX "HOST[:PORT]/TABLE"
#define FORM_TLS   PREFIX_TLS "HOST[:PORT]/TABLE"

#ifdef CLICKHOUSE_MISSING

const struct remote_scheme remote_clickhouse = {
	.prefix = PREFIX, .form = FORM, .missing = CLICKHOUSE_MISSING};
const struct remote_scheme remote_clickhouse_tls = {
	.prefix = PREFIX_TLS, .form = FORM_TLS, .missing = CLICKHOUSE_MISSING};

#else

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/outlet/receiver.h"

#define PORT       "8123"
#define PORT_TLS   "8443"
#define TABLE_MAX  200
#define CONNECT_S  10L
#define OPENING_S  5L
#define URL_MAX    1024
#define SILENCE_S  60L /* in which nothing came or went */
#define PAUSE_NS   (SECOND_NS / 10)
#define BREAKS_MAX 3 /* in an interval: then nobody can say whether it was written */
#define ANSWER_MAX 1024

#define TOKEN           "insert_deduplication_token"
#define UNKNOWN_SETTING 115L

#define HTTP_OK        200L
#define HTTP_MULTIPLE  300L
#define HTTP_SERVER    500L
#define PORT_TEXT_ROOM 16

enum answer {
	ANSWER_WRITTEN,
	ANSWER_REFUSED, /* so it will be the next time */
	ANSWER_CLOSED,  /* so it will be until somebody mends what is no matter of the rows */
	ANSWER_BUSY,    /* it was not written, and may be the next time */
	ANSWER_DOUBT,   /* the same of what it may have written */
	ANSWER_BROKEN,  /* there was none */
};

struct clickhouse_place {
	struct remote remote;
	char *url;

	/* By the outlet's thread. */
	CURL *curl;
	struct curl_slist *headers;
	char answer[ANSWER_MAX]; /* the first bytes of it, with a final 0 */
	size_t answer_len;
	curl_off_t moved; /* bytes that came and went, of the request */
	int64_t moved_at; /* monotonic ns: when that changed last, or the run went on */
	int64_t backoff;  /* ns */
	long code;        /* of ClickHouse, of the last answer; 0: none */
	bool no_tokens;   /* the server does not know them */
	char why[ANSWER_MAX / 4];
};

/* --- One request */

static size_t hear_answer(char *bytes, size_t size, size_t n, void *arg)
{
	struct clickhouse_place *place = arg;
	size_t room = sizeof(place->answer) - 1 - place->answer_len;
	size_t len = size * n < room ? size * n : room;

	memcpy(place->answer + place->answer_len, bytes, len);
	place->answer_len += len;
	place->answer[place->answer_len] = '\0';
	return place->answer_len < sizeof(place->answer) - 1 ? size * n : CURL_WRITEFUNC_ERROR;
}

/* Ends a request that stands still at the end of the run. */
static int look_at_progress(
	void *arg, curl_off_t to_come, curl_off_t came, curl_off_t to_go, curl_off_t went)
{
	struct clickhouse_place *place = arg;

	(void)to_come;
	(void)to_go;
	if (came + went != place->moved)
		place->moved_at = clock_now(CLOCK_MONOTONIC);
	place->moved = came + went;
	if (place->remote.outlet == NULL)
		return signals_stop_requested();
	return outlet_gives_up(place->remote.outlet, &place->moved_at);
}

static bool is_among(long code, const long *codes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code == codes[i])
			return true;
	return false;
}

#define IS_AMONG(code, codes) is_among(code, codes, sizeof(codes) / sizeof((codes)[0]))

/* Errors of ClickHouse that pass: memory, threads and the disk, a quota, too many queries or parts,
 * replicas that only read. */
static const long busy_codes[] = {173, 201, 202, 241, 242, 243, 252, 439};
/* And of which it is not said what was written: timeouts, the network, replicas, Keeper, a server that
 * stops, a disk that fails. */
static const long doubtful_codes[] = {
	75, 159, 203, 209, 210, 225, 236, 279, 285, 319, 394, 999, 1000, 1001, 1002};
/* Of values and rows: they cannot be parsed, do not fit their column, break a constraint, are too
 * many for one insert. */
static const long row_codes[] = {6, 25, 26, 27, 32, 33, 38, 41, 43, 53, 69, 70, 72, 117, 130, 131,
	158, 307, 321, 349, 376, 377, 395, 396, 407, 441, 467, 469, 675, 676, 691};
/* The same of HTTP: of the server, and of proxies before it. */
static const long busy_statuses[] = {408, 429, 503};
static const long row_statuses[] = {413};

/* The first line of what the server says. */
static void note_answer(struct clickhouse_place *place, long status)
{
	snprintf(place->why, sizeof(place->why), "HTTP %ld%s%.*s", status,
		place->answer_len > 0 ? ": " : "", (int)strcspn(place->answer, "\r\n"),
		place->answer);
	make_printable(place->why);
}

static enum answer read_answer(struct clickhouse_place *place)
{
	static const char begin[] = "Code: ";
	long status = 0, code = 0;

	place->code = 0;
	curl_easy_getinfo(place->curl, CURLINFO_RESPONSE_CODE, &status);
	if (strncmp(place->answer, begin, sizeof(begin) - 1) == 0)
		place->code = code = strtol(place->answer + sizeof(begin) - 1, NULL, 10);
	if (status >= HTTP_OK && status < HTTP_MULTIPLE && place->answer_len == 0)
		return ANSWER_WRITTEN;
	note_answer(place, status);
	/* To an INSERT ClickHouse answers nothing: another server does, or a proxy for it. */
	if (IS_AMONG(code, doubtful_codes) || (code == 0 && status < HTTP_MULTIPLE))
		return ANSWER_DOUBT;
	if (IS_AMONG(code, busy_codes) || (code == 0 && IS_AMONG(status, busy_statuses)))
		return ANSWER_BUSY;
	if (code == 0 && status >= HTTP_SERVER)
		return ANSWER_DOUBT;
	if (IS_AMONG(code, row_codes) || (code == 0 && IS_AMONG(status, row_statuses)))
		return ANSWER_REFUSED;
	return ANSWER_CLOSED;
}

static enum answer post(
	struct clickhouse_place *place, const char *url, const char *bytes, size_t len)
{
	char error[CURL_ERROR_SIZE] = "";
	curl_off_t sent = 0;
	CURLcode result;

	place->answer_len = 0;
	place->answer[0] = '\0';
	place->moved = 0;
	curl_easy_setopt(place->curl, CURLOPT_URL, url);
	curl_easy_setopt(place->curl, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(place->curl, CURLOPT_POSTFIELDS, bytes);
	curl_easy_setopt(place->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	result = curl_easy_perform(place->curl);
	curl_easy_setopt(place->curl, CURLOPT_ERRORBUFFER, NULL);
	/* Of an answer that is longer than we read its beginning is enough. */
	if (result == CURLE_OK || (result == CURLE_WRITE_ERROR && place->answer_len > 0))
		return read_answer(place);
	if (result == CURLE_ABORTED_BY_CALLBACK)
		snprintf(error, sizeof(error), "no answer");
	snprintf(place->why, sizeof(place->why), "%.*s", (int)sizeof(place->why) - 1,
		error[0] != '\0' ? error : curl_easy_strerror(result));
	make_printable(place->why);
	curl_easy_getinfo(place->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
	return sent > 0 ? ANSWER_BROKEN : ANSWER_BUSY;
}

/*
 * By the token a server knows what it has written already, where the table remembers that. The same
 * bytes have the same one: rows say which they are. Older servers do not know the setting.
 */
static enum answer insert(struct clickhouse_place *place)
{
	const struct text *rows = &place->remote.text;
	char url[URL_MAX];
	enum answer answer;

	if (place->no_tokens)
		return post(place, place->url, rows->data, rows->len);
	snprintf(url, sizeof(url), "%s&" TOKEN "=%016" PRIx64 "-%zu", place->url,
		checksum_add(CHECKSUM_START, rows->data, rows->len), rows->len);
	answer = post(place, url, rows->data, rows->len);
	if (answer != ANSWER_CLOSED || place->code != UNKNOWN_SETTING ||
		strstr(place->answer, TOKEN) == NULL)
		return answer;
	place->no_tokens = true;
	return post(place, place->url, rows->data, rows->len);
}

/* --- Until its fate is known */

static void wait_to_try_again(struct clickhouse_place *place)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct remote *remote = &place->remote;

	remote_say_waits(remote, place->why);
	place->backoff = receiver_backoff(place->backoff, outlet_second(remote->outlet));
	for (int64_t left = place->backoff; left > 0 && !remote->left; left -= PAUSE_NS) {
		if (remote_hurries(remote)) {
			place->backoff = 0;
			place->moved_at = clock_now(CLOCK_MONOTONIC);
			return;
		}
		nanosleep(&pause, NULL);
		if (outlet_gives_up(remote->outlet, &place->moved_at))
			remote_leave(remote, place->why);
	}
}

static void say_breaks(struct clickhouse_place *place)
{
	char why[sizeof(place->why) + 64];

	snprintf(why, sizeof(why), "%d requests with an interval's rows had no answer (%s)",
		BREAKS_MAX, place->why);
	remote_say_doubts(&place->remote, why);
}

/* Sends remote.text until its fate is known. Returns that of its rows. */
static _Atomic uint64_t *fate_of(struct clickhouse_place *place)
{
	struct remote *remote = &place->remote;
	struct delivery *delivery = &remote->delivery;
	uint32_t breaks = 0;
	bool doubtful = false;

	for (uint32_t tries = 0; !remote->left; tries++) {
		enum answer answer;

		delivery_count(&delivery->retries, tries > 0);
		answer = insert(place);
		if (answer == ANSWER_WRITTEN) {
			delivery_count(&delivery->bytes, remote->text.len);
			remote_say_takes(remote);
			place->backoff = 0;
			return &remote->fates->acknowledged;
		}
		/* With a spool rows wait until somebody lets them in. */
		if (answer == ANSWER_REFUSED ||
			(answer == ANSWER_CLOSED && remote->spooled == NULL)) {
			remote_say_refuses(remote, place->why);
			break;
		}
		doubtful |= answer == ANSWER_DOUBT || answer == ANSWER_BROKEN;
		breaks += answer == ANSWER_BROKEN;
		/* With a spool they wait: they are sent again with the same bytes. */
		if (breaks == BREAKS_MAX && remote->spooled == NULL) {
			say_breaks(place);
			break;
		}
		wait_to_try_again(place);
	}
	return doubtful ? &remote->fates->unknown : &remote->fates->failed;
}

static void bring(struct remote *remote, uint64_t rows)
{
	struct clickhouse_place *place = (struct clickhouse_place *)remote;

	place->moved_at = clock_now(CLOCK_MONOTONIC);
	delivery_count(fate_of(place), rows);
}

/* Whether there is a server that lets us in. */
static bool reach(struct clickhouse_place *place)
{
	static const char query[] = "SELECT 1 FORMAT Null"; /* as an INSERT, no answer */
	enum answer answer;
	char url[URL_MAX];

	snprintf(url, sizeof(url), "%.*s", (int)strcspn(place->url, "?"), place->url);
	curl_easy_setopt(place->curl, CURLOPT_TIMEOUT, OPENING_S);
	answer = post(place, url, query, strlen(query));
	curl_easy_setopt(place->curl, CURLOPT_TIMEOUT, 0L);
	return answer == ANSWER_WRITTEN;
}

static int open_place(struct remote *remote, bool require, char *why)
{
	struct clickhouse_place *place = (struct clickhouse_place *)remote;
	CURL *curl = curl_easy_init();

	place->curl = curl;
	/* No "Expect: 100-continue": a round trip less. */
	place->headers = curl_slist_append(NULL, "Expect:");
	snprintf(why, REMOTE_WHY_MAX, "there is no memory to send anything");
	if (curl == NULL || place->headers == NULL)
		return 1;
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, place->headers);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "sketchtap/" SKETCHTAP_VERSION);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	/* What is given up does not wait for a name server that is silent. */
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	/* A request that breaks on a connection that others had libcurl sends again by itself, and
	 * tells of the second time alone: what came of the first nobody would know. */
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, hear_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, place);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_at_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, place);
	if (!require || reach(place))
		return 0;
	snprintf(why, REMOTE_WHY_MAX, "%.*s", REMOTE_WHY_MAX - 1, place->why);
	return 1;
}

/* --- What is asked for */

static bool is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return len > 0 && !isdigit((unsigned char)name[0]);
}

/* TABLE or DATABASE.TABLE */
static bool is_table(const char *table)
{
	size_t len = strlen(table), database = strcspn(table, ".");

	if (len > TABLE_MAX)
		return false;
	return is_name(table, database) &&
	       (database == len || is_name(table + database + 1, len - database - 1));
}

/* The address before the slash of HOST[:PORT]/TABLE. */
static bool parse(const struct remote_scheme *scheme, const char *host, const char *slash,
	struct receiver_address *address, char *why)
{
	char text[sizeof(address->host) + PORT_TEXT_ROOM];

	snprintf(text, sizeof(text), "%.*s", (int)(slash - host), host);
	return receiver_parse(text, RECEIVER_TCP,
		scheme == &remote_clickhouse_tls ? PORT_TLS : PORT, address, why);
}

static bool check(
	const struct remote_scheme *scheme, const struct remote_request *request, char *why)
{
	const char *host = request->url + strlen(scheme->prefix), *slash = strchr(host, '/');
	struct receiver_address address;

	if (strcspn(host, "@") < strcspn(host, "/")) {
		snprintf(why, REMOTE_WHY_MAX,
			"names a user; write a line \"machine HOST login USER password PASSWORD\" "
			"into ~/.netrc");
		return false;
	}
	if (slash == NULL || !is_table(slash + 1)) {
		snprintf(why, REMOTE_WHY_MAX,
			"must end with /TABLE or /DATABASE.TABLE, of letters, digits and '_'");
		return false;
	}
	return parse(scheme, host, slash, &address, why);
}

static void free_place(struct remote *remote)
{
	struct clickhouse_place *place = (struct clickhouse_place *)remote;

	curl_easy_cleanup(place->curl);
	curl_slist_free_all(place->headers);
	free(place->url);
	free(place);
}

static void init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static struct remote *create(
	const struct remote_scheme *scheme, const struct remote_request *request, uint32_t number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct clickhouse_place *place = calloc(1, sizeof(*place));
	const char *host = request->url + strlen(scheme->prefix), *slash = strchr(host, '/');
	struct receiver_address address;
	char why[REMOTE_WHY_MAX];

	(void)number;
	pthread_once(&once, init_curl);
	if (place != NULL && parse(scheme, host, slash, &address, why) &&
		asprintf(&place->url,
			"http%s://%s%s%s:%s/?query=INSERT%%20INTO%%20%s%%20FORMAT%%20JSONEachRow"
			"&date_time_input_format=best_effort&input_format_skip_unknown_fields=1",
			scheme == &remote_clickhouse_tls ? "s" : "", *host == '[' ? "[" : "",
			address.host, *host == '[' ? "]" : "", address.port, slash + 1) >= 0)
		return &place->remote;
	free(place);
	return NULL;
}

/* A name is looked up for each connection. */
static void reopen(void *arg)
{
	struct clickhouse_place *place = arg;

	place->backoff = 0;
}

#define OPS                                                                                        \
	{                                                                                          \
		.write = remote_write, .reopen = reopen                                            \
	}

const struct remote_scheme remote_clickhouse = {
	.prefix = PREFIX,
	.form = FORM,
	.rows = REMOTE_JSON,
	.check = check,
	.create = create,
	.open = open_place,
	.bring = bring,
	.free = free_place,
	.ops = OPS,
};

const struct remote_scheme remote_clickhouse_tls = {
	.prefix = PREFIX_TLS,
	.form = FORM_TLS,
	.rows = REMOTE_JSON,
	.check = check,
	.create = create,
	.open = open_place,
	.bring = bring,
	.free = free_place,
	.ops = OPS,
};

#endif
