/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Fast path of the parser: untagged Ethernet frames with an IPv4 header without options, or with an
 * IPv6 header directly before the ports. The keys are those of parse_packet().
 */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "key/key.h"
#include "rx/packet/unaligned.h"

/* Ethernet and IPv4 headers without options, and ports: 14 + 20 + 4 bytes */
#define PLAIN_LEN       38
#define PLAIN_IP_AT     14
#define PLAIN_FLAGS_AT  (34 + 13)
/* Ethernet and IPv6 headers, and ports: 14 + 40 + 4 bytes */
#define PLAIN6_LEN      58
#define PLAIN6_FLAGS_AT (54 + 13)
#define PLAIN_TCP       6

static inline bool plain_is_ipv4(const uint8_t *data, uint32_t len)
{
	/* EtherType 0x0800, version 4, IHL 5; the TOS byte is masked out. */
	return len >= PLAIN_LEN && (load32(data + 12) & htobe32(0xffffff00)) == htobe32(0x08004500);
}

/* Returns true if the IPv4 fragment offset is 0. */
static inline bool plain_is_first(const uint8_t *data)
{
	return (load16(data + 20) & htobe16(0x1fff)) == 0;
}

/*
 * Bytes 22 to 37 of the frame are TTL, protocol, checksum, addresses, ports. A mask clears absent
 * ports, because a branch would often be mispredicted.
 */
static inline void plain_ipv4_key(const uint8_t *data, struct key4 *key)
{
	typedef uint8_t bytes16 __attribute__((vector_size(16)));
	static const bytes16 masks[2] = {
		{255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 255},
		{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
	};
	static const uint8_t has_ports[256] = {[PLAIN_TCP] = 1, [17] = 1, [132] = 1};
	uint32_t ports = plain_is_first(data) & has_ports[data[23]];
	bytes16 v;

	memcpy(&v, data + 22, sizeof(v));
	v = __builtin_shufflevector(v, v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 0, 0, 0);
	v &= masks[ports];
	memcpy(key, &v, sizeof(*key));
}

static inline bool plain_is_ipv6(const uint8_t *data, uint32_t len)
{
	return len >= PLAIN6_LEN && load16(data + 12) == htobe16(0x86dd) && data[14] >> 4 == 6 &&
	       (data[20] == 17 || data[20] == 6 || data[20] == 132);
}

/*
 * Addresses and ports have the same order in the frame and in the key. `key` must be in the burst:
 * copying a local key would stall, because its loads are wider than these stores.
 */
static inline void plain_ipv6_key(const uint8_t *data, struct key6 *key)
{
	memcpy(key, data + 22, offsetof(struct key6, proto));
	key->proto = data[20];
	memset(key->spare, 0, sizeof(key->spare));
	key->reserved = 0;
}

static inline uint8_t plain_tcp_flags(const uint8_t *data, uint32_t len)
{
	bool flags = plain_is_first(data) & (data[23] == PLAIN_TCP) & (len > PLAIN_FLAGS_AT);

	return data[flags ? PLAIN_FLAGS_AT : 0] & (uint8_t)-flags;
}
