/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A topic of Kafka as a place of reports: kafka://BROKERS/TOPIC. Each row is a message of JSON, and
 * the brokers' answers are the account: librdkafka knows of each message whether they have it, do
 * not have it, or may have it. librdkafka sends messages in batches, and a broker refuses a batch as a
 * whole: rows that it refused so are sent again in parts, each half as long, down to one row.
 */

#include "report/sinks/sink.h"

#define PREFIX "kafka://"
#define FORM   "kafka://HOST[:PORT],.../TOPIC"

#ifdef KAFKA_MISSING

const struct sink_type sink_type_kafka = {.prefix = PREFIX, .form = FORM, .missing = KAFKA_MISSING};

#else

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <librdkafka/rdkafka.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/signals.h"
#include "report/formats/format.h"
#include "report/sinks/kafka_properties.h"
#include "report/sinks/socket_client.h"

#define PORT        "9092"
#define TOPIC_MAX   249 /* bytes, which Kafka allows */
#define POLL_MS     100
#define PURGE_POLLS 20 /* in which a producer that gives up has told so of all messages */
#define LEAVING_S   2  /* at most, to end a producer in */
#define ERROR_MAX   512
#define BATCH       64         /* messages that are handed over at once */
#define TEXT_BYTES  (32 << 10) /* of rows that are formatted at once: they stay in the first cache */
#define AGAIN_BYTES (4 << 20)  /* limit of refused rows that wait while others are sent */

struct sink_kafka {
	struct sink remote;
	char *brokers; /* and behind its final 0 the topic */
	const char *topic_name;
	const struct option_properties *properties;

	/* By the outlet's thread, on which librdkafka calls back, too. */
	rd_kafka_t *kafka; /* NULL: there is none, for lack of memory or threads */
	rd_kafka_topic_t *topic;
	bool keyed;       /* rows are of exporters */
	bool answers;     /* some came since `answered` was set */
	int64_t answered; /* monotonic ns: since then it had no need to, or has not */
	/* Rows of refused batches, one per line. They are sent again in parts. */
	struct text refused;
	uint64_t nb_rejected;
	rd_kafka_resp_err_t refusal; /* error of the last refused row */
	bool alone;                  /* each row is sent by a request of its own */
	uint32_t refusals; /* parts of more than one row that were refused, of the interval */
	int64_t backoff;   /* ns */
	bool closed;       /* a row was not taken, until somebody mends what is no matter of it */
	char why[128];     /* what librdkafka complained of last */
};

/* --- What librdkafka says, by the outlet's thread */

static void note_error(struct sink_kafka *place, const char *why)
{
	snprintf(place->why, sizeof(place->why), "%.*s", (int)sizeof(place->why) - 1, why);
	make_printable(place->why);
}

static void hear_error(rd_kafka_t *kafka, int error, const char *reason, void *arg)
{
	struct sink_kafka *place = arg;

	(void)kafka;
	note_error(place, reason);
	if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
		error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
		sink_say_waits(&place->remote, place->why);
}

