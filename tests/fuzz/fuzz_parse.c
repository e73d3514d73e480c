/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes on any link. The first byte selects the link type and the number of bytes that were not
 * captured; the rest is the packet. The parser reads nothing beyond the packet, and the first
 * `need` bytes give the same verdict and key. A packet of known length lacks no bytes. The fast path
 * of plain.h gives the same key.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rx/packet/parse.h"
#include "rx/packet/plain.h"
#include "rx/packet/rss_hash.h"

#define UNCAPTURED 41 /* bytes per step of the first byte */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Parses a copy of exactly len bytes. */
static enum parse_verdict parse_exact(const uint8_t *data, uint32_t len, uint32_t wire_len,
	enum link_type link, struct parsed *parsed)
{
	uint8_t *copy = malloc(len);
	enum parse_verdict verdict;
	uint32_t missing;

	require(copy != NULL || len == 0);
	if (len > 0)
		memcpy(copy, data, len);
	verdict = parse_captured(copy, len, wire_len, link, parsed);
	for (uint32_t snaplen = 0;
		parse_verdicts[verdict].class == PARSE_CLASS_KEY && snaplen < 200; snaplen += 10) {
		missing = parse_missing_bytes(copy, len, wire_len, snaplen, parsed);
		require(missing == 0 || len == wire_len);
		missing = parse_missing_bytes(copy, len, len / 2, snaplen, parsed);
		require(missing >= len - len / 2);
	}
	free(copy);
	return verdict;
}

/* The fast path must give the result of the parser. */
static void check_plain(
	const uint8_t *data, uint32_t len, const struct parsed *parsed, enum parse_verdict verdict)
{
	struct key4 key4;
	struct key6 key6;

	if (plain_is_ipv4(data, len)) {
		plain_ipv4_key(data, &key4);
		require(verdict == PARSE_IPV4);
		require(memcmp(&key4, &parsed->key4, sizeof(key4)) == 0);
		require(plain_tcp_flags(data, len) == parsed->extra.tcp_flags[0]);
		require(parsed->ip_at == PLAIN_IP_AT && parsed->transport_at + 4 <= len);
	}
	if (plain_is_ipv6(data, len)) {
		plain_ipv6_key(data, &key6);
		require(verdict == PARSE_IPV6);
		require(memcmp(&key6, &parsed->key6, sizeof(key6)) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parsed whole, prefix;
	enum parse_verdict verdict;
	enum link_type link;
	uint32_t len, wire_len;

	if (size == 0)
		return 0;
	link = (enum link_type)(data[0] % LINK_COUNT);
	len = (uint32_t)size - 1;
	wire_len = len + data[0] / LINK_COUNT * UNCAPTURED;
	data++;
	verdict = parse_exact(data, len, wire_len, link, &whole);
	require(verdict < PARSE_VERDICT_COUNT);
	require(whole.need <= len);
	if (link == LINK_ETHERNET)
		check_plain(data, len, &whole, verdict);
	require(parse_exact(data, whole.need, wire_len, link, &prefix) == verdict);
	require(prefix.need == whole.need);
	require(prefix.fragment == whole.fragment);
	require(parse_verdicts[verdict].class != PARSE_CLASS_KEY ||
		memcmp(&prefix.extra, &whole.extra, sizeof(whole.extra)) == 0);
	if (verdict == PARSE_IPV4)
		require(memcmp(&prefix.key4, &whole.key4, sizeof(whole.key4)) == 0);
	if (verdict == PARSE_IPV6)
		require(memcmp(&prefix.key6, &whole.key6, sizeof(whole.key6)) == 0);
	require(rss_hash(verdict, &prefix) == rss_hash(verdict, &whole));
	return 0;
}
