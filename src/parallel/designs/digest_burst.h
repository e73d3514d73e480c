/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Producer and consumer must use the same enum digest_form. It may change only between epochs. */

#include "key/key_burst.h"
#include "parallel/designs/digest_ring.h"

/* Callers pass a constant, so the compiler makes one copy of the code for each form. */
enum digest_form {
	DIGEST_FORM_PLAIN,   /* keys and lengths */
	DIGEST_FORM_DETAILS, /* also times and TCP flags */
	DIGEST_FORM_FLAGS,   /* the same; keys have the TCP flags */
	DIGEST_FORM_EXTRA,   /* also VLAN, DSCP and other key fields outside the 5-tuple */
};

#define DIGEST_INLINE static inline __attribute__((always_inline))

/* Returns false if the ring is full. */
DIGEST_INLINE bool digest_burst_put_entry(struct digest_ring *ring, const struct key_burst *burst,
	uint32_t i, const enum digest_form form)
{
	bool v6 = burst->v6 >> i & 1;
	enum digest_kind kind = form == DIGEST_FORM_EXTRA
					? (v6 ? DIGEST_IPV6_EXTRA : DIGEST_IPV4_EXTRA)
					: (v6 ? DIGEST_IPV6 : DIGEST_IPV4);
	struct digest *digest;

	if (!digest_ring_has_room(ring, digest_units(kind)))
		return false;
	digest = digest_ring_put(ring, digest_units(kind));
	digest->wire_len = burst->wire_len[i];
	digest->kind = (uint8_t)kind;
	if (form != DIGEST_FORM_PLAIN) {
		digest->tcp_flags = burst->tcp_flags[i];
		digest->time = burst->time[i];
		digest->overhead = burst->has_overhead ? burst->overhead[i] : 0;
	}
	if (form == DIGEST_FORM_EXTRA)
		*(v6 ? &digest->ipv6.extra : &digest->ipv4.extra) = burst->extra[i];
	if (v6)
		digest->key6 = burst->key6[i];
	else
		digest->key4 = burst->key4[i];
	return true;
}

/* Only for bursts without IPv6. The ring must have room. */
static inline void digest_burst_put_plain(struct digest_ring *ring, const struct key_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		struct digest *digest = digest_ring_put(ring, 1);

		digest->wire_len = burst->wire_len[i];
		digest->kind = DIGEST_IPV4;
		digest->key4 = burst->key4[i];
	}
}

/* Returns the number of entries that did not fit. The caller must publish the others. */
DIGEST_INLINE uint32_t digest_burst_put(
	struct digest_ring *ring, const struct key_burst *burst, const enum digest_form form)
{
	uint32_t refused = 0;

	if (form == DIGEST_FORM_PLAIN && burst->v6 == 0 && digest_ring_has_room(ring, burst->n)) {
		digest_burst_put_plain(ring, burst);
		return 0;
	}
	for (uint32_t i = 0; i < burst->n; i++)
		refused += !digest_burst_put_entry(ring, burst, i, form);
	return refused;
}

DIGEST_INLINE void digest_burst_add(
	struct key_burst *burst, const struct digest *digest, const enum digest_form form)
{
	uint32_t i = burst->n++;

	burst->wire_len[i] = digest->wire_len;
	if (form != DIGEST_FORM_PLAIN) {
		burst->time[i] = digest->time;
		burst->tcp_flags[i] = digest->tcp_flags;
		if (burst->has_overhead)
			burst->overhead[i] = digest->overhead;
	}
	if (form == DIGEST_FORM_FLAGS)
		burst->extra[i] = (struct key_extra){.tcp_flags = {digest->tcp_flags}};
	switch ((enum digest_kind)digest->kind) {
	case DIGEST_IPV4_EXTRA: burst->extra[i] = digest->ipv4.extra; break;
	case DIGEST_IPV6_EXTRA: burst->extra[i] = digest->ipv6.extra; break;
	default: break;
	}
	if (digest->kind == DIGEST_IPV6 || digest->kind == DIGEST_IPV6_EXTRA) {
		burst->key6[i] = digest->key6;
		burst->v6 |= UINT64_C(1) << i;
	} else {
		burst->key4[i] = digest->key4;
	}
}

struct digest_mark {
	enum digest_kind kind; /* another kind: there is no mark */
	uint64_t number;
};

DIGEST_INLINE struct digest_mark digest_burst_take_in(
	struct digest_ring *ring, struct key_burst *burst, const enum digest_form form)
{
	const struct digest *digest;
	struct digest_mark mark = {.kind = DIGEST_IPV4};

	burst->n = 0;
	burst->v6 = 0;
	while (burst->n < BURST_MAX && (digest = digest_ring_take(ring)) != NULL) {
		if (__builtin_expect(
			    digest->kind == DIGEST_EPOCH || digest->kind == DIGEST_END, 0)) {
			mark = (struct digest_mark){(enum digest_kind)digest->kind, digest->number};
			break;
		}
		digest_burst_add(burst, digest, form);
	}
	digest_ring_give_back(ring);
	return mark;
}

/* Stops when the burst is full, the ring is empty, or a mark was read, which it returns. */
static inline struct digest_mark digest_burst_take(
	struct digest_ring *ring, struct key_burst *burst, enum digest_form form)
{
	switch (form) {
	case DIGEST_FORM_PLAIN: return digest_burst_take_in(ring, burst, DIGEST_FORM_PLAIN);
	case DIGEST_FORM_DETAILS: return digest_burst_take_in(ring, burst, DIGEST_FORM_DETAILS);
	case DIGEST_FORM_FLAGS: return digest_burst_take_in(ring, burst, DIGEST_FORM_FLAGS);
	default: return digest_burst_take_in(ring, burst, DIGEST_FORM_EXTRA);
	}
}
