/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The mock broker of librdkafka on loopback, which needs no Java. For comparison, also a simple
 * producer loop.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mock_broker;

/* Returns NULL if built without Kafka or out of memory. */
struct mock_broker *mock_broker_create(const char *topic);
void mock_broker_destroy(struct mock_broker *broker); /* NULL has no effect */
const char *mock_broker_address(const struct mock_broker *broker);

/*
 * Sends the lines of a text with a producer loop of librdkafka, with the settings of kafka://, over
 * an open connection. Returns the number of acknowledged lines. *seconds: duration.
 */
uint64_t mock_broker_produce(
	struct mock_broker *broker, const char *text, size_t len, double *seconds);
