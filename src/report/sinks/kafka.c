/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sink: a topic of Kafka (kafka://BROKERS/TOPIC). Each row is a JSON message. The broker's answer
 * to each message gives its fate: librdkafka reports stored, not stored or possibly stored. A
 * broker refuses whole batches: refused rows are sent again in parts, each half as long, down to
 * one row.
 */

#include "report/sinks/sink.h"

static const struct option_row kafka_rows[] = {
	{
		.name = "kafka",
		.placeholder = "VALUE",
		.type = OPTION_PROPERTIES,
		.size = sizeof(struct option_properties),
		.help = "Set a property of librdkafka. For kafka:// only.",
	},
	{0},
};

static const struct option_owner kafka_owner = {
	.rows = kafka_rows,
	.size = sizeof(struct option_properties),
};

static const struct sink_scheme schemes[] = {
	{"kafka://", "kafka://HOST[:PORT],.../TOPIC", .note = "JSON"},
	{0},
};

#ifdef KAFKA_MISSING

const struct sink_type sink_type_kafka = {
	.schemes = schemes, .keys = &kafka_owner, .missing = KAFKA_MISSING};

#else

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <librdkafka/rdkafka.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/signals.h"
#include "report/formats/format.h"
#include "report/sinks/kafka_properties.h"
#include "report/sinks/socket_client.h"

#define PORT        "9092"
#define TOPIC_MAX   249 /* bytes; limit of Kafka */
#define POLL_MS     100
#define PURGE_POLLS 20 /* limit of polls for the fates of all messages after a purge */
#define LEAVING_S   2  /* limit of waiting for the end of a producer */
#define ERROR_MAX   512
#define BATCH       64         /* messages per call of librdkafka */
#define TEXT_BYTES  (32 << 10) /* bytes of rows that are formatted at once; fits the L1 cache */
#define AGAIN_BYTES (4 << 20)  /* bytes; limit of refused rows that wait while others are sent */

struct sink_kafka {
	struct sink sink;
	char *brokers; /* ends with 0; the topic follows in the same allocation */
	const char *topic_name;
	const struct option_properties *properties;

	/* Used by the sink's thread, which also runs the callbacks of librdkafka. */
	rd_kafka_t *kafka; /* NULL: not created, for lack of memory or threads */
	rd_kafka_topic_t *topic;
	bool keyed;       /* rows have an exporter, the message key */
	bool answers;     /* answers arrived since note_answers() */
	int64_t answered; /* monotonic ns of the last answer; during the run, last check */
	/* Rows of refused batches, one per line, to be sent again. */
	struct text refused;
	uint64_t nb_rejected;
	rd_kafka_resp_err_t refusal; /* error of the last refused row */
	bool alone;                  /* one row per request: a refusal is final */
	uint32_t refusals;           /* refused parts of several rows, of this interval */
	int64_t backoff;             /* ns */
	bool closed;                 /* rows wait until an operator fixes the broker or topic */
	char why[128];               /* last error of librdkafka */
};

/* --- Callbacks of librdkafka, on the sink's thread */

static void note_error(struct sink_kafka *kafka_sink, const char *why)
{
	snprintf(kafka_sink->why, sizeof(kafka_sink->why), "%.*s", (int)sizeof(kafka_sink->why) - 1,
		why);
	make_printable(kafka_sink->why);
}

static void hear_error(rd_kafka_t *kafka, int error, const char *reason, void *arg)
{
	struct sink_kafka *kafka_sink = arg;

	(void)kafka;
	note_error(kafka_sink, reason);
	if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
		error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
		sink_say_waits(&kafka_sink->sink, kafka_sink->why);
}

/* Returns true if a batch is refused for its size, or for some of its rows. */
static bool is_of_batch(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       error == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE ||
	       error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
	       error == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

/*
 * Returns true if rows must wait in the spool until an operator fixes the error: any error except
 * those of the rows themselves, and those after giving up.
 */
static bool is_closed(const struct sink_kafka *kafka_sink, rd_kafka_resp_err_t error)
{
	if (kafka_sink->sink.spooled == NULL || is_of_batch(error))
		return false;
	switch (error) {
	case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
	case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
	case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: return false;
	default: return true;
	}
}

/* Logs that a row was not stored: it waits, is lost, or is possibly stored. */
static void warn_not_taken(struct sink_kafka *kafka_sink, rd_kafka_resp_err_t error, bool doubtful)
{
	const char *why = rd_kafka_err2str(error);

	if (is_closed(kafka_sink, error)) {
		kafka_sink->closed = true;
		sink_say_waits(&kafka_sink->sink, why);
	} else if (doubtful) {
		sink_warn_doubtful(&kafka_sink->sink, why);
	} else {
		sink_warn_refused(&kafka_sink->sink, why);
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

/*
 * Keeps a refused row to send it again. Returns false if its fate is final: it was sent in its own
 * request, the error is not of a batch, or out of memory.
 */
static bool keep_rejected(struct sink_kafka *kafka_sink, const rd_kafka_message_t *message)
{
	size_t before = kafka_sink->refused.len;

	if (kafka_sink->alone || !is_of_batch(message->err) || message->len > INT32_MAX)
		return false;
	text_add(&kafka_sink->refused, message->payload, message->len);
	text_char(&kafka_sink->refused, '\n');
	if (kafka_sink->refused.failed) {
		kafka_sink->refused.failed = false;
		kafka_sink->refused.len = before;
		return false;
	}
	kafka_sink->nb_rejected++;
	kafka_sink->refusal = message->err;
	return true;
}

static void hear_fate(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *arg)
{
	struct sink_kafka *kafka_sink = arg;
	struct delivery *delivery = &kafka_sink->sink.delivery;
	_Atomic uint64_t *fate = fate_of(kafka_sink->sink.fates, message);
	bool taken = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;

	(void)kafka;
	if (keep_rejected(kafka_sink, message))
		return;
	kafka_sink->answers |= taken || !is_of_batch(message->err);
	delivery_count(fate, 1);
	delivery_count(&delivery->bytes, taken ? message->len : 0);
	if (taken)
		sink_say_takes(&kafka_sink->sink);
	else
		warn_not_taken(kafka_sink, message->err, fate == &kafka_sink->sink.fates->unknown);
}

/* --- The producer */

/*
 * Messages have no timeout in librdkafka: the sink limits the wait. They take limited memory, are
 * written once, and keep their order per partition.
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

/*
 * rd_kafka_destroy() waits for threads that look up names, which a silent name server can delay for
 * long: after LEAVING_S it continues in the background. No callbacks follow.
 */
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

static void free_producer(struct sink_kafka *kafka_sink)
{
	if (kafka_sink->topic != NULL)
		rd_kafka_topic_destroy(kafka_sink->topic);
	if (kafka_sink->kafka != NULL)
		leave_producer(kafka_sink->kafka);
	kafka_sink->topic = NULL;
	kafka_sink->kafka = NULL;
}

/* Returns 0, or the exit status with the reason in error. */
static int make_producer(struct sink_kafka *kafka_sink, char error[ERROR_MAX])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool set = rd_kafka_conf_set(conf, "bootstrap.servers", kafka_sink->brokers, error,
			   ERROR_MAX) == RD_KAFKA_CONF_OK;
	int status;

	_Static_assert(ERROR_MAX >= KAFKA_WHY_MAX, "for messages about properties");
	kafka_sink->kafka = NULL;
	for (size_t s = 0; set && s < sizeof(settings) / sizeof(settings[0]); s++)
		set = rd_kafka_conf_set(conf, settings[s][0], settings[s][1], error, ERROR_MAX) ==
		      RD_KAFKA_CONF_OK;
	status = set ? kafka_properties_set(kafka_sink->properties, conf, error) : 1;
	rd_kafka_conf_set_opaque(conf, kafka_sink);
	rd_kafka_conf_set_error_cb(conf, hear_error);
	rd_kafka_conf_set_dr_msg_cb(conf, hear_fate);
	rd_kafka_conf_set_log_cb(conf, NULL);
	if (status == 0) {
		kafka_sink->kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, ERROR_MAX);
		/* Properties contradict each other, or name a missing file. */
		status = rd_kafka_last_error() == RD_KAFKA_RESP_ERR__INVALID_ARG ? 2 : 1;
	}
	if (kafka_sink->kafka == NULL) {
		rd_kafka_conf_destroy(conf);
		make_printable(error);
		return status;
	}
	kafka_sink->topic = rd_kafka_topic_new(kafka_sink->kafka, kafka_sink->topic_name, NULL);
	if (kafka_sink->topic != NULL)
		return 0;
	snprintf(error, ERROR_MAX, "%s", rd_kafka_err2str(rd_kafka_last_error()));
	free_producer(kafka_sink);
	return 1;
}

/* Returns true if a broker answers. */
static bool connect_sink(struct sink_kafka *kafka_sink, char why[ERROR_MAX])
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	int64_t start = clock_now(CLOCK_MONOTONIC);

	while (clock_now(CLOCK_MONOTONIC) - start < sink_patience(&kafka_sink->sink, 0)) {
		error = rd_kafka_metadata(kafka_sink->kafka, 0, NULL, &metadata, POLL_MS);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
			rd_kafka_metadata_destroy(metadata);
			return true;
		}
	}
	snprintf(why, ERROR_MAX, "no broker answers (%s)", rd_kafka_err2str(error));
	return false;
}

