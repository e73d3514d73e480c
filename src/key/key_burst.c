/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/key_burst.h"

#include <string.h>

#include "base/assertion.h"

#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

/* An index >= KEY_NO_BYTE selects 0. */
typedef uint8_t bytes16 __attribute__((vector_size(16), may_alias));

static inline bytes16 shuffle16(bytes16 bytes, bytes16 from)
{
#ifdef __SSSE3__
	return (bytes16)_mm_shuffle_epi8((__m128i)bytes, (__m128i)from);
#else
	bytes16 shuffled = {0};

	for (int i = 0; i < 16; i++)
		shuffled[i] = from[i] < KEY_NO_BYTE ? bytes[from[i] & 15] : 0;
	return shuffled;
#endif
}

static inline bytes16 load16(const void *p)
{
	bytes16 bytes;

	memcpy(&bytes, p, sizeof(bytes));
	return bytes;
}

static inline bytes16 load8(const void *p)
{
	bytes16 bytes = {0};

	memcpy(&bytes, p, sizeof(uint64_t));
	return bytes;
}

struct key_burst_source {
	bytes16 vectors[KEY_VECTORS + 1];
};

/*
 * The source is vectors[0] for an IPv4 packet, vectors[0..KEY_VECTORS) for an IPv6 packet, and
 * also the last vector if `extra`.
 */
static inline __attribute__((always_inline)) bytes16 key_vector(const struct key_layout *layout,
	const struct key_burst_source *source, int v, const bool ipv4, const bool extra)
{
	bytes16 key = shuffle16(source->vectors[0], load16(layout->shuffle[v][0]));

	for (int s = 1; !ipv4 && s < KEY_VECTORS; s++)
		key |= shuffle16(source->vectors[s], load16(layout->shuffle[v][s]));
	if (extra)
		key |= shuffle16(
			source->vectors[KEY_VECTORS], load16(layout->shuffle[v][KEY_VECTORS]));
	return key & load16(layout->mask[v]);
}

static inline __attribute__((always_inline)) void load_source(struct key_burst_source *source,
	const struct key_burst *src, uint32_t i, const bool ipv4, const bool extra)
{
	const uint8_t *key6 = (const uint8_t *)&src->key6[i];

	if (ipv4) {
		source->vectors[0] = load16(&src->key4[i]);
	} else {
		source->vectors[0] = load16(key6);
		source->vectors[1] = load16(key6 + 16);
		source->vectors[2] = load8(key6 + 32);
	}
	if (extra)
		source->vectors[KEY_VECTORS] = load16(&src->extra[i]);
}

static inline __attribute__((always_inline)) void put_narrow(struct key_burst *dst,
	const struct key_burst *src, uint32_t i, const struct key_layout *layout, const bool ipv4,
	const bool extra)
{
	struct key_burst_source source;
	bytes16 key;

	load_source(&source, src, i, ipv4, extra);
	key = key_vector(layout, &source, 0, ipv4, extra);
	memcpy(&dst->key4[i], &key, sizeof(dst->key4[i]));
}

static inline __attribute__((always_inline)) void put_wide(struct key_burst *dst,
	const struct key_burst *src, uint32_t i, const struct key_layout *layout, const bool ipv4,
	const bool extra)
{
	struct key_burst_source source;
	uint8_t *key6 = (uint8_t *)&dst->key6[i];
	bytes16 key[KEY_VECTORS];

	load_source(&source, src, i, ipv4, extra);
	for (int v = 0; v < KEY_VECTORS; v++)
		key[v] = key_vector(layout, &source, v, ipv4, extra);
	key[2][KEY6_ROOM % 16] = layout->reserved;
	memcpy(key6, &key[0], 16);
	memcpy(key6 + 16, &key[1], 16);
	memcpy(key6 + 32, &key[2], 8);
}

/* `packets` has one bit per packet. */
static inline __attribute__((always_inline)) void put_keys(struct key_burst *dst,
	const struct key_burst *src, uint64_t packets, const struct key_layout *layout,
	const bool ipv4, const bool extra)
{
	for (; packets != 0; packets &= packets - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(packets);

		if (layout->wide)
			put_wide(dst, src, i, layout, ipv4, extra);
		else
			put_narrow(dst, src, i, layout, ipv4, extra);
	}
}

