/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_protocols/flow_protocol.h"

#include "base/assertion.h"
#include "base/random.h"
#include "flow_protocols/big_endian.h"

enum {
	NETFLOW_OLD_MAX = 8,
	NETFLOW1_HEADER = 16,
	NETFLOW8_RECORD = 28,
	SFLOW_VERSION_MAX = 15,
	DTLS_FIRST = 20,
	DTLS_LAST = 23,
	DTLS_HEADER = 13,
	DTLS_1_0 = 0xfeff,
	DTLS_1_2 = 0xfefd,
};

#define FLOW_PROTOCOL(NUMBER, name) extern const struct flow_protocol_ops flow_protocol_##name;
FLOW_PROTOCOLS
#undef FLOW_PROTOCOL

#define FLOW_PROTOCOL(NUMBER, name) &flow_protocol_##name,
const struct flow_protocol_ops *const flow_protocols[FLOW_PROTOCOL_COUNT] = {FLOW_PROTOCOLS};

const char *const decode_fault_words[DECODE_FAULT_COUNT] = {
	[DECODE_FINE] = "nothing",
	[DECODE_SHORT] = "shorter than its header",
	[DECODE_VERSION] = "unknown version",
	[DECODE_LENGTH] = "a length exceeds the message",
	[DECODE_SET] = "a set has a length below 4, or a reserved ID",
	[DECODE_TEMPLATE] =
		"a template has no fields, too many fields of length 0, or too many bytes",
	[DECODE_COUNT] = "wrong record count",
	[DECODE_TEMPLATE_ROOM] = "template memory is full",
	[DECODE_TEMPLATE_CHANGES] = "too many template changes in one message",
};

const char *const sampling_source_words[SAMPLING_SOURCE_COUNT] = {
	[SAMPLING_NONE] = "none",
	[SAMPLING_SAMPLE] = "sample",
	[SAMPLING_HEADER] = "header",
	[SAMPLING_OPTIONS] = "options",
	[SAMPLING_RECORD] = "record",
	[SAMPLING_CONFIGURED] = "configured",
};

static bool has_version(const struct flow_protocol_ops *protocol, const uint8_t *data, uint32_t len)
{
	if (len < protocol->version_bytes)
		return false;
	return protocol->version ==
	       (protocol->version_bytes == 2 ? read_u16(data) : read_u32(data));
}

static uint32_t protocol_of(const uint8_t *data, uint32_t len)
{
	uint32_t p = 0;

	while (p < FLOW_PROTOCOL_COUNT && !has_version(flow_protocols[p], data, len))
		p++;
	return p;
}

enum decode_fault flow_protocol_read_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	uint32_t protocol = protocol_of(data, len);

	*header = (struct datagram_header){.total = len};
	if (protocol == FLOW_PROTOCOL_COUNT)
		return len < 2 ? DECODE_SHORT : DECODE_VERSION;
	header->protocol = (enum flow_protocol)protocol;
	return flow_protocols[protocol]->read_header(data, len, header);
}

struct decode_result flow_protocol_decode(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink)
{
	ASSERT((uint32_t)header->protocol, <, FLOW_PROTOCOL_COUNT);
	return flow_protocols[header->protocol]->decode(header, templates, data, len, sink);
}

bool flow_protocol_is_padding(const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (data[i] != 0)
			return false;
	return true;
}

void flow_protocol_skip(
	struct decode_result *result, enum decode_skip why, uint32_t detail, uint32_t records)
{
	struct decode_skipped *skipped = result->skipped;
	uint32_t i = 0;

	ASSERT(result->nb_skipped, <=, DECODE_SKIPPED_MAX);
	result->unusable += records;
	while (i < result->nb_skipped && (skipped[i].why != why || skipped[i].detail != detail))
		i++;
	if (i >= DECODE_SKIPPED_MAX - 1) {
		i = DECODE_SKIPPED_MAX - 1;
		why = DECODE_SKIP_OTHERS;
		detail = 0;
	}
	if (i >= result->nb_skipped) {
		skipped[i] = (struct decode_skipped){.why = why, .detail = detail};
		result->nb_skipped = i + 1;
	}
	skipped[i].records += records;
}

