/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rows to a Kafka topic of librdkafka's mock cluster: its contents afterwards, and the delivery
 * counts.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "sender.h"

#define TOPIC "flows"

static rd_kafka_t *owner; /* owns the cluster */
static rd_kafka_mock_cluster_t *cluster;

static int begin(void **state)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char error[256];

	(void)state;
	rd_kafka_conf_set_log_cb(conf, NULL);
	owner = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
	if (owner == NULL)
		return 1;
	cluster = rd_kafka_mock_cluster_new(owner, 1);
	return cluster == NULL || rd_kafka_mock_topic_create(cluster, TOPIC, 1, 1) != 0;
}

static int end(void **state)
{
	(void)state;
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(owner);
	return 0;
}

static void start_producer(struct sender *sender, const char *topic)
{
	snprintf(sender->url, sizeof(sender->url), "kafka://%s/%s",
		rd_kafka_mock_cluster_bootstraps(cluster), topic);
	start(sender);
}

static rd_kafka_t *open_consumer(void)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	char error[256];
	rd_kafka_t *consumer;

	rd_kafka_conf_set(conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(cluster),
		error, sizeof(error));
	rd_kafka_conf_set(conf, "group.id", "test", error, sizeof(error));
	rd_kafka_conf_set(conf, "enable.partition.eof", "true", error, sizeof(error));
	consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof(error));
	assert_non_null(consumer);
	rd_kafka_topic_partition_list_add(topics, TOPIC, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
	assert_int_equal(rd_kafka_assign(consumer, topics), 0);
	rd_kafka_topic_partition_list_destroy(topics);
	return consumer;
}

/* Asserts that the messages of the topic are these lines, each once and in order. */
static void assert_messages(const struct text *wanted)
{
	rd_kafka_t *consumer = open_consumer();
	size_t at = 0;
	bool ended = false;

	while (!ended) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 1000);

		if (message == NULL)
			continue;
		ended = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			assert_true(at + message->len < wanted->len);
			assert_memory_equal(message->payload, wanted->data + at, message->len);
			at += message->len;
			assert_int_equal(wanted->data[at++], '\n');
		}
		rd_kafka_message_destroy(message);
	}
	assert_int_equal(at, wanted->len);
	rd_kafka_consumer_close(consumer);
	rd_kafka_destroy(consumer);
}

static void give(const struct option_properties *properties)
{
	static struct option_properties given;

	given = *properties;
	sink_own = &given;
}

static void test_urls(void **state)
{
	static const char *const urls[] = {"kafka://a/t", "KAFKA://a:1,b,[::1]:2/t.1_-", NULL};
	static const char *const bad[] = {"kafka://", "kafka://a", "kafka://a/", "kafka:///t",
		"kafka://a,/t", "kafka://a:0/t", "kafka://a/t/u", "kafka://a/..", "kafka://a/t t",
		NULL};

	(void)state;
	assert_urls(urls, true);
	assert_urls(bad, false);
	assert_json_alone(urls);
}

static void test_messages(void **state)
{
	struct text first = rows_of(&format_json, 3000, false),
		    second = rows_of(&format_json, 1, false);
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	start_producer(&sender, TOPIC);
	push(&sender, 3000);
	push(&sender, 1);
	delivery = stop(&sender);
	assert_int_equal(delivery.rows, 3001);
	assert_int_equal(delivery.acknowledged, 3001);
	assert_int_equal(delivery.bytes, first.len + second.len - 3001);
	assert_int_equal(warnings + notices, 0);
	text_add(&first, second.data, second.len);
	assert_messages(&first);
	text_free(&first);
	text_free(&second);
}

