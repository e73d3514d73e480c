/* SPDX-License-Identifier: BSD-3-Clause */

/* sFlow version 5 (sflow.org, sflow_version_5.txt). Words are big-endian (XDR, RFC 4506). */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assertion.h"
#include "flow_protocols/big_endian.h"
#include "flow_protocols/export.h"
#include "flow_protocols/packet_section.h"

/* enterprise << 12 | format, of enterprise 0 */
enum sample_format {
	SAMPLE_FLOW = 1,
	SAMPLE_COUNTERS = 2,
	SAMPLE_FLOW_EXPANDED = 3,
	SAMPLE_COUNTERS_EXPANDED = 4,
	SAMPLE_DISCARDED = 5,
};

enum flow_format {
	FLOW_RAW_HEADER = 1,
	FLOW_IPV4 = 3,
	FLOW_IPV6 = 4,
	FLOW_SWITCH = 1001,
	FLOW_ROUTER = 1002,
	FLOW_STANDARD_LAST = 4095,
};

enum counters_format {
	COUNTERS_GENERIC = 1,
};

enum header_protocol {
	HEADER_ETHERNET = 1,
	HEADER_PPP = 7,
	HEADER_AAL5_IP = 10,
	HEADER_IPV4 = 11,
	HEADER_IPV6 = 12,
	HEADER_MPLS = 13,
	HEADER_POS = 14,
};

enum interface_format {
	/* other formats hold the reason of a discard, or a number of interfaces */
	INTERFACE_INDEX = 0,
};

enum address_type {
	ADDRESS_IPV4 = 1,
	ADDRESS_IPV6 = 2,
};

#define VERSION 5
#define HEADER  24 /* without the agent address */

/* mask of the index; all bits set: unknown interface, or the agent itself */
#define INTERFACE_VALUE 0x3fffffffu
#define SOURCE_INDEX    0xffffffu /* mask of the index in a source of one word */
#define CLASS_SHIFT     32        /* in sampler_state.source */
#define VLAN_ID_MAX     4094
#define UNKNOWN32       UINT32_MAX

#define PROTO_TCP  6
#define PROTO_UDP  17
#define PROTO_SCTP 132

#define IPV4_RECORD     32 /* bytes */
#define IPV6_RECORD     56
#define RAW_RECORD      16 /* bytes before the sampled header */
#define SWITCH_RECORD   16
#define GENERIC_RECORD  88
#define FORMAT_BITS     12
#define FORMAT_AND_SIZE 8

#define SAMPLE_LEN     32 /* bytes before the records of a flow sample */
#define COUNTER_LEN    12 /* bytes before the records of a counter sample */
#define ROUTER_LEN     16
#define FCS_LEN        4
#define TYPE_ETHERNET  6 /* ifType (RFC 2863) */
#define FULL_DUPLEX    1
#define ADMIN_AND_OPER 3

/* Unread data. take() checks each length against `end`. */
struct sflow_words {
	const uint8_t *at, *end;
};

struct sflow_decoder {
	const struct record_handler *sink;
	struct decode_result *result;
	uint32_t batched;
};

struct sample {
	struct flow_record *record;
	bool header; /* the key comes from a sampled header */
	bool key;
	bool non_ip;
	enum decode_skip why;
	uint32_t detail;
	uint32_t vlan; /* VLAN ID of the switch record; 0: none */
};

static inline void fault(struct sflow_decoder *decoder, enum decode_fault what)
{
	if (decoder->result->fault == DECODE_FINE)
		decoder->result->fault = what;
}

static inline size_t left(const struct sflow_words *words)
{
	return (size_t)(words->end - words->at);
}

static inline const uint8_t *take(struct sflow_words *words, size_t n)
{
	const uint8_t *at = words->at;

	if (left(words) < n)
		return NULL;
	words->at += n;
	return at;
}

/* Returns false if the structure is truncated. */
static inline bool take_structure(
	struct sflow_words *words, uint32_t *format, struct sflow_words *inner)
{
	const uint8_t *head = take(words, FORMAT_AND_SIZE);
	size_t len, padded;

