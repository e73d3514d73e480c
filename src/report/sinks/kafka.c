/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sink: a topic of Kafka (kafka://BROKERS/TOPIC). Each row is a JSON message. A broker refuses a
 * batch as a whole, so refused rows are sent again in smaller batches, down to one row.
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

#include <errno.h>
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
#include "report/sinks/socket_client.h"

#define PROPERTY_MAX 128
#define WHY_MAX      256
#define VALUE_MAX    4096 /* bytes of the first line of a file with a secret */
#define PORT         "9092"
#define TOPIC_MAX    249 /* bytes; limit of Kafka */
#define POLL_MS      100
#define PURGE_POLLS  20 /* limit of polls after a purge, until all messages have a fate */
#define LEAVING_S    2  /* seconds; limit of waiting for rd_kafka_destroy() */
#define ERROR_MAX    512
#define BATCH        64
/* bytes of rows that are formatted together; they fit into the L1 cache */
#define TEXT_BYTES   (32 << 10)
/* bytes; if more refused rows wait, they are sent again before further rows */
#define AGAIN_BYTES  (4 << 20)

struct sink_kafka {
	struct sink sink;
	char *brokers; /* string; the topic follows in the same allocation */
	const char *topic_name;
	const struct option_properties *properties;

	/* Used only by the sink's thread, in which the callbacks of librdkafka also run. */
	rd_kafka_t *producer;
	rd_kafka_topic_t *topic;
	bool keyed;   /* rows have an exporter, which is the message key */
	bool answers; /* a broker has answered since the last note_answers() */
	/* monotonic ns of the last answer; during the run, the current time */
	int64_t answered;
	/* refused rows that will be sent again, one per line */
	struct text refused;
	uint64_t nb_rejected;
	rd_kafka_resp_err_t refusal; /* error of the last refused row */
	/* each request has only one row, so that a refused row is lost */
	bool alone;
	/* refused requests of this interval that had several rows */
	uint32_t refusals;
	int64_t backoff;
	/* rows wait until an operator fixes the broker or topic */
	bool closed;
	char why[128];
};

/* kafka.NAME.file = FILE sets a secret property to the first line of FILE. */

static const char of_file[] = ".file";

struct kafka_property {
	char name[PROPERTY_MAX];
	const char *value; /* the value, or the file that contains it */
	bool in_file;
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

static struct kafka_property property_of(const char *text)
{
	size_t len = strcspn(text, "=");
	struct kafka_property property = {.value = text + len + 1};

	snprintf(property.name, sizeof(property.name), "%.*s", (int)len, text);
	property.in_file = ends_with(property.name, of_file);
	if (property.in_file)
		property.name[strlen(property.name) - strlen(of_file)] = '\0';
	return property;
}

/* Secrets must not be in the configuration file, which sketchtap may print. */
static bool is_secret(const char *name)
{
	return strstr(name, "password") != NULL || strstr(name, "secret") != NULL;
}

static bool is_of_url(const char *name)
{
	return strcmp(name, "bootstrap.servers") == 0 || strcmp(name, "metadata.broker.list") == 0;
}

static bool check_property(
	rd_kafka_conf_t *conf, const struct kafka_property *property, char why[WHY_MAX])
{
	/* If the value is in a file, checks only the name. */
	rd_kafka_conf_res_t result = rd_kafka_conf_set(
		conf, property->name, property->in_file ? "" : property->value, why, WHY_MAX);

	if (is_of_url(property->name))
		snprintf(why, WHY_MAX, "the URL contains the brokers; omit it");
	else if (strcmp(property->name, "delivery.report.only.error") == 0)
		snprintf(why, WHY_MAX, "hides acknowledgements; omit it");
	else if (result == RD_KAFKA_CONF_UNKNOWN)
		snprintf(why, WHY_MAX, "not a property of librdkafka %s", rd_kafka_version_str());
	else if (property->in_file && *property->value == '\0')
		snprintf(why, WHY_MAX, "no file name");
	else if (ends_with(property->name, "key.pem"))
		snprintf(why, WHY_MAX,
			"a secret of several lines; write kafka.ssl.key.location = FILE");
	else if (!property->in_file && is_secret(property->name))
		snprintf(why, WHY_MAX,
			"a secret; write kafka.%s.file = FILE, with the secret in the first line "
			"of FILE",
			property->name);
	else
		return property->in_file || result == RD_KAFKA_CONF_OK;
	return false;
}

/* Does not read files. On failure, stores in `key` the wrong name as the user wrote it. */
static bool check_all_properties(
	const struct option_properties *properties, char key[PROPERTY_MAX], char why[WHY_MAX])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool good = true;

	for (uint32_t p = 0; p < properties->n && good; p++) {
		const char *text = properties->texts[p];
		struct kafka_property property = property_of(text);

		snprintf(key, PROPERTY_MAX, "%.*s", (int)strcspn(text, "="), text);
		good = check_property(conf, &property, why);
	}
	rd_kafka_conf_destroy(conf);
	return good;
}

static bool read_first_line(const char *path, char value[VALUE_MAX], char why[WHY_MAX])
{
	FILE *stream = fopen(path, "re");
	bool read = stream != NULL && fgets(value, VALUE_MAX, stream) != NULL;

	if (!read)
		snprintf(why, WHY_MAX, "%.150s: %s", path,
			stream == NULL || ferror(stream) ? strerror(errno) : "empty");
	if (stream != NULL)
		fclose(stream);
	if (read)
		value[strcspn(value, "\r\n")] = '\0';
	return read;
}

/* Returns 0, or the exit status with the reason in `why`. */
static int set_properties(
	const struct option_properties *properties, rd_kafka_conf_t *conf, char why[WHY_MAX])
{
	char value[VALUE_MAX];
	int status = 0;

	for (uint32_t p = 0; p < properties->n && status == 0; p++) {
		struct kafka_property property = property_of(properties->texts[p]);

		if (property.in_file && !read_first_line(property.value, value, why))
			status = 1;
		else if (rd_kafka_conf_set(conf, property.name,
				 property.in_file ? value : property.value, why,
				 WHY_MAX) != RD_KAFKA_CONF_OK)
			status = 2;
	}
	explicit_bzero(value, sizeof(value));
	return status;
}

static void note_error(struct sink_kafka *kafka, const char *why)
{
	snprintf(kafka->why, sizeof(kafka->why), "%.*s", (int)sizeof(kafka->why) - 1, why);
	make_printable(kafka->why);
}

static void hear_error(rd_kafka_t *client, int error, const char *reason, void *arg)
{
	struct sink_kafka *kafka = arg;

	(void)client;
	note_error(kafka, reason);
	if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
		error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
		sink_say_waits(&kafka->sink, kafka->why);
}

/* Smaller batches may be accepted after these errors. */
static bool is_of_batch(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       error == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE ||
	       error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
	       error == RD_KAFKA_RESP_ERR_INVALID_RECORD;
}

/* Returns true if rows must wait in the spool until an operator fixes the error. */
static bool is_closed(const struct sink_kafka *kafka, rd_kafka_resp_err_t error)
{
	if (kafka->sink.spooled == NULL || is_of_batch(error))
		return false;
	switch (error) {
	case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
	case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
	case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: return false;
	default: return true;
	}
}

static void warn_not_taken(struct sink_kafka *kafka, rd_kafka_resp_err_t error, bool doubtful)
{
	const char *why = rd_kafka_err2str(error);

	if (is_closed(kafka, error)) {
		kafka->closed = true;
		sink_say_waits(&kafka->sink, why);
	} else if (doubtful) {
		sink_warn_doubtful(&kafka->sink, why);
	} else {
		sink_warn_refused(&kafka->sink, why);
	}
}

/* Without acknowledgements (acks = 0), a message without error is only delivered. */
static _Atomic uint64_t *delivery_counter(
	struct delivery *delivery, const rd_kafka_message_t *message)
{
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_PERSISTED
			       ? &delivery->acknowledged
			       : &delivery->delivered;
	return rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED
		       ? &delivery->failed
		       : &delivery->unknown;
}

/* Returns false if the row is lost, because a smaller batch cannot help or memory ran out. */
static bool keep_rejected(struct sink_kafka *kafka, const rd_kafka_message_t *message)
{
	size_t before = kafka->refused.len;

	if (kafka->alone || !is_of_batch(message->err) || message->len > INT32_MAX)
		return false;
	text_add(&kafka->refused, message->payload, message->len);
	text_char(&kafka->refused, '\n');
	if (kafka->refused.failed) {
		kafka->refused.failed = false;
		kafka->refused.len = before;
		return false;
	}
	kafka->nb_rejected++;
	kafka->refusal = message->err;
	return true;
}

static void hear_fate(rd_kafka_t *client, const rd_kafka_message_t *message, void *arg)
{
	struct sink_kafka *kafka = arg;
	struct delivery *delivery = &kafka->sink.delivery;
	_Atomic uint64_t *fate = delivery_counter(kafka->sink.fates, message);
	bool taken = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;

	(void)client;
	if (keep_rejected(kafka, message))
		return;
	kafka->answers |= taken || !is_of_batch(message->err);
	delivery_count(fate, 1);
	delivery_count(&delivery->bytes, taken ? message->len : 0);
	if (taken)
		sink_say_takes(&kafka->sink);
	else
		warn_not_taken(kafka, message->err, fate == &kafka->sink.fates->unknown);
}

/* Each message is written only once and in order per partition. The sink itself limits the time. */
static const char *const settings[][2] = {
	{"client.id", "sketchtap"},
	{"enable.idempotence", "true"},
	{"acks", "all"},
	{"compression.codec", "lz4"},
	{"message.timeout.ms", "0"},
	{"queue.buffering.max.kbytes", "65536"},
	{"queue.buffering.max.messages", "100000"},
};

static void *destroy_producer(void *client)
{
	rd_kafka_destroy(client);
	return NULL;
}

/*
 * rd_kafka_destroy() waits for threads that look up names, which a name server can delay. After
 * LEAVING_S it goes on in the background, where librdkafka calls no callbacks.
 */
static void leave_producer(rd_kafka_t *client)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LEAVING_S;
	if (signals_start_thread(&thread, destroy_producer, client) != 0)
		rd_kafka_destroy(client);
	else if (pthread_timedjoin_np(thread, NULL, &until) != 0)
		pthread_detach(thread);
}