/* Treats all packets as IPv4, to avoid branches. The key4 of an IPv6 packet is undefined. */
static inline __attribute__((always_inline)) void put_narrow4(struct key_burst *dst,
	const struct key_burst *src, const struct key_layout *layout, const bool extra)
{
	const bytes16 from_tuple = load16(layout->shuffle[0][0]);
	const bytes16 from_extra = load16(layout->shuffle[0][KEY_VECTORS]);
	const bytes16 mask = load16(layout->mask[0]);
	const uint32_t n = src->n;

	for (uint32_t i = 0; i < n; i++) {
		bytes16 key = shuffle16(load16(&src->key4[i]), from_tuple);

		if (extra)
			key |= shuffle16(load16(&src->extra[i]), from_extra);
		key &= mask;
		memcpy(&dst->key4[i], &key, sizeof(dst->key4[i]));
	}
}

static inline __attribute__((always_inline)) void put_all(struct key_burst *dst,
	const struct key_burst *src, const struct key_rule *rule, const bool extra)
{
	uint64_t ipv4 = (src->n < 64 ? UINT64_C(1) << src->n : 0) - 1;

	ipv4 &= ~src->v6;
	dst->v6 = (rule->ipv4.wide ? ipv4 : 0) | (rule->ipv6.wide ? src->v6 : 0);
	if (rule->ipv4.wide)
		put_keys(dst, src, ipv4, &rule->ipv4, true, extra);
	else
		put_narrow4(dst, src, &rule->ipv4, extra);
	put_keys(dst, src, src->v6, &rule->ipv6, false, extra);
}

void key_burst_mask(struct key_burst *dst, const struct key_burst *src, const struct key_rule *rule)
{
	const uint32_t n = src->n;

	ASSERT(n, <=, (uint32_t)BURST_MAX);
	dst->n = n;
	for (uint32_t i = 0; i < n; i++)
		dst->wire_len[i] = src->wire_len[i];
	if (rule->extra)
		put_all(dst, src, rule, true);
	else
		put_all(dst, src, rule, false);
}

void key_burst_copy_details(struct key_burst *dst, const struct key_burst *src)
{
	memcpy(dst->time, src->time, src->n * sizeof(src->time[0]));
	memcpy(dst->tcp_flags, src->tcp_flags, src->n * sizeof(src->tcp_flags[0]));
	dst->has_tcp = src->has_tcp;
	if (src->has_tcp)
		memcpy(dst->tcp, src->tcp, src->n * sizeof(src->tcp[0]));
	dst->has_overhead = src->has_overhead;
	if (src->has_overhead)
		memcpy(dst->overhead, src->overhead, src->n * sizeof(src->overhead[0]));
}

void key_burst_pick(
	struct key_burst *dst, const struct key_burst *src, uint64_t entries, bool details)
{
	const bool tcp = details && src->has_tcp;
	const bool overhead = details && src->has_overhead;
	uint32_t n = 0;

	dst->v6 = 0;
	dst->has_tcp = tcp;
	dst->has_overhead = overhead;
	for (; entries != 0; entries &= entries - 1, n++) {
		uint32_t i = (uint32_t)__builtin_ctzll(entries);

		dst->key4[n] = src->key4[i];
		if (src->v6 >> i & 1) {
			dst->key6[n] = src->key6[i];
			dst->v6 |= UINT64_C(1) << n;
		}
		dst->hash[n] = src->hash[i];
		dst->wire_len[n] = src->wire_len[i];
		if (!details)
			continue;
		dst->time[n] = src->time[i];
		dst->tcp_flags[n] = src->tcp_flags[i];
		if (tcp)
			dst->tcp[n] = src->tcp[i];
		if (overhead)
			dst->overhead[n] = src->overhead[i];
	}
	dst->n = n;
	dst->writer = src->writer;
}

static bool tells_apart(const struct key_rule *rule, const struct key_burst *packets)
{
	struct key_burst keys;
	struct key a, b;

	key_burst_mask(&keys, packets, rule);
	a = key_burst_get(&keys, 0);
	b = key_burst_get(&keys, 1);
	return !key_equal(&a, &b);
}

/* Flips each bit of the 5-tuple. Other fields are in a key completely or not at all. */
bool key_rule_is_coarser(const struct key_rule *coarse, const struct key_rule *fine)
{
	struct key_burst packets = {.n = 2};

	for (size_t bit = 0; bit < 8 * (KEY4_ROOM + KEY6_ROOM); bit++) {
		bool v6 = bit >= 8 * KEY4_ROOM;
		size_t at = v6 ? bit - 8 * KEY4_ROOM : bit;
		uint8_t *changed = v6 ? (uint8_t *)&packets.key6[1] : (uint8_t *)&packets.key4[1];

		packets.v6 = v6 ? 3 : 0;
		changed[at / 8] ^= (uint8_t)(1U << at % 8);
		if (tells_apart(coarse, &packets) && !tells_apart(fine, &packets))
			return false;
		changed[at / 8] ^= (uint8_t)(1U << at % 8);
	}
	return (coarse->fields & ~fine->fields) == 0;
}
