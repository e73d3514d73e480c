/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A topic of Kafka as a place of reports: kafka://BROKERS/TOPIC. Each row is a message of JSON, and
 * the brokers' answers are the account: librdkafka knows of each message whether they have it, do
 * not have it, or may have it.
 */

#include "report/outlet/remote.h"

#define PREFIX "kafka://"
#define FORM   "kafka://HOST[:PORT],.../TOPIC"

#ifdef KAFKA_MISSING

const struct remote_scheme remote_kafka = {
	.prefix = PREFIX, .form = FORM, .missing = KAFKA_MISSING};

#else

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/signals.h"
#include "report/outlet/kafka_properties.h"
#include "report/outlet/receiver.h"

#define PORT        "9092"
#define TOPIC_MAX   249 /* bytes, which Kafka allows */
#define POLL_MS     100
#define PURGE_POLLS 20 /* in which a producer that gives up has told so of all messages */
#define ERROR_MAX   512

struct kafka_place {
	struct remote remote;
	char *brokers; /* and behind its final 0 the topic */
	const char *topic_name;
	const struct option_properties *properties;

	/* By the outlet's thread, on which librdkafka calls back, too. */
	rd_kafka_t *kafka; /* NULL: there is none, for lack of memory or threads */
	int64_t answered;  /* monotonic ns: since then it had no need to, or has not */
	int64_t backoff;   /* ns */
	bool closed;       /* a row was not taken, until somebody mends what is no matter of it */
	char why[128];     /* what librdkafka complained of last */
};

/* --- What librdkafka says, by the outlet's thread */

static void note(struct kafka_place *place, const char *why)
{
	snprintf(place->why, sizeof(place->why), "%.*s", (int)sizeof(place->why) - 1, why);
	make_printable(place->why);
}

static void hear_error(rd_kafka_t *kafka, int error, const char *reason, void *arg)
{
	struct kafka_place *place = arg;

	(void)kafka;
	note(place, reason);
	if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
		error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
		remote_say_waits(&place->remote, place->why);
}

/* With a spool rows wait until somebody lets them in. */
static bool is_closed(const struct kafka_place *place, rd_kafka_resp_err_t error)
{
	if (place->remote.spooled == NULL)
		return false;
	switch (error) {
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
	case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
	case RD_KAFKA_RESP_ERR__FATAL: return true;
	default: return false;
	}
}

/* Says that a row was not taken, for good or for now. */
static void say_not_taken(struct kafka_place *place, rd_kafka_resp_err_t error)
{
	if (!is_closed(place, error)) {
		remote_say_refuses(&place->remote, rd_kafka_err2str(error));
		return;
	}
	place->closed = true;
	remote_say_waits(&place->remote, rd_kafka_err2str(error));
}

static _Atomic uint64_t *fate_of(struct delivery *delivery, const rd_kafka_message_t *message)
{
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return &delivery->acknowledged;
	return rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED
		       ? &delivery->failed
		       : &delivery->unknown;
}

static void hear_fate(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *arg)
{
	struct kafka_place *place = arg;
	struct delivery *delivery = &place->remote.delivery;
	bool taken = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;

	(void)kafka;
	place->answered = clock_now(CLOCK_MONOTONIC);
	delivery_count(fate_of(place->remote.fates, message), 1);
	delivery_count(&delivery->bytes, taken ? message->len : 0);
	if (taken)
		remote_say_takes(&place->remote);
	else
		say_not_taken(place, message->err);
}

/* --- The producer */

/*
 * A message waits as long as its place does (row_socket.c has the same of sockets), in so much
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

/* Returns 0, or the exit status with why. */
static int make_producer(struct kafka_place *place, char error[ERROR_MAX])
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
	if (place->kafka != NULL)
		return 0;
	rd_kafka_conf_destroy(conf);
	make_printable(error);
	return status;
}

/* Whether any broker answers. */
static bool reach(struct kafka_place *place, char *why)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	int64_t start = clock_now(CLOCK_MONOTONIC);

	while (clock_now(CLOCK_MONOTONIC) - start < remote_patience(&place->remote, 0)) {
		error = rd_kafka_metadata(place->kafka, 0, NULL, &metadata, POLL_MS);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
			rd_kafka_metadata_destroy(metadata);
			return true;
		}
	}
	snprintf(why, REMOTE_WHY_MAX, "no broker answers (%s)", rd_kafka_err2str(error));
	return false;
}

static int open_place(struct remote *remote, bool require, char *why)
{
	struct kafka_place *place = (struct kafka_place *)remote;
	char error[ERROR_MAX] = "";
	int status;

	signals_block(); /* threads of librdkafka get none */
	status = make_producer(place, error);
	signals_unblock();
	snprintf(why, REMOTE_WHY_MAX, "%.*s", REMOTE_WHY_MAX - 1, error);
	if (status == 0 && require && !reach(place, why))
		status = 1;
	return status;
}