static void free_producer(struct sink_kafka *kafka)
{
	if (kafka->topic != NULL)
		rd_kafka_topic_destroy(kafka->topic);
	if (kafka->producer != NULL)
		leave_producer(kafka->producer);
	kafka->topic = NULL;
	kafka->producer = NULL;
}

static int make_producer(struct sink_kafka *kafka, char error[ERROR_MAX])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool set = rd_kafka_conf_set(conf, "bootstrap.servers", kafka->brokers, error, ERROR_MAX) ==
		   RD_KAFKA_CONF_OK;
	int status;

	_Static_assert(ERROR_MAX >= WHY_MAX, "messages about properties fit");
	kafka->producer = NULL;
	for (size_t s = 0; set && s < sizeof(settings) / sizeof(settings[0]); s++)
		set = rd_kafka_conf_set(conf, settings[s][0], settings[s][1], error, ERROR_MAX) ==
		      RD_KAFKA_CONF_OK;
	status = set ? set_properties(kafka->properties, conf, error) : 1;
	rd_kafka_conf_set_opaque(conf, kafka);
	rd_kafka_conf_set_error_cb(conf, hear_error);
	rd_kafka_conf_set_dr_msg_cb(conf, hear_fate);
	rd_kafka_conf_set_log_cb(conf, NULL);
	if (status == 0) {
		kafka->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, ERROR_MAX);
		/* 2: properties contradict each other, or name a missing file */
		status = rd_kafka_last_error() == RD_KAFKA_RESP_ERR__INVALID_ARG ? 2 : 1;
	}
	if (kafka->producer == NULL) {
		rd_kafka_conf_destroy(conf);
		make_printable(error);
		return status;
	}
	kafka->topic = rd_kafka_topic_new(kafka->producer, kafka->topic_name, NULL);
	if (kafka->topic != NULL)
		return 0;
	snprintf(error, ERROR_MAX, "%s", rd_kafka_err2str(rd_kafka_last_error()));
	free_producer(kafka);
	return 1;
}

