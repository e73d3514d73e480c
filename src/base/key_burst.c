/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/key_burst.h"

#include <string.h>

/* dst := src & mask, for a key of `words` 8-byte words. */
static inline void mask_words(void *dst, const void *src, const void *mask, size_t words)
{
	uint64_t d[5], m[5];

	memcpy(d, src, words * sizeof(d[0]));
	memcpy(m, mask, words * sizeof(m[0]));
	for (size_t i = 0; i < words; i++)
		d[i] &= m[i];
	memcpy(dst, d, words * sizeof(d[0]));
}

static void put_tcp_flags(struct key_burst *dst, const struct key_burst *src)
{
	for (uint32_t i = 0; i < src->n; i++)
		dst->key4[i].tcp_flags = src->tcp_flags[i];
	for (uint64_t left = src->v6; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		dst->key6[i].tcp_flags = src->tcp_flags[i];
	}
}

void key_burst_mask(struct key_burst *dst, const struct key_burst *src, const struct key_rule *rule)
{
	uint32_t n = src->n;

	dst->n = n;
	dst->v6 = src->v6;
	for (uint32_t i = 0; i < n; i++)
		dst->wire_len[i] = src->wire_len[i];
	/* Where the packet is IPv6 this masks what nobody reads: cheaper than asking. */
	for (uint32_t i = 0; i < n; i++)
		mask_words(&dst->key4[i], &src->key4[i], &rule->mask4, 2);
	for (uint64_t left = src->v6; left != 0; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);

		mask_words(&dst->key6[i], &src->key6[i], &rule->mask6, 5);
	}
	if (rule->fields >> KEY_TCP_FLAGS & 1)
		put_tcp_flags(dst, src);
}

void key_burst_copy_details(struct key_burst *dst, const struct key_burst *src)
{
	memcpy(dst->time, src->time, src->n * sizeof(src->time[0]));
	memcpy(dst->flow_hash, src->flow_hash, src->n * sizeof(src->flow_hash[0]));
	memcpy(dst->tcp_flags, src->tcp_flags, src->n * sizeof(src->tcp_flags[0]));
}