static int open_place(struct sink *sink, bool require, char *why)
{
	struct sink_kafka *kafka_sink = (struct sink_kafka *)sink;
	char error[ERROR_MAX] = "";
	int status;

	signals_block(); /* threads of librdkafka must not receive signals */
	status = make_producer(kafka_sink, error);
	signals_unblock();
	snprintf(why, SINK_ERROR_MAX, "%s", error);
	if (status == 0 && require && !connect_sink(kafka_sink, error))
		return sink_absent(why, error);
	return status;
}

/* Frees the producer after a fatal error, when its messages have their fates. */
static void replace_if_fatal(struct sink_kafka *kafka_sink)
{
	char error[ERROR_MAX];

	if (rd_kafka_fatal_error(kafka_sink->kafka, error, sizeof(error)) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	note_error(kafka_sink, error);
	free_producer(kafka_sink); /* begin_rows() makes another */
	delivery_count(&kafka_sink->sink.delivery.reconnects, 1);
}

/* --- Sending */

static void note_answers(struct sink_kafka *kafka_sink)
{
	if (kafka_sink->answers) {
		kafka_sink->answered = clock_now(CLOCK_MONOTONIC);
		kafka_sink->why[0] = '\0';
	}
	kafka_sink->answers = false;
}

/*
 * Processes answers for up to POLL_MS. more false: no rows follow, so librdkafka sends queued ones
 * at once. Returns false if the sink is abandoned at the end of the run.
 */
static bool wait_for_answers(struct sink_kafka *kafka_sink, bool more)
{
	char why[sizeof(kafka_sink->why) + 16];

	if (kafka_sink->kafka == NULL)
		nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
	else if (more)
		rd_kafka_poll(kafka_sink->kafka, POLL_MS);
	else
		(void)rd_kafka_flush(kafka_sink->kafka, POLL_MS);
	note_answers(kafka_sink);
	if (!sink_queue_gives_up(kafka_sink->sink.sink_queue, &kafka_sink->answered))
		return !kafka_sink->sink.left;
	snprintf(why, sizeof(why), "%s%sno answer", kafka_sink->why,
		kafka_sink->why[0] != '\0' ? ": " : "");
	sink_leave(&kafka_sink->sink, why);
	return false;
}

/*
 * Returns the number of messages that librdkafka accepted and will report. Moves those that did not
 * fit its queue to the front, and sets *n to their number.
 */
static int produce_some(struct sink_kafka *kafka_sink, rd_kafka_message_t *messages, int *n)
{
	int wait = 0, taken = rd_kafka_produce_batch(kafka_sink->topic, RD_KAFKA_PARTITION_UA,
			      RD_KAFKA_MSG_F_COPY, messages, *n);

	for (int m = 0; m < *n && taken < *n; m++) {
		if (messages[m].err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			messages[wait++] = messages[m];
		else if (messages[m].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			warn_not_taken(kafka_sink, messages[m].err, false);
	}
	*n = wait;
	return taken;
}

/* Returns the number of messages that librdkafka accepted. */
static uint64_t produce(struct sink_kafka *kafka_sink, rd_kafka_message_t *messages, int n)
{
	uint64_t produced = 0;

	while (n > 0 && !kafka_sink->sink.left) {
		produced += (uint64_t)produce_some(kafka_sink, messages, &n);
		if (n > 0)
			wait_for_answers(kafka_sink, true);
	}
	rd_kafka_poll(kafka_sink->kafka, 0);
	note_answers(kafka_sink);
	return produced;
}

/*
 * Waits until the fates of all messages are known, or counts them as unknown at the end of the run.
 */
static void await_fates(struct sink_kafka *kafka_sink)
{
	while (rd_kafka_outq_len(kafka_sink->kafka) > 0 && wait_for_answers(kafka_sink, false))
		;
	if (!kafka_sink->sink.left)
		return;
	/* Does not wait for threads that look up names. */
	rd_kafka_purge(kafka_sink->kafka,
		RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	for (uint32_t polls = 0; rd_kafka_outq_len(kafka_sink->kafka) > 0 && polls < PURGE_POLLS;
		polls++)
		rd_kafka_poll(kafka_sink->kafka, POLL_MS);
	delivery_count(
		&kafka_sink->sink.fates->unknown, (uint64_t)rd_kafka_outq_len(kafka_sink->kafka));
}

/* The exporter is the key: its rows go to one partition, in order. */
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

/* Returns the number of rows that librdkafka accepted. */
static uint64_t produce_rows(struct sink_kafka *kafka_sink, const char *rows, size_t len)
{
	const char *at = rows, *const end = rows + len;
	uint64_t produced = 0;

	while (at < end) {
		rd_kafka_message_t messages[BATCH] = {0};
		int n = 0;

		for (; n < BATCH && at < end; n++) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));

			ASSERT(newline, !=, NULL);
			messages[n].payload = (void *)(uintptr_t)at;
			messages[n].len = (size_t)(newline - at);
			if (kafka_sink->keyed)
				set_key(&messages[n]);
			at = newline + 1;
		}
		produced += produce(kafka_sink, messages, n);
	}
	return produced;
}

/* --- Rows of batches that were refused */

/* Part of a text, one row per line. */
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

		ASSERT(end, !=, NULL);
		part.len = (size_t)(end - part.rows) + 1;
	}
	return part;
}