static bool connect_sink(struct sink_kafka *kafka, char why[ERROR_MAX])
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	int64_t start = clock_now(CLOCK_MONOTONIC);

	while (clock_now(CLOCK_MONOTONIC) - start < sink_patience(&kafka->sink, 0)) {
		error = rd_kafka_metadata(kafka->producer, 0, NULL, &metadata, POLL_MS);
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
	struct sink_kafka *kafka = (struct sink_kafka *)sink;
	char error[ERROR_MAX] = "";
	int status;

	signals_block(); /* threads of librdkafka inherit the signal mask */
	status = make_producer(kafka, error);
	signals_unblock();
	snprintf(why, SINK_ERROR_MAX, "%s", error);
	if (status == 0 && require && !connect_sink(kafka, error))
		return sink_absent(why, error);
	return status;
}

/* All messages of the producer must have a fate. */
static void replace_if_fatal(struct sink_kafka *kafka)
{
	char error[ERROR_MAX];

	if (rd_kafka_fatal_error(kafka->producer, error, sizeof(error)) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	note_error(kafka, error);
	free_producer(kafka);
	delivery_count(&kafka->sink.delivery.reconnects, 1);
}

static void note_answers(struct sink_kafka *kafka)
{
	if (kafka->answers) {
		kafka->answered = clock_now(CLOCK_MONOTONIC);
		kafka->why[0] = '\0';
	}
	kafka->answers = false;
}

/*
 * Processes answers for up to POLL_MS. more false: no rows follow, so librdkafka sends queued
 * messages at once. Returns false if the sink gives up at the end of the run.
 */
static bool wait_for_answers(struct sink_kafka *kafka, bool more)
{
	char why[sizeof(kafka->why) + 16];

	if (kafka->producer == NULL)
		nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
	else if (more)
		rd_kafka_poll(kafka->producer, POLL_MS);
	else
		(void)rd_kafka_flush(kafka->producer, POLL_MS);
	note_answers(kafka);
	snprintf(why, sizeof(why), "%s%sno answer", kafka->why, kafka->why[0] != '\0' ? ": " : "");
	return !sink_gives_up(&kafka->sink, &kafka->answered, why);
}

/* Moves messages that librdkafka did not accept to the front, and sets *n to their number. */
static int produce_some(struct sink_kafka *kafka, rd_kafka_message_t *messages, int *n)
{
	int wait = 0, taken = rd_kafka_produce_batch(kafka->topic, RD_KAFKA_PARTITION_UA,
			      RD_KAFKA_MSG_F_COPY, messages, *n);

	for (int m = 0; m < *n && taken < *n; m++) {
		if (messages[m].err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			messages[wait++] = messages[m];
		else if (messages[m].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			warn_not_taken(kafka, messages[m].err, false);
	}
	*n = wait;
	return taken;
}

static uint64_t produce(struct sink_kafka *kafka, rd_kafka_message_t *messages, int n)
{
	uint64_t produced = 0;

	while (n > 0 && !kafka->sink.left) {
		produced += (uint64_t)produce_some(kafka, messages, &n);
		if (n > 0)
			wait_for_answers(kafka, true);
	}
	rd_kafka_poll(kafka->producer, 0);
	note_answers(kafka);
	return produced;
}

/* If the sink gives up at the end of the run, messages without a fate count as unknown. */
static void await_fates(struct sink_kafka *kafka)
{
	while (rd_kafka_outq_len(kafka->producer) > 0 && wait_for_answers(kafka, false))
		;
	if (!kafka->sink.left)
		return;
	/* NON_BLOCKING: does not wait for threads that look up names. */
	rd_kafka_purge(kafka->producer,
		RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	for (uint32_t polls = 0; rd_kafka_outq_len(kafka->producer) > 0 && polls < PURGE_POLLS;
		polls++)
		rd_kafka_poll(kafka->producer, POLL_MS);
	delivery_count(&kafka->sink.fates->unknown, (uint64_t)rd_kafka_outq_len(kafka->producer));
}

/* With the exporter as key, all rows of an exporter go to one partition, in order. */
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

static uint64_t produce_rows(struct sink_kafka *kafka, const char *rows, size_t len)
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
			if (kafka->keyed)
				set_key(&messages[n]);
			at = newline + 1;
		}
		produced += produce(kafka, messages, n);
	}
	return produced;
}

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

static void close_topic(struct sink_kafka *kafka, const char *why)
{
	kafka->closed = kafka->sink.spooled != NULL;
	if (kafka->closed)
		sink_say_waits(&kafka->sink, why);
	else
		sink_warn_refused(&kafka->sink, why);
}

/* After SINK_REFUSALS_MAX refusals in an interval, the topic does not suit the rows at all. */
static bool sends_again(struct sink_kafka *kafka)
{
	const char *why = rd_kafka_err2str(kafka->refusal);

	/* At the end of the run, refusals have the same time limit as missing answers. */
	if (kafka->closed || sink_gives_up(&kafka->sink, &kafka->answered, why))
		return false;
	if (kafka->refusals < SINK_REFUSALS_MAX)
		return true;
	close_topic(kafka, why);
	return false;
}

static void send_parts(
	struct sink_kafka *kafka, const struct text *text, uint64_t rows, uint64_t size)
{
	struct delivery *delivery = &kafka->sink.delivery;
	size_t at = 0;

	kafka->alone = size == 1;
	while (rows > 0 && sends_again(kafka)) {
		struct kafka_part part = take_part(text, at, size);
		uint64_t before = kafka->nb_rejected;

		delivery_count(&delivery->retries, 1);
		delivery_count(&kafka->sink.fates->failed,
			part.n - produce_rows(kafka, part.rows, part.len));
		await_fates(kafka);
		kafka->refusals += !kafka->alone && kafka->nb_rejected > before;
		at += part.len;
		rows -= part.n;
	}
	kafka->alone = false;
	delivery_count(&kafka->sink.fates->failed, rows);
}

/* Each round sends the rows that are still refused, in requests of half as many rows. */
static void send_again(struct sink_kafka *kafka)
{
	for (uint64_t size = kafka->nb_rejected; kafka->nb_rejected > 0;) {
		struct text rows = kafka->refused;
		uint64_t n = kafka->nb_rejected;

		kafka->refused = (struct text){0};
		kafka->nb_rejected = 0;
		size = (size + 1) / 2;
		send_parts(kafka, &rows, n, size);
		text_free(&rows);
	}
}

static bool begin_rows(struct sink_kafka *kafka, uint64_t rows)
{
	char error[ERROR_MAX] = "";

	kafka->closed = false;
	kafka->refusals = 0;
	/* A producer that was given up is not used again: its messages were counted as unknown. */
	if (!kafka->sink.left && (kafka->producer != NULL || make_producer(kafka, error) == 0))
		return true;
	delivery_count(&kafka->sink.fates->failed, rows);
	if (!kafka->sink.left)
		close_topic(kafka, error);
	return false;
}

static void end_rows(struct sink_kafka *kafka, uint64_t rows, uint64_t produced)
{
	delivery_count(&kafka->sink.fates->failed, rows > produced ? rows - produced : 0);
	await_fates(kafka);
	send_again(kafka);
	replace_if_fatal(kafka);
}

static void bring_once(struct sink_kafka *kafka, uint64_t rows)
{
	if (begin_rows(kafka, rows))
		end_rows(kafka, rows,
			produce_rows(kafka, kafka->sink.text.data, kafka->sink.text.len));
}

static void wait_to_try_again(struct sink_kafka *kafka)
{
	int64_t until;

	kafka->backoff =
		socket_client_backoff(kafka->backoff, sink_queue_second(kafka->sink.sink_queue));
	until = clock_now(CLOCK_MONOTONIC) + kafka->backoff;
	while (clock_now(CLOCK_MONOTONIC) < until && !sink_hurries(&kafka->sink) &&
		wait_for_answers(kafka, true))
		;
}

static void send_rows(struct sink *sink, uint64_t rows)
{
	struct sink_kafka *kafka = (struct sink_kafka *)sink;

	kafka->answered = clock_now(CLOCK_MONOTONIC);
	kafka->backoff = 0;
	bring_once(kafka, rows);
	/* Sends all rows again, with the same bytes. Only the fates of the last attempt count. */
	while (kafka->closed && !sink->left) {
		wait_to_try_again(kafka);
		if (sink->left)
			break;
		delivery_count(&sink->delivery.retries, 1);
		memset(sink->fates, 0, sizeof(*sink->fates));
		bring_once(kafka, rows);
	}
}

/* Without a spool, librdkafka can send rows while the next ones are formatted. */
static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_kafka *kafka = arg;
	struct sink *sink = &kafka->sink;
	struct format_cursor cursor = {0};
	uint64_t rows = sink_rows(sink, epoch), produced = 0;

	if (rows == 0 || !begin_rows(kafka, rows))
		return;
	kafka->answered = clock_now(CLOCK_MONOTONIC);
	text_clear(&sink->text);
	while (format_some(&sink->text, TEXT_BYTES, sink->format, sink->columns, epoch, &cursor) >
		0) {
		if (!sink->text.failed)
			produced += produce_rows(kafka, sink->text.data, sink->text.len);
		text_clear(&sink->text);
		if (kafka->refused.len > AGAIN_BYTES) {
			await_fates(kafka);
			send_again(kafka);
		}
	}
	end_rows(kafka, rows, produced);
}

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
		snprintf(why, SINK_ERROR_MAX, "address of a broker: longer than %zu bytes",
			sizeof(text) - 1);
		return false;
	}
	snprintf(text, sizeof(text), "%.*s", (int)len, broker);
	return socket_client_parse(text, SOCKET_CLIENT_TCP, PORT, &address, why);
}