/* Returns true if a batch is refused for its size, or for some of its rows. */
static bool is_of_batch(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       error == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE ||
	       error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
	       error == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

/* With a spool rows wait until somebody lets them in: all but those that it can never take as they are,
 * and those that are given up here. */
static bool is_closed(const struct sink_kafka *place, rd_kafka_resp_err_t error)
{
	if (place->remote.spooled == NULL || is_of_batch(error))
		return false;
	switch (error) {
	case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
	case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
	case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: return false;
	default: return true;
	}
}

/* Says that a row was not taken, for good or for now, or that nobody knows. */
static void warn_not_taken(struct sink_kafka *place, rd_kafka_resp_err_t error, bool doubtful)
{
	const char *why = rd_kafka_err2str(error);

	if (is_closed(place, error)) {
		place->closed = true;
		sink_say_waits(&place->remote, why);
	} else if (doubtful) {
		sink_warn_doubtful(&place->remote, why);
	} else {
		sink_warn_refused(&place->remote, why);
	}
}

/* Without acks no broker confirms a row. */
static _Atomic uint64_t *fate_of(struct delivery *delivery, const rd_kafka_message_t *message)
{
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_PERSISTED
			       ? &delivery->acknowledged
			       : &delivery->delivered;
	return rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED
		       ? &delivery->failed
		       : &delivery->unknown;
}

/* Keeps a row to send it again. Returns false if its fate is final: it was sent by itself, or memory is
 * missing. */
static bool keep_rejected(struct sink_kafka *place, const rd_kafka_message_t *message)
{
	size_t before = place->refused.len;

	if (place->alone || !is_of_batch(message->err) || message->len > INT32_MAX)
		return false;
	text_add(&place->refused, message->payload, message->len);
	text_char(&place->refused, '\n');
	if (place->refused.failed) {
		place->refused.failed = false;
		place->refused.len = before;
		return false;
	}
	place->nb_rejected++;
	place->refusal = message->err;
	return true;
}

static void hear_fate(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *arg)
{
	struct sink_kafka *place = arg;
	struct delivery *delivery = &place->remote.delivery;
	_Atomic uint64_t *fate = fate_of(place->remote.fates, message);
	bool taken = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;

	(void)kafka;
	if (keep_rejected(place, message))
		return;
	place->answers |= taken || !is_of_batch(message->err);
	delivery_count(fate, 1);
	delivery_count(&delivery->bytes, taken ? message->len : 0);
	if (taken)
		sink_say_takes(&place->remote);
	else
		warn_not_taken(place, message->err, fate == &place->remote.fates->unknown);
}

/* --- The producer */

/*
 * A message waits as long as its place does (socket.c has the same of sockets), in so much
 * memory at most; it is written once, in the order of the rows of a partition.
 */
static const char *const settings[][2] = {
	{"client.id", "sketchtap"},
	{"enable.idempotence", "true"},
	{"acks", "all"},
	{"compression.codec", "lz4"},
	{"message.timeout.ms", "0"},
	{"queue.buffering.max.kbytes", "65536"},
	{"queue.buffering.max.messages", "100000"},
};

static void *destroy_producer(void *kafka)
{
	rd_kafka_destroy(kafka);
	return NULL;
}

/* That waits for threads which look names up, and a name server that is silent keeps those for long:
 * then it goes on by itself. Nothing calls back any more. */
static void leave_producer(rd_kafka_t *kafka)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LEAVING_S;
	if (signals_start_thread(&thread, destroy_producer, kafka) != 0)
		rd_kafka_destroy(kafka);
	else if (pthread_timedjoin_np(thread, NULL, &until) != 0)
		pthread_detach(thread);
}

static void free_producer(struct sink_kafka *place)
{
	if (place->topic != NULL)
		rd_kafka_topic_destroy(place->topic);
	if (place->kafka != NULL)
		leave_producer(place->kafka);
	place->topic = NULL;
	place->kafka = NULL;
}

/* Returns 0, or the exit status with why. */
static int make_producer(struct sink_kafka *place, char error[ERROR_MAX])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool set = rd_kafka_conf_set(conf, "bootstrap.servers", place->brokers, error, ERROR_MAX) ==
		   RD_KAFKA_CONF_OK;
	int status;

	_Static_assert(ERROR_MAX >= KAFKA_WHY_MAX, "for what is said of properties");
	place->kafka = NULL;
	for (size_t s = 0; set && s < sizeof(settings) / sizeof(settings[0]); s++)
		set = rd_kafka_conf_set(conf, settings[s][0], settings[s][1], error, ERROR_MAX) ==
		      RD_KAFKA_CONF_OK;
	status = set ? kafka_properties_set(place->properties, conf, error) : 1;
	rd_kafka_conf_set_opaque(conf, place);
	rd_kafka_conf_set_error_cb(conf, hear_error);
	rd_kafka_conf_set_dr_msg_cb(conf, hear_fate);
	rd_kafka_conf_set_log_cb(conf, NULL);
	if (status == 0) {
		place->kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, ERROR_MAX);
		/* Properties that contradict each other, or name what is not there. */
		status = rd_kafka_last_error() == RD_KAFKA_RESP_ERR__INVALID_ARG ? 2 : 1;
	}
	if (place->kafka == NULL) {
		rd_kafka_conf_destroy(conf);
		make_printable(error);
		return status;
	}
	place->topic = rd_kafka_topic_new(place->kafka, place->topic_name, NULL);
	if (place->topic != NULL)
		return 0;
	snprintf(error, ERROR_MAX, "%s", rd_kafka_err2str(rd_kafka_last_error()));
	free_producer(place);
	return 1;
}

/* Whether any broker answers. */
static bool connect_sink(struct sink_kafka *place, char why[ERROR_MAX])
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	int64_t start = clock_now(CLOCK_MONOTONIC);

	while (clock_now(CLOCK_MONOTONIC) - start < sink_patience(&place->remote, 0)) {
		error = rd_kafka_metadata(place->kafka, 0, NULL, &metadata, POLL_MS);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
			rd_kafka_metadata_destroy(metadata);
			return true;
		}
	}
	snprintf(why, ERROR_MAX, "no broker answers (%s)", rd_kafka_err2str(error));
	return false;
}

