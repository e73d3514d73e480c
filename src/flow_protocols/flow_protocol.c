/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_protocols/flow_protocol.h"

#include "base/random.h"
#include "flow_protocols/big_endian.h"

#define SECOND 1000000000LL /* ns */

enum {
	VERSION_SFLOW = 0, /* upper half of a 32-bit version 5 */
	VERSION_NETFLOW5 = 5,
	VERSION_NETFLOW9 = 9,
	VERSION_IPFIX = 10,
};

enum {
	NETFLOW5_HEADER = 24,
	NETFLOW9_HEADER = 20,
	IPFIX_HEADER = 16,
	SFLOW_HEADER = 24, /* plus the agent address */
};

enum {
	NETFLOW1_HEADER = 16, /* shortest header of versions 1 to 8 */
	NETFLOW8_RECORD = 28, /* shortest record of versions 1 to 8 */
	SFLOW_VERSION_MAX = 15,
	DTLS_FIRST = 20, /* content type of a record */
	DTLS_LAST = 23,
	DTLS_HEADER = 13,
	DTLS_1_0 = 0xfeff,
	DTLS_1_2 = 0xfefd,
	IPFIX_SET_TEMPLATES = 2,
	IPFIX_SET_OPTIONS = 3,
	IPFIX_SET_DATA = 256,
	IPFIX_SET_HEADER = 4,
};

#define NETFLOW5_INTERVAL 0x3fff /* below two bits of mode */

const char *const flow_protocol_names[FLOW_PROTOCOL_COUNT] = {
	[FLOW_PROTOCOL_NETFLOW5] = "netflow5",
	[FLOW_PROTOCOL_NETFLOW9] = "netflow9",
	[FLOW_PROTOCOL_IPFIX] = "ipfix",
	[FLOW_PROTOCOL_SFLOW] = "sflow",
};

const char *const decode_fault_words[DECODE_FAULT_COUNT] = {
	[DECODE_FINE] = "nothing",
	[DECODE_SHORT] = "shorter than its header",
	[DECODE_VERSION] = "unknown version",
	[DECODE_LENGTH] = "a length exceeds the message",
	[DECODE_SET] = "a set has a length below 4, or a reserved number",
	[DECODE_TEMPLATE] = "a template has no fields, too many of length 0, or too many bytes",
	[DECODE_COUNT] = "wrong record count",
	[DECODE_TEMPLATE_ROOM] = "template memory is full",
	[DECODE_TEMPLATE_CHANGES] = "too many templates change at once",
};

static enum decode_fault read_netflow5(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < NETFLOW5_HEADER)
		return DECODE_SHORT;
	header->len = NETFLOW5_HEADER;
	header->count = read_u16(data + 2);
	header->uptime = read_u32(data + 4);
	header->exported = read_u32(data + 8) * SECOND + read_u32(data + 12);
	header->sequence = read_u32(data + 16);
	header->domain = read_u16(data + 20);
	header->sampling = read_u16(data + 22) & NETFLOW5_INTERVAL;
	header->sampled = (read_u16(data + 22) & ~NETFLOW5_INTERVAL) != 0;
	return DECODE_FINE;
}

static enum decode_fault read_netflow9(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < NETFLOW9_HEADER)
		return DECODE_SHORT;
	header->len = NETFLOW9_HEADER;
	header->count = read_u16(data + 2);
	header->uptime = read_u32(data + 4);
	header->exported = read_u32(data + 8) * SECOND;
	header->sequence = read_u32(data + 12);
	header->domain = read_u32(data + 16);
	return DECODE_FINE;
}

static enum decode_fault read_ipfix(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < IPFIX_HEADER)
		return DECODE_SHORT;
	header->len = IPFIX_HEADER;
	header->total = read_u16(data + 2);
	header->exported = read_u32(data + 4) * SECOND;
	header->sequence = read_u32(data + 8);
	header->domain = read_u32(data + 12);
	return header->total < IPFIX_HEADER || header->total > len ? DECODE_LENGTH : DECODE_FINE;
}