/*
 * Returns true if refused rows must be sent again in parts. After SINK_REFUSALS_MAX refusals in an
 * interval the topic is considered unsuitable.
 */
static bool sends_again(struct sink_kafka *kafka_sink)
{
	const char *why = rd_kafka_err2str(kafka_sink->refusal);

	if (kafka_sink->sink.left || kafka_sink->closed)
		return false;
	/* At the end of the run refusals have the same time limit as no answers. */
	if (sink_queue_gives_up(kafka_sink->sink.sink_queue, &kafka_sink->answered)) {
		sink_leave(&kafka_sink->sink, why);
		return false;
	}
	if (kafka_sink->refusals < SINK_REFUSALS_MAX)
		return true;
	kafka_sink->closed = kafka_sink->sink.spooled != NULL;
	if (kafka_sink->closed)
		sink_say_waits(&kafka_sink->sink, why);
	else
		sink_warn_refused(&kafka_sink->sink, why);
	return false;
}

/* Sends the rows of the text in parts of `size` rows. */
static void send_parts(
	struct sink_kafka *kafka_sink, const struct text *text, uint64_t rows, uint64_t size)
{
	struct delivery *delivery = &kafka_sink->sink.delivery;
	size_t at = 0;

	kafka_sink->alone = size == 1;
	while (rows > 0 && sends_again(kafka_sink)) {
		struct kafka_part part = take_part(text, at, size);
		uint64_t before = kafka_sink->nb_rejected;

		delivery_count(&delivery->retries, 1);
		delivery_count(&kafka_sink->sink.fates->failed,
			part.n - produce_rows(kafka_sink, part.rows, part.len));
		await_fates(kafka_sink);
		kafka_sink->refusals += !kafka_sink->alone && kafka_sink->nb_rejected > before;
		at += part.len;
		rows -= part.n;
	}
	kafka_sink->alone = false;
	delivery_count(&kafka_sink->sink.fates->failed, rows);
}

