/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Identifiers of keys. Tables compare them first, and a key6 only if they are equal. */

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "key/key_burst.h"

/* All of a key4, or 120 bits of the hash of a key6. The last byte is the address family. */
struct flow_id {
	uint64_t lo, hi;
};

_Static_assert(
	sizeof(struct flow_id) == sizeof(struct key4) && KEY4_ROOM == sizeof(struct flow_id) - 1,
	"the last byte of a key4 is free for the address family");

static inline uint64_t flow_id_byte(uint8_t family)
{
	return htole64((uint64_t)family << 56);
}

static inline __attribute__((always_inline)) struct flow_id flow_id_of(
	const struct key_burst *burst, uint32_t i)
{
	struct flow_id id;

	if (burst->v6 >> i & 1) {
		id.lo = burst->hash[i].lo;
		id.hi = (burst->hash[i].hi & ~flow_id_byte(UINT8_MAX)) | flow_id_byte(KEY_IPV6);
		return id;
	}
	memcpy(&id, &burst->key4[i], sizeof(id));
	id.hi |= flow_id_byte(KEY_IPV4);
	return id;
}

static inline enum key_family flow_id_family(const struct flow_id *id)
{
	return (enum key_family)(le64toh(id->hi) >> 56);
}

/* The family must be IPv4. */
static inline struct key4 flow_id_key4(const struct flow_id *id)
{
	struct key4 key4;

	memcpy(&key4, id, sizeof(key4));
	key4.reserved = 0;
	return key4;
}

static inline __attribute__((always_inline)) uint64_t flow_ids_differ(
	const struct flow_id *a, const struct flow_id *b)
{
	return (a->lo ^ b->lo) | (a->hi ^ b->hi);
}

/*
 * Returns true if packet i, which has identifier `id`, has the stored key. stored6 is used only if
 * the key is a key6.
 */
static inline __attribute__((always_inline)) bool flow_id_matches(const struct flow_id *stored,
	const struct key6 *stored6, const struct flow_id *id, const struct key_burst *burst,
	uint32_t i)
{
	if (flow_ids_differ(stored, id) != 0)
		return false;
	return (burst->v6 >> i & 1) == 0 ||
	       memcmp(stored6, &burst->key6[i], sizeof(struct key6)) == 0;
}

/* Appends the key to a burst with room for it. key6 is used only if the family is IPv6. */
static inline void flow_id_append(
	struct key_burst *burst, const struct flow_id *id, const struct key6 *key6)
{
	uint32_t i = burst->n++;

	if (flow_id_family(id) == KEY_IPV6) {
		burst->key6[i] = *key6;
		burst->v6 |= UINT64_C(1) << i;
	} else {
		burst->key4[i] = flow_id_key4(id);
	}
}