static enum decode_fault read_sflow(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	static const uint8_t address_bytes[] = {0, 4, 16};
	static const uint8_t families[] = {0, 4, 6};
	uint32_t type, bytes;

	if (len < 8)
		return DECODE_SHORT;
	type = read_u32(data + 4);
	if (read_u32(data) != 5 || type >= sizeof(address_bytes))
		return DECODE_VERSION;
	bytes = address_bytes[type];
	if (len < SFLOW_HEADER + bytes)
		return DECODE_SHORT;
	header->len = SFLOW_HEADER + bytes;
	header->agent_family = families[type];
	memcpy(header->agent, data + 8, bytes);
	data += 8 + bytes;
	header->domain = read_u32(data);
	header->sequence = read_u32(data + 4);
	header->uptime = read_u32(data + 8);
	header->count = read_u32(data + 12);
	return DECODE_FINE;
}

enum decode_fault flow_protocol_read_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	*header = (struct datagram_header){.total = len};
	if (len < 2)
		return DECODE_SHORT;
	switch (read_u16(data)) {
	case VERSION_NETFLOW5:
		header->protocol = FLOW_PROTOCOL_NETFLOW5;
		return read_netflow5(data, len, header);
	case VERSION_NETFLOW9:
		header->protocol = FLOW_PROTOCOL_NETFLOW9;
		return read_netflow9(data, len, header);
	case VERSION_IPFIX:
		header->protocol = FLOW_PROTOCOL_IPFIX;
		return read_ipfix(data, len, header);
	case VERSION_SFLOW:
		header->protocol = FLOW_PROTOCOL_SFLOW;
		return read_sflow(data, len, header);
	default: return DECODE_VERSION;
	}
}

#define WORD     8U
#define ODD_BITS UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t read_word(const uint8_t *data)
{
	uint64_t word;

	memcpy(&word, data, WORD);
	return word;
}

/* Products are independent of each other, so that they overlap. */
static inline uint64_t add_words(uint64_t sum, uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ ODD_BITS) * (b ^ ~ODD_BITS);

	return (sum << 5 | sum >> 59) + ((uint64_t)product ^ (uint64_t)(product >> 64));
}

uint64_t flow_protocol_digest(const uint8_t *data, uint32_t len)
{
	uint64_t sum = len, other = ODD_BITS, last = 0;

	for (; len >= 4 * WORD; len -= 4 * WORD, data += 4 * WORD) {
		sum = add_words(sum, read_word(data), read_word(data + WORD));
		other = add_words(other, read_word(data + 2 * WORD), read_word(data + 3 * WORD));
	}
	sum = add_words(sum, other, 0);
	for (; len >= WORD; len -= WORD, data += WORD)
		sum = add_words(sum, read_word(data), 0);
	memcpy(&last, data, len);
	return random_mix(add_words(sum, last, 0));
}

/*
 * The record count of versions 1 to 8 must fit the length. Other protocols have the same version
 * numbers.
 */
static bool is_old_netflow(const uint8_t *data, uint32_t len, uint32_t version)
{
	uint32_t count;

	if (version == 0 || version >= VERSION_NETFLOW9 || len < NETFLOW1_HEADER)
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

	if (version == VERSION_NETFLOW5 || version == VERSION_NETFLOW9 || version == VERSION_IPFIX)
		return (struct export_version){EXPORT_FAMILY_NETFLOW, version, true};
	if (len >= 4 && read_u32(data) == 5)
		return (struct export_version){EXPORT_FAMILY_SFLOW, 5, true};
	if (is_old_netflow(data, len, version))
		return (struct export_version){EXPORT_FAMILY_NETFLOW, version, false};
	if (is_old_sflow(data, len))
		return (struct export_version){EXPORT_FAMILY_SFLOW, read_u32(data), false};
	if (is_dtls(data, len))
		return (struct export_version){EXPORT_FAMILY_DTLS, 0, false};
	return (struct export_version){0};
}

bool flow_protocol_is_ipfix(const uint8_t *data, uint32_t len)
{
	uint32_t total, set, set_len;

	if (len < IPFIX_HEADER + IPFIX_SET_HEADER || read_u16(data) != VERSION_IPFIX)
		return false;
	total = read_u16(data + 2);
	set = read_u16(data + IPFIX_HEADER);
	set_len = read_u16(data + IPFIX_HEADER + 2);
	return total >= IPFIX_HEADER + set_len && set_len >= IPFIX_SET_HEADER &&
	       (set == IPFIX_SET_TEMPLATES || set == IPFIX_SET_OPTIONS || set >= IPFIX_SET_DATA);
}
