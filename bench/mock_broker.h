/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The mock broker of librdkafka on loopback, and a simple producer loop for comparison. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mock_broker;

/* Returns NULL if built without Kafka or out of memory. */
struct mock_broker *mock_broker_create(const char *topic);
void mock_broker_destroy(struct mock_broker *broker);
const char *mock_broker_address(const struct mock_broker *broker);

/* Uses the settings of kafka://. Returns the acknowledged lines. */
uint64_t mock_broker_produce(
	struct mock_broker *broker, const char *text, size_t len, double *seconds);