/*
 * Sends refused rows again until each has its fate: in parts of half as many rows, then those
 * refused again in parts of half that size, down to one row.
 */
static void send_again(struct sink_kafka *kafka_sink)
{
	for (uint64_t size = kafka_sink->nb_rejected; kafka_sink->nb_rejected > 0;) {
		struct text rows = kafka_sink->refused;
		uint64_t n = kafka_sink->nb_rejected;

		kafka_sink->refused = (struct text){0};
		kafka_sink->nb_rejected = 0;
		size = (size + 1) / 2;
		send_parts(kafka_sink, &rows, n, size);
		text_free(&rows);
	}
}

static bool begin_rows(struct sink_kafka *kafka_sink, uint64_t rows)
{
	char error[ERROR_MAX] = "";

	kafka_sink->closed = false;
	kafka_sink->refusals = 0;
	/* An abandoned producer is not used again: its messages are counted as unknown. */
	if (!kafka_sink->sink.left &&
		(kafka_sink->kafka != NULL || make_producer(kafka_sink, error) == 0))
		return true;
	delivery_count(&kafka_sink->sink.fates->failed, rows);
	if (kafka_sink->sink.left)
		return false;
	kafka_sink->closed = kafka_sink->sink.spooled != NULL;
	if (kafka_sink->closed)
		sink_say_waits(&kafka_sink->sink, error);
	else
		sink_warn_refused(&kafka_sink->sink, error);
	return false;
}

