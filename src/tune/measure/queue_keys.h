/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The keys of a workload by receive queue. A hash of the key selects the queue, as with RSS. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tune/measure/workload.h"

struct queue_keys {
	const struct key4 *keys; /* [n] */
	uint64_t n;
	struct key4 *own; /* NULL: `keys` are those of the workload */
};

/*
 * Fills keys[nb_queues] in the order of the workload, which must outlive them. A single queue gets
 * no copy. Returns false if out of memory; queue_keys_free() is then still required.
 */
bool queue_keys_spread(
	const struct workload *workload, uint32_t nb_queues, struct queue_keys *keys);

void queue_keys_free(struct queue_keys *keys, uint32_t nb_queues);

#define QUEUE_KEYS_HEADER       64 /* bytes */
#define QUEUE_KEYS_PROTO_OFFSET 23 /* in an untagged IPv4 packet */
#define QUEUE_KEYS_OFFSET       26
#define QUEUE_KEYS_BYTES        12

/* Writes the headers of an untagged IPv4 packet. Returns false if out of memory. */
bool queue_keys_header(uint8_t header[QUEUE_KEYS_HEADER]);

/* Writes the key into the headers. */
static inline void queue_keys_put(uint8_t *header, const struct key4 *key)
{
	memcpy(header + QUEUE_KEYS_OFFSET, key, QUEUE_KEYS_BYTES);
	header[QUEUE_KEYS_PROTO_OFFSET] = key->proto;
}