	if (head == NULL)
		return false;
	*format = read_u32(head);
	len = read_u32(head + 4);
	if (left(words) < len)
		return false;
	inner->at = words->at;
	inner->end = words->at + len;
	/* The last structure of a datagram may lack its padding. */
	padded = (len + 3) & ~(size_t)3;
	words->at = left(words) < padded ? words->end : words->at + padded;
	return true;
}

static inline bool link_of_header(uint32_t protocol, enum link_type *link)
{
	*link = LINK_ETHERNET;
	if (protocol == HEADER_ETHERNET)
		return true;
	switch (protocol) {
	case HEADER_PPP:
	case HEADER_POS: *link = LINK_PPP; return true;
	case HEADER_MPLS: *link = LINK_MPLS; return true;
	case HEADER_AAL5_IP:
	case HEADER_IPV4:
	case HEADER_IPV6: *link = LINK_RAW; return true;
	default: return false;
	}
}

/* `bytes` 0 (unknown) keeps the value from another record of the packet. */
static inline void set_bytes(struct flow_record *record, uint64_t bytes)
{
	if (bytes == 0)
		return;
	record->bytes = bytes;
	record->has |= FLOW_BYTES;
}

/* Returns false if the sampled header is longer than its record. */
static inline bool read_sflow(struct sflow_words record, struct sample *sample)
{
	const uint8_t *head = take(&record, RAW_RECORD);
	struct flow_record *out = sample->record;
	struct packet_part part;
	enum section_verdict verdict;
	struct key_extra extra;
	uint64_t bytes;

	if (head == NULL || left(&record) < read_u32(head + 12))
		return false;
	if (sample->header)
		return true;
	part = (struct packet_part){
		.data = record.at,
		.len = read_u32(head + 12),
		.frame = read_u32(head + 4),
		.stripped = read_u32(head + 8),
	};
	if (!link_of_header(read_u32(head), &part.link)) {
		sample->why = DECODE_SKIP_HEADER_PROTOCOL;
		sample->detail = read_u32(head);
		return true;
	}
	/* Copying `extra`, whose bytes were just stored, stalls on store forwarding. */
	if (!packet_part_read_plain(
		    &part, &out->key, &out->extra, &bytes, &out->ttl, &out->segment)) {
		verdict = packet_part_parse(
			&part, &out->key, &extra, &bytes, &out->ttl, &out->segment);
		if (verdict != SECTION_FLOW) {
			sample->why = DECODE_SKIP_HEADER;
			sample->detail = 0;
			sample->non_ip = verdict == SECTION_NON_IP;
			return true;
		}
		out->extra = extra;
	}
	set_bytes(out, bytes);
	sample->header = sample->key = true;
	return true;
}

/* `words` follow the addresses of sampled_ipv4 or sampled_ipv6. */
static void set_transport(struct flow_record *out, uint32_t proto, const uint8_t *words,
	uint8_t *src_port, uint8_t *dst_port)
{
	if (flow_has_ports(proto)) {
		memcpy(src_port, words + 2, 2);
		memcpy(dst_port, words + 6, 2);
	}
	if (proto == PROTO_TCP)
		out->extra.tcp_flags[0] = words[11];
	key_extra_set_tos(&out->extra, words[15]);
}

static bool read_ipv4(struct sflow_words record, struct sample *sample)
{
	const uint8_t *at = take(&record, IPV4_RECORD);
	struct flow_record *out = sample->record;
	struct key4 *key = &out->key.v4;

	if (at == NULL)
		return false;
	if (sample->key)
		return true;
	*key = (struct key4){.proto = at[7]};
	out->key.family = KEY_IPV4;
	memcpy(key->src_ip, at + 8, 4);
	memcpy(key->dst_ip, at + 12, 4);
	set_transport(out, read_u32(at + 4), at + 16, key->src_port, key->dst_port);
	set_bytes(out, read_u32(at));
	sample->key = true;
	return true;
}