/* Temporary errors: rows are sent again and written once. */
static void test_errors_that_pass(void **state)
{
	struct text rows = rows_of(&format_json, 500, false);
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	rd_kafka_mock_push_request_errors(cluster, 0 /* Produce */, 2,
		RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
	start_producer(&sender, TOPIC);
	push(&sender, 500);
	delivery = stop(&sender);
	assert_int_equal(delivery.acknowledged, 500);
	assert_messages(&rows);
	text_free(&rows);
}

/* Five rows fail with a simulated error; the next seven do not. */
static struct report_delivery fail_once(void)
{
	struct report_delivery delivery;
	struct sender sender = {0};

	start_producer(&sender, TOPIC);
	push(&sender, 5);
	sink_queue_settle(sender.sink_queue);
	assert_int_equal(sender.delivery->failed, 5);
	assert_int_equal(warnings, 1);
	push(&sender, 7);
	delivery = stop(&sender);
	assert_int_equal(delivery.acknowledged, 7);
	assert_int_equal(notices, 1);
	return delivery;
}

/* Sets the errors of the next produce requests, up to -1. */
static void push_answers(const int *codes)
{
	rd_kafka_resp_err_t errors[64];
	size_t n = 0;

	while (codes[n] != -1)
		errors[n] = (rd_kafka_resp_err_t)codes[n], n++;
	rd_kafka_mock_push_request_errors_array(cluster, 0 /* Produce */, n, errors);
}

#define TOO_LARGE RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
#define INVALID   RD_KAFKA_RESP_ERR_INVALID_RECORD

/* All rows, in parts of 5, 3, 2 and 1: each row is refused separately. */
static void test_refused(void **state)
{
	static const int codes[] = {TOO_LARGE, TOO_LARGE, TOO_LARGE, TOO_LARGE, TOO_LARGE,
		TOO_LARGE, INVALID, INVALID, INVALID, INVALID, INVALID, -1};

	(void)state;
	push_answers(codes);
	assert_int_equal(fail_once().reconnects, 0);
}

/* Sends rows with simulated errors, with or without a spool. Returns the delivery counts. */
static struct report_delivery send_rows(uint32_t n, bool spools)
{
	struct sender sender = {.second = SHORT_SECOND, .spools = spools};
	struct report_delivery delivery;

	give(&(struct option_properties){1, {"linger.ms=10000"}}); /* one request for all rows */
	start_producer(&sender, TOPIC);
	push(&sender, n);
	wait_for_fates(&sender, n);
	delivery = stop(&sender);
	give(&(struct option_properties){0});
	assert_int_equal(delivery.acknowledged + delivery.failed, n);
	assert_int_equal(delivery.unknown + delivery.dropped + delivery.reconnects, 0);
	return delivery;
}

/* A batch that is too large, or contains a row that the topic refuses: its parts are sent again. */
static void reject_batches(bool spools)
{
	static const int codes[][3] = {{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, -1},
		{RD_KAFKA_RESP_ERR_INVALID_RECORD, -1}, {RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE, -1},
		{RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, TOO_LARGE, -1}};
	struct text all = {0}, rows = rows_of(&format_json, 40, false);
	struct report_delivery delivery;

	for (size_t c = 0; c < sizeof(codes) / sizeof(codes[0]); c++) {
		push_answers(codes[c]);
		delivery = send_rows(40, spools);
		assert_int_equal(delivery.failed, 0);
		assert_int_equal(delivery.retries, codes[c][1] == -1 ? 2 : 4);
		assert_int_equal(delivery.bytes, rows.len - 40);
		assert_int_equal(warnings, 0);
		if (codes[c][1] == -1)
			text_add(&all, rows.data, rows.len);
	}
	/* The last replies refused the first half twice: it is written after the second half. */
	for (uint32_t half = 0, row = 0; half < 2; half++, row = 0)
		for (const char *at = rows.data, *end; at < rows.data + rows.len; at = end, row++) {
			end = (const char *)memchr(at, '\n', rows.len) + 1;
			if ((row < 20) == (half == 1))
				text_add(&all, at, (size_t)(end - at));
		}
	assert_messages(&all);
	text_free(&all);
	text_free(&rows);
}

static void test_batches_refused(void **state)
{
	(void)state;
	reject_batches(false);
}

static void test_batches_refused_with_a_spool(void **state)
{
	(void)state;
	reject_batches(true);
}

/* Only the third of eight rows is refused. */
static void test_one_row_refused(void **state)
{
	static const int codes[] = {INVALID, INVALID, 0, 0, INVALID, INVALID, 0, -1};
	static const uint32_t order[] = {4, 5, 6, 7, 0, 1, 3};

	(void)state;
	for (uint32_t spools = 0; spools < 2; spools++) {
		struct text all = {0}, rows = rows_of(&format_json, 8, false);
		struct report_delivery delivery;

		begin(NULL);
		push_answers(codes);
		delivery = send_rows(8, spools);
		assert_int_equal(delivery.failed, 1);
		assert_int_equal(delivery.retries, 6);
		assert_int_equal(warnings, 1);
		for (size_t o = 0; o < sizeof(order) / sizeof(order[0]); o++) {
			const char *at = rows.data;

			for (uint32_t row = 0; row < order[o]; row++)
				at = (const char *)memchr(at, '\n', rows.len) + 1;
			text_add(&all, at, strcspn(at, "\n") + 1);
		}
		assert_messages(&all);
		text_free(&all);
		text_free(&rows);
		end(NULL);
	}
}

/* With a spool, a temporary error while parts are sent: all rows wait and are sent again. */
static void test_closed_between_parts(void **state)
{
	static const int codes[] = {
		TOO_LARGE, TOO_LARGE, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, -1};
	struct report_delivery delivery;

	(void)state;
	push_answers(codes);
	delivery = send_rows(40, true);
	assert_int_equal(delivery.acknowledged, 40);
	assert_true(delivery.retries >= 3);
}

/* Without acknowledgements, rows count as delivered to the kernel only. */
static void test_without_acknowledgements(void **state)
{
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	give(&(struct option_properties){2, {"acks=0", "enable.idempotence=false"}});
	start_producer(&sender, TOPIC);
	push(&sender, 40);
	delivery = stop(&sender);
	give(&(struct option_properties){0});
	assert_int_equal(delivery.delivered, 40);
	assert_int_equal(delivery.acknowledged, 0);
}

/* A fatal error ends the producer: a new one replaces it. */
static void test_fatal(void **state)
{
	(void)state;
	rd_kafka_mock_push_request_errors(cluster, 22 /* InitProducerId */, 1,
		RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
	assert_int_equal(fail_once().reconnects, 1);
}

/* With a spool, rows wait until the broker accepts them. */
static void test_refused_with_a_spool(void **state)
{
	struct text rows = rows_of(&format_json, 40, false);
	struct sender sender = {.second = SHORT_SECOND, .spools = true};
	struct report_delivery delivery;

	(void)state;
	/* The last error ends the producer. One request has all rows. */
	rd_kafka_mock_push_request_errors(cluster, 0 /* Produce */, 5,
		RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
		RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
		RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
		RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
	give(&(struct option_properties){
		2, {"topic.metadata.refresh.interval.ms=100", "linger.ms=10000"}});
	start_producer(&sender, TOPIC);
	push(&sender, 40);
	wait_for_fates(&sender, 40);
	delivery = stop(&sender);
	give(&(struct option_properties){0});
	assert_int_equal(delivery.acknowledged, 40);
	assert_int_equal(delivery.failed + delivery.unknown, 0);
	assert_true(delivery.retries >= 5);
	assert_int_equal(delivery.reconnects, 1);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_messages(&rows);
	text_free(&rows);
}

/* A topic that is created later, on brokers that do not create topics automatically. */
static void test_a_topic_that_comes_later(void **state)
{
	struct sender sender = {.second = SHORT_SECOND, .spools = true};
	struct report_delivery delivery;
	bool waited;

	(void)state;
	rd_kafka_mock_topic_set_error(cluster, TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	give(&(struct option_properties){2,
		{"topic.metadata.refresh.interval.ms=100", "topic.metadata.propagation.max.ms=0"}});
	start_producer(&sender, TOPIC);
	push(&sender, 40);
	while (warnings == 0)
		usleep(1000);
	waited = sender.delivery->acknowledged + delivery_lost(sender.delivery) == 0;
	rd_kafka_mock_topic_set_error(cluster, TOPIC, RD_KAFKA_RESP_ERR_NO_ERROR);
	wait_for_fates(&sender, 40);
	delivery = stop(&sender);
	give(&(struct option_properties){0});
	assert_true(waited);
	assert_int_equal(delivery.acknowledged, 40);
	assert_int_equal(delivery.failed, 0);
}

/* A broker that goes away and returns. */
static void test_waiting(void **state)
{
	struct text rows = rows_of(&format_json, 40, false);
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	rd_kafka_mock_broker_set_down(cluster, 1);
	start_producer(&sender, TOPIC);
	push(&sender, 40);
	while (warnings == 0)
		usleep(1000);
	assert_int_equal(sender.delivery->acknowledged, 0);
	rd_kafka_mock_broker_set_up(cluster, 1);
	sink_queue_settle(sender.sink_queue);
	delivery = stop(&sender);
	assert_int_equal(delivery.acknowledged, 40);
	assert_int_equal(warnings, 1);
	assert_int_equal(notices, 1);
	assert_messages(&rows);
	text_free(&rows);
}

/* A broker that does not return: rows that were never sent have failed. */
static void test_gone(void **state)
{
	struct report_delivery delivery;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	rd_kafka_mock_broker_set_down(cluster, 1);
	start_producer(&sender, TOPIC);
	push(&sender, 40);
	push(&sender, 2);
	delivery = stop(&sender);
	assert_int_equal(delivery.failed, 42);
	assert_true(warnings >= 1);
}

/*
 * Properties of the section apply: messages that only librdkafka still holds end after their
 * timeout.
 */
static void test_properties(void **state)
{
	struct report_delivery delivery;
	struct sender sender = {0};

	(void)state;
	give(&(struct option_properties){
		2, {"message.timeout.ms=1500", "client.id=of the section"}});
	start_producer(&sender, TOPIC);
	push(&sender, 1);
	sink_queue_settle(sender.sink_queue);
	rd_kafka_mock_broker_set_rtt(cluster, 1, 60000);
	push(&sender, 30);
	sink_queue_settle(sender.sink_queue); /* ends by the timeout, not by the end of the run */
	delivery = stop(&sender);
	give(&(struct option_properties){0});
	assert_int_equal(delivery.acknowledged, 1);
	assert_int_equal(delivery.unknown, 30);
	assert_int_equal(delivery.failed, 0);
	assert_non_null(strstr(last_warning, "its rows may be lost"));
}

/* Opens a sink before the run begins and asserts the result and the error message. */
static void assert_open(bool require, int expected, const char *says)
{
	char url[128], why[SINK_ERROR_MAX] = "";
	struct sink_request request;
	struct sink *sink;

	snprintf(url, sizeof(url), "kafka://%s/" TOPIC, rd_kafka_mock_cluster_bootstraps(cluster));
	request = request_of(url);
	sink = sink_create(&request, 0, &sink_log);
	assert_non_null(sink);
	assert_int_equal(sink_open(sink, require, why), expected);
	if (expected != 0 && strstr(why, says) == NULL)
		fail_msg("\"%s\" does not contain \"%s\"", why, says);
	sink_free(sink);
}

static void test_secret_of_a_file(void **state)
{
	char path[] = "/tmp/sketchtap-secret-XXXXXX", text[64];
	struct report_delivery delivery;
	struct sender sender = {0};
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "a secret\nmore\n", 14), 14);
	close(fd);
	snprintf(text, sizeof(text), "sasl.password.file=%s", path);
	give(&(struct option_properties){1, {text}});
	start_producer(&sender, TOPIC);
	push(&sender, 3);
	delivery = stop(&sender);
	assert_int_equal(delivery.acknowledged, 3);
	unlink(path);
	assert_open(false, 1, path);
	give(&(struct option_properties){0});
}

/* Errors that show only when the producer is created: before anything is sent. */
static void test_properties_that_contradict(void **state)
{
	(void)state;
	give(&(struct option_properties){1, {"acks=1"}});
	assert_open(false, 2, "acks");
	give(&(struct option_properties){
		2, {"security.protocol=ssl", "ssl.ca.location=/does/not/exist"}});
	assert_open(false, 2, "ssl.ca.location");
	give(&(struct option_properties){0});
}

static void test_required(void **state)
{
	(void)state;
	assert_open(true, 0, "");
	rd_kafka_mock_broker_set_down(cluster, 1);
	assert_open(false, 0, "");
	assert_open(true, 1, "no broker answers");
}

static void test_properties_that_are_none(void **state)
{
	static const struct {
		const char *text, *key, *why;
	} cases[] = {
		{"retires=3", "kafka.retires", "not a property of librdkafka"},
		{"acks=some", "kafka.acks", "Invalid value"},
		{"linger.ms=-1", "kafka.linger.ms", "outside allowed range"},
		{"bootstrap.servers=a", "kafka.bootstrap.servers", "the URL contains the brokers"},
		{"sasl.password=x", "kafka.sasl.password", "kafka.sasl.password.file = FILE"},
		{"ssl.key.pem=x", "kafka.ssl.key.pem", "kafka.ssl.key.location = FILE"},
		{"delivery.report.only.error=true", "kafka.delivery.report.only.error", "omit it"},
		{"sasl.password.file=", "kafka.sasl.password.file", "no file name"},
		{"nothing.file=/dev/null", "kafka.nothing.file", "not a property"},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct sink_request request = request_of("kafka://a/t");
		char key[SINK_KEY_MAX] = "", why[SINK_ERROR_MAX] = "";

		give(&(struct option_properties){2, {"linger.ms=5", cases[c].text}});
		request.key = key;
		assert_false(sink_check(&request, why));
		assert_string_equal(key, cases[c].key);
		assert_non_null(strstr(why, cases[c].why));
	}
	give(&(struct option_properties){0});
}

/* A broker that replies too late: the result is unknown. */
static void test_silent(void **state)
{
	struct report_delivery delivery;
	struct sender sender = {.second = SHORT_SECOND};

	(void)state;
	start_producer(&sender, TOPIC);
	push(&sender, 1);
	sink_queue_settle(sender.sink_queue);
	rd_kafka_mock_broker_set_rtt(cluster, 1, 60000);
	push(&sender, 30);
	delivery = stop(&sender);
	assert_int_equal(delivery.acknowledged, 1);
	assert_int_equal(delivery.unknown, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test_setup_teardown(test_messages, begin, end),
		cmocka_unit_test_setup_teardown(test_errors_that_pass, begin, end),
		cmocka_unit_test_setup_teardown(test_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_batches_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_batches_refused_with_a_spool, begin, end),
		cmocka_unit_test(test_one_row_refused),
		cmocka_unit_test_setup_teardown(test_closed_between_parts, begin, end),
		cmocka_unit_test_setup_teardown(test_without_acknowledgements, begin, end),
		cmocka_unit_test_setup_teardown(test_fatal, begin, end),
		cmocka_unit_test_setup_teardown(test_refused_with_a_spool, begin, end),
		cmocka_unit_test_setup_teardown(test_a_topic_that_comes_later, begin, end),
		cmocka_unit_test_setup_teardown(test_waiting, begin, end),
		cmocka_unit_test_setup_teardown(test_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_silent, begin, end),
		cmocka_unit_test_setup_teardown(test_properties, begin, end),
		cmocka_unit_test_setup_teardown(test_secret_of_a_file, begin, end),
		cmocka_unit_test_setup_teardown(test_properties_that_contradict, begin, end),
		cmocka_unit_test_setup_teardown(test_required, begin, end),
		cmocka_unit_test(test_properties_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