#define WORD          8U
#define DIGEST_BLOCK  (4 * WORD)
#define DIGEST_BLOCKS 4
#define ODD_BITS      UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t read_word(const uint8_t *data)
{
	uint64_t word;

	memcpy(&word, data, WORD);
	return word;
}

/* The product does not depend on `sum`, so the CPU can multiply several words at once. */
static inline uint64_t add_words(uint64_t sum, uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ ODD_BITS) * (b ^ ~ODD_BITS);

	return (sum << 5 | sum >> 59) + ((uint64_t)product ^ (uint64_t)(product >> 64));
}

static inline uint64_t add_block(uint64_t sum, const uint8_t *data)
{
	sum = add_words(sum, read_word(data), read_word(data + WORD));
	return add_words(sum, read_word(data + 2 * WORD), read_word(data + 3 * WORD));
}

uint64_t flow_protocol_digest(const uint8_t *data, uint32_t len)
{
	uint64_t sum = len, last = 0;
	uint32_t left = len;

	if (len > DIGEST_BLOCKS * DIGEST_BLOCK) {
		for (uint32_t i = 0; i < DIGEST_BLOCKS; i++)
			sum = add_block(sum,
				data + (uint64_t)(len - DIGEST_BLOCK) * i / (DIGEST_BLOCKS - 1));
		return random_mix(sum);
	}
	for (; left >= WORD; left -= WORD, data += WORD)
		sum = add_words(sum, read_word(data), 0);
	memcpy(&last, data, left);
	return random_mix(add_words(sum, last, 0));
}

/* Other protocols may start with these numbers, so the record count must fit the length. */
static bool is_old_netflow(const uint8_t *data, uint32_t len, uint32_t version)
{
	uint32_t count;

	if (version == 0 || version > NETFLOW_OLD_MAX || len < NETFLOW1_HEADER)
		return false;
	count = read_u16(data + 2);
	return count > 0 && count * NETFLOW8_RECORD <= len - NETFLOW1_HEADER;
}

static bool is_old_sflow(const uint8_t *data, uint32_t len)
{
	uint32_t version = len < 8 ? 0 : read_u32(data);

	return version > 0 && version <= SFLOW_VERSION_MAX &&
	       (read_u32(data + 4) == 1 || read_u32(data + 4) == 2);
}

static bool is_dtls(const uint8_t *data, uint32_t len)
{
	return len >= DTLS_HEADER && data[0] >= DTLS_FIRST && data[0] <= DTLS_LAST &&
	       (read_u16(data + 1) == DTLS_1_0 || read_u16(data + 1) == DTLS_1_2);
}

struct export_version flow_protocol_identify(const uint8_t *data, uint32_t len)
{
	uint32_t version = len < 2 ? 0 : read_u16(data);

	if (protocol_of(data, len) != FLOW_PROTOCOL_COUNT)
		return (struct export_version){.family = EXPORT_FAMILY_SUPPORTED};
	if (is_old_netflow(data, len, version))
		return (struct export_version){EXPORT_FAMILY_NETFLOW, version};
	if (is_old_sflow(data, len))
		return (struct export_version){EXPORT_FAMILY_SFLOW, read_u32(data)};
	if (is_dtls(data, len))
		return (struct export_version){.family = EXPORT_FAMILY_DTLS};
	return (struct export_version){0};
}

bool flow_protocol_is_framed(const uint8_t *data, uint32_t len)
{
	for (uint32_t p = 0; len > 0 && p < FLOW_PROTOCOL_COUNT; p++)
		if (flow_protocols[p]->is_framed != NULL && flow_protocols[p]->is_framed(data, len))
			return true;
	return false;
}
