/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/assertion.h"
#include "base/units.h"
#include "flow_protocols/big_endian.h"
#include "flow_protocols/export.h"

#define VERSION  5
#define HEADER   24
#define RECORD   48
#define INTERVAL 0x3fff /* low bits; the two bits above are the mode */

#define RANDOM_SAMPLING 2

enum {
	SRC_IP = 0,
	DST_IP = 4,
	NEXT_HOP = 8,
	INPUT = 12,
	OUTPUT = 14,
	PACKETS = 16,
	BYTES = 20,
	FIRST = 24,
	LAST = 28,
	SRC_PORT = 32,
	DST_PORT = 34,
	TCP_FLAGS = 37,
	PROTO = 38,
	TOS = 39,
};

#define AGE_MAX_MS (UINT32_C(1) << 31)

static enum decode_fault read_netflow5_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < HEADER)
		return DECODE_SHORT;
	header->len = HEADER;
	header->count = read_u16(data + 2);
	header->uptime = read_u32(data + 4);
	header->exported = read_u32(data + 8) * SECOND_NS + read_u32(data + 12);
	header->sequence = read_u32(data + 16);
	header->domain = read_u16(data + 20);
	header->sampling = read_u16(data + 22) & INTERVAL;
	header->sampled = (read_u16(data + 22) & ~INTERVAL) != 0;
	return DECODE_FINE;
}

static inline void read_record(const uint8_t *data, uint32_t uptime,
	const struct flow_record *start, struct flow_record *record)
{
	uint32_t age, idle;

	flow_record_copy(record, start);
	memcpy(record->key.v4.src_ip, data + SRC_IP, 4);
	memcpy(record->key.v4.dst_ip, data + DST_IP, 4);
	memcpy(record->key.v4.src_port, data + SRC_PORT, 2);
	memcpy(record->key.v4.dst_port, data + DST_PORT, 2);
	record->key.v4.proto = data[PROTO];
	record->extra.tcp_flags[0] = data[TCP_FLAGS];
	key_extra_set_tos(&record->extra, data[TOS]);
	memcpy(record->next_hop, data + NEXT_HOP, 4);
	if (read_u32(data + NEXT_HOP) != 0)
		record->has |= FLOW_NEXT_HOP;
	record->input = read_u16(data + INPUT);
	record->output = read_u16(data + OUTPUT);
	record->packets = read_u32(data + PACKETS);
	record->bytes = read_u32(data + BYTES);
	if (uptime == 0)
		return;
	age = uptime - read_u32(data + FIRST);
	idle = uptime - read_u32(data + LAST);
	if (age > AGE_MAX_MS || idle > age)
		return;
	record->age = age;
	record->idle = idle;
	record->has |= FLOW_AGE | FLOW_IDLE;
}

static struct decode_result decode_netflow5(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink)
{
	struct flow_record start = {
		.key.family = KEY_IPV4,
		.has = FLOW_PACKETS | FLOW_BYTES | FLOW_INPUT | FLOW_OUTPUT |
		       (header->sampling != 0 ? FLOW_SAMPLING : 0) |
		       (header->sampled ? FLOW_SAMPLED : 0),
		.sampling = header->sampling,
	};
	struct decode_result result = {0};
	uint32_t there, n, end;

	(void)templates;
	if (len < header->len)
		return (struct decode_result){.fault = DECODE_SHORT};
	there = (len - header->len) / RECORD;
	n = header->count < there ? header->count : there;
	/* Zeros after the last record are padding. */
	end = header->len + n * RECORD;
	if (header->count > there || !flow_protocol_is_padding(data + end, len - end))
		result.fault = DECODE_COUNT;
	data += header->len;
	while (result.records < n) {
		uint32_t batch =
			n - result.records < DECODE_BATCH ? n - result.records : DECODE_BATCH;

		for (uint32_t i = 0; i < batch; i++, data += RECORD)
			read_record(data, header->uptime, &start, &sink->batch[i]);
		ASSERT(batch, <=, DECODE_BATCH);
		sink->records(sink->arg, batch);
		result.records += batch;
	}
	result.data_records = result.records;
	return result;
}

static bool add_record(struct export_message *message, const struct export_sender *sender,
	const struct export_flow *flow)
{
	const struct key4 *key = &flow->key.v4;
	uint8_t *at = message->bytes + message->len;

	if (flow->key.family != KEY_IPV4 || message->len + RECORD > EXPORT_BYTES_MAX)
		return false;
	memset(at, 0, RECORD);
	at = put_bytes(put_bytes(at, key->src_ip, 4), key->dst_ip, 4);
	at = put_bytes(at, flow->next_hop, 4);
	at = put16(put16(at, flow->input), flow->output);
	at = put32(put32(at, flow->packets), flow->bytes);
	at = put32(at, export_ms(flow->first - sender->booted));
	at = put32(at, export_ms(flow->last - sender->booted));
	at = put_bytes(put_bytes(at, key->src_port, 2), key->dst_port, 2);
	at = put8(at + 1, flow->tcp_flags);
	put8(put8(at, key->proto), flow->tos);
	message->len += RECORD;
	VERIFY(message->len, <=, EXPORT_BYTES_MAX);
	message->count++;
	message->data++;
	return true;
}

static uint32_t end_message(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence)
{
	uint8_t *at = put16(put16(message->bytes, VERSION), message->count);

	at = put32(at, export_ms(now - sender->booted));
	at = put32(put32(at, (uint64_t)(now / SECOND_NS)), (uint64_t)(now % SECOND_NS));
	at = put32(at, sequence);
	at = put8(put8(at, 0), sender->domain);
	put16(at, sender->sampling > 1 ? RANDOM_SAMPLING << 14 | sender->sampling : 0);
	return message->data;
}

static const struct export_ops export_netflow5 = {
	.suits = "NetFlow v5, without IPv6",
	.header = HEADER,
	.sampling_max = INTERVAL,
	.ipv4_only = true,
	.flow = add_record,
	.end = end_message,
};

const struct flow_protocol_ops flow_protocol_netflow5 = {
	.name = "netflow5",
	.version = VERSION,
	.version_bytes = 2,
	.read_header = read_netflow5_header,
	.decode = decode_netflow5,
	.sequence = SEQUENCE_RECORDS,
	.counts_records = true,
	.sampling = SAMPLING_HEADER,
	.port = 2055,
	.exports = &export_netflow5,
};