static int open_place(struct sink *remote, bool require, char *why)
{
	struct sink_kafka *place = (struct sink_kafka *)remote;
	char error[ERROR_MAX] = "";
	int status;

	signals_block(); /* threads of librdkafka get none */
	status = make_producer(place, error);
	signals_unblock();
	snprintf(why, SINK_ERROR_MAX, "%s", error);
	if (status == 0 && require && !connect_sink(place, error))
		return sink_absent(why, error);
	return status;
}

/* After an error that ends a producer for good its messages have their fates. */
static void replace_if_fatal(struct sink_kafka *place)
{
	char error[ERROR_MAX];

	if (rd_kafka_fatal_error(place->kafka, error, sizeof(error)) == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	note_error(place, error);
	free_producer(place); /* the next rows make another */
	delivery_count(&place->remote.delivery.reconnects, 1);
}

/* --- Sending */

static void note_answers(struct sink_kafka *place)
{
	if (place->answers) {
		place->answered = clock_now(CLOCK_MONOTONIC);
		place->why[0] = '\0';
	}
	place->answers = false;
}

/* Takes answers for a moment; where no more rows come, those that librdkafka has leave at once. Returns
 * false where the rest is left, at the end of the run. */
static bool wait_for_answers(struct sink_kafka *place, bool more)
{
	char why[sizeof(place->why) + 16];

	if (place->kafka == NULL)
		nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
	else if (more)
		rd_kafka_poll(place->kafka, POLL_MS);
	else
		(void)rd_kafka_flush(place->kafka, POLL_MS);
	note_answers(place);
	if (!sink_queue_gives_up(place->remote.outlet, &place->answered))
		return !place->remote.left;
	snprintf(why, sizeof(why), "%s%sno answer", place->why, place->why[0] != '\0' ? ": " : "");
	sink_leave(&place->remote, why);
	return false;
}

/* Returns how many of the messages librdkafka has, of which it will tell. Those that it has no room
 * for stay in front. */
static int produce_some(struct sink_kafka *place, rd_kafka_message_t *messages, int *n)
{
	int wait = 0, taken = rd_kafka_produce_batch(place->topic, RD_KAFKA_PARTITION_UA,
			      RD_KAFKA_MSG_F_COPY, messages, *n);

	for (int m = 0; m < *n && taken < *n; m++) {
		if (messages[m].err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			messages[wait++] = messages[m];
		else if (messages[m].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			warn_not_taken(place, messages[m].err, false);
	}
	*n = wait;
	return taken;
}

/* Returns how many librdkafka has. */
static uint64_t produce(struct sink_kafka *place, rd_kafka_message_t *messages, int n)
{
	uint64_t produced = 0;

	while (n > 0 && !place->remote.left) {
		produced += (uint64_t)produce_some(place, messages, &n);
		if (n > 0)
			wait_for_answers(place, true);
	}
	rd_kafka_poll(place->kafka, 0);
	note_answers(place);
	return produced;
}

/* Until the fate of all is known. */
static void await_fates(struct sink_kafka *place)
{
	while (rd_kafka_outq_len(place->kafka) > 0 && wait_for_answers(place, false))
		;
	if (!place->remote.left)
		return;
	/* Without waiting for threads that look names up. */
	rd_kafka_purge(place->kafka,
		RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	for (uint32_t polls = 0; rd_kafka_outq_len(place->kafka) > 0 && polls < PURGE_POLLS;
		polls++)
		rd_kafka_poll(place->kafka, POLL_MS);
	delivery_count(&place->remote.fates->unknown, (uint64_t)rd_kafka_outq_len(place->kafka));
}

/* Rows of an exporter have it as key: they are in one partition, in their order. */
static void set_key(rd_kafka_message_t *message)
{
	static const char label[] = "\"exporter\":\"";
	const char *row = message->payload, *end = row + message->len;
	const char *key = memmem(row, message->len, label, strlen(label));
	const char *quote =
		key != NULL ? memchr(key + strlen(label), '"', (size_t)(end - key) - strlen(label))
			    : NULL;

	if (quote == NULL)
		return;
	key += strlen(label);
	message->key = (void *)(uintptr_t)key;
	message->key_len = (size_t)(quote - key);
}

/* Returns how many of the rows librdkafka has. */
static uint64_t produce_rows(struct sink_kafka *place, const char *rows, size_t len)
{
	const char *at = rows, *const end = rows + len;
	uint64_t produced = 0;

	while (at < end) {
		rd_kafka_message_t messages[BATCH] = {0};
		int n = 0;

		for (; n < BATCH && at < end; n++) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));

			messages[n].payload = (void *)(uintptr_t)at;
			messages[n].len = (size_t)(newline - at);
			if (place->keyed)
				set_key(&messages[n]);
			at = newline + 1;
		}
		produced += produce(place, messages, n);
	}
	return produced;
}

/* --- Rows of batches that were refused */

/* Some rows of a text, one per line. */
struct kafka_part {
	const char *rows;
	size_t len;
	uint64_t n;
};

static struct kafka_part take_part(const struct text *text, size_t at, uint64_t n)
{
	struct kafka_part part = {text->data + at, 0, 0};

	for (; part.n < n && at + part.len < text->len; part.n++) {
		const char *end = memchr(part.rows + part.len, '\n', text->len - at - part.len);

		part.len = (size_t)(end - part.rows) + 1;
	}
	return part;
}

/* Returns true if refused rows are sent again, in parts. With too many refusals in an interval it is the
 * topic that does not suit. */
static bool sends_again(struct sink_kafka *place)
{
	const char *why = rd_kafka_err2str(place->refusal);

	if (place->remote.left || place->closed)
		return false;
	/* At the end of the run it has no more time than one that takes nothing. */
	if (sink_queue_gives_up(place->remote.outlet, &place->answered)) {
		sink_leave(&place->remote, why);
		return false;
	}
	if (place->refusals < SINK_REFUSALS_MAX)
		return true;
	place->closed = place->remote.spooled != NULL;
	if (place->closed)
		sink_say_waits(&place->remote, why);
	else
		sink_warn_refused(&place->remote, why);
	return false;
}

/* Sends all rows of the text in parts of `size` rows, one after the other. */
static void send_parts(
	struct sink_kafka *place, const struct text *text, uint64_t rows, uint64_t size)
{
	struct delivery *delivery = &place->remote.delivery;
	size_t at = 0;

	place->alone = size == 1;
	while (rows > 0 && sends_again(place)) {
		struct kafka_part part = take_part(text, at, size);
		uint64_t before = place->nb_rejected;

		delivery_count(&delivery->retries, 1);
		delivery_count(&place->remote.fates->failed,
			part.n - produce_rows(place, part.rows, part.len));
		await_fates(place);
		place->refusals += !place->alone && place->nb_rejected > before;
		at += part.len;
		rows -= part.n;
	}
	place->alone = false;
	delivery_count(&place->remote.fates->failed, rows);
}

/* Sends refused rows again until each has its fate: in parts of half as many rows, then of half as many
 * of those that were refused again, down to one row. */
static void send_again(struct sink_kafka *place)
{
	for (uint64_t size = place->nb_rejected; place->nb_rejected > 0;) {
		struct text rows = place->refused;
		uint64_t n = place->nb_rejected;

		place->refused = (struct text){0};
		place->nb_rejected = 0;
		size = (size + 1) / 2;
		send_parts(place, &rows, n, size);
		text_free(&rows);
	}
}

static bool begin_rows(struct sink_kafka *place, uint64_t rows)
{
	char error[ERROR_MAX] = "";

	place->closed = false;
	place->refusals = 0;
	/* One that was left is heard no more: what it may still tell of was counted. */
	if (!place->remote.left && (place->kafka != NULL || make_producer(place, error) == 0))
		return true;
	delivery_count(&place->remote.fates->failed, rows);
	if (place->remote.left)
		return false;
	place->closed = place->remote.spooled != NULL;
	if (place->closed)
		sink_say_waits(&place->remote, error);
	else
		sink_warn_refused(&place->remote, error);
	return false;
}

/* Of which librdkafka has some, until the fates of all are known. */
static void end_rows(struct sink_kafka *place, uint64_t rows, uint64_t produced)
{
	delivery_count(&place->remote.fates->failed, rows > produced ? rows - produced : 0);
	await_fates(place);
	send_again(place);
	replace_if_fatal(place);
}

static void bring_once(struct sink_kafka *place, uint64_t rows)
{
	if (begin_rows(place, rows))
		end_rows(place, rows,
			produce_rows(place, place->remote.text.data, place->remote.text.len));
}

static void wait_to_try_again(struct sink_kafka *place)
{
	int64_t until;

	place->backoff =
		socket_client_backoff(place->backoff, sink_queue_second(place->remote.outlet));
	until = clock_now(CLOCK_MONOTONIC) + place->backoff;
	while (clock_now(CLOCK_MONOTONIC) < until && !sink_hurries(&place->remote) &&
		wait_for_answers(place, true))
		;
}

static void send_rows(struct sink *remote, uint64_t rows)
{
	struct sink_kafka *place = (struct sink_kafka *)remote;

	place->answered = clock_now(CLOCK_MONOTONIC);
	place->backoff = 0;
	bring_once(place, rows);
	/* All of them again, with the same bytes: only the last time counts. */
	while (place->closed && !remote->left) {
		wait_to_try_again(place);
		if (remote->left)
			break;
		delivery_count(&remote->delivery.retries, 1);
		memset(remote->fates, 0, sizeof(*remote->fates));
		bring_once(place, rows);
	}
}

/* Without a spool only rows that were refused are sent twice: librdkafka sends rows while the next are
 * formatted. */
static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_kafka *place = arg;
	struct sink *remote = &place->remote;
	struct format_cursor cursor = {0};
	uint64_t rows = sink_rows(remote, epoch), produced = 0;

	if (rows == 0 || !begin_rows(place, rows))
		return;
	place->answered = clock_now(CLOCK_MONOTONIC);
	text_clear(&remote->text);
	while (format_some(&remote->text, TEXT_BYTES, remote->format, remote->columns, epoch,
		       &cursor) > 0) {
		if (!remote->text.failed)
			produced += produce_rows(place, remote->text.data, remote->text.len);
		text_clear(&remote->text);
		if (place->refused.len > AGAIN_BYTES) {
			await_fates(place);
			send_again(place);
		}
	}
	end_rows(place, rows, produced);
}

