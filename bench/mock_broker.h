/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A broker of librdkafka's own, on loopback, which needs no Java; and its loop as a rival. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mock_broker;

/* NULL: this build has no Kafka, or there is no memory. */
struct mock_broker *mock_broker_create(const char *topic);
void mock_broker_destroy(struct mock_broker *broker); /* NULL is allowed */
const char *mock_broker_address(const struct mock_broker *broker);

/*
 * Brings the lines of a text to the topic as librdkafka's own loop does: with the settings that
 * kafka:// has, over a connection that there is. Returns how many of them were acknowledged, and
 * how long that took.
 */
uint64_t mock_broker_produce(
	struct mock_broker *broker, const char *text, size_t len, double *seconds);