/* Waits for the fates of rows, `produced` of which librdkafka accepted. */
static void end_rows(struct sink_kafka *kafka_sink, uint64_t rows, uint64_t produced)
{
	delivery_count(&kafka_sink->sink.fates->failed, rows > produced ? rows - produced : 0);
	await_fates(kafka_sink);
	send_again(kafka_sink);
	replace_if_fatal(kafka_sink);
}

static void bring_once(struct sink_kafka *kafka_sink, uint64_t rows)
{
	if (begin_rows(kafka_sink, rows))
		end_rows(kafka_sink, rows,
			produce_rows(
				kafka_sink, kafka_sink->sink.text.data, kafka_sink->sink.text.len));
}

static void wait_to_try_again(struct sink_kafka *kafka_sink)
{
	int64_t until;

	kafka_sink->backoff = socket_client_backoff(
		kafka_sink->backoff, sink_queue_second(kafka_sink->sink.sink_queue));
	until = clock_now(CLOCK_MONOTONIC) + kafka_sink->backoff;
	while (clock_now(CLOCK_MONOTONIC) < until && !sink_hurries(&kafka_sink->sink) &&
		wait_for_answers(kafka_sink, true))
		;
}

static void send_rows(struct sink *sink, uint64_t rows)
{
	struct sink_kafka *kafka_sink = (struct sink_kafka *)sink;

	kafka_sink->answered = clock_now(CLOCK_MONOTONIC);
	kafka_sink->backoff = 0;
	bring_once(kafka_sink, rows);
	/* Sends all rows again, with the same bytes, and counts only the last attempt. */
	while (kafka_sink->closed && !sink->left) {
		wait_to_try_again(kafka_sink);
		if (sink->left)
			break;
		delivery_count(&sink->delivery.retries, 1);
		memset(sink->fates, 0, sizeof(*sink->fates));
		bring_once(kafka_sink, rows);
	}
}

/*
 * Without a spool only refused rows are sent twice, so librdkafka can send rows while the next are
 * formatted.
 */
static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_kafka *kafka_sink = arg;
	struct sink *sink = &kafka_sink->sink;
	struct format_cursor cursor = {0};
	uint64_t rows = sink_rows(sink, epoch), produced = 0;

	if (rows == 0 || !begin_rows(kafka_sink, rows))
		return;
	kafka_sink->answered = clock_now(CLOCK_MONOTONIC);
	text_clear(&sink->text);
	while (format_some(&sink->text, TEXT_BYTES, sink->format, sink->columns, epoch, &cursor) >
		0) {
		if (!sink->text.failed)
			produced += produce_rows(kafka_sink, sink->text.data, sink->text.len);
		text_clear(&sink->text);
		if (kafka_sink->refused.len > AGAIN_BYTES) {
			await_fates(kafka_sink);
			send_again(kafka_sink);
		}
	}
	end_rows(kafka_sink, rows, produced);
}

/* --- Options */

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

	_Static_assert(SINK_ERROR_MAX >= KAFKA_WHY_MAX, "for messages about properties");
	if (request->own == NULL || kafka_properties_check(request->own, name, why))
		return true;
	if (request->key != NULL)
		snprintf(request->key, SINK_KEY_MAX, "kafka.%s", name);
	return false;
}

static bool check(const struct sink_url *url, const struct sink_request *request, char *why)
{
	const char *at = url->rest, *topic = strchr(at, '/');

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

static void free_place(struct sink *sink)
{
	struct sink_kafka *kafka_sink = (struct sink_kafka *)sink;

	free_producer(kafka_sink);
	text_free(&kafka_sink->refused);
	free(kafka_sink->brokers);
	free(kafka_sink);
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	static const struct option_properties no_properties;
	struct sink_kafka *kafka_sink = calloc(1, sizeof(*kafka_sink));
	char *slash;

	(void)number;
	if (kafka_sink == NULL)
		return NULL;
	kafka_sink->brokers = strdup(url->rest);
	if (kafka_sink->brokers == NULL) {
		free(kafka_sink);
		return NULL;
	}
	slash = strchr(kafka_sink->brokers, '/');
	*slash = '\0';
	kafka_sink->topic_name = slash + 1;
	kafka_sink->properties = request->own != NULL ? request->own : &no_properties;
	kafka_sink->keyed = request->kind == ROWS_EXPORTERS || request->kind == ROWS_LINKS;
	return &kafka_sink->sink;
}

const struct sink_type sink_type_kafka = {
	.schemes = schemes,
	.rows = SINK_ENCODING_JSON,
	.keys = &kafka_owner,
	.check = check,
	.create = create,
	.open = open_place,
	.free = free_place,
	.bring = send_rows,
	.ops = {.write = write_report},
};

#endif
