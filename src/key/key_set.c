/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/key_set.h"

#include <string.h>

#include "base/assertion.h"

/* No other table of a worker takes its index from bit 20 on. */
static inline uint32_t filter_bit(struct key_hash hash)
{
	return (uint32_t)(hash.lo >> 20) % KEY_SET_FILTER_BITS;
}

static inline uint32_t first_slot(struct key_hash hash)
{
	return (uint32_t)(hash.lo >> 34) % KEY_SET_SLOTS;
}

void key_set_clear(struct key_set *set)
{
	if (set->n == 0)
		return;
	set->n = 0;
	memset(set->filter, 0, sizeof(set->filter));
	memset(set->slots, 0, sizeof(set->slots));
}

bool key_set_add(struct key_set *set, const struct key *key, struct key_hash hash)
{
	uint32_t slot = first_slot(hash), bit = filter_bit(hash), probes = 1;

	ASSERT(set->n, <=, (uint32_t)KEY_SET_MAX);
	while (set->slots[slot] != 0 && probes < KEY_SET_PROBES) {
		slot = (slot + 1) % KEY_SET_SLOTS;
		probes++;
	}
	if (set->n == KEY_SET_MAX || set->slots[slot] != 0)
		return false;
	set->filter[bit / 64] |= UINT64_C(1) << bit % 64;
	set->hash[set->n] = hash;
	set->keys[set->n] = *key;
	set->slots[slot] = (uint16_t)++set->n;
	return true;
}

static bool is_entry(const struct key *key, const struct key_burst *burst, uint32_t i)
{
	if ((burst->v6 >> i & 1) != (key->family == KEY_IPV6))
		return false;
	return key->family == KEY_IPV6 ? memcmp(&key->v6, &burst->key6[i], sizeof(key->v6)) == 0
				       : memcmp(&key->v4, &burst->key4[i], sizeof(key->v4)) == 0;
}

static bool has(const struct key_set *set, const struct key_burst *burst, uint32_t i)
{
	struct key_hash hash = burst->hash[i];
	uint32_t slot = first_slot(hash);

	for (uint32_t probes = 0; probes < KEY_SET_PROBES && set->slots[slot] != 0; probes++) {
		uint32_t k = set->slots[slot] - 1U;

		ASSERT(k, <, set->n);
		if (set->hash[k].lo == hash.lo && set->hash[k].hi == hash.hi &&
			is_entry(&set->keys[k], burst, i))
			return true;
		slot = (slot + 1) % KEY_SET_SLOTS;
	}
	return false;
}

uint64_t key_set_find(const struct key_set *set, const struct key_burst *burst)
{
	uint64_t maybe = 0, found = 0;

	if (set->n == 0)
		return 0;
	ASSERT(burst->n, <=, (uint32_t)BURST_MAX);
	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t bit = filter_bit(burst->hash[i]);

		maybe |= (set->filter[bit / 64] >> bit % 64 & 1) << i;
	}
	for (; maybe != 0; maybe &= maybe - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(maybe);

		found |= (uint64_t)has(set, burst, i) << i;
	}
	return found;
}

void heavy_keys_forget(struct heavy_keys *heavy, int64_t now, uint64_t stay)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < heavy->n; i++) {
		struct heavy_key network = heavy->of[i];

		if (network.last > now) /* the clock was set back */
			network.last = now;
		if ((uint64_t)(now - network.last) <= stay)
			heavy->of[kept++] = network;
	}
	heavy->n = kept;
}

bool heavy_keys_add(struct heavy_keys *heavy, const struct key *key, int64_t now)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < heavy->n; i++) {
		if (key_equal(&heavy->of[i].key, key)) {
			heavy->of[i].last = now;
			return true;
		}
		if (heavy->of[i].last < heavy->of[place].last)
			place = i;
	}
	if (heavy->n < KEY_SET_MAX)
		place = heavy->n++;
	else if (heavy->of[place].last >= now)
		return false;
	VERIFY(place, <, (uint32_t)KEY_SET_MAX);
	heavy->of[place] = (struct heavy_key){.key = *key, .last = now};
	return true;
}