static bool read_ipv6(struct sflow_words record, struct sample *sample)
{
	const uint8_t *at = take(&record, IPV6_RECORD);
	struct flow_record *out = sample->record;
	struct key6 *key = &out->key.v6;

	if (at == NULL)
		return false;
	if (sample->key)
		return true;
	*key = (struct key6){.proto = at[7]};
	out->key.family = KEY_IPV6;
	memcpy(key->src_ip, at + 8, 16);
	memcpy(key->dst_ip, at + 24, 16);
	set_transport(out, read_u32(at + 4), at + 40, key->src_port, key->dst_port);
	set_bytes(out, read_u32(at));
	sample->key = true;
	return true;
}

static bool read_switch(struct sflow_words record, struct sample *sample)
{
	const uint8_t *at = take(&record, SWITCH_RECORD);
	uint32_t vlan;

	if (at == NULL)
		return false;
	vlan = read_u32(at);
	if (vlan <= VLAN_ID_MAX)
		sample->vlan = vlan;
	return true;
}

static bool read_router(struct sflow_words record, struct sample *sample)
{
	const uint8_t *type = take(&record, 4);
	struct flow_record *out = sample->record;
	bool ipv6;

	if (type == NULL)
		return false;
	ipv6 = read_u32(type) == ADDRESS_IPV6;
	if (!ipv6 && read_u32(type) != ADDRESS_IPV4)
		return true;
	if (left(&record) < (ipv6 ? 16 : 4))
		return false;
	if (ipv6) {
		memcpy(out->next_hop, record.at, 16);
	} else {
		memset(out->next_hop, 0, sizeof(out->next_hop));
		memcpy(out->next_hop, record.at, 4);
	}
	out->next_hop_ipv6 = ipv6;
	out->has |= FLOW_NEXT_HOP;
	return true;
}

/* Standard formats from 1001 never contain a key, so they do not explain a missing one. */
static void note_format(uint32_t format, struct sample *sample)
{
	if (sample->why != DECODE_SKIP_NO_ADDRESSES ||
		(format >= FLOW_SWITCH && format <= FLOW_STANDARD_LAST))
		return;
	sample->why = DECODE_SKIP_FLOW_FORMAT;
	sample->detail = format;
}

static bool read_flow_record(uint32_t format, struct sflow_words record, struct sample *sample)
{
	switch (format) {
	case FLOW_RAW_HEADER: return read_sflow(record, sample);
	case FLOW_IPV4: return read_ipv4(record, sample);
	case FLOW_IPV6: return read_ipv6(record, sample);
	case FLOW_SWITCH: return read_switch(record, sample);
	case FLOW_ROUTER: return read_router(record, sample);
	default: note_format(format, sample); return true;
	}
}

static void flush(struct sflow_decoder *decoder)
{
	if (decoder->batched == 0)
		return;
	ASSERT(decoder->batched, <=, DECODE_BATCH);
	decoder->sink->records(decoder->sink->arg, decoder->batched);
	decoder->batched = 0;
}

/* All records of a sample describe one packet. */
static void read_packet(struct sflow_decoder *decoder, uint32_t count, struct sflow_words words,
	struct flow_record *record)
{
	struct sample sample = {.record = record};
	struct sflow_words inner;
	uint32_t format;

	while (count-- > 0) {
		if (!take_structure(&words, &format, &inner) ||
			!read_flow_record(format, inner, &sample)) {
			fault(decoder, DECODE_LENGTH);
			break;
		}
	}
	if (!sample.key && sample.non_ip) {
		decoder->result->unusable++;
		decoder->result->harmless++;
		return;
	}
	if (!sample.key) {
		flow_protocol_skip(decoder->result, sample.why, sample.detail, 1);
		return;
	}
	if (read_u16(record->extra.vlan) == 0 && sample.vlan != 0) {
		record->extra.vlan[0] = (uint8_t)(sample.vlan >> 8);
		record->extra.vlan[1] = (uint8_t)sample.vlan;
	}
	decoder->result->records++;
	if (++decoder->batched == DECODE_BATCH)
		flush(decoder);
}

/* input, output: 0: unknown; index_bits: mask of the interface index in `source` */
static inline void set_interfaces(struct flow_record *record, uint64_t source, uint32_t index_bits,
	uint32_t input, uint32_t output)
{
	record->input = input;
	record->output = output;
	record->has |= (input != 0 ? FLOW_INPUT : 0) | (output != 0 ? FLOW_OUTPUT : 0);
	if (input != 0 && (input & index_bits) == source) {
		record->direction = FLOW_INGRESS;
		record->has |= FLOW_DIRECTION;
	} else if (output != 0 && (output & index_bits) == source) {
		record->direction = FLOW_EGRESS;
		record->has |= FLOW_DIRECTION;
	}
}

