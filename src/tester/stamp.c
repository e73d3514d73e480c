/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/stamp.h"

#include <string.h>

#include "base/random.h"
#include "rx/packet/unaligned.h"

#define TIME_MASK ((UINT64_C(1) << STAMP_TIME_BITS) - 1)

#define ETHERNET_LEN  14
#define VLAN_LEN      4
#define IPV4_LEN      20
#define IPV4_TTL      8
#define IPV4_CHECKSUM 10
#define IPV6_LIMIT    7

/*
 * First word of a stamp: packet number, content hash (32 bits each). Second word: time; its highest
 * 16 bits make the Internet checksum of the stamp 0.
 */
#define CONTENT_SHIFT    32
#define COMPLEMENT_SHIFT STAMP_TIME_BITS

void stamp_secrets_init(struct stamp_secrets *secrets, uint64_t seed)
{
	for (uint32_t i = 0; i <= STAMP_WORDS; i++)
		secrets->factors[i] = random_split(&seed);
	secrets->number = (uint32_t)random_split(&seed);
	secrets->time = random_split(&seed) & TIME_MASK;
}

/* Returns a ones' complement sum of 16-bit words (RFC 1071). */
static uint16_t fold(uint64_t sum)
{
	sum = (sum >> 32) + (sum & UINT32_MAX);
	sum = (sum >> 16) + (sum & UINT16_MAX);
	sum = (sum >> 16) + (sum & UINT16_MAX);
	sum = (sum >> 16) + (sum & UINT16_MAX);
	return (uint16_t)sum;
}

static uint16_t sum_bytes(const void *bytes, uint32_t len)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < len; i += 4)
		sum += load32(at + i);
	return fold(sum);
}

static uint32_t headers_of(uint32_t length)
{
	uint32_t before = length - STAMP_BYTES;

	return before < FRAME_HEADERS_MAX ? before : FRAME_HEADERS_MAX;
}

/*
 * Returns a multilinear hash (Carter and Wegman 1979): the high half of the sum of 32-bit words
 * times secret 64-bit factors. Two different frames have the same hash with probability 2^-32.
 */
static uint32_t content_of(const struct stamp_secrets *secrets, const struct stamp *stamp,
	const uint8_t *frame, uint32_t length)
{
	const uint64_t *factors = secrets->factors, *others = factors + FRAME_HEADERS_MAX / 4;
	uint64_t sum = factors[STAMP_WORDS];
	uint32_t headers = headers_of(length), rest = headers % 4, last = 0;

	for (uint32_t i = 0; i < headers / 4; i++)
		sum += load32(frame + 4 * i) * factors[i];
	if (rest > 0) {
		memcpy(&last, frame + headers - rest, rest);
		sum += last * factors[headers / 4];
	}
	sum += length * others[0];
	sum += stamp->number * others[1];
	sum += (stamp->time & UINT32_MAX) * others[2];
	sum += (stamp->time >> 32) * others[3];
	return (uint32_t)(sum >> 32);
}

static bool is_zero(const uint8_t *bytes, uint32_t len)
{
	uint64_t seen = 0;
	uint32_t i = 0;

	for (; i + 8 <= len; i += 8)
		seen |= load64(bytes + i);
	for (; i < len; i++)
		seen |= bytes[i];
	return seen == 0;
}

static uint16_t sum_words(uint64_t first, uint64_t second)
{
	return fold((first & UINT32_MAX) + (first >> 32) + (second & UINT32_MAX) + (second >> 32));
}

void stamp_write(const struct stamp_secrets *secrets, const struct stamp *stamp, uint8_t *frame,
	uint32_t length)
{
	const struct stamp sent = {.number = stamp->number, .time = stamp->time & TIME_MASK};
	uint64_t first = (uint64_t)content_of(secrets, &sent, frame, length) << CONTENT_SHIFT |
			 (sent.number ^ secrets->number);
	uint64_t second = sent.time ^ secrets->time;
	uint8_t *trailer = frame + length - STAMP_BYTES;

	second |= (uint64_t)(uint16_t)~sum_words(first, second) << COMPLEMENT_SHIFT;
	memcpy(trailer, &first, sizeof(first));
	memcpy(trailer + sizeof(first), &second, sizeof(second));
}

bool stamp_read(const struct stamp_secrets *secrets, struct stamp *stamp, const uint8_t *frame,
	uint32_t length)
{
	uint64_t first, second;

	if (length < ETHERNET_LEN + STAMP_BYTES)
		return false;
	first = load64(frame + length - STAMP_BYTES);
	second = load64(frame + length - STAMP_BYTES + sizeof(first));
	/*
	 * In ones' complement, a stamp sums up to 0xffff, which is -0. A sum of 0 means all zeros.
	 */
	if (sum_words(first, second) != UINT16_MAX)
		return false;
	stamp->number = (uint32_t)first ^ secrets->number;
	stamp->time = (second & TIME_MASK) ^ secrets->time;
	return true;
}

/* Reverts what a router changes. Returns false if the headers have other changes. */
static bool route_back(uint8_t *headers)
{
	uint32_t l3 = ETHERNET_LEN;
	uint16_t checksum;
	uint8_t *ip;

	memcpy(headers, frame_addresses, FRAME_ADDRESSES_LEN);
	if (headers[12] == 0x81 && headers[13] == 0)
		l3 += VLAN_LEN;
	ip = headers + l3;
	if (ip[-2] == 0x86 && ip[-1] == 0xdd) {
		ip[IPV6_LIMIT] = FRAME_HOP_LIMIT;
		return true;
	}
	if (ip[-2] != 0x08 || ip[-1] != 0 || sum_bytes(ip, IPV4_LEN) != UINT16_MAX)
		return false;
	ip[IPV4_TTL] = FRAME_HOP_LIMIT;
	memset(ip + IPV4_CHECKSUM, 0, 2);
	checksum = (uint16_t)~sum_bytes(ip, IPV4_LEN);
	memcpy(ip + IPV4_CHECKSUM, &checksum, sizeof(checksum));
	return true;
}

enum stamp_content stamp_compare(const struct stamp_secrets *secrets, const struct stamp *stamp,
	const uint8_t *frame, uint32_t length)
{
	uint32_t content = (uint32_t)(load64(frame + length - STAMP_BYTES) >> CONTENT_SHIFT);
	uint32_t len = headers_of(length);
	uint8_t headers[FRAME_HEADERS_MAX] = {0};

	if (!is_zero(frame + len, length - STAMP_BYTES - len))
		return STAMP_CHANGED;
	if (content == content_of(secrets, stamp, frame, length))
		return STAMP_SAME;
	memcpy(headers, frame, len);
	if (route_back(headers) && content == content_of(secrets, stamp, headers, length))
		return STAMP_ROUTED;
	return STAMP_CHANGED;
}
