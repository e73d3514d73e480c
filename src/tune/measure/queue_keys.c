/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/queue_keys.h"

#include <stdlib.h>

#include "base/random.h"
#include "rx/generate/synthetic.h"

static uint32_t queue_of(const struct key4 *key, uint32_t nb_queues)
{
	uint64_t words[2];

	memcpy(words, key, sizeof(words));
	return (uint32_t)(random_mix(words[0] ^ words[1]) % nb_queues);
}

bool queue_keys_spread(const struct workload *workload, uint32_t nb_queues, struct queue_keys *keys)
{
	uint64_t packets = workload->spec.packets;

	memset(keys, 0, nb_queues * sizeof(keys[0]));
	if (nb_queues == 1) {
		keys[0] = (struct queue_keys){.keys = workload->keys, .n = packets};
		return true;
	}
	for (uint64_t i = 0; i < packets; i++)
		keys[queue_of(&workload->keys[i], nb_queues)].n++;
	for (uint32_t q = 0; q < nb_queues; q++) {
		keys[q].keys = keys[q].own = aligned_alloc(64, (keys[q].n + 4) / 4 * 64);
		if (keys[q].own == NULL)
			return false;
		keys[q].n = 0;
	}
	for (uint64_t i = 0; i < packets; i++) {
		struct queue_keys *queue = &keys[queue_of(&workload->keys[i], nb_queues)];

		queue->own[queue->n++] = workload->keys[i];
	}
	return true;
}

void queue_keys_free(struct queue_keys *keys, uint32_t nb_queues)
{
	for (uint32_t q = 0; q < nb_queues; q++)
		free(keys[q].own);
}

bool queue_keys_header(uint8_t header[QUEUE_KEYS_HEADER])
{
	struct source_packet packet;
	char error[SOURCE_ERROR_MAX];
	struct synthetic_spec spec;
	struct source *source;
	bool right;

	synthetic_parse("flows=1", &spec, error);
	source = generate_open(&spec, error);
	right = source != NULL && source->next(source, &packet) > 0;
	memset(header, 0, QUEUE_KEYS_HEADER);
	if (right)
		memcpy(header, packet.data,
			packet.captured < QUEUE_KEYS_HEADER ? packet.captured : QUEUE_KEYS_HEADER);
	if (source != NULL)
		source->close(source);
	return right;
}