static inline uint64_t source_of(uint32_t class, uint32_t index)
{
	return (uint64_t) class << CLASS_SHIFT | index;
}

/* Returns 0 if the interface is unknown, or if the format is not INTERFACE_INDEX. */
static inline uint32_t interface_of(uint32_t word)
{
	return word < INTERFACE_VALUE ? word : 0;
}

/* An unknown interface may have the value of the compact form. Other indexes may exceed 30 bits. */
static inline uint32_t interface_expanded(const uint8_t *words)
{
	uint32_t value = read_u32(words + 4);

	return read_u32(words) == INTERFACE_INDEX && value != INTERFACE_VALUE && value != UNKNOWN32
		       ? value
		       : 0;
}

/*
 * Words: sequence, source, sampling, pool, drops, input, output, number of records. Expanded: two
 * words per source and interface.
 */
static inline __attribute__((always_inline)) void read_flow_sample(
	struct sflow_decoder *decoder, struct sflow_words words, bool expanded)
{
	const uint8_t *head = take(&words, expanded ? 44 : 32);
	struct flow_record *record = &decoder->sink->batch[decoder->batched];
	uint32_t input, output;
	struct sampler_state sampler;
	const uint8_t *rest;

	if (head == NULL) {
		fault(decoder, DECODE_LENGTH);
		return;
	}
	rest = head + (expanded ? 12 : 8);
	sampler = (struct sampler_state){
		.source = expanded ? source_of(read_u32(head + 4), read_u32(head + 8))
				   : source_of(head[4], read_u32(head + 4) & SOURCE_INDEX),
		.sequence = read_u32(head),
		.sampling = read_u32(rest),
		.pool = read_u32(rest + 4),
		.drops = read_u32(rest + 8),
	};
	input = expanded ? interface_expanded(rest + 12) : interface_of(read_u32(rest + 12));
	output = expanded ? interface_expanded(rest + 20) : interface_of(read_u32(rest + 16));
	decoder->sink->sampler(decoder->sink->arg, &sampler);

	flow_record_clear(record);
	record->has = FLOW_SAMPLE | FLOW_PACKETS;
	record->packets = 1;
	if (sampler.sampling != 0) {
		record->sampling = sampler.sampling;
		record->has |= FLOW_SAMPLING;
	}
	set_interfaces(record, sampler.source, expanded ? UINT32_MAX : SOURCE_INDEX, input, output);
	read_packet(decoder, read_u32(words.at - 4), words, record);
}

static void read_compact(struct sflow_decoder *decoder, struct sflow_words words)
{
	read_flow_sample(decoder, words, false);
}

static void read_expanded(struct sflow_decoder *decoder, struct sflow_words words)
{
	read_flow_sample(decoder, words, true);
}

/* sflow_drops.txt: discarded packets do not represent the traffic; only the sampler state is read. */
static void read_discarded(struct sflow_decoder *decoder, struct sflow_words words)
{
	const uint8_t *head = take(&words, 32);
	struct sampler_state sampler = {.discarded = 1};

	if (head == NULL) {
		fault(decoder, DECODE_LENGTH);
		return;
	}
	sampler.sequence = read_u32(head);
	sampler.source = source_of(read_u32(head + 4), read_u32(head + 8));
	sampler.drops = read_u32(head + 12);
	decoder->sink->sampler(decoder->sink->arg, &sampler);
}

/* Returns UINT64_MAX if the unicasts are unknown. Unknown multicasts and broadcasts count as 0. */
static uint64_t sum_of_packets(const uint8_t *words)
{
	uint32_t sum = read_u32(words);

	if (sum == UNKNOWN32)
		return UINT64_MAX;
	for (uint32_t i = 1; i < 3; i++)
		sum += read_u32(words + 4 * i) == UNKNOWN32 ? 0 : read_u32(words + 4 * i);
	return sum;
}

