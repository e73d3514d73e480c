/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/shed.h"

#include "sketch/counter.h"

bool shed_nothing(const struct sketch *sketch)
{
	return sketch->ops->shed(sketch).packets == 0;
}

/* All shed packets may belong to this key. */
uint64_t shed_missed(const struct sketch *sketch, const struct key_hash *hash)
{
	const struct sketch_shed all = sketch->ops->shed(sketch);
	uint64_t most = sketch->params.metric == SKETCH_PACKETS ? all.packets : all.bytes;

	(void)hash;
	return most >= COUNTER64_GUARD ? UINT64_MAX : most;
}

uint64_t shed_unlisted(struct sketch *const *parts, uint32_t nb_parts)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < nb_parts; p++)
		sum = counter64_sum(sum, shed_missed(parts[p], NULL));
	return sum;
}