static bool check_properties(const struct sink_request *request, char *why)
{
	char name[PROPERTY_MAX];

	_Static_assert(SINK_ERROR_MAX >= WHY_MAX, "for messages about properties");
	if (request->own == NULL || check_all_properties(request->own, name, why))
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
	struct sink_kafka *kafka = (struct sink_kafka *)sink;

	free_producer(kafka);
	text_free(&kafka->refused);
	free(kafka->brokers);
	free(kafka);
}

static struct sink *create(
	const struct sink_url *url, const struct sink_request *request, uint32_t number)
{
	static const struct option_properties no_properties;
	const struct output *kind = outputs[request->kind];
	struct sink_kafka *kafka = calloc(1, sizeof(*kafka));
	char *slash;

	(void)number;
	if (kafka == NULL)
		return NULL;
	kafka->brokers = strdup(url->rest);
	if (kafka->brokers == NULL) {
		free(kafka);
		return NULL;
	}
	slash = strchr(kafka->brokers, '/');
	*slash = '\0';
	kafka->topic_name = slash + 1;
	kafka->properties = request->own != NULL ? request->own : &no_properties;
	for (uint32_t c = 0; c < kind->nb_columns; c++)
		kafka->keyed |= kind->columns[c].name != NULL &&
				strcmp(kind->columns[c].name, "exporter") == 0;
	return &kafka->sink;
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