static uint64_t widened(uint32_t counter)
{
	return counter == UNKNOWN32 ? UINT64_MAX : counter;
}

static void read_generic(struct sflow_decoder *decoder, const uint8_t *at)
{
	uint64_t speed = read_u64(at + 8);
	struct interface_counters counters = {
		.interface = read_u32(at),
		.speed = speed == UINT64_MAX ? 0 : speed,
		.in_bytes = read_u64(at + 24),
		.in_packets = sum_of_packets(at + 32),
		.in_discards = widened(read_u32(at + 44)),
		.out_bytes = read_u64(at + 56),
		.out_packets = sum_of_packets(at + 64),
		.out_discards = widened(read_u32(at + 76)),
	};

	decoder->sink->counters(decoder->sink->arg, &counters);
}

/* Words: sequence, source (two if expanded), number of records. */
static void read_counters_sample(
	struct sflow_decoder *decoder, struct sflow_words words, bool expanded)
{
	const uint8_t *head = take(&words, expanded ? 16 : 12);
	struct sflow_words record;
	uint32_t format;

	if (head == NULL) {
		fault(decoder, DECODE_LENGTH);
		return;
	}
	for (uint32_t count = read_u32(words.at - 4); count > 0; count--) {
		if (!take_structure(&words, &format, &record) ||
			(format == COUNTERS_GENERIC && left(&record) < GENERIC_RECORD)) {
			fault(decoder, DECODE_LENGTH);
			return;
		}
		if (format == COUNTERS_GENERIC)
			read_generic(decoder, record.at);
	}
}

static void read_sample(struct sflow_decoder *decoder, uint32_t format, struct sflow_words words)
{
	switch (format) {
	case SAMPLE_FLOW: read_compact(decoder, words); break;
	case SAMPLE_FLOW_EXPANDED: read_expanded(decoder, words); break;
	case SAMPLE_COUNTERS: read_counters_sample(decoder, words, false); break;
	case SAMPLE_COUNTERS_EXPANDED: read_counters_sample(decoder, words, true); break;
	case SAMPLE_DISCARDED: read_discarded(decoder, words); break;
	default:
		flow_protocol_skip(decoder->result, DECODE_SKIP_SAMPLE_FORMAT, format, 1);
		/* Vendor formats do not hold sampled packets. */
		decoder->result->harmless += format >> FORMAT_BITS != 0;
	}
}

static enum decode_fault read_sflow_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	static const uint8_t address_bytes[] = {0, 4, 16};
	static const uint8_t families[] = {0, 4, 6};
	uint32_t type, bytes;

	if (len < 8)
		return DECODE_SHORT;
	type = read_u32(data + 4);
	if (type >= sizeof(address_bytes))
		return DECODE_VERSION;
	bytes = address_bytes[type];
	if (len < HEADER + bytes)
		return DECODE_SHORT;
	header->len = HEADER + bytes;
	header->agent_family = families[type];
	memcpy(header->agent, data + 8, bytes);
	data += 8 + bytes;
	header->domain = read_u32(data);
	header->sequence = read_u32(data + 4);
	header->uptime = read_u32(data + 8);
	header->count = read_u32(data + 12);
	return DECODE_FINE;
}

static struct decode_result decode_sflow(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink)
{
	struct decode_result result = {0};
	struct sflow_decoder decoder = {.sink = sink, .result = &result};
	struct sflow_words words, sample;
	uint32_t format;

	(void)templates;
	if (len < header->len) {
		result.fault = DECODE_SHORT;
		return result;
	}
	words = (struct sflow_words){data + header->len, data + len};
	for (uint32_t count = header->count; count > 0; count--) {
		if (!take_structure(&words, &format, &sample)) {
			fault(&decoder, DECODE_LENGTH);
			break;
		}
		result.samples++;
		read_sample(&decoder, format, sample);
	}
	if (!flow_protocol_is_padding(words.at, (uint32_t)left(&words)))
		fault(&decoder, DECODE_COUNT);
	flush(&decoder);
	result.data_records = result.records + result.unusable;
	return result;
}

