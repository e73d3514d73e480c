/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/mock_broker.h"

#ifdef KAFKA_MISSING

struct mock_broker *mock_broker_create(const char *topic)
{
	(void)topic;
	return NULL;
}

void mock_broker_destroy(struct mock_broker *broker)
{
	(void)broker;
}

const char *mock_broker_address(const struct mock_broker *broker)
{
	(void)broker;
	return "";
}

uint64_t mock_broker_produce(
	struct mock_broker *broker, const char *text, size_t len, double *seconds)
{
	(void)broker;
	(void)text;
	(void)len;
	*seconds = 0;
	return 0;
}

#else

#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "base/clock.h"

#define PARTITIONS 4
#define POLL_MS    100
#define FLUSH_MS   30000

struct mock_broker {
	rd_kafka_t *base;
	rd_kafka_mock_cluster_t *cluster;
	const char *topic;
};

struct mock_broker *mock_broker_create(const char *topic)
{
	struct mock_broker *broker = calloc(1, sizeof(*broker));
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char error[256];

	if (broker == NULL) {
		rd_kafka_conf_destroy(conf);
		return NULL;
	}
	rd_kafka_conf_set_log_cb(conf, NULL);
	broker->topic = topic;
	broker->base = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
	if (broker->base != NULL)
		broker->cluster = rd_kafka_mock_cluster_new(broker->base, 1);
	if (broker->cluster == NULL) {
		mock_broker_destroy(broker);
		return NULL;
	}
	rd_kafka_mock_topic_create(broker->cluster, topic, PARTITIONS, 1);
	return broker;
}

void mock_broker_destroy(struct mock_broker *broker)
{
	if (broker == NULL)
		return;
	if (broker->cluster != NULL)
		rd_kafka_mock_cluster_destroy(broker->cluster);
	if (broker->base != NULL)
		rd_kafka_destroy(broker->base);
	free(broker);
}

const char *mock_broker_address(const struct mock_broker *broker)
{
	return rd_kafka_mock_cluster_bootstraps(broker->cluster);
}

static void hear_fate(rd_kafka_t *kafka, const rd_kafka_message_t *message, void *arg)
{
	uint64_t *acknowledged = arg;

	(void)kafka;
	*acknowledged += message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_t *make_producer(const struct mock_broker *broker, uint64_t *acknowledged)
{
	static const char *const settings[][2] = {
		{"enable.idempotence", "true"},
		{"acks", "all"},
		{"compression.codec", "lz4"},
		{"message.timeout.ms", "0"},
		{"queue.buffering.max.kbytes", "65536"},
		{"queue.buffering.max.messages", "100000"},
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char error[256];
	rd_kafka_t *kafka;

	rd_kafka_conf_set(conf, "bootstrap.servers", mock_broker_address(broker), NULL, 0);
	for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++)
		rd_kafka_conf_set(conf, settings[s][0], settings[s][1], NULL, 0);
	rd_kafka_conf_set_opaque(conf, acknowledged);
	rd_kafka_conf_set_dr_msg_cb(conf, hear_fate);
	kafka = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
	if (kafka == NULL)
		rd_kafka_conf_destroy(conf);
	return kafka;
}

static const char *produce_line(
	const struct mock_broker *broker, rd_kafka_t *kafka, const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	while (rd_kafka_producev(kafka, RD_KAFKA_V_TOPIC(broker->topic),
		       RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		       RD_KAFKA_V_VALUE((void *)(uintptr_t)at, (size_t)(newline - at)),
		       RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
		rd_kafka_poll(kafka, POLL_MS);
	return newline + 1;
}

uint64_t mock_broker_produce(
	struct mock_broker *broker, const char *text, size_t len, double *seconds)
{
	const char *at = text, *const end = text + len;
	uint64_t acknowledged = 0;
	rd_kafka_t *kafka = make_producer(broker, &acknowledged);
	int64_t start;

	if (kafka == NULL)
		return 0;
	produce_line(broker, kafka, at, end); /* opens the connection and fetches the topic */
	rd_kafka_flush(kafka, FLUSH_MS);
	start = clock_now(CLOCK_MONOTONIC);
	while (at < end)
		at = produce_line(broker, kafka, at, end);
	rd_kafka_flush(kafka, FLUSH_MS);
	*seconds = (double)(clock_now(CLOCK_MONOTONIC) - start) / 1e9;
	rd_kafka_destroy(kafka);
	return acknowledged - 1;
}

#endif