/* --- What is asked for */

static bool is_topic(const char *topic)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(topic);

	return len > 0 && len <= TOPIC_MAX && len == strspn(topic, letters) &&
	       strcmp(topic, ".") != 0 && strcmp(topic, "..") != 0;
}

static bool check_broker(const char *broker, size_t len, char *why)
{
	struct socket_client_address address;
	char text[sizeof(address.host) + 16];

	if (len >= sizeof(text)) {
		snprintf(
			why, SINK_ERROR_MAX, "a broker is longer than %zu bytes", sizeof(text) - 1);
		return false;
	}
	snprintf(text, sizeof(text), "%.*s", (int)len, broker);
	return socket_client_parse(text, SOCKET_CLIENT_TCP, PORT, &address, why);
}

static bool check_properties(const struct sink_request *request, char *why)
{
	char name[KAFKA_PROPERTY_MAX];

	_Static_assert(SINK_ERROR_MAX >= KAFKA_WHY_MAX, "for what is said of properties");
	if (kafka_properties_check(&request->options->kafka, name, why))
		return true;
	if (request->key != NULL)
		snprintf(request->key, SINK_KEY_MAX, "kafka.%s", name);
	return false;
}

static bool check(const struct sink_type *scheme, const struct sink_request *request, char *why)
{
	const char *at = request->url + strlen(scheme->prefix), *topic = strchr(at, '/');

	if (topic == NULL || !is_topic(topic + 1)) {
		snprintf(why, SINK_ERROR_MAX,
			"must end with /TOPIC, of 1 to %d letters, digits, '.', '_' and '-'",
			TOPIC_MAX);
		return false;
	}
	for (; at <= topic; at += strcspn(at, ",/") + 1)
		if (!check_broker(at, strcspn(at, ",/"), why))
			return false;
	return check_properties(request, why);
}

static void free_place(struct sink *remote)
{
	struct sink_kafka *place = (struct sink_kafka *)remote;

	free_producer(place);
	text_free(&place->refused);
	free(place->brokers);
	free(place);
}

static struct sink *create(
	const struct sink_type *scheme, const struct sink_request *request, uint32_t number)
{
	struct sink_kafka *place = calloc(1, sizeof(*place));
	char *slash;

	(void)number;
	if (place == NULL)
		return NULL;
	place->brokers = strdup(request->url + strlen(scheme->prefix));
	if (place->brokers == NULL) {
		free(place);
		return NULL;
	}
	slash = strchr(place->brokers, '/');
	*slash = '\0';
	place->topic_name = slash + 1;
	place->properties = &request->options->kafka;
	place->keyed = request->kind == ROWS_EXPORTERS || request->kind == ROWS_LINKS;
	return &place->remote;
}

static const char *const keys[] = {"kafka", NULL};

const struct sink_type sink_type_kafka = {
	.prefix = PREFIX,
	.form = FORM,
	.rows = SINK_ENCODING_JSON,
	.keys = keys,
	.check = check,
	.create = create,
	.open = open_place,
	.free = free_place,
	.bring = send_rows,
	.ops = {.write = write_report},
};

#endif