static uint8_t *add_tagged(struct export_message *message, uint32_t format, uint32_t len)
{
	uint8_t *at = message->bytes + message->len;

	if (message->len + FORMAT_AND_SIZE + len > EXPORT_BYTES_MAX)
		return NULL;
	message->len += FORMAT_AND_SIZE + len;
	VERIFY(message->len, <=, EXPORT_BYTES_MAX);
	message->count++;
	return put32(put32(at, format), len);
}

static uint8_t *put_raw_header(uint8_t *at, const struct export_sample *sample, uint32_t len)
{
	uint32_t padded = (len + 3) / 4 * 4;

	at = put32(put32(at, FLOW_RAW_HEADER), RAW_RECORD + padded);
	at = put32(put32(at, HEADER_ETHERNET), sample->wire_len + FCS_LEN);
	at = put32(put32(at, FCS_LEN), len);
	at = put_bytes(at, sample->header, len);
	memset(at, 0, padded - len);
	return at + (padded - len);
}

static bool add_sample(struct export_message *message, const struct export_sample *sample)
{
	uint32_t len =
		sample->captured < EXPORT_SAMPLE_BYTES ? sample->captured : EXPORT_SAMPLE_BYTES;
	uint32_t padded = (len + 3) / 4 * 4;
	uint8_t *at = add_tagged(message, SAMPLE_FLOW,
		SAMPLE_LEN + FORMAT_AND_SIZE + RAW_RECORD + padded + FORMAT_AND_SIZE + ROUTER_LEN);

	if (at == NULL)
		return false;
	at = put32(put32(at, sample->sampler.sequence), sample->sampler.source);
	at = put32(put32(at, sample->sampler.sampling), sample->sampler.pool);
	at = put32(at, sample->sampler.drops);
	at = put32(put32(at, sample->input), sample->output);
	at = put_raw_header(put32(at, 2), sample, len);
	at = put32(put32(at, FLOW_ROUTER), ROUTER_LEN);
	at = put_bytes(put32(at, ADDRESS_IPV4), sample->next_hop, 4);
	put32(put32(at, sample->prefix_len), sample->prefix_len);
	return true;
}

static bool add_counters(struct export_message *message, uint32_t sequence,
	const struct interface_counters *counters)
{
	uint8_t *at = add_tagged(
		message, SAMPLE_COUNTERS, COUNTER_LEN + FORMAT_AND_SIZE + GENERIC_RECORD);

	if (at == NULL)
		return false;
	at = put32(put32(put32(at, sequence), counters->interface), 1);
	at = put32(put32(at, COUNTERS_GENERIC), GENERIC_RECORD);
	memset(at, 0, GENERIC_RECORD);
	at = put32(put32(at, counters->interface), TYPE_ETHERNET);
	at = put64(at, counters->speed);
	at = put32(put32(at, FULL_DUPLEX), ADMIN_AND_OPER);
	at = put32(put64(at, counters->in_bytes), counters->in_packets);
	at = put32(at + 8, counters->in_discards); /* multicasts and broadcasts are 0 */
	at = put64(at + 8, counters->out_bytes);   /* errors and unknown protocols are 0 */
	at = put32(at, counters->out_packets);
	put32(at + 8, counters->out_discards);
	return true;
}

static uint32_t end_datagram(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence)
{
	uint8_t *at = put32(put32(message->bytes, VERSION), ADDRESS_IPV4);

	at = put32(put_bytes(at, sender->address, 4), sender->domain);
	at = put32(put32(at, sequence), export_ms(now - sender->booted));
	put32(at, message->count);
	return 1;
}

static const struct export_ops export_sflow = {
	.suits = "sFlow v5, with interface counters every 10 s",
	.header = HEADER + 4,
	.sample = add_sample,
	.counters = add_counters,
	.end = end_datagram,
};

const struct flow_protocol_ops flow_protocol_sflow = {
	.name = "sflow",
	.version = VERSION,
	.version_bytes = 4,
	.read_header = read_sflow_header,
	.decode = decode_sflow,
	.sequence = SEQUENCE_MESSAGES,
	.sampling = SAMPLING_SAMPLE,
	.port = 6343,
	.exports = &export_sflow,
};