/* After an error that ends a producer for good its messages have their fates. */
static void replace_if_fatal(struct kafka_place *place)
{
	char error[ERROR_MAX];

	if (rd_kafka_fatal_error(place->kafka, error, sizeof(error)) == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	note(place, error);
	rd_kafka_destroy(place->kafka);
	if (make_producer(place, error) != 0)
		remote_say(&place->remote, true, "%s", error);
	delivery_count(&place->remote.delivery.reconnects, 1);
}

/* --- Sending */

/* Takes answers for a moment. Returns false where the rest is left, at the end of the run. */
static bool wait_for_answers(struct kafka_place *place)
{
	char why[sizeof(place->why) + 16];

	rd_kafka_poll(place->kafka, POLL_MS);
	if (!outlet_gives_up(place->remote.outlet, &place->answered))
		return !place->remote.left;
	snprintf(why, sizeof(why), "%s%sno answer", place->why, place->why[0] != '\0' ? ": " : "");
	remote_leave(&place->remote, why);
	return false;
}

/* Returns whether librdkafka has the row, of which it will tell. */
static bool produce(struct kafka_place *place, const char *row, size_t len)
{
	rd_kafka_resp_err_t error;

	while (!place->remote.left) {
		error = rd_kafka_producev(place->kafka, RD_KAFKA_V_TOPIC(place->topic_name),
			RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
			RD_KAFKA_V_VALUE((void *)(uintptr_t)row, len), RD_KAFKA_V_END);
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			return true;
		if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			say_not_taken(place, error);
			return false;
		}
		wait_for_answers(place);
	}
	return false;
}

/* Until the fate of all is known. */
static void settle(struct kafka_place *place)
{
	while (rd_kafka_outq_len(place->kafka) > 0 && wait_for_answers(place))
		;
	if (!place->remote.left)
		return;
	rd_kafka_purge(place->kafka, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	for (uint32_t polls = 0; rd_kafka_outq_len(place->kafka) > 0 && polls < PURGE_POLLS;
		polls++)
		rd_kafka_poll(place->kafka, POLL_MS);
	delivery_count(&place->remote.fates->unknown, (uint64_t)rd_kafka_outq_len(place->kafka));
}

static void produce_rows(struct kafka_place *place, uint64_t rows)
{
	const char *at = place->remote.text.data, *const end = at + place->remote.text.len;
	uint64_t produced = 0;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		produced += produce(place, at, (size_t)(newline - at));
		at = newline + 1;
	}
	delivery_count(&place->remote.fates->failed, rows - produced);
}

static void bring_once(struct kafka_place *place, uint64_t rows)
{
	place->closed = false;
	if (place->kafka == NULL) {
		remote_cannot(&place->remote, "there is no producer", rows);
		return;
	}
	produce_rows(place, rows);
	settle(place);
	replace_if_fatal(place);
}

static void wait_to_try_again(struct kafka_place *place)
{
	int64_t until;

	place->backoff = receiver_backoff(place->backoff, outlet_second(place->remote.outlet));
	until = clock_now(CLOCK_MONOTONIC) + place->backoff;
	while (clock_now(CLOCK_MONOTONIC) < until && !remote_roused(&place->remote) &&
		place->kafka != NULL && wait_for_answers(place))
		;
}

static void bring(struct remote *remote, uint64_t rows)
{
	struct kafka_place *place = (struct kafka_place *)remote;

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
	struct receiver_address address;
	char text[sizeof(address.host) + 16];

	if (len >= sizeof(text)) {
		snprintf(why, REMOTE_WHY_MAX, "names a broker of more than %zu bytes",
			sizeof(text) - 1);
		return false;
	}
	snprintf(text, sizeof(text), "%.*s", (int)len, broker);
	return receiver_parse(text, RECEIVER_TCP, PORT, &address, why);
}

static bool check_properties(const struct remote_request *request, char *why)
{
	char name[KAFKA_PROPERTY_MAX];

	_Static_assert(REMOTE_WHY_MAX >= KAFKA_WHY_MAX, "for what is said of properties");
	if (kafka_properties_check(&request->options->kafka, name, why))
		return true;
	if (request->key != NULL)
		snprintf(request->key, REMOTE_KEY_MAX, "kafka.%s", name);
	return false;
}

static bool check(
	const struct remote_scheme *scheme, const struct remote_request *request, char *why)
{
	const char *at = request->url + strlen(scheme->prefix), *topic = strchr(at, '/');

	if (topic == NULL || !is_topic(topic + 1)) {
		snprintf(why, REMOTE_WHY_MAX,
			"must end with /TOPIC, of 1 to %d letters, digits, '.', '_' and '-'",
			TOPIC_MAX);
		return false;
	}
	for (; at <= topic; at += strcspn(at, ",/") + 1)
		if (!check_broker(at, strcspn(at, ",/"), why))
			return false;
	return check_properties(request, why);
}

static void free_place(struct remote *remote)
{
	struct kafka_place *place = (struct kafka_place *)remote;

	if (place->kafka != NULL)
		rd_kafka_destroy(place->kafka);
	free(place->brokers);
	free(place);
}

static struct remote *create(
	const struct remote_scheme *scheme, const struct remote_request *request, uint32_t number)
{
	struct kafka_place *place = calloc(1, sizeof(*place));
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
	return &place->remote;
}

static const char *const keys[] = {"kafka", NULL};

const struct remote_scheme remote_kafka = {
	.prefix = PREFIX,
	.form = FORM,
	.rows = REMOTE_JSON,
	.keys = keys,
	.check = check,
	.create = create,
	.open = open_place,
	.free = free_place,
	.bring = bring,
	.ops = {.write = remote_write},
};

#endif
