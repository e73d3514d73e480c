/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * kafka_mock TOPIC [where]: the mock broker of librdkafka, and a consumer that reads the topic from
 * its beginning. Prints the broker's address, then one line per message. With `where`, each line
 * starts with partition and key, followed by tabs. Commands on standard input: down, up, rtt MS, or
 * errors CODE, which the next three requests get. When standard input ends, the program exits after
 * a second without messages.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#define BROKER     1
#define PARTITIONS 2
#define PRODUCE    0 /* API key of Produce requests */
#define IDLE_POLLS 20
#define POLL_MS    50

static void heed(rd_kafka_mock_cluster_t *cluster, const char *line)
{
	int number;

	if (strcmp(line, "down\n") == 0)
		rd_kafka_mock_broker_set_down(cluster, BROKER);
	else if (strcmp(line, "up\n") == 0)
		rd_kafka_mock_broker_set_up(cluster, BROKER);
	else if (sscanf(line, "rtt %d", &number) == 1)
		rd_kafka_mock_broker_set_rtt(cluster, BROKER, number);
	else if (sscanf(line, "errors %d", &number) == 1)
		rd_kafka_mock_push_request_errors(cluster, PRODUCE, 3, (rd_kafka_resp_err_t)number,
			(rd_kafka_resp_err_t)number, (rd_kafka_resp_err_t)number);
}

static rd_kafka_t *make(rd_kafka_type_t type, const char *brokers)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char error[512];
	rd_kafka_t *kafka;

	if (brokers != NULL) {
		rd_kafka_conf_set(conf, "bootstrap.servers", brokers, NULL, 0);
		rd_kafka_conf_set(conf, "group.id", "reader", NULL, 0);
		rd_kafka_conf_set(conf, "enable.auto.commit", "false", NULL, 0);
		rd_kafka_conf_set(conf, "reconnect.backoff.max.ms", "200", NULL, 0);
	}
	rd_kafka_conf_set_log_cb(conf, NULL);
	kafka = rd_kafka_new(type, conf, error, sizeof(error));
	if (kafka == NULL) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	return kafka;
}

static rd_kafka_t *read_topic(const char *brokers, const char *topic)
{
	rd_kafka_t *reader = make(RD_KAFKA_CONSUMER, brokers);
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);

	for (int partition = 0; partition < PARTITIONS; partition++)
		rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
			RD_KAFKA_OFFSET_BEGINNING;
	rd_kafka_assign(reader, list);
	rd_kafka_topic_partition_list_destroy(list);
	return reader;
}

/* Prints the next message. Returns false if none arrived. */
static bool take_message(rd_kafka_t *reader, bool where)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(reader, POLL_MS);
	bool came = message != NULL && message->err == RD_KAFKA_RESP_ERR_NO_ERROR;

	if (came && where)
		printf("%d\t%.*s\t", message->partition, (int)message->key_len,
			message->key != NULL ? (const char *)message->key : "");
	if (came)
		printf("%.*s\n", (int)message->len, (const char *)message->payload);
	else
		fflush(stdout); /* for a reader of the pipe */
	if (message != NULL)
		rd_kafka_message_destroy(message);
	return came;
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	rd_kafka_mock_cluster_t *cluster;
	rd_kafka_t *base, *reader;
	char line[64];
	bool more = true;

	if (argc < 2)
		return 2;
	setvbuf(stdin, NULL, _IONBF, 0); /* unbuffered, so that poll() sees all input */
	base = make(RD_KAFKA_PRODUCER, NULL);
	cluster = rd_kafka_mock_cluster_new(base, BROKER);
	rd_kafka_mock_topic_create(cluster, argv[1], PARTITIONS, 1);
	printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
	fflush(stdout);
	reader = read_topic(rd_kafka_mock_cluster_bootstraps(cluster), argv[1]);
	for (int idle = 0; more || idle < IDLE_POLLS;
		idle = take_message(reader, argc > 2) ? 0 : idle + 1) {
		while (more && poll(&input, 1, 0) > 0) {
			more = fgets(line, sizeof(line), stdin) != NULL;
			if (more)
				heed(cluster, line);
			else
				heed(cluster, "up\n");
		}
	}
	rd_kafka_destroy(reader);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(base);
	return fflush(stdout) == 0 ? 0 : 1;
}
